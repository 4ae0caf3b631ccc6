"""Which inputs are asked for: given ones, even ones, or the gaps themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from convcnp.errors import SettingError, TableError
from convcnp.frames.containers import open_container
from convcnp.frames.reading import read_table
from convcnp.frames.series import Ragged, SeriesTable
from convcnp.storage import is_file

EVEN = 200  # times, where nothing else was asked for
_WIDE = 1.5  # typical gaps: what is wider has a time missing
_MOST_IN_A_GAP = 500  # times, or as many as the series has rows
MOST = 10**8  # times in all
_MONTH = 27 * 86400  # seconds: rows at least this far apart may follow the calendar


@dataclass(frozen=True)
class Targets:
    """Inputs asked of every series, and what they are, in words."""

    inputs: Ragged  # as many series as the table has; any of them may be empty
    meaning: str
    order: np.ndarray | None = None  # the row of the user's table that each stands in

    def in_order(self, answer: pd.DataFrame) -> pd.DataFrame:
        """Put answers into the order in which they were asked for."""
        if self.order is None:
            return answer
        return answer.iloc[np.argsort(self.order, kind="stable")].reset_index(drop=True)

    def rows(self, i: int | np.integer) -> np.ndarray:
        """Return the rows of the ordered answer that a series has, given by its number."""
        rows = np.arange(len(self.inputs.x)) if self.order is None else self.order
        return rows[self.inputs.rows(i)]


@dataclass(frozen=True)
class TargetText:
    """Where to predict, as it is written on a command line.

    Args:
        text: "gaps", a number, START:STOP:STEP, or the path of a table.
    """

    text: str

    def times(self, table: SeriesTable) -> Any:  # noqa: ANN401 - what `series_targets` takes
        """Read what is asked of series."""
        at = self.text
        if at == "gaps":
            return at
        if at.isdecimal():
            return int(at)
        if at == "-" or is_file(at):
            return read_table(at).frame
        try:
            start, stop, step = at.split("..") if ".." in at else at.split(":")
            return _even_steps(table, start.strip(), stop.strip(), step.strip())
        except (ValueError, OverflowError, TableError) as error:
            raise TableError(
                "--at must be gaps, a number of times, START:STOP:STEP (START..STOP..STEP for "
                "clock times; steps of dates have a unit, such as 6h or 1D) or a file that exists, "
                f"got {at!r}; check it."
            ) from error

    def points(self) -> Any:  # noqa: ANN401 - what `point_targets` takes
        """Read what is asked of points in the plane."""
        if self.text == "gaps":
            return self.text
        return int(self.text) if self.text.isdecimal() else read_table(self.text).frame


def _even_steps(table: SeriesTable, start: str, stop: str, step: str) -> pd.Index:
    axis = table.axis
    if axis.dtype.kind in "mM":
        if step.replace(".", "").isdecimal():
            raise ValueError(step)  # pandas would count nanoseconds
        width = pd.Timedelta(step) / pd.Timedelta(seconds=1)
    else:
        width = float(step)
    first, last = axis.numbers(pd.Series([start, stop], name=table.time))
    count = (last - first) / width + 1e-9
    if not 0 <= count < MOST:
        raise ValueError(step)
    return axis.times(first + width * np.arange(int(count) + 1))


def series_targets(table: SeriesTable, at: Any = None) -> Targets:  # noqa: ANN401 - told apart here
    """Find the times to predict at.

    Args:
        at: A table with the time column, and the group column if there is one; times, the same
            for every series; a number of evenly spaced times; "gaps"; or nothing, which is the
            gaps, and evenly spaced times where there are none.
    """
    if isinstance(at, TargetText):
        at = at.times(table)
    if isinstance(at, pd.DataFrame) or hasattr(at, "data_vars"):
        times, order = table.asked_in(open_container(at).frame)
        return Targets(times, "the times of the given table", order)
    if at is None or (isinstance(at, str) and at == "gaps"):
        gaps = _gaps(table)
        if len(gaps.x):
            return Targets(gaps, "the times whose values are missing")
        if at is not None:
            raise TableError(
                "Expected gaps to fill, but no value is missing and no gap is wider than usual; "
                "ask for a number of times, or for times of your own."
            )
        return Targets(_even(table.series, EVEN), f"{EVEN} evenly spaced times, as there is no gap")
    if isinstance(at, int | np.integer) and not isinstance(at, bool):
        if not 1 <= at <= MOST / len(table.series):
            raise SettingError(
                f"The number of times must be at least 1, and at most {MOST:,} over all series, "
                f"got {at:,} for each of {len(table.series):,}; ask for another number."
            )
        return Targets(_even(table.series, int(at)), f"{at} evenly spaced times")
    return _same_for_all(table, at)


def _same_for_all(table: SeriesTable, at: Any) -> Targets:  # noqa: ANN401
    if np.ndim(at) > 1:
        raise TableError(
            f"Expected times in one dimension to predict at, got shape {np.shape(at)}; flatten it."
        )
    given = pd.Series(at, name=table.time).reset_index(drop=True)
    if given.empty:
        raise TableError("Expected at least one time to predict at, got none; give some.")
    x = table.axis.numbers(given)
    if np.isnan(x).any():
        raise TableError("Expected times to predict at, but some are missing; remove them.")
    count = len(table.series)
    if len(x) * count > MOST:
        raise SettingError(
            f"Expected at most {MOST:,} times over all series, got {len(x):,} for each of "
            f"{count:,}; ask for fewer."
        )
    return Targets(Ragged(np.tile(x, count), len(x) * np.arange(count + 1)), "the given times")


def _even(series: Ragged, count: int) -> Ragged:
    """Space times evenly from each series' first to its last; a single time stays one."""
    first, last = series.x[series.starts[:-1]], series.x[series.starts[1:] - 1]
    many = np.where(last > first, count, 1)
    starts = np.concatenate([[0], np.cumsum(many)])
    owners = np.repeat(np.arange(len(series)), many)
    step = np.arange(starts[-1]) - starts[owners]
    width = (last - first) / max(count - 1, 1)
    return Ragged(first[owners] + step * width[owners], starts)


