"""Evenly spaced times, in the resolution of the data: of days, dates."""

from __future__ import annotations

import numpy as np

from convcnp.frames.resolution import UNITS, rounded, whole_unit
from convcnp.frames.series import Ragged, SeriesTable

_FINE = 0.01  # of a step, by which times may move where the data's own unit is too coarse


def even_times(table: SeriesTable, count: int, *, at_most: bool = False) -> Ragged:
    """Space times evenly from each series' first to its last; a single time stays one.

    Dates and durations are rounded to the unit that all times of the table are whole in, or to a
    finer one, if there are several times to such a unit.

    Args:
        at_most: Return fewer, where there are not so many whole units.

    Example:
        >>> import pandas as pd
        >>> from convcnp.frames.columns import choose_columns
        >>> days = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=9), "v": range(9)})
        >>> table = SeriesTable.of(days, choose_columns(days))
        >>> [str(time.date()) for time in table.axis.times(even_times(table, 4).x)]
        ['2020-01-01', '2020-01-04', '2020-01-06', '2020-01-09']
    """
    series = table.series
    first, last = series.x[series.starts[:-1]], series.x[series.starts[1:] - 1]
    many = np.where(last > first, count, 1)
    unit = whole_unit(table)
    if at_most and unit is not None:
        # Whole days of a zone whose clocks change are an hour longer or shorter.
        many = np.minimum(many, np.round((last - first) / UNITS[unit]).astype(int) + 1)
    width = (last - first) / np.maximum(many - 1, 1)
    starts = np.concatenate([[0], np.cumsum(many)])
    owners = np.repeat(np.arange(len(series)), many)
    passed = (np.arange(starts[-1]) - starts[owners]) * width[owners]
    unit = _fitting(unit, width[many > 1].min(initial=np.inf))
    x = first[owners] + passed
    return Ragged(x if unit is None else rounded(x, first[owners], unit, table), starts)


def _fitting(unit: str | None, width: float) -> str | None:
    """Return this unit, or a finer one where steps are narrower."""
    if unit is None or UNITS[unit] <= width * 1.05:
        return unit
    return next((finer for finer, size in UNITS.items() if size <= _FINE * width), None)
