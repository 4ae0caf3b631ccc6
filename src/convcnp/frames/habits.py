"""Weekdays and hours that the rows of series keep to: on the others, nothing is missing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from convcnp.frames.series import SeriesTable

_OFTEN = 4  # days with a row, for each of the weekdays or hours that are kept to
_SLIGHTLY = pd.Timedelta(seconds=1)  # by which a time that is computed may miss its day or hour


@dataclass(frozen=True)
class Habits:
    """The weekdays (S, 7) and hours (S, 24) of every series' rows, all where it keeps to none.

    Example:
        >>> from convcnp.frames.columns import Columns
        >>> days = pd.DataFrame({"day": pd.bdate_range("2024-01-01", periods=20), "v": range(20)})
        >>> Habits.of(SeriesTable.of(days, Columns(("v",), time="day"))).weekdays[0].sum()
        np.int64(5)
    """

    table: SeriesTable
    weekdays: np.ndarray
    hours: np.ndarray

    @classmethod
    def of(cls, table: SeriesTable) -> Habits:
        """Find when the rows of every series are, where times are dates."""
        series = table.series
        weekdays = np.ones((len(series), 7), dtype=bool)
        hours = np.ones((len(series), 24), dtype=bool)
        if table.axis.dtype.kind == "M":
            clocks = _clocks(table, series.x)
            rows = pd.DataFrame({"owner": series.owners, "day": clocks.normalize()})
            weekdays &= _kept_to(rows.assign(slot=clocks.day_of_week), weekdays.shape)
            hours &= _kept_to(rows.assign(slot=clocks.hour), hours.shape)
        return cls(table, weekdays, hours)

    def are_kept(self, x: np.ndarray, owner: np.ndarray) -> np.ndarray:
        """Tell at which times, each of a series, a row would be usual."""
        if self.weekdays.all() and self.hours.all():
            return np.ones(len(x), dtype=bool)
        clocks = _clocks(self.table, x)
        kept: np.ndarray = self.weekdays[owner, clocks.day_of_week] & self.hours[owner, clocks.hour]
        return kept

    def share(self, series: int) -> float:
        """Return the share of all hours at which a series may have rows."""
        return float(self.weekdays[series].mean() * self.hours[series].mean())

    def fingerprint(self, series: int) -> bytes:
        """Return what is the same for series of the same habits."""
        return self.weekdays[series].tobytes() + self.hours[series].tobytes()


def _clocks(table: SeriesTable, x: np.ndarray) -> pd.DatetimeIndex:
    return (table.axis.times(x) + _SLIGHTLY).tz_localize(None)


def _kept_to(rows: pd.DataFrame, shape: tuple[int, int]) -> np.ndarray:
    """Tell which slots have rows, where all that have some have them on many days; else all."""
    rows = rows.drop_duplicates()
    count = np.zeros(shape, dtype=np.int64)
    np.add.at(count, (rows["owner"].to_numpy(), rows["slot"].to_numpy()), 1)
    is_seen = count > 0
    is_habit = np.where(is_seen, count, _OFTEN).min(1) >= _OFTEN
    # A single one is when rows happen to be, such as the midnight of every day.
    is_habit &= is_seen.sum(1) > 1
    kept: np.ndarray = is_seen | ~is_habit[:, None]
    return kept
