"""Evenly spaced times, in the resolution of the data: of days, dates."""

from __future__ import annotations

import numpy as np
import pandas as pd

from convcnp.frames.series import Ragged, SeriesTable

_UNITS = {"D": 86_400.0, "h": 3_600.0, "min": 60.0, "s": 1.0}  # in seconds, as pandas calls them
_FINE = 0.01  # of a step, by which times may move where the data's own unit is too coarse


def even_times(table: SeriesTable, count: int, *, at_most: bool = False) -> Ragged:
    """Space times evenly from each series' first to its last; a single time stays one.

    Dates and durations are rounded to the unit that all times of the table are whole in, or to a
    finer one, if there are several times to such a unit.

    Args:
        at_most: Return fewer, where there are not so many whole units.

    Example:
        >>> from convcnp.frames.columns import choose_columns
        >>> days = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=9), "v": range(9)})
        >>> table = SeriesTable.of(days, choose_columns(days))
        >>> [str(time.date()) for time in table.axis.times(even_times(table, 4).x)]
        ['2020-01-01', '2020-01-04', '2020-01-06', '2020-01-09']
    """
    series = table.series
    first, last = series.x[series.starts[:-1]], series.x[series.starts[1:] - 1]
    many = np.where(last > first, count, 1)
    unit = _unit(table)
    if at_most and unit is not None:
        # Whole days of a zone whose clocks change are an hour longer or shorter.
        many = np.minimum(many, np.round((last - first) / _UNITS[unit]).astype(int) + 1)
    width = (last - first) / np.maximum(many - 1, 1)
    starts = np.concatenate([[0], np.cumsum(many)])
    owners = np.repeat(np.arange(len(series)), many)
    passed = (np.arange(starts[-1]) - starts[owners]) * width[owners]
    unit = _fitting(unit, width[many > 1].min(initial=np.inf))
    if unit is not None and unit != "D":
        passed = np.round(passed / _UNITS[unit]) * _UNITS[unit]
    x = first[owners] + passed
    if unit == "D":
        dates = _on_clocks(x, table).round("D")
        x = table.axis.numbers(pd.Series(dates, name=table.time))
    return Ragged(x, starts)


def _unit(table: SeriesTable) -> str | None:
    """Return the largest unit that all times are whole in, on clocks; None if there is none."""
    if table.axis.dtype.kind not in "mM":
        return None
    times = _on_clocks(table.series.x, table)
    return next((unit for unit in _UNITS if (times == times.floor(unit)).all()), None)


def _fitting(unit: str | None, width: float) -> str | None:
    """Return this unit, or a finer one where steps are narrower."""
    if unit is None or _UNITS[unit] <= width * 1.05:
        return unit
    return next((finer for finer, size in _UNITS.items() if size <= _FINE * width), None)


def _on_clocks(x: np.ndarray, table: SeriesTable) -> pd.DatetimeIndex | pd.TimedeltaIndex:
    times = table.axis.times(x)
    return times.tz_localize(None) if isinstance(times, pd.DatetimeIndex) else times
