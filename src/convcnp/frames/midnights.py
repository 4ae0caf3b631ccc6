"""Clock times without a date that pass midnight: they go on to the next day."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd

from convcnp.errors import ConvCNPWarning
from convcnp.frames.kinds import is_duration, parsed_durations

DAY = pd.Timedelta(days=1)


def continued(times: pd.Series, owners: np.ndarray) -> pd.Series:
    """Return clock times as time since the first midnight, if they pass another; else as they are.

    From one row of a series to the next, they fall by most of a day at midnight, and never else; or
    rise, where the last row comes first.

    Args:
        owners: The series of each row.

    Example:
        >>> continued(pd.Series(["23:00", "23:30", "00:00"]), np.zeros(3)).max()
        Timedelta('1 days 00:00:00')
    """
    if not _are_clocks(times):
        return times
    clocks = parsed_durations(times.reset_index(drop=True))
    is_known = clocks.notna().to_numpy() & (owners >= 0)
    known = clocks[is_known]
    for way in (1, -1):  # where rows do not grow from the first on, they may from the last
        owner = owners[is_known][::way]
        step = known[::way].groupby(owner).diff()
        is_midnight = step < -DAY / 2
        if ((step < 0 * DAY) & ~is_midnight).any():
            continue
        if not is_midnight.any():
            break
        days = is_midnight.groupby(owner).cumsum().reindex(clocks.index, fill_value=0)
        return (clocks + DAY * days).set_axis(times.index)
    return times


def _are_clocks(times: pd.Series) -> bool:
    if times.dtype.kind == "m" or not is_duration(times):
        return False
    clocks = parsed_durations(times)
    is_read = clocks.notna() | times.isna()
    return bool(is_read.all() and clocks.dropna().between(0 * DAY, DAY).all())


def say_continued(times: pd.Series, days: pd.Series) -> None:
    """Say that clock times were put on the next day, where they were."""
    if days is not times:
        count = int(days.max() // DAY)
        often = "once" if count == 1 else f"{count:,} times"
        warnings.warn(
            f"Clock times in {times.name!r} pass midnight {often}, and are read as those of "
            "days that follow each other; write a date with each to be certain.",
            ConvCNPWarning,
            stacklevel=4,
        )


def in_nearest_day(
    times: pd.Series, x: np.ndarray, low: float | np.ndarray, high: float | np.ndarray
) -> np.ndarray:
    """Put clock times that are asked for into the day in which they are nearest to their series.

    Args:
        x: The times in seconds, and likewise when the series of each begins and ends.
    """
    day = DAY.total_seconds()
    if not np.any(high >= day) or not _are_clocks(times):
        return x
    before = (
        np.maximum(low - x, 0.0) // day * day + x
    )  # on the last day before the series, or in it
    after = before + day
    is_nearer = np.maximum(after - high, 0.0) < np.maximum(low - before, 0.0)
    return np.where(is_nearer, after, before)
