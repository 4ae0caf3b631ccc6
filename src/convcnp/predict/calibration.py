"""How far to trust a model: its predictions of a user's held-out values, beside these values."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from convcnp.core.bounds import ANYWHERE, Bounds, Limits
from convcnp.core.predictive import Predictive, coverage_key
from convcnp.data.images.files import holds_images
from convcnp.data.images.folder import ImageFolder, read_images
from convcnp.data.images.source import PixelSource
from convcnp.data.source import seeded
from convcnp.data.table import TableSource
from convcnp.errors import ConvCNPWarning, SettingError, ShapeError
from convcnp.frames.assembled import has_time
from convcnp.frames.columns import Columns, choose_columns, with_channels
from convcnp.frames.error_columns import described
from convcnp.frames.reading import TableFile, read_table
from convcnp.frames.series import Rows
from convcnp.predict.baselines import LINE, SEASON
from convcnp.predict.batches import Progress
from convcnp.predict.hidden import CHUNK, Hiding
from convcnp.predict.known_errors import told_errors
from convcnp.predict.predictor import Predictor
from convcnp.training.evaluation import TEST_SEEDS
from convcnp.training.own.images import refuse_columns
from convcnp.training.own.table import typical_gaps

LEVELS = (0.5, 0.8, 0.9, 0.95)
_CLOSE = 0.03  # a coverage that is off by less is called right
_ALIKE = 0.05  # errors that differ by less are called alike


@dataclass(frozen=True)
class Calibration:
    """Held-out values of one channel, each with what was predicted for it."""

    below: np.ndarray  # the predicted probability of a smaller value
    log_prob: np.ndarray
    crps: np.ndarray
    error: np.ndarray  # of the mean, without sign
    others: Mapping[str, np.ndarray] = field(default_factory=dict)  # errors without a model

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
            "error": float(self.error.mean()),
            **{f"error of {name}": error for name, error in self._beside()[1].items()},
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

    @property
    def skill(self) -> str:
        """Say in words what the model is worth, beside what anybody could do without one."""
        own, errors = self._beside()
        if not errors:
            return f"its median is off by {own:.3g} on average"
        beside = " and ".join(f"{name} by {error:.3g}" for name, error in errors.items())
        said = f"its median is off by {own:.3g} on average, {beside}"
        name, best = min(errors.items(), key=lambda item: item[1])
        if own > (1 + _ALIKE) * best:
            return f"{said}: it is worse than {name}, so better not use it here"
        how = f"about as good as {name}" if own > (1 - _ALIKE) * best else f"better than {name}"
        return f"{said}: it is {how}"

    def _beside(self) -> tuple[float, dict[str, float]]:
        """Return the mean errors of the model and of others, where these say something."""
        known = np.ones(len(self.error), dtype=bool)
        for error in self.others.values():
            known &= ~np.isnan(error)
        others = {name: float(error[known].mean()) for name, error in self.others.items()}
        return float(self.error[known].mean()), others if known.any() else {}


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
    limits: Limits = ANYWHERE  # between which all values lie

    @classmethod
    def of(
        cls,
        predictor: Predictor,
        data: Path,
        columns: Columns | None = None,
        limits: Limits = ANYWHERE,
    ) -> Check:
        """Read a table, or a folder or zip file of images; it must be of the model's kind."""
        named = columns or Columns()
        if holds_images(data):
            refuse_columns(named)
            if limits.are_given:
                raise SettingError(
                    f"Pixels lie between 0 and 1 already, got the bounds {limits.lower:g} and "
                    f"{limits.upper:g} for images; leave them out."
                )
            return cls(predictor, held_out_images(predictor, data))
        predictor.check_takes_tables()
        source = held_out_source(predictor, read_table(data), named)
        trained = predictor.source
        if isinstance(trained, TableSource) and source.part != "test":
            _warn_if_changed(data, trained.path)
        Bounds.of(torch.from_numpy(source.rows.y), limits)  # hidden values lie between them as well
        return cls(predictor, source, limits)

    def description(self, tasks: int) -> str:
        """Say what is checked, on how much of the data."""
        part = "what training never saw of its data" if self.source.part == "test" else "all of it"
        errors = (
            ""
            if isinstance(self.source, ImageFolder)
            else described(self.source.values, self.source.errors)
        )
        return (
            f"Checking {self.predictor.name!r} on {tasks} tasks drawn from {part}, with values "
            f"hidden{errors}."
        )

    def calibrations(
        self,
        tasks: int = 200,
        seed: int = 0,
        progress: Progress = lambda done, total: None,
    ) -> dict[str, Calibration]:
        """Hide values of fixed tasks, predict them, and compare, channel by channel."""
        return calibrations(self.predictor, self.source, tasks, seed, progress, self.limits)

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
            f"{predictor.name!r} is no model of images, but {path} is a folder or zip file, as of "
            "images; give it a table, or choose a model that was trained on images."
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
            bare = replace(trained.columns, errors=())
            found = told_errors(frame, bare, named, predictor.trained)
            known = replace(trained, errors=found.errors)
            rows = Rows.of(with_channels(frame, known), known)
            is_trained_on = table.digest == trained.digest
            return replace(known, part="test" if is_trained_on else "all", read=rows)
    columns = choose_columns(frame, named)
    columns = told_errors(frame, columns, named, predictor.trained)
    rows = Rows.of(frame, columns)
    source = TableSource(**columns.given, part="all", read=rows)
    source = replace(source, gap=tuple(typical_gaps(source.own)))
    if source.inputs and predictor.model.in_plane(None) is not None:
        raise ShapeError(
            f"{predictor.name!r} predicts points in the plane, but is checked on series alone, got "
            f"the inputs {columns.over}; train a model with these inputs to check it, or see "
            "docs/real-points.md for how good this one is."
        )
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
    predictor: Predictor,
    source: TableSource | ImageFolder,
    tasks: int = 200,
    seed: int = 0,
    progress: Progress = lambda done, total: None,
    limits: Limits = ANYWHERE,
) -> dict[str, Calibration]:
    """Predict the hidden values of fixed tasks; a model of one channel takes one at a time."""
    if isinstance(source, ImageFolder):
        return _of_images(predictor, source, tasks, seed, progress)
    if predictor.model.dim_y == source.dim_y:
        return _of_table(predictor, source, limits, tasks, seed, progress)
    found: dict[str, Calibration] = {}
    for i, name in enumerate(source.values):
        single = source.rows.channel(i)
        alone = replace(source, values=(name,), channel=None, value=None, read=single)
        found |= _of_table(predictor, alone, limits, tasks, seed, progress)
    return found


