"""Steps in time, as people write them: 6h, 14 days, 3 months; and times that follow a series."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from convcnp.errors import TableError
from convcnp.frames.gaps import MOST_DAYS, day_of_month, usual_steps
from convcnp.frames.habits import Habits
from convcnp.frames.series import Ragged, SeriesTable
from convcnp.frames.time_axis import TimeAxis

_WRITTEN = re.compile(r"(\d+\.?\d*|\.\d+)?(?:e[-+]?\d+)? *([a-zA-Z]*)")
_MONTHS = {
    **dict.fromkeys(("mo", "month", "months", "M", "MS", "ME"), 1),
    **dict.fromkeys(("quarter", "quarters", "Q", "QS", "QE"), 3),
    **dict.fromkeys(("y", "Y", "year", "years", "YS", "YE"), 12),
}
_WEEKS = ("week", "weeks", "w", "W")
_DAY = 86400.0  # seconds
_MOST_AHEAD = 10**6  # times of a series
_HOURS_OF_A_WEEK = 168
_DIGITS, _DECIMALS = 15, 1e15  # that a float holds, and where it holds no other


@dataclass(frozen=True)
class Step:
    """A step in time: so many units of an axis, or so many months of the calendar.

    Example:
        >>> axis = TimeAxis.of(pd.Series(pd.to_datetime(["2020-01-31", "2020-02-29"])))
        >>> Step.read("2 weeks", axis).width / 86400, Step.read("1 quarter", axis).months
        (14.0, 3)
    """

    width: float = 0.0
    months: int = 0

    @classmethod
    def read(cls, text: str, axis: TimeAxis) -> Step:
        """Read a step; on an axis of numbers it is a number, on others it has a unit."""
        if axis.dtype.kind not in "mM":
            return cls(_positive(float(text)))
        found = _WRITTEN.fullmatch(text)
        unit = "" if found is None else found[2]
        if found is not None and not unit:
            raise ValueError(text)  # pandas would count nanoseconds
        count = float(found[1] or 1) if found is not None else 1.0
        months = _MONTHS.get(unit) or _MONTHS.get(unit.lower() if len(unit) > 2 else unit)
        if months is not None:
            if axis.dtype.kind == "m" or count % 1:
                raise ValueError(text)
            return cls(months=int(_positive(count)) * months)
        if unit in _WEEKS:
            return cls(_positive(7 * _DAY * count))
        text = re.sub(r"(?<![a-zA-Z])d$", "D", text)  # pandas wants it large
        return cls(_positive(pd.Timedelta(text) / pd.Timedelta(seconds=1)))

    def after(
        self, axis: TimeAxis, start: float, counts: np.ndarray, at_end: bool = False
    ) -> np.ndarray:
        """Return the times so many steps after a start, as numbers.

        Args:
            at_end: Months end with these times, and do so however long they are.
        """
        zone = getattr(axis.origin, "tz", None)
        days = self.width / _DAY
        if not self.months and (zone is None or days % 1 or not days):
            after: np.ndarray = start + self.width * counts
            return after if axis.dtype.kind in "mM" else _as_decimals(after)
        # On calendars and clocks, as months and the days of a change of clocks differ.
        first = axis.times(np.array([start]))[0].tz_localize(None)
        if not self.months:
            dates = first + pd.to_timedelta(days * counts, unit="D")
        elif at_end:
            ends = first.to_period("M") + 1 + self.months * counts
            dates = pd.PeriodIndex(ends).start_time + (first - _next_start(first))
        else:
            dates = pd.DatetimeIndex(
                [first + pd.DateOffset(months=self.months * int(count)) for count in counts]
            )
        return axis.numbers(pd.Series(dates, name="time"))

    def through(self, axis: TimeAxis, first: float, last: float, most: int) -> np.ndarray:
        """Return the times from a first to a last, both included if steps lead there."""
        width = self.width or 28 * _DAY * self.months
        count = (last - first) / width + 1e-9
        if count >= most:
            raise TableError(f"at= must be at most {most:,} times, got more; take larger steps.")
        times = self.after(axis, first, np.arange(int(count) + 1))
        return times if self.width else times[times <= last]


def _as_decimals(numbers: np.ndarray) -> np.ndarray:
    """Return numbers without what sums of decimals leave behind the fifteenth digit."""
    largest = np.abs(numbers).max(initial=0.0)
    if not 0 < largest < _DECIMALS:
        return numbers
    rounded: np.ndarray = np.round(numbers, _DIGITS - 1 - int(np.floor(np.log10(largest))))
    return rounded


def _positive(number: float) -> float:
    if not 0 < number < np.inf:
        raise ValueError(f"{number} is no step")
    return number


def _next_start(date: pd.Timestamp) -> pd.Timestamp:
    return (date.to_period("M") + 1).start_time


def times_ahead(table: SeriesTable, text: str) -> Ragged:
    """Return the times that follow the last observed value of every series.

    Args:
        text: How many, as a number; or how far, with a unit.
    """
    series = table.series
    widths = usual_steps(series)
    if np.isnan(widths).any():
        raise TableError(
            "Expected two times of a series at least, to know its steps, got one; ask for times of "
            "your own."
        )
    follow = _Followed.of(table, text)
    is_seen = ~np.isnan(table.y).all(1)
    known: dict[tuple[float, float, bytes], np.ndarray] = {}  # many series end together
    parts = []
    for i, width in enumerate(widths.tolist()):
        rows = series.rows(i)
        seen = series.x[rows][is_seen[rows]]
        last = float(seen[-1] if len(seen) else series.x[rows][-1])
        key = (last, width, follow.habits.fingerprint(i))
        if key not in known:
            known[key] = follow.usual(i, last, width)
        parts.append(known[key])
    starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
    return Ragged(np.concatenate(parts), starts)


@dataclass(frozen=True)
class _Followed:
    """How the series of a table are followed: so many steps, or so far."""

    axis: TimeAxis
    habits: Habits
    count: int | None
    reach: Step | None
    is_monthly: bool  # rows are months apart, on one day of the month
    at_end: bool  # counted from the month's end

    @classmethod
    def of(cls, table: SeriesTable, text: str) -> _Followed:
        day = day_of_month(table)
        count = _bounded(int(text)) if text.isdecimal() else None
        reach = Step.read(text, table.axis) if count is None else None
        at_end = day is not None and bool(day[1])
        return cls(table.axis, Habits.of(table), count, reach, day is not None, at_end)

    def __call__(self, last: float, width: float) -> np.ndarray:
        """Return the times that follow the last one of rows that are usually so far apart."""
        months = max(round(width / (30.44 * _DAY)), 1)
        step = Step(months=months) if self.is_monthly else Step(width)
        if self.reach is None:
            assert self.count is not None
            return step.after(self.axis, last, np.arange(1, self.count + 1), self.at_end)
        stop = self.reach.after(self.axis, last, np.array([1]))[0]
        count = _bounded(int((stop - last) / width * 1.1) + 2)
        times = step.after(self.axis, last, np.arange(1, count + 1), self.at_end)
        times = times[times <= stop + 1e-6 * width]
        return times if len(times) else np.array([stop])

    def usual(self, series: int, last: float, width: float) -> np.ndarray:
        """Return these times, of a series that keeps to weekdays or hours only those."""
        share = self.habits.share(series)
        if share == 1 or width > MOST_DAYS:
            return self(last, width)
        enough = None
        if self.count is not None:
            enough = _bounded(int(self.count / share) + _HOURS_OF_A_WEEK)
        times = replace(self, count=enough)(last, width)
        kept = times[self.habits.are_kept(times, np.full(len(times), series))]
        return kept[: self.count] if len(kept) else times


def _bounded(count: int) -> int:
    if not 1 <= count <= _MOST_AHEAD:
        raise ValueError(f"{count} steps ahead")
    return count
