"""The gaps of series: missing cells, and missing rows of series that are otherwise regular."""

from __future__ import annotations

import numpy as np
import pandas as pd

from convcnp.frames.habits import Habits
from convcnp.frames.resolution import rounded, whole_unit
from convcnp.frames.series import Ragged, SeriesTable

_WIDE = 1.5  # typical gaps: what is wider has a time missing
_JITTER = 0.2  # of the usual step, by which steps of regular rows may differ from it
# Of few steps some are equal by chance, as between visits at random: then nearly all that are no
# gaps have to be, up to what months differ by.
_FEW = 20  # steps
_JITTER_OF_FEW, _MOST_OF_FEW = 0.1, 0.8
_MOST_IN_A_GAP = 500  # times, or as many as the series has rows
_MOST_MISSING = 5  # times as many rows as there are: where more seem to be missing, none are
_DAY, _HOUR = 86400.0, 3600.0  # seconds
MOST_DAYS = 1.5 * _DAY  # rows less far apart may keep to weekdays and hours
_MONTH = 27 * _DAY  # rows at least this far apart may follow the calendar


def gaps_of(table: SeriesTable) -> Ragged:
    """Return the times of rows with a missing value, and times missing between rows."""
    series, is_missing = table.series, np.isnan(table.y)
    # A column that a series never has is not a gap in it.
    is_known = pd.DataFrame(~is_missing).groupby(series.owners).transform("any").to_numpy()
    missing = (is_missing & is_known).any(1)
    inner_x, inner_owner = missing_rows(table)
    x = np.concatenate([series.x[missing], inner_x])
    owner = np.concatenate([series.owners[missing], inner_owner])
    order = np.lexsort((x, owner))
    x, owner = x[order], owner[order]
    is_new = np.ones(len(x), dtype=bool)
    is_new[1:] = (np.diff(x) != 0) | (np.diff(owner) != 0)
    x, owner = x[is_new], owner[is_new]
    return Ragged(x, np.searchsorted(owner, np.arange(len(series) + 1)))


