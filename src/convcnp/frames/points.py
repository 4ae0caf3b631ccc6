"""A user's table of points in the plane, and which points are asked for."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from convcnp.errors import SettingError, TableError
from convcnp.frames.assembled import has_time
from convcnp.frames.columns import Columns, with_channels
from convcnp.frames.kinds import numbers
from convcnp.frames.series import Ragged, SeriesTable
from convcnp.frames.targets import MOST, Targets, TargetText

_LONGITUDE = re.compile(r"(lon|long|lng|longitude)([ _.(\[].*)?")
_LATITUDE = re.compile(r"(lat|latitude)([ _.(\[].*)?")
SIDE = 50  # points along each side of a map, where nothing else was asked for


@dataclass(frozen=True)
class PointsTable:
    """A user's table of points, set after set; its members are those of a `SeriesTable`."""

    columns: Columns
    labels: pd.Index | None  # of the sets, if there is a group column
    series: Ragged  # the points (R, 2) of every set
    y: np.ndarray  # (R, values), NaN where nothing was observed
    table: SeriesTable  # over the first input

    @classmethod
    def of(cls, frame: pd.DataFrame, columns: Columns) -> PointsTable:
        """Read the columns that a model was trained on."""
        for name in (*columns.inputs, columns.group):
            _check_column(frame, name)
        table = SeriesTable.of(with_channels(frame, columns), columns.as_series)
        error = None if table.series.error is None else table.series.error[:, 1:]
        x = np.stack([table.series.x, table.y[:, 0]], 1)
        points = Ragged(x, table.series.starts, error=error)
        return cls(
            columns=columns, labels=table.labels, series=points, y=table.y[:, 1:], table=table
        )

    @cached_property
    def longitude(self) -> int | None:
        """Which input is a longitude in degrees, the other being a latitude; none if neither is.

        Their names say so, and their values must not speak against it.
        """
        names = [name.strip().lower() for name in self.columns.inputs]
        for i in (0, 1):
            if _LONGITUDE.fullmatch(names[i]) and _LATITUDE.fullmatch(names[1 - i]):
                x = self.series.x[~np.isnan(self.series.x).any(1)]
                east, north = x[:, i], x[:, 1 - i]
                fits = (np.abs(north) <= 90) & (east >= -180) & (east <= 360)
                return i if fits.all() else None
        return None

    @cached_property
    def extent(self) -> tuple[np.ndarray, np.ndarray]:
        """The corners of the smallest map of all points; it may reach across the date line."""
        x = self.around(self.series.x)
        return np.nanmin(x, 0), np.nanmax(x, 0)

    def around(self, x: np.ndarray) -> np.ndarray:
        """Return points with longitudes as they follow each other on the map.

        Points on either side of the date line, such as 179 and -179, are 179 and 181.
        """
        if self.longitude is None:
            return x
        east = np.sort(self.series.x[:, self.longitude])
        east = east[~np.isnan(east)]
        wrapped = np.sort(east % 360)
        gaps = np.diff(wrapped, append=wrapped[:1] + 360)
        if not len(east) or 360 - gaps.max() >= np.ptp(east):
            return x
        first = wrapped[(int(gaps.argmax()) + 1) % len(wrapped)]
        start = first - 360 if first > 180 else first
        found = x.copy()
        found[:, self.longitude] = start + (x[:, self.longitude] - start) % 360
        return found

    def observed(self, channels: list[int]) -> tuple[Ragged, np.ndarray]:
        """Keep the points at which one of these channels was observed, and their values."""
        y = self.y[:, channels]
        kept = ~np.isnan(y).all(1) & ~np.isnan(self.series.x).any(1)
        starts, error = self.series.starts_among(kept), self.series.error
        error = None if error is None else error[kept][:, channels]
        return Ragged(self.series.x[kept], starts, error=error), y[kept]

    def frame(self, asked: Ragged) -> pd.DataFrame:
        """Return the table that answers begin with: sets, if there are several, and inputs."""
        over_first = self.table.frame(Ragged(asked.x[:, 0], asked.starts))
        return over_first.assign(**{self.columns.inputs[1]: asked.x[:, 1]})


