"""Times of a user's table as numbers, and numbers as times of the same type."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from convcnp.errors import ConvCNPWarning, TableError
from convcnp.frames.compact import EXAMPLES, compact_dates, compact_format
from convcnp.frames.kinds import (
    DATE,
    are_spans,
    is_duration,
    is_numeric,
    numbers,
    parsed_dates,
    parsed_durations,
    refuse_first,
)

_ZONE_NAME = r":\d\d(?:\.\d+)? (?:[A-Z]{2,5}|[A-Z][a-z]+/[A-Z]\w+)\s*$"  # 2020-01-31 18:30 CET
_FARTHEST = 2.0**62  # of integer times: sums of larger ones wrap around
_UNEVEN = 5.0  # times the usual step
_LONGEST_MONTH = 31  # days: larger numbers are years of two digits
_SOME = 20  # texts that show how others are written
_SEVERAL = 1.5  # rows with the same date
_UNITS = {  # in seconds; a month is a twelfth of a year
    "years": 365.2425 * 86_400,
    "months": 365.2425 * 7_200,
    "days": 86_400.0,
    "hours": 3_600.0,
    "minutes": 60.0,
    "seconds": 1.0,
}
_PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}


@dataclass(frozen=True)
class TimeAxis:
    """Turns a column's times into numbers, and numbers into times of the same type.

    Dates become seconds since the first of them, so that floats resolve nanoseconds of a day, and
    integers that floats cannot tell apart are counted from the first as well.
    """

    dtype: Any
    origin: Any = None  # a Timestamp of dates, a Timedelta of durations, or a large integer
    day_first: bool = False  # in dates written like 13/02/2020
    compact: str = ""  # the format of dates written like 20200213 or 202002

    @classmethod
    def of(cls, column: pd.Series) -> TimeAxis:
        """Describe a column of times."""
        day_first, compact = is_day_first(column), compact_format(column)
        parsed = _parsed_times(column, day_first, compact)
        if parsed.dtype.kind == "m":
            return cls(parsed.dtype, pd.Timedelta(0))
        if parsed.dtype.kind == "M":
            _say_if_spans(column)
            origin = parsed.min()
            return cls(
                parsed.dtype,
                pd.Timestamp(0, tz=parsed.dt.tz) if pd.isna(origin) else origin,
                day_first,
                compact,
            )
        if parsed.dtype.kind in "iu" and parsed.astype(float).abs().max() >= _FARTHEST:
            raise TableError(
                f"Expected times below 2^62 in {column.name!r}, got {_farthest(parsed)}; count "
                "them from a later start, or in a larger unit."
            )
        if parsed.dtype.kind in "iu" and parsed.abs().max() > 2**53:
            return cls(parsed.dtype, int(parsed.min()))
        return cls(parsed.dtype)

    def numbers(self, times: pd.Series) -> np.ndarray:
        """Return times as floats, NaN where cells are missing."""
        parsed = _parsed_times(times, self.day_first, self.compact)
        kind = self.dtype.kind if self.dtype.kind in "mM" else "number"
        if kind != (parsed.dtype.kind if parsed.dtype.kind in "mM" else "number"):
            names = {"M": "dates", "m": "durations", "number": "numbers"}
            raise TableError(
                f"Expected times as {names[kind]}, like the series', got times such as "
                f"{parsed.iloc[0]}; give both in one form."
            )
        if kind == "number":
            if self.origin is not None and parsed.dtype.kind in "iu":
                parsed = parsed - self.origin
            elif self.origin is not None:
                parsed = parsed.astype(float) - self.origin
            return numbers(parsed.to_frame(times.name), times.name)
        if kind == "M":
            parsed = self._in_zone(parsed)
        seconds: np.ndarray = ((parsed - self.origin) / pd.Timedelta(seconds=1)).to_numpy()
        return seconds

    def _in_zone(self, dates: pd.Series) -> pd.Series:
        """Read clocks without a zone as those of the series, and those with one as UTC."""
        if (dates.dt.tz is None) == (self.origin.tz is None):
            return dates
        if dates.dt.tz is not None:
            warnings.warn(
                f"The series has no time zone, and times with one ({dates.dt.tz}) are put to UTC; "
                "give both one, or none.",
                ConvCNPWarning,
                stacklevel=4,
            )
            return dates.dt.tz_convert("UTC").dt.tz_localize(None)
        is_summer = np.ones(len(dates), dtype=bool)  # of two times with one name, the first
        return dates.dt.tz_localize(
            self.origin.tz, ambiguous=is_summer, nonexistent="shift_forward"
        )

    def duration(self, length: float) -> str:
        """Put a length of time into words: of dates, in the largest unit that it has two of."""
        if self.dtype.kind not in "mM":
            return f"{length:.3g}"
        unit = next((unit for unit, size in _UNITS.items() if length >= 2 * size), "seconds")
        return f"{length / _UNITS[unit]:.3g} {unit}"

    def times(self, values: np.ndarray) -> pd.Index:
        """Return numbers as times of the column's type."""
        if self.dtype.kind in "mM":
            return self._dates(values)
        whole = np.round(values)
        is_near = bool((np.abs(values) < _FARTHEST).all())  # else they are no integers of 64 bits
        if self.origin is not None:
            if not is_near:
                raise TableError(
                    "Expected times to predict at within 2^62 of the series' first, got "
                    f"{values[np.argmax(np.abs(values))] + self.origin:g}; choose nearer ones."
                )
            return pd.Index(self.origin + whole.astype("int64"))
        if self.dtype.kind in "iu" and is_near and np.array_equal(values, whole):
            return pd.Index(whole.astype("int64"))
        return pd.Index(values)

    def _dates(self, seconds: np.ndarray) -> pd.Index:
        """Return dates in the column's resolution, or a finer one where they need it."""
        own = getattr(self.dtype, "unit", None) or np.datetime_data(self.dtype)[0]
        fine = [unit for unit, per_second in _PER_SECOND.items() if per_second >= _PER_SECOND[own]]
        coarse = [unit for unit in _PER_SECOND if unit not in fine]
        index = self._counted(seconds, fine)
        index = self._counted(seconds, coarse) if index is None else index
        if index is None:
            raise TableError(
                "Expected dates that can be counted, but some are too far from the series'; choose "
                "nearer ones."
            )
        return index

    def _counted(self, seconds: np.ndarray, units: Sequence[str]) -> pd.Index | None:
        """Return dates in the first resolution that holds them, or else the finest that can.

        There are none if dates are too far away for all of them.
        """
        # Times between others are sums and quotients, each a little off.
        precision = 4 * np.spacing(np.abs(seconds).max(initial=0.0))
        index = None
        for unit in units:
            steps = np.round(seconds * _PER_SECOND[unit])
            try:
                index = self.origin.as_unit(unit) + pd.TimedeltaIndex(
                    _checked_int64(steps).astype(f"timedelta64[{unit}]")
                )
            except (OverflowError, ValueError):
                break
            if np.abs(steps / _PER_SECOND[unit] - seconds).max(initial=0.0) <= precision:
                break
        return index