def _of_table(
    predictor: Predictor,
    source: TableSource,
    limits: Limits,
    tasks: int,
    seed: int,
    progress: Progress,
) -> dict[str, Calibration]:
    hiding = Hiding(source)
    parts: list[list[Calibration]] = [[] for _ in source.values]
    for done, hidden in enumerate(hiding.tasks(tasks, seed)):
        predictions, guesses = hidden.predicted(predictor, limits), hiding.guesses(hidden)
        # Without any observation there are no units to answer in.
        is_known = predictions.is_answered[None, :, None] & ~torch.from_numpy(hidden.truth).isnan()
        for channel, found in enumerate(parts):
            asked = is_known[..., channel]
            others = {name: guess[asked[0].numpy(), channel] for name, guess in guesses.items()}
            y = torch.from_numpy(hidden.truth)[None]
            found.append(_scored(predictions.predictive, y, asked, channel, others))
        progress(min((done + 1) * CHUNK, tasks), tasks)
    return {name: _joined(found) for name, found in zip(source.values, parts, strict=True)}


def _of_images(
    predictor: Predictor, source: ImageFolder, tasks: int, seed: int, progress: Progress
) -> dict[str, Calibration]:
    parts: list[list[Calibration]] = [[] for _ in source.values]
    for start in range(0, tasks, CHUNK):
        task = source.draw(min(CHUNK, tasks - start), seeded(TEST_SEEDS[seed], start))
        assert task.y_target is not None
        predictive = predictor.model(task)
        for channel, found in enumerate(parts):
            asked = task.target_mask[..., channel]
            found.append(_scored(predictive, task.y_target, asked, channel, {}))
        progress(min(start + CHUNK, tasks), tasks)
    return {name: _joined(found) for name, found in zip(source.values, parts, strict=True)}


def _scored(
    predictive: Predictive,
    y: Float[Tensor, "B M Dy"],
    asked: Bool[Tensor, "B M"],
    channel: int,
    guesses: dict[str, np.ndarray],
) -> Calibration:
    """Score the asked values of one channel."""
    # Of all numbers the median errs least on average; long tails draw a mean away.
    median = predictive.quantile(0.5)
    values = torch.where(asked[..., None] & ~y.isnan(), y, median.to(y))
    error = (median - values).abs()
    truth = y[..., channel][asked].numpy()

    def chosen(scores: Tensor) -> np.ndarray:
        return scores[..., channel][asked].numpy()

    return Calibration(
        below=chosen(predictive.cdf(values)),
        log_prob=chosen(predictive.log_prob(values)),
        crps=chosen(predictive.crps(values)),
        error=chosen(error),
        others={name: np.abs(guess - truth) for name, guess in guesses.items()},
    )


def _joined(parts: list[Calibration]) -> Calibration:
    """Put scores together; where a series has no season, a line stands in for it."""

    def joined(pick: Callable[[Calibration], np.ndarray]) -> np.ndarray:
        return np.concatenate([pick(part) for part in parts])

    others = {
        name: np.concatenate([part.others[name] for part in parts]) for name in parts[0].others
    }
    others = {name: error for name, error in others.items() if not np.isnan(error).all()}
    if SEASON in others:
        others[SEASON] = np.where(np.isnan(others[SEASON]), others[LINE], others[SEASON])
    return Calibration(
        below=joined(lambda part: part.below),
        log_prob=joined(lambda part: part.log_prob),
        crps=joined(lambda part: part.crps),
        error=joined(lambda part: part.error),
        others=others,
    )