def _check_column(frame: pd.DataFrame, name: str | None) -> None:
    if name is not None and not has_time(frame, name):
        raise TableError(
            f"Expected the column {name!r}, on which the model was trained, but the table has "
            f"{', '.join(repr(str(column)) for column in frame.columns)}; rename it."
        )


def point_targets(table: PointsTable, at: Any = None) -> Targets:  # noqa: ANN401 - told apart here
    """Find the points to predict at.

    Args:
        at: A table with the input columns, and the group column if there is one; points of shape
            (M, 2), the same for every set; a number of points along each side of a map; "gaps",
            the rows whose value is missing; or nothing, which is the gaps, and a map where there
            are none.
    """
    if isinstance(at, TargetText):
        at = at.points()
    if isinstance(at, int | np.integer) and not isinstance(at, bool):
        return map_targets(table, int(at))
    if at is None or (isinstance(at, str) and at == "gaps"):
        missing = np.isnan(table.y).any(1) & ~np.isnan(table.series.x).any(1)
        if missing.any():
            gaps = Ragged(table.series.x[missing], table.series.starts_among(missing))
            return Targets(gaps, "the rows whose value is missing")
        if at is not None:
            raise TableError(
                "Expected rows with a missing value, but there is none; ask for points of your "
                "own, or for a number along each side of a map."
            )
        return map_targets(table, SIDE)
    return _in_table(table, at) if isinstance(at, pd.DataFrame) else _same_for_all(table, at)


def _in_table(table: PointsTable, at: pd.DataFrame) -> Targets:
    for name in table.columns.inputs:
        _check_column(at, name)
    first, order = table.table.asked_in(at)
    second = numbers(at, table.columns.inputs[1])[order]
    if np.isnan(second).any():
        raise TableError(
            f"Expected both inputs in every row asked for, but {table.columns.inputs[1]!r} is "
            "missing in some; fill or remove them."
        )
    points = Ragged(np.stack([first.x, second], 1), first.starts)
    return Targets(points, "the points of the given table", order)


def _same_for_all(table: PointsTable, at: Any) -> Targets:  # noqa: ANN401
    try:
        points = np.asarray(at, dtype=np.float64)
    except (TypeError, ValueError):
        points = np.empty(0)
    if points.ndim != 2 or points.shape[1] != 2 or not len(points):
        raise TableError(
            f"Expected points of shape (M, 2) to predict at, got {points.shape}; give a table "
            f"with the columns {table.columns.over}."
        )
    return _for_each(table, range(len(table.series)), points, "the given points")


def map_targets(table: PointsTable, side: int, sets: Sequence[int] | None = None) -> Targets:
    """Ask for the points of a map: of these sets, given by their numbers, or of all."""
    sets = range(len(table.series)) if sets is None else sets
    if not 2 <= side <= math.isqrt(MOST // max(len(sets), 1)):
        raise SettingError(
            "A map has at least 2 points along each side, and all maps together at most "
            f"{MOST:,} points, got {side:,} along each side of {len(sets):,} map(s); ask for "
            "another number."
        )
    axes = [np.linspace(low, high, side) for low, high in zip(*table.extent, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 2)
    return _for_each(table, sets, points, f"a map of {side} by {side} points")


def _for_each(table: PointsTable, sets: Sequence[int], points: np.ndarray, meaning: str) -> Targets:
    """Ask for the same points of these sets."""
    counts = np.zeros(len(table.series), dtype=np.int64)
    counts[list(sets)] = len(points)
    starts = np.concatenate([[0], np.cumsum(counts)])
    return Targets(Ragged(np.tile(points, (len(sets), 1)), starts), meaning)
