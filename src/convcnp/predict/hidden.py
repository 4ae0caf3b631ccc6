"""Values of a table hidden and predicted again, on the road that every prediction takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from convcnp.core.bounds import ANYWHERE, Limits
from convcnp.data.source import seeded
from convcnp.data.table import TableSource
from convcnp.frames.series import Ragged
from convcnp.predict.baselines import LINE, NEAREST, SEASON, nearest_value, repeated, season_of
from convcnp.predict.batches import Predictions, predict_many
from convcnp.predict.job import Job
from convcnp.predict.predictor import Predictor
from convcnp.training.evaluation import TEST_SEEDS

CHUNK = 25  # tasks at once
_MOST_ROWS = 4096  # of a series that a task sees around what is hidden, or four windows


@dataclass(frozen=True)
class Hidden:
    """Series with hidden values: what is left of each, and what is asked for.

    Args:
        series: The rows that are left, (R, Dx) or (R,), with their errors where they are known.
        y: Their outputs (R, Dy), NaN where nothing was observed or a value is hidden.
        asked: The inputs of rows with a hidden value, with the errors of these.
        truth: Their outputs (M, Dy), NaN where none is hidden.
        owners: The series of the table, by number.
    """

    series: Ragged
    y: np.ndarray
    asked: Ragged
    truth: np.ndarray
    owners: Sequence[int]

    def predicted(self, predictor: Predictor, limits: Limits = ANYWHERE) -> Predictions:
        """Predict what is hidden, as `Predictor.predict` would."""
        job = Job([*range(self.y.shape[1])], (), self.series, self.y)
        job = job.within(limits, weighs_logarithms=predictor.model.weighs_logarithms)
        asked = self.asked
        if limits.are_given and asked.error is not None:  # theirs are not as the model sees them
            asked = job.asked(replace(asked, error=None), is_of_measurements=True)
        found = predict_many(predictor.model, predictor.source, job.series, job.y, asked)
        return replace(found, bounds=job.bounds)


@dataclass(frozen=True)
class Hiding:
    """Draws what is hidden: of the part of a table that a model may be judged by.

    Everything else of a series is left, as it is when a user has gaps to fill.
    """

    source: TableSource
    seasons: dict[tuple[int, int], float | None] = field(default_factory=dict, repr=False)

    def tasks(self, count: int, seed: int) -> Iterator[Hidden]:
        """Yield tasks, some at a time; equal seeds, equal tasks."""
        for start in range(0, count, CHUNK):
            yield self._hidden(min(CHUNK, count - start), seeded(TEST_SEEDS[seed], start))

    def _hidden(self, count: int, generator: torch.Generator) -> Hidden:
        index, known, observed = self.source.draw_windows(count, generator)
        places = self.source.places[index]  # of the windows' rows among all
        owners = self.source.rows.owners[places[:, 0]]
        contexts, targets = [], []
        for i, is_hidden in enumerate((known & ~observed).numpy()):
            near, y, truth = self._without(int(owners[i]), places[i], is_hidden)
            left, wanted = ~np.isnan(y).all(1), ~np.isnan(truth).all(1)
            contexts.append((near[left], y[left]))
            targets.append((near[wanted], truth[wanted]))
        parts = *self._ragged(contexts), *self._ragged(targets)
        return Hidden(*parts, owners.tolist())

    def _without(
        self, series: int, places: np.ndarray, is_hidden: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return rows of a series, their outputs without what is hidden, and what is."""
        rows = self.source.rows
        near = self._near(series, places)
        y = rows.y[near].copy()
        truth = np.full_like(y, np.nan)
        row, channel = np.nonzero(is_hidden)
        there = np.searchsorted(near, places[row]), channel
        truth[there] = y[there]
        y[there] = np.nan
        return near, y, truth

    def _ragged(self, parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[Ragged, np.ndarray]:
        """Put rows of the table and their outputs one after the other, series by series."""
        index, y = (np.concatenate(column) for column in zip(*parts, strict=True))
        starts = np.concatenate([[0], np.cumsum([len(part[0]) for part in parts])])
        rows = self.source.rows
        x, error = rows.x[index], None if rows.error is None else rows.error[index]
        return Ragged(x[:, 0] if x.shape[1] == 1 else x, starts, error=error), y

    def _near(self, series: int, places: np.ndarray) -> np.ndarray:
        """Return the rows of a series around a window: all of them, unless they are too many."""
        rows = self.source.rows
        own = rows.rows(series)
        most = max(_MOST_ROWS, 4 * self.source.window)
        if own.stop - own.start <= most:
            return np.arange(own.start, own.stop)
        middle = rows.x[places].mean(0)
        away = (((rows.x[own] - middle) / np.asarray(self.source.gap)) ** 2).sum(1)
        nearest = np.argpartition(away, most - 1)[:most]
        found: np.ndarray = np.union1d(own.start + nearest, places)
        return found

    def guesses(self, hidden: Hidden) -> dict[str, np.ndarray]:
        """Return what others would say of what is hidden (M, Dy), NaN where they say nothing."""
        names = (NEAREST,) if self.source.dim_x > 1 else (LINE, SEASON)
        found = {name: np.full(hidden.truth.shape, np.nan) for name in names}
        for i, series in enumerate(hidden.owners):
            rows, wanted = hidden.series.rows(i), hidden.asked.rows(i)
            for channel in range(hidden.y.shape[1]):
                y = hidden.y[rows, channel]
                x, y = hidden.series.x[rows][~np.isnan(y)], y[~np.isnan(y)]
                if len(y):
                    for name, guess in self._guesses(series, channel, x, y, hidden.asked.x[wanted]):
                        found[name][wanted, channel] = guess
        return found

    def _guesses(
        self, series: int, channel: int, x: np.ndarray, y: np.ndarray, at: np.ndarray
    ) -> Iterator[tuple[str, np.ndarray]]:
        if self.source.dim_x > 1:
            yield NEAREST, nearest_value(x, y, at)
            return
        yield LINE, np.interp(at, x, y)
        period = self.season(series, channel)
        if period is not None and len(y) > 2:
            yield SEASON, repeated(x, y, at, period)[0]

    def season(self, series: int, channel: int) -> float | None:
        """Return the period of a channel of a series of the table, if it has one."""
        key = (series, channel)
        if key not in self.seasons:
            own = self.source.rows.rows(series)
            x, y = self.source.rows.x[own, 0], self.source.rows.y[own, channel]
            self.seasons[key] = season_of(x[~np.isnan(y)], y[~np.isnan(y)])
        return self.seasons[key]