def _gaps(table: SeriesTable) -> Ragged:
    """Return the times of rows with a missing value, and times missing between rows."""
    series, is_missing = table.series, np.isnan(table.y)
    # A column that a series never has is not a gap in it.
    is_known = pd.DataFrame(~is_missing).groupby(series.owners).transform("any").to_numpy()
    missing = (is_missing & is_known).any(1)
    inner_x, inner_owner = _missing_rows(series)
    x = np.concatenate([series.x[missing], _on_calendar(inner_x, table)])
    owner = np.concatenate([series.owners[missing], inner_owner])
    order = np.lexsort((x, owner))
    x, owner = x[order], owner[order]
    is_new = np.ones(len(x), dtype=bool)
    is_new[1:] = (np.diff(x) != 0) | (np.diff(owner) != 0)
    x, owner = x[is_new], owner[is_new]
    return Ragged(x, np.searchsorted(owner, np.arange(len(series) + 1)))


def _missing_rows(series: Ragged) -> tuple[np.ndarray, np.ndarray]:
    """Continue the usual spacing of rows through gaps wider than it."""
    step = np.diff(series.x)
    owner = series.owners
    within = (owner[1:] == owner[:-1]) & (step > 0)
    left, step, owner = series.x[:-1][within], step[within], owner[:-1][within]
    usual = pd.Series(step).groupby(owner).transform("median").to_numpy()
    # Three rows show one spacing, but not that it is usual.
    enough = series.lengths[owner] > 3
    inside = np.where(enough & (step > _WIDE * usual), np.round(step / usual) - 1, 0)
    most = np.maximum(_MOST_IN_A_GAP, series.lengths[owner])
    inside = np.clip(inside, 0, most).astype(np.int64)
    which = np.repeat(np.arange(len(inside)), inside)
    offset = np.arange(len(which)) - np.repeat(np.cumsum(inside) - inside, inside) + 1
    return left[which] + step[which] * offset / (inside[which] + 1), owner[which]


def _on_calendar(x: np.ndarray, table: SeriesTable) -> np.ndarray:
    """Move missing dates to the day of the month that all rows have, as months differ."""
    rows = table.series.x
    steps = np.diff(np.unique(rows))
    if table.axis.dtype.kind != "M" or len(x) == 0 or np.median(steps) < _MONTH:
        return x
    dates, missing = (table.axis.times(times).tz_localize(None) for times in (rows, x))
    half = pd.Timedelta(days=15)
    for day in (dates - dates.to_period("M").start_time, dates - _next_month(dates)):
        if (day == day[0]).all():
            month = _next_month(missing - day[0] - half)
            return table.axis.numbers(pd.Series(month + day[0], name=table.time))
    return x


def _next_month(dates: pd.DatetimeIndex) -> pd.DatetimeIndex:
    return (dates.to_period("M") + 1).start_time