def missing_rows(table: SeriesTable, *, only_whole: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Continue the usual spacing of rows through gaps wider than it, where most rows have it.

    Weekdays and hours at which a series never has rows are left out.

    Args:
        only_whole: Leave out gaps that are too long to be continued at the usual spacing; else
            their times are farther apart.

    Returns:
        The times between rows, and the series of each.
    """
    left, step, owner = _steps(table.series)
    usual = _usual(step, owner)
    inside, is_too_much = _missing_inside(table, only_whole)
    inside = np.where(is_too_much, 0, inside)
    which = np.repeat(np.arange(len(inside)), inside)
    offset = np.arange(len(which)) - np.repeat(np.cumsum(inside) - inside, inside) + 1
    x = _on_calendar(left[which] + step[which] * offset / (inside[which] + 1), table)
    x = _on_clock(x, left[which], usual[which], table)
    x = rounded(x, left[which], whole_unit(table), table) if len(x) else x
    kept = _keeps_habits(table, usual[which] < MOST_DAYS, x, owner[which])
    return x[kept], owner[which][kept]


def has_too_long_gaps(table: SeriesTable) -> bool:
    """Tell whether a series has gaps, but too long to be continued at its usual spacing."""
    return bool(_missing_inside(table)[1].any())


def _missing_inside(table: SeriesTable, only_whole: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return how many rows are missing in each step, and whether they are too many of a series."""
    left, step, owner = _steps(table.series)
    usual, lengths = _usual(step, owner), table.series.lengths[owner]
    # Three rows show one spacing, but not that it is usual.
    enough = (lengths > 3) & _is_regular(step, owner)
    enough &= ~_is_change_of_clocks(table, left, step - usual)
    wide = _ratio(step, usual)
    inside = np.where(enough & (wide > _WIDE), np.round(wide) - 1, 0)
    most = np.maximum(_MOST_IN_A_GAP, lengths)
    if only_whole:
        inside = np.where(inside > most, 0, inside)
    inside = np.clip(inside, 0, most).astype(np.int64)
    return inside, _sums(inside, owner) > _MOST_MISSING * most


def _keeps_habits(
    table: SeriesTable, is_dense: np.ndarray, x: np.ndarray, owner: np.ndarray
) -> np.ndarray:
    """Tell which missing rows are on weekdays and at hours of their series, if these are daily."""
    if not is_dense.any():
        return np.ones(len(x), dtype=bool)
    return ~is_dense | Habits.of(table).are_kept(x, owner)


def _is_change_of_clocks(table: SeriesTable, left: np.ndarray, surplus: np.ndarray) -> np.ndarray:
    """Tell whether the hour missing after a time is one that local clocks skip in spring."""
    if table.axis.dtype.kind != "M" or table.axis.origin.tz is not None:
        return np.zeros(len(left), dtype=bool)
    is_hour = np.abs(surplus - 3600) < 1
    dates = table.axis.times(np.where(is_hour, left, 0.0))
    week = (dates.day - 1) // 7  # of the month: clocks change on its first, second or last Sunday
    in_march = (dates.month == 3) & ((week == 1) | (dates.day > 24))
    in_october = (dates.month == 10) & (week == 0)
    is_night: np.ndarray = (dates.day_of_week == 6) & (dates.hour < 3) & (in_march | in_october)
    return is_hour & is_night


def has_regular_rows(table: SeriesTable) -> bool:
    """Tell whether there is a series most of whose steps are equal; a single row counts as one."""
    _, step, owner = _steps(table.series)
    return not len(step) or bool(_is_regular(step, owner).any())


def usual_steps(series: Ragged) -> np.ndarray:
    """Return the usual step of every series (S,); that of all where one shows none."""
    _, step, owner = _steps(series)
    of_all = np.median(step) if len(step) else np.nan
    found = pd.Series(step).groupby(owner).median()
    steps: np.ndarray = found.reindex(range(len(series)), fill_value=of_all).to_numpy()
    return steps


def day_of_month(table: SeriesTable) -> tuple[pd.Timedelta, int] | None:
    """Return when in the month all rows are, if they are months apart: after a start, or an end.

    Returns:
        The time after the start of the month, and 0; or before the next month's start, and 1.
    """
    rows = table.series.x
    steps = np.diff(np.unique(rows))
    if table.axis.dtype.kind != "M" or not len(steps) or np.median(steps) < _MONTH:
        return None
    dates = table.axis.times(rows).tz_localize(None)
    for is_end, day in enumerate((dates - dates.to_period("M").start_time, dates - _next(dates))):
        if (day == day[0]).all():
            return day[0], is_end
    return None


def _steps(series: Ragged) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return times, the steps from each to the next of its series, and the series."""
    step, owner = np.diff(series.x), series.owners
    within = (owner[1:] == owner[:-1]) & (step > 0)
    return series.x[:-1][within], step[within], owner[:-1][within]


def _usual(step: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """Return the usual step of every row's series."""
    usual: np.ndarray = pd.Series(step).groupby(owner).transform("median").to_numpy()
    return usual


def _sums(values: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """Return the sum over every row's series."""
    sums: np.ndarray = pd.Series(values).groupby(owner).transform("sum").to_numpy()
    return sums


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Divide, so that what is just at a limit is there wherever times are counted from."""
    ratio: np.ndarray = np.round(part / whole, 6)
    return ratio


def _is_regular(step: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """Tell of every step whether most of its series are equal, up to jitter."""
    usual = _usual(step, owner)
    steps = _sums(np.ones(len(step)), owner)
    is_few = steps < _FEW
    jitter = np.where(is_few, _JITTER_OF_FEW, _JITTER)
    is_equal = _ratio(np.abs(step - usual), usual) <= jitter
    is_gap = _ratio(step, usual) > _WIDE
    equal, gaps = _sums(is_equal, owner), _sums(is_gap, owner)
    are_most = (equal >= _MOST_OF_FEW * (steps - gaps)) | ~is_few
    regular: np.ndarray = are_most & (equal > 0.5 * steps)
    return regular


def _on_calendar(x: np.ndarray, table: SeriesTable) -> np.ndarray:
    """Move missing dates to the day of the month that all rows have, as months differ."""
    found = day_of_month(table) if len(x) else None
    if found is None:
        return x
    day, _ = found
    month = _next(table.axis.times(x).tz_localize(None) - day - pd.Timedelta(days=15))
    return table.axis.numbers(pd.Series(month + day, name=table.time))


def _on_clock(x: np.ndarray, left: np.ndarray, usual: np.ndarray, table: SeriesTable) -> np.ndarray:
    """Move missing days to the clock time of the row before them, as days of a zone differ."""
    are_days = (usual >= _DAY - _HOUR) & (np.abs(usual % _DAY - _DAY / 2) >= _DAY / 2 - _HOUR)
    if getattr(table.axis.origin, "tz", None) is None or not are_days.any():
        return x
    dates, before = (table.axis.times(part).tz_localize(None) for part in (x, left))
    clock = before - before.normalize()
    dates = (dates - clock).round("D") + clock
    moved: np.ndarray = table.axis.numbers(pd.Series(dates, name=table.time))
    return np.where(are_days, moved, x)


def _next(dates: pd.DatetimeIndex) -> pd.DatetimeIndex:
    """Return the starts of the months after these dates."""
    return (dates.to_period("M") + 1).start_time
