"""A request: a user's table, understood once, and what is asked of it."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from convcnp.core.bounds import ANYWHERE, Limits
from convcnp.core.task import Task
from convcnp.data.source import NamedSource
from convcnp.data.table import TableSource
from convcnp.errors import ConvCNPWarning, SettingError, ShapeError
from convcnp.frames.columns import Columns, choose_columns, choose_learned
from convcnp.frames.containers import Container
from convcnp.frames.error_columns import described
from convcnp.frames.names import listed
from convcnp.frames.points import PointsTable
from convcnp.frames.series import SeriesTable
from convcnp.frames.targets import Targets, series_targets
from convcnp.models.base import Model
from convcnp.predict.answers import (
    QUANTILES,
    answer_columns,
    check_names,
    check_quantiles,
    moments,
    samples_of,
)
from convcnp.predict.batches import Predictions, Progress, predict_many
from convcnp.predict.cautions import (
    SERIES,
    Words,
    beyond,
    cautions,
    outliers_said,
    restlessness_said,
    rhythms_said,
    unbridged,
    unused_season,
)
from convcnp.predict.job import Job
from convcnp.predict.known_errors import told_errors
from convcnp.predict.sampling import sample_many
from convcnp.predict.seeming_limits import beyond_limits, positive_said
from convcnp.predict.trained import Trained

MOST_CELLS = 10**8  # of an answer: each takes eight bytes, and thrice that on its way
Of = Literal["value", "measurement"]  # what predictions are of, where errors are known


@dataclass(frozen=True)
class Request(ABC):
    """A table that a model is to predict, and where: all that an answer and a picture need.

    Args:
        name: Of the model.
        source: What it was trained on.
        container: What the table came in; answers are put into the same kind.
        table: Its series, or its sets of points.
        targets: The inputs that are asked for.
        limits: Between which all values lie.
        warnings: What was warned of when it was predicted, in sentences.
        is_of_measurements: Where standard errors are known, whether predictions are of new
            measurements, with the median error of their series, or of the values behind them.

    Example:
        >>> import convcnp
        >>> request = convcnp.load("general").request(([0.0, 1, 2], [1.0, 2, 3]), at=[1.5])
        >>> request.description
        "Predicting 'value0' over 'time' with 'general', at the given times."
        >>> sorted(request.predict(quantiles=[0.5]))
        ['mean', 'q50', 'std', 'time']
    """

    words: ClassVar[Words]

    name: str
    model: Model
    source: NamedSource
    container: Container
    table: SeriesTable | PointsTable
    targets: Targets
    limits: Limits = ANYWHERE
    warnings: list[str] = field(default_factory=list, repr=False, compare=False)
    is_of_measurements: bool = False

    @classmethod
    def of(
        cls,
        trained: Trained,
        container: Container,
        at: Any,  # noqa: ANN401 - anything that `targets_of` knows
        named: Columns,
    ) -> Request:
        """Understand a table, with the columns that are named, learned or guessed."""
        (name, model, source), table = cls.understood(trained, container, named)
        return cls(name, model, source, container, table, cls.targets_of(table, at))

    @classmethod
    @abstractmethod
    def understood(
        cls, trained: Trained, container: Container, named: Columns
    ) -> tuple[Trained, Any]:
        """Return the model that answers, and the table as it sees it."""

    @staticmethod
    @abstractmethod
    def targets_of(table: Any, at: Any) -> Targets:  # noqa: ANN401
        """Find the inputs that are asked for."""

    @property
    def columns(self) -> Columns:
        """Which column of the table is what."""
        return self.table.columns

    @property
    def description(self) -> str:
        """What is predicted, from what, and where, in a sentence."""
        return (
            f"Predicting {listed(self.columns.values)} over {self.columns.over}{self._many} with "
            f"{self.name!r}, at {self.targets.meaning}{self._of_errors}."
        )

    @property
    def _of_errors(self) -> str:
        """Which columns hold errors, and what bands are of, where any are known."""
        said = described(self.columns.values, self.columns.errors)
        what = "a new measurement" if self.is_of_measurements else "the value behind measurements"
        return f"{said}: bands are of {what}" if said else ""

    def asked_of(self, what: Of | None) -> Request:
        """Ask for values behind measurements, or for new measurements."""
        if what not in (None, "value", "measurement"):
            raise SettingError(f"of must be 'value' or 'measurement', got {what!r}; choose one.")
        if what == "value" and not self.columns.errors:
            raise SettingError(
                "A value is told from its measurement by standard errors, got of='value' and none "
                "of these; name their column with error=, or leave out of=."
            )
        return replace(self, is_of_measurements=what == "measurement")

    @property
    @abstractmethod
    def _many(self) -> str:
        """How many series there are, if that is worth saying."""

    @property
    def remarks(self) -> list[str]:
        """What was seen in the table, in sentences."""
        values = zip(self.columns.values, self.table.y.T, strict=True)
        return [text for name, y in values for text in positive_said(name, y, self.limits)]

    def at(self, targets: Targets) -> Request:
        """Ask for other inputs of the same table."""
        return replace(self, targets=targets, warnings=[])

    def predict(
        self,
        *,
        quantiles: Sequence[float] = QUANTILES,
        samples: int = 0,
        seed: int = 0,
        progress: Progress = lambda done, total: None,
    ) -> Any:  # noqa: ANN401 - the container that the table came in
        """Predict mean, standard deviation and quantiles; see `Predictor.predict`."""
        check_quantiles(quantiles)
        return self._closed(self.answer(quantiles, samples=samples, seed=seed, progress=progress))

    def sample(
        self,
        samples: int = 20,
        *,
        seed: int = 0,
        progress: Progress = lambda done, total: None,
    ) -> Any:  # noqa: ANN401
        """Draw coherent curves, and nothing else."""
        return self._closed(self.answer(None, samples=samples, seed=seed, progress=progress))

    def _closed(self, answer: pd.DataFrame) -> Any:  # noqa: ANN401
        """Put an answer into its container, with what was warned of beside it."""
        closed = self.container.close(answer)
        if hasattr(closed, "attrs"):  # of pandas and xarray
            closed.attrs["warnings"] = list(self.warnings)
        return closed

    def answer(
        self,
        quantiles: Sequence[float] | None = (),
        *,
        samples: int = 0,
        seed: int = 0,
        progress: Progress = lambda done, total: None,
    ) -> pd.DataFrame:
        """Return the answer as a table, in the order in which it was asked for.

        Args:
            quantiles: Levels, beside the mean and the standard deviation; None leaves out all.
        """
        self._check_samples(samples)
        self._check_size(samples + 2 + len(quantiles or ()))
        check_names(self.columns, quantiles, samples)
        parts = [self.table.frame(self.targets.inputs)]
        for job, found in self.predictions(progress):
            self.warn(job, found)
            asked = self.targets.inputs
            kinds = {} if quantiles is None else moments(found, quantiles, job, asked)
            if samples:
                kinds |= samples_of(self._curves(job, samples, seed, progress))
            parts.append(pd.DataFrame(answer_columns(job.names, kinds)))
        return self.targets.in_order(pd.concat(parts, axis=1))

    def predictions(
        self, progress: Progress = lambda done, total: None
    ) -> Iterator[tuple[Job, Predictions]]:
        """Yield the predictions of value columns, as many together as the model takes."""
        for job in list(self.jobs()):  # all limits are checked before anything is predicted
            asked = job.asked(self.targets.inputs, self.is_of_measurements)
            found = predict_many(self.model, self.source, job.series, job.y, asked, progress)
            yield job, replace(found, bounds=job.bounds)

    def jobs(self) -> Iterator[Job]:
        """Yield what is predicted at once; values that lie outside the limits are refused."""
        values, channels = self.columns.values, self.model.dim_y
        if channels not in (1, len(values)):
            raise ShapeError(
                f"{self.name!r} was trained for {channels} value columns together, got "
                f"{len(values)} ({', '.join(map(str, values))}); choose {channels} of them, or a "
                "model of one, such as 'general'."
            )
        for start in range(0, len(values), channels):
            together = list(range(start, start + channels))
            series, y = self.table.observed(together)
            job = Job(together, tuple(values[i] for i in together), series, y)
            yield job.within(self.limits, weighs_logarithms=self.model.weighs_logarithms)

    def _check_samples(self, samples: int) -> None:
        if samples < 0:
            raise SettingError(f"The number of samples must not be negative, got {samples}.")

    def _check_size(self, kinds: int) -> None:
        """Refuse an answer that would fit into no memory, before anything is predicted."""
        rows, columns = len(self.targets.inputs.x), len(self.columns.values) * kinds
        if rows * columns > MOST_CELLS:
            raise SettingError(
                f"Expected an answer of at most {MOST_CELLS:,} cells, got {rows:,} rows of "
                f"{columns:,} columns; ask for fewer times, samples, quantiles or values at once."
            )

    def _curves(self, job: Job, samples: int, seed: int, progress: Progress) -> np.ndarray:
        """Draw curves (samples, rows, Dy): others for every seed and column."""
        curves = sample_many(
            self.model,
            self.source,
            job.series,
            job.y,
            job.asked(self.targets.inputs, self.is_of_measurements),
            samples=samples,
            key=(seed, job.channels[0]),
            progress=progress,
        )
        return job.back(curves)

    def warn(self, job: Job, found: Predictions) -> None:
        """Say where the data lies outside what the model was trained for."""
        for text in self._cautions(job, found):
            about = f"{', '.join(map(str, job.names))}: {text}"
            if about not in self.warnings:
                self.warnings.append(about)
            warnings.warn(about, ConvCNPWarning, stacklevel=5)

    def _cautions(self, job: Job, found: Predictions) -> Iterator[str]:
        familiar, reach = self.source.familiar, self.model.receptive_radius
        yield from cautions(found, job.series, familiar, reach, self.name, self.words)
        yield from beyond_limits(found, self.table.y[:, job.channels], self.limits)


@dataclass(frozen=True)
class SeriesRequest(Request):
    """What is asked of series over a time."""

    words: ClassVar[Words] = SERIES

    table: SeriesTable

    @classmethod
    def understood(
        cls, trained: Trained, container: Container, named: Columns
    ) -> tuple[Trained, SeriesTable]:
        """Choose the columns of series, and read them."""
        if named.time is None:
            named = replace(named, time=container.time)
        if named.group is None:
            named = replace(named, group=container.group)
        frame, source = container.frame, trained.source
        if isinstance(source, TableSource) and source.time is not None:
            frame, columns = choose_learned(frame, named, source.columns)
        else:
            columns = choose_columns(frame, named)
        columns = told_errors(frame, columns, named, trained)
        return trained, SeriesTable.of(frame, columns)

    @staticmethod
    def targets_of(table: SeriesTable, at: Any) -> Targets:  # noqa: ANN401
        """Find the times that are asked for; see `series_targets`."""
        return series_targets(table, at)

    @property
    def remarks(self) -> list[str]:
        """Whether values seem bounded, and what was found in a single series."""
        found = list(super().remarks)
        if len(self.table.series) == 1:
            found += [text for job in self.jobs() for text in self._findings(job)]
        return found

    def _cautions(self, job: Job, found: Predictions) -> Iterator[str]:
        yield from super()._cautions(job, found)
        yield from beyond(job.series, self.targets.inputs, self.table.axis)
        if math.isinf(self.model.receptive_radius) and len(job.series) == 1:
            asked = self.targets.inputs.x
            yield from unbridged(found, job.series.x, job.y, asked, self.table.axis)
        if isinstance(self.source, TableSource) and len(job.series) == 1:
            sees = self.model.receptive_radius * self.source.gap[0]
            yield from unused_season(job.series.x, job.y, sees, self.name, self.table.axis)

    def _findings(self, job: Job) -> Iterator[str]:
        x, y = job.series.x, job.y
        task = Task.from_arrays(x, y, x[:1], context_error=job.series.error) if len(x) else None
        found = None if task is None else self.model.findings(task)
        values = job.on_bounds(job.back(y)).T
        for name, seen, own in zip(job.names, found[0] if found else (), values, strict=False):
            known = ~np.isnan(own)
            yield rhythms_said(name, seen.rhythms, self.table.axis, int(known.sum()))
            yield from outliers_said(name, seen.outliers, x[known], own[known], self.table.axis)
            if np.ptp(own[known]) > 0:  # rounding alone makes a constant restless
                yield from restlessness_said(name, seen.restlessness, self.table.axis)

    @property
    def _many(self) -> str:
        if self.columns.group is None:
            return ""
        return f" of {len(self.table.series):,} series by {self.columns.group!r}"
