"""Times in columns of their own: a year, a month and a day; a date and a clock."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd
from pandas.tseries.api import guess_datetime_format

from convcnp.errors import ConvCNPWarning, TableError
from convcnp.frames.kinds import is_date, is_duration, is_numeric, parsed_dates, parsed_durations
from convcnp.frames.time_axis import (
    dates_of_numbers,
    holds_compact_dates,
    is_day_first,
    number_format,
)

JOINT = "+"  # between the names of parts
_ROLES = {
    "year": ("year", "yr", "yyyy"),
    "quarter": ("quarter", "qtr"),
    "month": ("month", "mon", "mo"),
    "day": ("day", "dy", "mday", "day_of_month"),
    "day of the year": ("doy", "yday", "dayofyear", "day_of_year"),
    "hour": ("hour", "hr", "hh"),
    "minute": ("minute", "minutes"),
    "second": ("second", "seconds"),
}
_CALENDAR = ("year", "quarter", "month", "day", "day of the year", "hour")
_LARGEST_YEAR = 3000
_RANGES = {
    "year": (1, _LARGEST_YEAR),
    "quarter": (1, 4),
    "month": (1, 12),
    "day": (1, 31),
    "day of the year": (1, 366),
    "hour": (0, 24),
    "minute": (0, 59),
    "second": (0, 60),
}
_SOME = 50  # texts that show how others are written
# Those that pandas does not guess; - takes a leading zero away.
_FORMATS = (
    *("%Y-Q{q}", "%YQ{q}", "Q{q} %Y", "Q{q}-%Y", "%G-W%V", "%b %Y", "%B %Y", "%b. %Y", "%m/%Y"),
    *("%b-%y", "%b-%Y", "%Y-%m-%dT%H:%M:%SZ"),
    *("%Y-%m-%d %H:%M:%S.{ms}", "%Y-%m-%dT%H:%M:%S.{ms}", "%Y-%m-%dT%H:%M:%S.{ms}Z"),
)
_DATE_FORMATS = (
    *("%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%d-%b-%y", "%-m/%-d/%y", "%-d/%-m/%y", "%-d.%-m.%y"),
    *("%m/%d/%Y", "%-m/%-d/%Y", "%-d/%-m/%Y", "%-d.%-m.%Y"),
)
_CLOCK_FORMATS = (
    *("", " %H:%M", " %-H:%M", " %I:%M %p", " %-I:%M %p"),
    *(" %H:%M:%S", " %-H:%M:%S", " %I:%M:%S %p", " %-I:%M:%S %p"),
)
_OFFSET = re.compile(r"([+-]\d\d:?\d\d)$")  # of a clock from UTC
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_QUARTER = re.compile(r"^[Qq]([1-4])$")
_CLOCK_NAME = re.compile(r"time|clock|hour|hh", re.IGNORECASE)
_DAY = pd.Timedelta(days=1)
_LEAP_YEAR, _YEAR = 2000, 2001  # of months and days without a year, with a 29 February or without


def role_of(name: str) -> str | None:
    """Return the part of a time that a column is named after, if it is.

    Example:
        >>> role_of("Month"), role_of("temp")
        ('month', None)
    """
    return next((role for role, names in _ROLES.items() if name.lower() in names), None)


def is_part(column: pd.Series) -> bool:
    """Tell whether a column holds years, months, days or hours of times, by its name and numbers.

    Example:
        >>> is_part(pd.Series([1, 12], name="Month")), is_part(pd.Series([1, 13], name="Month"))
        (True, False)
    """
    role = role_of(str(column.name))
    return role in _CALENDAR and _fits(column, role)


def has_time(frame: pd.DataFrame, name: str | None) -> bool:
    """Tell whether a table has a column of this name, or the parts that it joins."""
    return name in frame.columns or bool(parts_of(frame, name))


def parts_of(frame: pd.DataFrame, name: str | None) -> list[str]:
    """Return the columns that a time is put together from; none if it is a column itself."""
    if name is None or name in frame.columns or JOINT not in name:
        return []
    parts = [part.strip() for part in name.split(JOINT)]
    return parts if all(part in frame.columns for part in parts) else []


def time_column(frame: pd.DataFrame, name: str) -> pd.Series:
    """Return a column of times, put together from its parts if the table has only these.

    Example:
        >>> frame = pd.DataFrame({"year": [2020, 2020], "month": [1, 2]})
        >>> time_column(frame, "year+month").dt.month_name().tolist()
        ['January', 'February']
    """
    parts = parts_of(frame, name)
    return _put_together(frame, parts).rename(name) if parts else frame[name]


# --- Finding --------------------------------------------------------------------------------------


def joined_name(frame: pd.DataFrame, candidates: Sequence[str], dated: Sequence[str]) -> str | None:
    """Find parts of times among columns, and join their names; none if there are no such parts.

    Args:
        dated: The candidates that hold dates.
    """
    found: dict[str, str] = {}
    for name in candidates:
        role = role_of(name)
        if role is not None and role not in found and _fits(frame[name], role):
            found[role] = name
    clock = [found[role] for role in ("hour", "minute", "second") if role in found]
    clock = clock if clock and clock[0] == found.get("hour") else []
    if dated:
        parts = _date_and_clock(frame, candidates, dated[0], clock)
    elif "month" in found and ("year" in found or "day" in found):
        parts = [found[role] for role in ("year", "month", "day") if role in found]
        parts += (clock or _clocks(frame, candidates)[:1]) if "day" in found else []
    elif "year" in found and (day := found.get("day of the year")) is not None:
        parts = [found["year"], day, *clock]
    elif "year" in found and "quarter" in found:
        parts = [found["year"], found["quarter"]]
    else:
        parts = []
    return JOINT.join(parts) if parts else None


def _fits(column: pd.Series, role: str) -> bool:
    values = _whole_numbers(column, role).dropna()
    low, high = _RANGES[role]
    return len(values) > 0 and bool((values.between(low, high) & (values % 1 == 0)).all())


def _clocks(frame: pd.DataFrame, candidates: Sequence[str]) -> list[str]:
    """Return the columns of clock times, written as such, or as numbers such as 840 and 1310."""
    texts = [c for c in candidates if frame[c].dtype.kind != "m" and is_duration(frame[c])]
    clocks = [c for c in texts if parsed_durations(frame[c]).between(0 * _DAY, _DAY).all()]
    return [*clocks, *(c for c in candidates if _is_compact_clock(frame[c]))]


def _is_compact_clock(column: pd.Series) -> bool:
    """Tell whether a column named like a clock holds hours and minutes as numbers such as 840."""
    if not _CLOCK_NAME.search(str(column.name)) or not is_numeric(column):
        return False
    values = pd.to_numeric(column, errors="coerce").dropna()
    is_clock = values.between(0, 2400) & (values % 1 == 0) & (values % 100 < 60)
    return bool(is_clock.all() and (values >= 100).any())


def _date_and_clock(
    frame: pd.DataFrame, candidates: Sequence[str], date: str, clock: list[str]
) -> list[str]:
    """Return a date and its clock, if dates are repeated: other clocks are facts of the day."""
    clock = clock or [c for c in _clocks(frame, candidates) if _CLOCK_NAME.search(c)][:1]
    clock = clock or _clocks(frame, candidates)[:1]
    if not clock or not frame[date].duplicated().any():
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvCNPWarning)  # said when the times are read
        days = _dates(frame[date])
    if (days != days.dt.normalize()).any():
        return []
    together = [date, *clock]
    fewer = frame.duplicated(together).sum() < frame.duplicated([date]).sum()
    return together if fewer else []


# --- Putting together -----------------------------------------------------------------------------


def _put_together(frame: pd.DataFrame, parts: list[str]) -> pd.Series:
    whole: pd.Series | None = None
    calendar: dict[str, pd.Series] = {}
    clock = pd.Series(pd.Timedelta(0), index=frame.index)
    for name in parts:
        column, role = frame[name], role_of(name)
        if _is_compact_clock(column):
            hours, minutes = divmod(_whole_numbers(column, "clock"), 100)
            clock = clock + pd.to_timedelta(60 * hours + minutes, unit="minute")
        elif role in ("hour", "minute", "second") and is_numeric(column):
            clock = clock + pd.to_timedelta(_whole_numbers(column, role), unit=role)
        elif is_date(column) or holds_compact_dates(column):
            whole = _dates(column)
        elif is_duration(column):
            clock = clock + parsed_durations(column)
        elif role is not None:
            calendar[role] = _whole_numbers(column, role)
        else:
            raise TableError(
                f"Expected parts of a time between {JOINT!r}, such as a year, a month, a day, a "
                f"date or a clock, got {name!r}; name columns that are."
            )
    return (_of_calendar(calendar, parts) if whole is None else whole) + clock


def _of_calendar(calendar: dict[str, pd.Series], parts: list[str]) -> pd.Series:
    """Return dates from years, months and days, NaT where there are none."""
    if not {"month", "day of the year", "quarter"} & calendar.keys():
        raise TableError(
            f"Expected a month or a date among the parts of a time, got {', '.join(parts)}; name "
            "columns that hold them."
        )
    first = next(iter(calendar.values()))
    ones = pd.Series(1, index=first.index)
    month, day = calendar.get("month", ones), calendar.get("day", ones)
    if "month" not in calendar and "quarter" in calendar:
        month = 3 * calendar["quarter"] - 2
    year = calendar.get("year")
    if year is None:
        assumed = _LEAP_YEAR if ((month == 2) & (day == 29)).any() else _YEAR
        warnings.warn(
            f"There is no year beside {', '.join(map(repr, parts))}: {assumed} is put in its "
            "place.",
            ConvCNPWarning,
            stacklevel=6,
        )
        year = assumed * ones
    dates = pd.to_datetime(
        pd.DataFrame({"year": year, "month": month, "day": day}), errors="coerce"
    )
    if "day of the year" in calendar:
        dates = dates + pd.to_timedelta(calendar["day of the year"] - 1, unit="D")
    return dates


def _dates(column: pd.Series) -> pd.Series:
    if column.dtype.kind == "M":
        return column
    if is_numeric(column):
        return dates_of_numbers(column)
    return parsed_dates(column, is_day_first(column))


def _whole_numbers(column: pd.Series, role: str) -> pd.Series:
    """Return a part as numbers, NaN where there is none; months and quarters may be words."""
    values = pd.to_numeric(column, errors="coerce")
    if role == "month" and values.isna().all():
        words = column.astype("string").str.strip().str.lower().str[:3]
        values = words.map({word: i + 1 for i, word in enumerate(MONTHS)})
    if role == "quarter" and values.isna().all():
        values = pd.to_numeric(column.astype("string").str.strip().str.extract(_QUARTER)[0])
    return values.astype("float64")


def split_times(
    frame: pd.DataFrame, name: str, times: pd.Series
) -> dict[str, pd.Series | np.ndarray]:
    """Return the columns that hold these times in a table: the time itself, or its parts."""
    parts = parts_of(frame, name)
    if not parts:
        return {name: _written_like(frame[name], times)}
    return {part: _part(frame[part], role_of(part), times) for part in parts}


def _written_like(like: pd.Series, times: pd.Series) -> pd.Series:
    """Write dates as a column does: as texts of its format, or as whole numbers."""
    if times.dtype.kind == "m" and like.dtype.kind != "m" and (times < _DAY).all():
        clocks = like.dropna().astype("string").str.strip()
        return (pd.Timestamp(0) + times).dt.strftime(_clock_format(clocks))
    if times.dtype.kind != "M" or like.dtype.kind == "M":
        return times
    if is_numeric(like):
        written = times.dt.strftime(number_format(like))
        return written.astype(like.dtype) if like.dtype.kind in "iuf" else written
    texts = like.dropna().astype("string").str.strip().head(_SOME)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvCNPWarning)  # said when the table was read
        day_first = is_day_first(like)
    guess = guess_datetime_format(str(texts.iloc[0]), dayfirst=day_first)
    if times.dt.tz is not None and texts.str.extract(_OFFSET)[0].notna().all():
        return _with_offsets(like, times, (guess or "%Y-%m-%dT%H:%M:%S").removesuffix("%z"))
    dates = parsed_dates(texts, day_first)
    dated = map("".join, itertools.product(_DATE_FORMATS, _CLOCK_FORMATS))
    for written in (*([guess] if guess else []), *_FORMATS, *dated):
        if (_formatted(dates, written) == texts).all():
            return _formatted(times, written)
    return _formatted(times, guess or "%Y-%m-%d %H:%M:%S")


def _with_offsets(like: pd.Series, times: pd.Series, written: str) -> pd.Series:
    """Write times in a format, each with the offset of the row before it in time."""
    texts = like.dropna().astype("string").str.strip()
    known = (
        pd.to_datetime(texts, utc=True, format="ISO8601", errors="coerce").dropna().sort_values()
    )
    offsets = texts[known.index].str.extract(_OFFSET)[0].to_numpy()
    place = np.maximum(known.searchsorted(times.dt.tz_convert("UTC"), side="right") - 1, 0)
    return pd.Series(
        [
            time.tz_convert(offset).strftime(written) + offset
            for time, offset in zip(times, offsets[place], strict=True)
        ],
        index=times.index,
    )


def _formatted(times: pd.Series, written: str) -> pd.Series:
    """Write times in a format, in which {q} is a quarter and {ms} are milliseconds."""
    texts = times.dt.strftime(written)
    for name, part in (("{q}", times.dt.quarter), ("{ms}", times.dt.microsecond // 1000)):
        if name in written:
            width = 3 if name == "{ms}" else 1
            digits = part.astype("Int64").astype("string").str.zfill(width)
            texts = pd.Series(
                [text.replace(name, new) for text, new in zip(texts, digits, strict=True)],
                index=texts.index,
            )
    return texts


def _part(like: pd.Series, role: str | None, times: pd.Series) -> pd.Series:
    if _is_compact_clock(like):
        return 100 * times.dt.hour + times.dt.minute
    if is_date(like) or holds_compact_dates(like):
        return _written_like(like, times.dt.normalize())
    if is_duration(like):
        return times.dt.strftime(_clock_format(like.dropna().astype("string").str.strip()))
    assert role is not None
    if role == "month" and not is_numeric(like):
        longest = like.dropna().astype("string").str.len().max()
        return times.dt.month_name().str[:3] if longest <= 3 else times.dt.month_name()
    if role == "quarter" and not is_numeric(like):
        return "Q" + times.dt.quarter.astype(str)
    number: pd.Series = getattr(times.dt, "day_of_year" if role == "day of the year" else role)
    return number.astype(like.dtype) if like.dtype.kind in "iuf" else number


def _clock_format(clocks: pd.Series) -> str:
    """Return the format of clock times: 18:30, 18:30:00 or 18.30.00."""
    if not clocks.str.contains(":").any():
        return "%H.%M.%S"
    hour = "%-H" if clocks.str.fullmatch(r"\d:.*").any() else "%H"
    return f"{hour}:%M" if clocks.str.count(":").max() == 1 else f"{hour}:%M:%S"
