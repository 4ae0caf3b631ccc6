"""How far to trust a model: its predictions of a user's held-out values, beside these values."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from convcnp.cli.predict import check_outputs, write_file
from convcnp.core.image_task import ImageTask
from convcnp.core.predictive import Predictive
from convcnp.core.task import Task
from convcnp.data.images.files import holds_images
from convcnp.data.images.folder import ImageFolder, read_images
from convcnp.data.images.source import PixelSource
from convcnp.data.source import seeded
from convcnp.data.table import (
    Layout,
    Rows,
    TableSource,
    choose_layout,
    digest_of,
    read_bytes,
    with_channels,
)
from convcnp.errors import ConvCNPWarning, ShapeError, warnings_said
from convcnp.frames.reading import read_table
from convcnp.plots.drawing import BLUE, as_png, new_figure
from convcnp.predict.predictor import Predictor
from convcnp.predict.user_units import InUserUnits
from convcnp.predict.zoo import load
from convcnp.training.evaluation import TEST_SEEDS
from convcnp.training.own.images import refuse_columns
from convcnp.training.own.table import typical_gaps

LEVELS = (0.5, 0.8, 0.9, 0.95)
_CHUNK = 25  # tasks at once
_CURVE = np.linspace(0.01, 0.99, 99)  # levels of the plot
_CLOSE = 0.03  # a coverage that is off by less is called right


@dataclass(frozen=True)
class Calibration:
    """Held-out values of one channel, each with what was predicted for it."""

    below: np.ndarray  # the predicted probability of a smaller value
    log_prob: np.ndarray
    crps: np.ndarray

    def coverage(self, level: float) -> float:
        """Return the share of values inside the central interval of this probability."""
        return float(np.mean(np.abs(self.below - 0.5) <= level / 2))

    @property
    def summary(self) -> dict[str, float]:
        """The scores: log-likelihood and CRPS per value, coverages, and the number of values."""
        return {
            "log_likelihood": float(self.log_prob.mean()),
            "crps": float(self.crps.mean()),
            **{f"coverage{round(100 * level)}": self.coverage(level) for level in LEVELS},
            "values": len(self.below),
        }

    @property
    def verdict(self) -> str:
        """Say in words whether intervals are as wide as they should be."""
        found = self.coverage(0.9)
        if abs(found - 0.9) < _CLOSE:
            return f"about right: 90 % intervals hold {found:.0%} of the values"
        how = "too narrow" if found < 0.9 else "wider than needed"
        return f"{how}: 90 % intervals hold {found:.0%} of the values"


def check_file(
    model: str,
    data: Path,
    *,
    names: dict[str, Any],
    tasks: int = 200,
    seed: int = 0,
    plot: Path | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> dict[str, Calibration]:
    """Hide values of a table, or pixels of images, predict them, and compare by channel."""
    check_outputs([str(data)], None, plot)
    predictor = load(model)
    with warnings_said(lambda text: say(f"Warning: {text}")):
        given = {role: name for role, name in names.items() if name not in (None, [])}
        source = _source(predictor, data, given)
    part = "what training never saw of its data" if source.part == "test" else "all of it"
    say(f"Checking {predictor.name!r} on {tasks} tasks drawn from {part}, with values hidden.")
    found = calibrations(predictor, source, tasks, seed)
    if isinstance(source, ImageFolder):
        score = sum(one.summary["log_likelihood"] for one in found.values())
        say(f"Log-likelihood per hidden pixel, summed over its channels: {score:.3f}.")
    if plot is not None:
        write_file(plot, draw_calibration(found))
        say(f"Wrote {plot}.")
    return found


def _source(predictor: Predictor, data: Path, names: dict[str, Any]) -> TableSource | ImageFolder:
    """Return the source of tasks to check a model on; it must be of the model's kind."""
    if holds_images(data):
        refuse_columns(names)
        return held_out_images(predictor, data)
    predictor.check_takes_tables()
    source = held_out_source(predictor, read_table(data), digest_of(read_bytes(data)), names)
    trained = predictor.experiment.source()
    if isinstance(trained, TableSource) and source.part != "test":
        _warn_if_changed(data, trained.path)
    return source


def held_out_images(predictor: Predictor, path: Path) -> ImageFolder:
    """Return the source of images to check a model on.

    Of the images that the model was trained on, only the test part is used.
    """
    trained = predictor.experiment.source()
    if not isinstance(trained, PixelSource):
        raise ShapeError(
            f"{predictor.name!r} is no model of images, but {path} holds images; give it a table, "
            "or choose a model that was trained on images."
        )
    digest = read_images(path).digest
    if not isinstance(trained, ImageFolder):
        return ImageFolder(path=str(path), dim_y=trained.dim_y, part="all")
    if digest == trained.digest:
        return replace(trained, path=str(path), part="test")
    _warn_if_changed(path, trained.path)
    return replace(trained, path=str(path), digest=digest, part="all")


def _warn_if_changed(path: Path, trained: str) -> None:
    """Warn if data other than in training lies where the training data lay."""
    if path.resolve() == Path(trained):
        warnings.warn(
            f"{path} has changed since training, or is read otherwise: training may have seen some "
            "of what is used here.",
            ConvCNPWarning,
            stacklevel=3,
        )