def _farthest(times: pd.Series) -> Any:  # noqa: ANN401 - a number of pandas
    return times.iloc[int(np.argmax(times.astype(float).abs()))]


def _checked_int64(values: np.ndarray) -> np.ndarray:
    if np.abs(values).max(initial=0.0) >= 2**63:
        raise OverflowError
    return values.astype("int64")


def _parsed_times(column: pd.Series, day_first: bool = False, compact: str = "") -> pd.Series:
    """Return times as numbers, dates or durations, and name the first cell that is none."""
    if column.dtype.kind in "mM":
        return column
    if len(column) and not column.notna().any():
        raise TableError(
            f"Expected times in {column.name!r}, but all its cells are missing; name another "
            "column with time=."
        )
    if is_numeric(column):
        values = pd.to_numeric(column, errors="coerce")
        is_bad = (values.isna() & column.notna()).to_numpy()
        refuse_first(is_bad, column, str(column.name), "a date or number")
        if not compact:
            return values
        dates = compact_dates(values, compact)
        is_bad = (dates.isna() & column.notna()).to_numpy()
        example = EXAMPLES[compact]
        refuse_first(is_bad, column, str(column.name), example)
        return dates
    if is_duration(column):
        parsed = parsed_durations(column)
        expected = "a clock time or duration, as in other rows,"
    else:
        parsed = parsed_dates(column, day_first)
        expected = "a date, as in other rows," if parsed.notna().any() else "a date or number"
    is_bad = (parsed.isna() & column.notna()).to_numpy()
    if column[is_bad].astype("string").str.contains(_ZONE_NAME, regex=True).all():
        expected += " with its zone, if any, as UTC or an offset such as +01:00,"
    refuse_first(is_bad, column, str(column.name), expected)
    return parsed


