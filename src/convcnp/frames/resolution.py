"""The resolution of a table's times: whole numbers, or the unit that all are whole in."""

from __future__ import annotations

import numpy as np
import pandas as pd

from convcnp.frames.series import SeriesTable

UNITS = {"D": 86_400.0, "h": 3_600.0, "min": 60.0, "s": 1.0}  # in seconds, as pandas calls them


def whole_unit(table: SeriesTable) -> str | None:
    """Return the largest unit that all times are whole in, on clocks; None if there is none."""
    if table.axis.dtype.kind not in "mM":
        return None
    times = _on_clocks(table.series.x, table)
    return next((unit for unit in UNITS if (times == times.floor(unit)).all()), None)


def rounded(x: np.ndarray, first: np.ndarray, unit: str | None, table: SeriesTable) -> np.ndarray:
    """Round times to a unit; without one, to whole numbers, if all of the table are.

    Args:
        first: When the series of each begins.
    """
    if unit == "D":
        return table.axis.numbers(pd.Series(_on_clocks(x, table).round("D"), name=table.time))
    if unit is not None:
        nearest: np.ndarray = first + np.round((x - first) / UNITS[unit]) * UNITS[unit]
        return nearest
    is_number = table.axis.dtype.kind not in "mM"
    return np.round(x) if is_number and (table.series.x % 1 == 0).all() else x


def _on_clocks(x: np.ndarray, table: SeriesTable) -> pd.DatetimeIndex | pd.TimedeltaIndex:
    times = table.axis.times(x)
    return times.tz_localize(None) if isinstance(times, pd.DatetimeIndex) else times
