"""Points in the plane: a user's table of them, where to predict, and predictions there."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch

from convcnp.core.predictive import Predictive
from convcnp.core.task import Task
from convcnp.data.source import NamedSource
from convcnp.data.table import Layout, with_channels
from convcnp.errors import SettingError, TableError
from convcnp.frames.kinds import numbers
from convcnp.frames.series import SeriesTable
from convcnp.frames.targets import MOST
from convcnp.models.base import Model
from convcnp.models.tiling import raw_in_passes
from convcnp.predict.user_units import as_seen

SIDE = 50  # points along each side of a map, where nothing else was asked for
_CELLS = 2**18  # of a grid; a larger one is cut into tiles

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class AskedPoints:
    """Points asked for, set after set."""

    x: np.ndarray  # (M, 2)
    owners: np.ndarray  # (M,), the set that each belongs to
    order: np.ndarray  # the row of the user's table, or of a map, that each stands in
    meaning: str


@dataclass(frozen=True)
class PointsTable:
    """A user's table of points, set after set."""

    layout: Layout
    labels: pd.Index | None  # of the sets, if there is a group column
    x: np.ndarray  # (R, 2)
    y: np.ndarray  # (R, values), NaN where nothing was observed
    starts: np.ndarray
    table: SeriesTable  # over the first input

    @classmethod
    def of(cls, frame: pd.DataFrame, layout: Layout) -> PointsTable:
        """Read the columns that a model was trained on."""
        for name in layout.inputs:
            _check_column(frame, name)
        if layout.group is not None:
            _check_column(frame, layout.group)
        table = SeriesTable.of(with_channels(frame, layout), layout.columns)
        x = np.stack([table.series.x, table.y[:, 0]], 1)
        return cls(layout, table.labels, x, table.y[:, 1:], table.series.starts, table)

    @property
    def num_sets(self) -> int:
        """Number of sets of points."""
        return len(self.starts) - 1

    def asked(self, at: Any = None) -> AskedPoints:  # noqa: ANN401 - told apart here
        """Find the points to predict at.

        Args:
            at: A table with the input columns, and the group column if there is one; points of
                shape (M, 2), the same for every set; a number of points along each side of a map;
                "gaps", the rows whose value is missing; or nothing, which is the gaps, and a map
                where there are none.
        """
        if isinstance(at, int | np.integer) and not isinstance(at, bool):
            return self.map(int(at))
        if at is None or (isinstance(at, str) and at == "gaps"):
            missing = np.isnan(self.y).any(1) & ~np.isnan(self.x).any(1)
            if missing.any():
                rows = np.flatnonzero(missing)
                owners = np.searchsorted(self.starts, rows, side="right") - 1
                return AskedPoints(
                    self.x[rows], owners, np.arange(len(rows)), "the rows whose value is missing"
                )
            if at is not None:
                raise TableError(
                    "Expected rows with a missing value, but there is none; ask for points of your "
                    "own, or for a number along each side of a map."
                )
            return self.map(SIDE)
        if not isinstance(at, pd.DataFrame):
            return self._same_for_all(at)
        for name in self.layout.inputs:
            _check_column(at, name)
        first, order = self.table.asked_in(at)
        second = numbers(at, self.layout.inputs[1])[order]
        if np.isnan(second).any():
            raise TableError(
                f"Expected both inputs in every row asked for, but {self.layout.inputs[1]!r} is "
                "missing in some; fill or remove them."
            )
        x = np.stack([first.x, second], 1)
        return AskedPoints(x, first.owners, order, "the points of the given table")

    def _same_for_all(self, at: Any) -> AskedPoints:  # noqa: ANN401
        try:
            points = np.asarray(at, dtype=np.float64)
        except (TypeError, ValueError):
            points = np.empty(0)
        if points.ndim != 2 or points.shape[1] != 2 or not len(points):
            raise TableError(
                f"Expected points of shape (M, 2) to predict at, got {points.shape}; give a table "
                f"with the columns {' and '.join(map(repr, self.layout.inputs))}."
            )
        return self._for_each(range(self.num_sets), points, "the given points")

    def map(self, side: int, sets: Sequence[int] | None = None) -> AskedPoints:
        """Ask for the points of a map: of these sets, given by their numbers, or of all."""
        sets = range(self.num_sets) if sets is None else sets
        if not 2 <= side <= math.isqrt(MOST // max(len(sets), 1)):
            raise SettingError(
                "A map has at least 2 points along each side, and all maps together at most "
                f"{MOST:,} points, got {side:,} along each side of {len(sets):,} map(s); ask for "
                "another number."
            )
        low, high = np.nanmin(self.x, 0), np.nanmax(self.x, 0)
        axes = [np.linspace(a, b, side) for a, b in zip(low, high, strict=True)]
        points = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 2)
        return self._for_each(sets, points, f"a map of {side} by {side} points")

    def _for_each(self, sets: Sequence[int], points: np.ndarray, meaning: str) -> AskedPoints:
        owners = np.repeat(np.asarray(sets, dtype=np.int64), len(points))
        x = np.tile(points, (len(sets), 1))
        return AskedPoints(x, owners, np.arange(len(owners)), meaning)

    def frame(self, asked: AskedPoints) -> pd.DataFrame:
        """Return the table that answers begin with: sets, if there are several, and inputs."""
        content: dict[str, Any] = {}
        if self.labels is not None and self.layout.group is not None:
            content[self.layout.group] = self.labels[asked.owners]
        first, second = self.layout.inputs
        content[first] = self.table.axis.times(asked.x[:, 0])
        content[second] = asked.x[:, 1]
        return pd.DataFrame(content)


def _check_column(frame: pd.DataFrame, name: str) -> None:
    if name not in frame.columns:
        raise TableError(
            f"Expected the column {name!r}, on which the model was trained, but the table has "
            f"{', '.join(repr(str(column)) for column in frame.columns)}; rename it."
        )


@torch.no_grad()
def predict_points(
    model: Model,
    source: NamedSource,
    table: PointsTable,
    asked: AskedPoints,
    progress: Progress = lambda done, total: None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return means and standard deviations (M, Dy) at the asked points, set by set."""
    mean, stddev = (np.full((len(asked.x), table.y.shape[1]), np.nan) for _ in range(2))
    done = 0
    for i in np.unique(asked.owners):
        rows = slice(table.starts[i], table.starts[i + 1])
        there = ~np.isnan(table.x[rows]).any(1)
        wanted = np.flatnonzero(asked.owners == i)
        task = Task.from_arrays(table.x[rows][there], table.y[rows][there], asked.x[wanted])
        seen, units = as_seen(task, source)
        restored = units.to_user(task.x_target, _predict(model, seen))
        mean[wanted], stddev[wanted] = restored.mean[0].numpy(), restored.stddev[0].numpy()
        done += len(wanted)
        progress(done, len(asked.x))
    return mean, stddev


def _predict(model: Model, task: Task) -> Predictive:
    raw = raw_in_passes(model, task, cells_per_pass=_CELLS)
    return model.to_predictive(raw, task.target_mask)