def is_day_first(column: pd.Series) -> bool:
    """Tell whether dates are written as 13/02/2020, by those that can be nothing else.

    If all can be either, by the order in which alone they follow evenly, or in which hours follow
    from day to day. Dates between points, such as 1.2.2020, begin with the day.
    """
    if column.dtype.kind in "mMiufb":
        return False
    texts = column.dropna().astype("string").str.strip()
    parts = texts.str.extract(DATE)
    first, second = pd.to_numeric(parts[0]), pd.to_numeric(parts[2])
    is_open = (parts[0].str.len() <= 2).fillna(False).astype(bool)
    if not is_open.any() or (first[is_open] > _LONGEST_MONTH).any():
        return False
    _say_if_mixed(column.name, texts, is_open)
    is_day, is_month = is_open & (first > 12), is_open & (second > 12)
    has_points = is_open & (parts[1] == ".")
    if is_month.any():
        _refuse_both(
            column.name, texts, is_month, is_day if has_points.all() else is_day | has_points
        )
        return False
    if is_day.any() or has_points.any():
        return True
    is_told = _steps(column, day_first=True) < _steps(column, day_first=False)
    read = "day, month, year, in which they follow each other" if is_told else "month, day, year"
    warnings.warn(
        f"Dates such as {texts[is_open].iloc[0]} in {column.name!r} are read as {read}; write "
        "year-month-day to be certain.",
        ConvCNPWarning,
        stacklevel=4,
    )
    return is_told


def _say_if_mixed(name: Any, texts: pd.Series, is_open: pd.Series) -> None:  # noqa: ANN401
    """Say that some dates begin with a year or name their month, and others do not."""
    others = texts[~is_open].head(_SOME)
    others = others[parsed_dates(others).notna()]
    if len(others):
        warnings.warn(
            f"Dates in {name!r} are written in several ways, such as {texts[is_open].iloc[0]!r} "
            f"and {others.iloc[0]!r}: each is read in its own; write year-month-day to be certain.",
            ConvCNPWarning,
            stacklevel=5,
        )


def _refuse_both(
    name: Any,  # noqa: ANN401 - of a column
    texts: pd.Series,
    is_month: pd.Series,
    is_day: pd.Series,
) -> None:
    """Refuse dates of which some can only begin with the day, and others with the month."""
    is_day = is_day & ~is_month
    if is_day.any():
        raise TableError(
            f"Expected dates of one order in {name!r}, got {texts[is_day].iloc[0]!r}, which begins "
            f"with the day, and {texts[is_month].iloc[0]!r}, which begins with the month; write "
            "all as year-month-day."
        )


def _say_if_spans(column: pd.Series) -> None:
    """Say that of two dates in a cell the first is read."""
    if column.dtype.kind == "M" or is_numeric(column):
        return
    spans = column.dropna().astype("string")[lambda texts: are_spans(texts)]
    if len(spans):
        warnings.warn(
            f"Cells such as {spans.iloc[0]!r} in {column.name!r} are read as the date that they "
            "begin with.",
            ConvCNPWarning,
            stacklevel=4,
        )


def _steps(column: pd.Series, *, day_first: bool) -> tuple[bool, float]:
    """Return whether some step between dates is far longer than most, and a step in days.

    That of hours, of which a date has several: days without any are not recorded month by month.
    """
    dates = parsed_dates(column, day_first).dropna().dt.normalize()
    different = dates.drop_duplicates().sort_values()
    steps = different.diff().dropna() / pd.Timedelta(days=1)
    are_hours = len(dates) > _SEVERAL * len(different)
    return bool((steps > _UNEVEN * steps.median()).any()), float(steps.median() if are_hours else 0)
