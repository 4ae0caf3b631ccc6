"""The gaps of a column that pictures enlarge: the longest ones, each once and whole."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from convcnp.frames.time_axis import TimeAxis
from convcnp.predict.request import SeriesRequest

_FEWEST = 600  # rows: of fewer, every gap is seen without
_MOST = 3  # of a column
_SHORT = 2.5  # steps: gaps of one or two are shown only where there are no longer ones
_FILLED = 1.5  # steps at most from a value to times asked for
_AROUND = 2.0  # lengths of a gap that are shown beside it
_ROOM = 20.0  # steps that are shown to either side at least
_SEEN = 1 / 3  # of a series: longer gaps are seen without
_WIDEST = 1 / 2  # of a series
_DAY = 86400.0  # seconds
_MONTH = 27 * _DAY
_MANY_DAYS = 730  # that are better told in years


@dataclass(frozen=True)
class Gap:
    """Times of a column that are asked for and were not observed, none observed in between.

    Args:
        start: When the last value was observed before; of what lies before all, the first asked.
        stop: When the first value was observed afterwards; of what lies ahead, the last asked.
        length: The time that no value covers: less a usual step between two values.
        first: Of the times that are asked for.
        last: Of these.
        sides: On which there are observations.
        is_ahead: Whether all observations lie before.
    """

    start: float
    stop: float
    length: float
    first: float
    last: float
    sides: int = 2
    is_ahead: bool = False


@dataclass(frozen=True)
class Zoom:
    """What a panel enlarges: a gap and what surrounds it, and its title."""

    low: float
    high: float
    title: str


def zooms_of(request: SeriesRequest, number: int, channel: int) -> list[Zoom]:
    """Choose what to enlarge of a series, given by its number, and one of its value columns."""
    table, inputs = request.table, request.targets.inputs
    rows = table.series.rows(number)
    own = table.series.x[rows][~np.isnan(table.y[rows, channel])]
    asked = inputs.x[inputs.rows(number)]
    if len(table.series.x[rows]) < _FEWEST or len(np.unique(own)) < 2 or not len(asked):
        return []
    step = float(np.median(np.diff(np.unique(own))))
    ends = float(min(own[0], asked.min())), float(max(own[-1], asked.max()))
    return [
        Zoom(low, high, words(gap, table.axis, step))
        for gap, low, high in windows(gaps_between(own, asked), step, ends)
    ]


def gaps_between(own: np.ndarray, asked: np.ndarray) -> list[Gap]:
    """Return the gaps between observed times, and beyond them, that are asked for.

    Example:
        >>> [(gap.start, gap.stop, gap.length) for gap in gaps_between(
        ...     np.array([0.0, 1, 2, 6, 7]), np.array([0.5, 3, 4, 5, 6, 9]))]
        [(2.0, 6.0, 3.0), (7.0, 9.0, 2.0)]
    """
    own, unseen = np.unique(own), np.setdiff1d(asked, own)
    step = float(np.median(np.diff(own)))
    places = np.searchsorted(own, unseen)
    ends = np.flatnonzero(np.diff(places)) + 1
    runs = [run for run in np.split(np.arange(len(unseen)), ends) if len(run)]
    found = [_gap(own, unseen[run], int(places[run[0]]), step) for run in runs]
    return [gap for gap in found if gap.sides == 1 or gap.length > step / 2]


def _gap(own: np.ndarray, asked: np.ndarray, place: int, step: float) -> Gap:
    """Return the gap in which times are asked for that lie before an observed one, by its place."""
    first, last = float(asked[0]), float(asked[-1])
    start = float(own[place - 1]) if place else first
    stop = float(own[place]) if place < len(own) else last
    if 0 < place < len(own):
        return Gap(start, stop, stop - start - step, first, last)
    return Gap(start, stop, stop - start, first, last, 1, is_ahead=place > 0)


def windows(
    gaps: list[Gap], step: float, ends: tuple[float, float]
) -> list[tuple[Gap, float, float]]:
    """Choose the longest gaps, and what to show of each: no time twice, and no gap in part."""
    longest = sorted(gaps, key=lambda gap: -gap.length)
    if gaps and longest[0].length > _SHORT * step:
        longest = [gap for gap in longest if gap.length > _SHORT * step]
    found: list[tuple[Gap, float, float]] = []
    for gap in longest:
        is_seen = gap.length > _SEEN * (ends[1] - ends[0])
        is_shown = any(low <= gap.start and gap.stop <= high for _, low, high in found)
        if len(found) < _MOST and not is_seen and not is_shown:
            found.append((gap, *_window(gap, gaps, found, step, ends)))
    return sorted(found, key=lambda window: window[1])


def _window(
    gap: Gap,
    gaps: list[Gap],
    others: list[tuple[Gap, float, float]],
    step: float,
    ends: tuple[float, float],
) -> tuple[float, float]:
    """Return from when to when to show a gap beside others that are shown."""
    widest = max(_WIDEST * (ends[1] - ends[0]) - gap.length, 0.0) / gap.sides
    room = min(max(_AROUND * gap.length / gap.sides, _ROOM * step), widest)
    low, high = max(gap.start - room, ends[0]), min(gap.stop + room, ends[1])
    for other in gaps:
        is_whole = other.length <= gap.length  # longer ones are left out
        if other.start < low < other.stop:
            low = other.start if is_whole else other.stop
        if other.start < high < other.stop:
            high = other.stop if is_whole else other.start
    low = max([low, *(end for _, _, end in others if end <= gap.start)])
    high = min([high, *(begin for _, begin, _ in others if begin >= gap.stop)])
    return low, high


def words(gap: Gap, axis: TimeAxis, step: float) -> str:
    """Say when a gap is, and how long.

    Example:
        >>> words(Gap(6.0, 15.0, 8.0, 7.0, 14.0), TimeAxis(np.dtype(float)), 1.0)
        '7 to 14, 8 long'
    """
    around = max(gap.first - gap.start, gap.stop - gap.last)
    if gap.sides == 2 and around > _FILLED * step:  # what is asked for does not tell its length
        gap = replace(gap, first=gap.start, last=gap.stop, length=gap.stop - gap.start)
    first, last = axis.times(np.array([gap.first, gap.last]))
    if axis.dtype.kind == "M":
        has_clock = gap.length < 2 * _DAY and step < 0.9 * _DAY
        clock = ("%H:%M:%S" if step < 60 else "%H:%M") if has_clock else ""
        when = _dates(first, last, clock)
    elif axis.dtype.kind == "m":
        when = _joined(*(str(time).removeprefix("0 days ") for time in (first, last)))
    else:
        when = _joined(_number(first, step), _number(last, step))
    if gap.is_ahead:
        return f"{when}, {_length(gap.length, axis, step)} ahead"
    return f"{when}, {_length(gap.length, axis, step)}{'' if axis.dtype.kind in 'mM' else ' long'}"


def _length(length: float, axis: TimeAxis, step: float) -> str:
    """Say how long a time is: of dates, in days rather than in 3.94 months."""
    if axis.dtype.kind not in "mM":
        return _number(length, step)
    if 2 * _DAY <= length < _MANY_DAYS * _DAY and step < _MONTH:
        return f"{length / _DAY:.3g} days"
    return axis.duration(length)


def _dates(first: pd.Timestamp, last: pd.Timestamp, clock: str) -> str:
    """Name two dates; a year, a month or a day that both have is said once."""
    whole, month = "{0.day} {1} {0.year}", "{0.day} {1}"
    end = whole.format(last, last.month_name())
    start = (month if first.year == last.year else whole).format(first, first.month_name())
    if clock:
        is_one_day = first.date() == last.date()
        start = f"{end if is_one_day else start} {first.strftime(clock)}"
        return _joined(start, f"{'' if is_one_day else f'{end} '}{last.strftime(clock)}")
    if first.date() == last.date():
        return end
    is_one_month = (first.year, first.month) == (last.year, last.month)
    return f"{first.day if is_one_month else start} to {end}"


def _joined(first: str, last: str) -> str:
    return first if first.endswith(last) else f"{first} to {last}"


def _number(value: float, step: float) -> str:
    """Write a number plainly, to a tenth of a step."""
    if isinstance(value, int | np.integer):
        return str(value)
    places = int(np.clip(1 - np.floor(np.log10(step)), 0, 12))
    if not 1e-6 < abs(value) < 1e15:
        return f"{value:.6g}"
    return np.format_float_positional(value, precision=places, trim="-")
