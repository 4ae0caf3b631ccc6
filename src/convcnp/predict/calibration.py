"""How far to trust a model: its predictions of a user's held-out values, beside these values."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from convcnp.core.image_task import ImageTask
from convcnp.core.predictive import Predictive, coverage_key
from convcnp.core.task import Task
from convcnp.data.images.files import holds_images
from convcnp.data.images.folder import ImageFolder, read_images
from convcnp.data.images.source import PixelSource
from convcnp.data.source import seeded
from convcnp.data.table import TableSource
from convcnp.errors import ConvCNPWarning, ShapeError
from convcnp.frames.assembled import has_time
from convcnp.frames.columns import Columns, choose_columns, with_channels
from convcnp.frames.reading import TableFile, read_table
from convcnp.frames.series import Rows
from convcnp.predict.predictor import Predictor
from convcnp.predict.user_units import InUserUnits
from convcnp.training.evaluation import TEST_SEEDS
from convcnp.training.own.images import refuse_columns
from convcnp.training.own.table import typical_gaps

LEVELS = (0.5, 0.8, 0.9, 0.95)
_CHUNK = 25  # tasks at once
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

    def below_level(self, levels: np.ndarray) -> np.ndarray:
        """Return the share of values below the predicted quantile of each level."""
        return np.array([float(np.mean(self.below <= level)) for level in levels])

    @property
    def summary(self) -> dict[str, float]:
        """The scores: log-likelihood and CRPS per value, coverages, and the number of values."""
        return {
            "log_likelihood": float(self.log_prob.mean()),
            "crps": float(self.crps.mean()),
            **{coverage_key(level): self.coverage(level) for level in LEVELS},
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


@dataclass(frozen=True)
class Check:
    """A model, and the data whose hidden values it is judged by.

    Example::

        check = Check.of(load("out/tides"), Path("tides.csv"))
        print(check.description(tasks=200))
        found = check.calibrations(tasks=200)
    """

    predictor: Predictor
    source: TableSource | ImageFolder

    @classmethod
    def of(cls, predictor: Predictor, data: Path, columns: Columns | None = None) -> Check:
        """Read a table, or a folder or zip file of images; it must be of the model's kind."""
        named = columns or Columns()
        if holds_images(data):
            refuse_columns(named)
            return cls(predictor, held_out_images(predictor, data))
        predictor.check_takes_tables()
        source = held_out_source(predictor, read_table(data), named)
        trained = predictor.source
        if isinstance(trained, TableSource) and source.part != "test":
            _warn_if_changed(data, trained.path)
        return cls(predictor, source)

    def description(self, tasks: int) -> str:
        """Say what is checked, on how much of the data."""
        part = "what training never saw of its data" if self.source.part == "test" else "all of it"
        return (
            f"Checking {self.predictor.name!r} on {tasks} tasks drawn from {part}, with values "
            "hidden."
        )

    def calibrations(self, tasks: int = 200, seed: int = 0) -> dict[str, Calibration]:
        """Hide values of fixed tasks, predict them, and compare, channel by channel."""
        return calibrations(self.predictor, self.source, tasks, seed)

    def remarks(self, found: dict[str, Calibration]) -> list[str]:
        """Say what the scores of single channels do not."""
        if not isinstance(self.source, ImageFolder):
            return []
        score = sum(one.summary["log_likelihood"] for one in found.values())
        return [f"Log-likelihood per hidden pixel, summed over its channels: {score:.3f}."]


def held_out_images(predictor: Predictor, path: Path) -> ImageFolder:
    """Return the source of images to check a model on.

    Of the images that the model was trained on, only the test part is used.
    """
    trained = predictor.source
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


def held_out_source(predictor: Predictor, table: TableFile, named: Columns) -> TableSource:
    """Return the source of tasks to check a model on.

    Of the table that the model was trained on, only the test part is used.
    """
    trained, frame = predictor.source, table.frame
    if isinstance(trained, TableSource) and named.are_learned_by(trained):
        learned = [*trained.inputs, trained.time, trained.group]
        if all(has_time(frame, name) for name in learned if name is not None):
            rows = Rows.of(with_channels(frame, trained), trained)
            is_trained_on = table.digest == trained.digest
            return replace(trained, part="test" if is_trained_on else "all", read=rows)
    columns = choose_columns(frame, named)
    rows = Rows.of(frame, columns)
    source = TableSource(**columns.given, gap=tuple(typical_gaps(rows)), part="all", read=rows)
    expected = (predictor.model.dim_x, predictor.model.dim_y)
    if source.dim_x != expected[0] or (expected[1] not in (1, source.dim_y)):
        raise ShapeError(
            f"{predictor.name!r} takes {expected[0]} input(s) and {expected[1]} channel(s), but "
            f"the table has {source.dim_x} and {source.dim_y} ({', '.join(source.values)}); name "
            "the columns with time= and value=."
        )
    return source


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
    return InUserUnits(predictor.model, predictor.source)(task)


def table_of(found: dict[str, Calibration]) -> tuple[Sequence[str], list[list[str]]]:
    """Return the scores as a heading and rows, for people."""
    heading = ["", "Values", "Log-likelihood", "CRPS", *(f"{level:.0%}" for level in LEVELS)]
    rows = [
        [
            name,
            f"{s['values']:,}",
            f"{s['log_likelihood']:.3f}",
            f"{s['crps']:.4g}",
            *(f"{s[coverage_key(level)]:.1%}" for level in LEVELS),
        ]
        for name, s in ((name, calibration.summary) for name, calibration in found.items())
    ]
    return heading, rows