def held_out_source(
    predictor: Predictor, frame: pd.DataFrame, digest: str, names: dict[str, Any]
) -> TableSource:
    """Return the source of tasks to check a model on.

    Of the table that the model was trained on, only the test part is used.
    """
    trained = predictor.experiment.source()
    if isinstance(trained, TableSource) and _are_learned(trained, names):
        learned = [*trained.inputs, trained.time, trained.group]
        if all(name in frame.columns for name in learned if name is not None):
            rows = Rows.of(with_channels(frame, trained), trained)
            is_trained_on = digest == trained.digest
            return replace(trained, part="test" if is_trained_on else "all", read=rows)
    layout = choose_layout(frame, **names)
    fields = {f.name: getattr(layout, f.name) for f in dataclasses.fields(Layout)}
    rows = Rows.of(frame, layout)
    source = TableSource(**fields, gap=tuple(typical_gaps(rows)), part="all", read=rows)
    expected = (predictor.model.dim_x, predictor.model.dim_y)
    if source.dim_x != expected[0] or (expected[1] not in (1, source.dim_y)):
        raise ShapeError(
            f"{predictor.name!r} takes {expected[0]} input(s) and {expected[1]} channel(s), but "
            f"the table has {source.dim_x} and {source.dim_y} ({', '.join(source.values)}); name "
            "the columns with --time and --value."
        )
    return source


def _are_learned(trained: TableSource, names: dict[str, Any]) -> bool:
    """Tell whether the columns that are named are those of training."""
    values = trained.values if trained.channel is None else (trained.value,)
    learned: dict[str, Any] = {
        "time": trained.time,
        "group": trained.group or "",
        "channel": trained.channel,
        "value": set(values),
        "inputs": set(trained.inputs),
    }
    return all(
        (name if isinstance(name, str) else set(name)) == learned[role]
        for role, name in names.items()
    )


@torch.no_grad()
def calibrations(
    predictor: Predictor, source: TableSource | ImageFolder, tasks: int = 200, seed: int = 0
) -> dict[str, Calibration]:
    """Predict the hidden values of fixed tasks; a model of one channel takes one at a time."""
    if isinstance(source, ImageFolder) or predictor.model.dim_y == source.dim_y:
        return _together(predictor, source, tasks, seed)
    found: dict[str, Calibration] = {}
    for i, name in enumerate(source.values):
        rows = source.rows
        single = replace(rows, y=rows.y[:, i : i + 1]).kept(~np.isnan(rows.y[:, i]))
        alone = replace(source, values=(name,), channel=None, value=None, read=single)
        found |= _together(predictor, alone, tasks, seed)
    return found


def _together(
    predictor: Predictor, source: TableSource | ImageFolder, tasks: int, seed: int
) -> dict[str, Calibration]:
    draw = source.draw if isinstance(source, ImageFolder) else source.draw_as_is
    parts: list[list[tuple[np.ndarray, ...]]] = [[] for _ in source.values]
    for start in range(0, tasks, _CHUNK):
        task = draw(min(_CHUNK, tasks - start), seeded(TEST_SEEDS[seed], start))
        # Without any observation there may be no units to answer in.
        task = task[task.context_mask.flatten(1).any(1)]
        if not len(task):
            continue
        assert task.y_target is not None
        predictive, y = _predicted(predictor, task), task.y_target
        scores = (predictive.cdf(y), predictive.log_prob(y), predictive.crps(y))
        for channel, found in enumerate(parts):
            asked = task.target_mask[..., channel]
            found.append(tuple(score[..., channel][asked].numpy() for score in scores))
    return {
        name: Calibration(*(np.concatenate(column) for column in zip(*found, strict=True)))
        for name, found in zip(source.values, parts, strict=True)
    }


def _predicted(predictor: Predictor, task: Task) -> Predictive:
    """Predict in the user's units; those of images are the model's."""
    if isinstance(task, ImageTask):
        return predictor.model(task)
    return InUserUnits(predictor.model, predictor.experiment.source())(task)


def draw_calibration(found: dict[str, Calibration]) -> bytes:
    """Draw how often values fall below each predicted quantile, beside how often they should."""
    figure = new_figure(1, len(found), width=3.6, height=3.9)
    for axes, (name, calibration) in zip(figure.axes, found.items(), strict=True):
        share = [float(np.mean(calibration.below <= level)) for level in _CURVE]
        axes.plot([0, 1], [0, 1], color="#999999", linewidth=0.8, linestyle="--")
        axes.plot(_CURVE, share, color=BLUE, linewidth=1.5)
        axes.set_xlabel("predicted probability")
        axes.set_ylabel("share of values below")
        axes.set_title(f"{name}: {calibration.verdict.split(':')[0]}", fontsize="small")
        axes.set_aspect("equal")
    return as_png(figure)


def table_of(found: dict[str, Calibration]) -> tuple[Sequence[str], list[list[str]]]:
    """Return the scores as a heading and rows, for people."""
    heading = ["", "Values", "Log-likelihood", "CRPS", *(f"{level:.0%}" for level in LEVELS)]
    rows = [
        [
            name,
            f"{s['values']:,}",
            f"{s['log_likelihood']:.3f}",
            f"{s['crps']:.4g}",
            *(f"{s[f'coverage{round(100 * level)}']:.1%}" for level in LEVELS),
        ]
        for name, s in ((name, calibration.summary) for name, calibration in found.items())
    ]
    return heading, rows
