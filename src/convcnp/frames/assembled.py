"""Times in columns of their own: a year, a month and a day; a date and a clock."""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Mapping, Sequence

import pandas as pd

from convcnp.errors import ConvCNPWarning, TableError
from convcnp.frames.compact import dates_of_numbers, holds_compact_dates
from convcnp.frames.kinds import (
    is_date,
    is_duration,
    is_numeric,
    parsed_dates,
    parsed_durations,
    whole_years,
)
from convcnp.frames.months import month_of
from convcnp.frames.time_axis import is_day_first

JOINT = "+"  # between the names of parts
# In small letters, without accents; also in German, French, Spanish, Italian, Portuguese and Dutch.
_ROLES = {
    "year": ("year", "yr", "yyyy", "yy", "jahr", "annee", "ano", "anno", "jaar"),
    "quarter": ("quarter", "qtr", "quartal", "trimestre", "kwartaal"),
    "month": ("month", "mon", "mo", "monat", "mois", "mes", "mese", "maand"),
    "week": (
        *("week", "wk", "isoweek", "iso_week", "week_number", "week_of_year", "epiweek"),
        *("woche", "kalenderwoche", "kw", "semaine", "semana", "settimana"),
    ),
    "day": ("day", "dy", "dd", "mday", "day_of_month", "tag", "jour", "dia", "giorno", "dag"),
    "day of the year": ("doy", "yday", "jday", "julday", "julian_day", "dayofyear", "day_of_year"),
    "hour": ("hour", "hr", "hh"),
    "minute": ("minute", "minutes"),
    "second": ("second", "seconds"),
}
_AMBIGUOUS = ("dia", "tag", "kw")  # diameters, labels and kilowatts as well, where they stand alone
_BY_CASE = {"MM": "month", "mm": "minute"}
_CALENDAR = ("year", "quarter", "month", "week", "day", "day of the year", "hour")
_LARGEST_YEAR = 3000
_CENTURY = 100
_RANGES = {
    "year": (0, _LARGEST_YEAR),
    "quarter": (1, 4),
    "month": (1, 12),
    "week": (1, 53),
    "day": (1, 31),
    "day of the year": (1, 366),
    "hour": (0, 24),
    "minute": (0, 59),
    "second": (0, 60),
}
# What tells a part of a time without its name, where it is said to be one: the first that fits.
_TELLING = {"year": (1500, 2500), **{role: _RANGES[role] for role in ("month", "day", "hour")}}
_QUARTER = re.compile(r"^[Qq]([1-4])$")
_CLOCK_NAME = re.compile(r"time|clock|hour|hh", re.IGNORECASE)
_DAY = pd.Timedelta(days=1)
_LEAP_YEAR, _YEAR = 2000, 2001  # of months and days without a year, with a 29 February or without


def role_of(name: str) -> str | None:
    """Return the part of a time that a column is named after, if it is.

    Example:
        >>> role_of("Month"), role_of("A\u00f1o"), role_of("temp")
        ('month', 'year', None)
    """
    letters = unicodedata.normalize("NFKD", name.lower())
    bare = "".join(letter for letter in letters if not unicodedata.combining(letter))
    found = next((role for role, names in _ROLES.items() if bare in names), None)
    return _BY_CASE.get(name, found)


def role_in(column: pd.Series) -> str | None:
    """Return the part of a time that a column holds: days beyond the 31st are those of a year.

    Example:
        >>> role_in(pd.Series([1, 31], name="Day")), role_in(pd.Series([1, 32], name="Day"))
        ('day', 'day of the year')
    """
    role = role_of(str(column.name))
    if role == "day" and is_numeric(column):
        last = pd.to_numeric(column, errors="coerce").max()
        return "day of the year" if last > _RANGES["day"][1] else role
    return role


def roles_of(frame: pd.DataFrame, parts: Sequence[str]) -> dict[str, str | None]:
    """Return the parts of a time that columns hold, by their names or else by their numbers.

    Example:
        >>> frame = pd.DataFrame({"vuosi": [2019, 2020], "kuu": [12, 1]})
        >>> with warnings.catch_warnings(action="ignore"):
        ...     roles_of(frame, ["vuosi", "kuu"])
        {'vuosi': 'year', 'kuu': 'month'}
    """
    roles = {name: role_in(frame[name]) for name in parts}
    dated = [name for name in parts if is_date(frame[name]) or holds_compact_dates(frame[name])]
    known = _TELLING.keys() - {"hour"} if dated else set()  # beside a date
    for name in [name for name in parts if roles[name] is None and _is_open(frame[name])]:
        free = [role for role in _TELLING if role not in {*known, *roles.values()}]
        role = next((role for role in free if _fits(frame[name], role, _TELLING)), None)
        if role is not None:
            roles[name] = role
            warnings.warn(
                f"{name!r} is read as the {role}, by its numbers. If that is wrong, name the "
                "column after what it holds.",
                ConvCNPWarning,
                stacklevel=6,
            )
    return roles


def _is_open(column: pd.Series) -> bool:
    """Tell whether numbers are no time by themselves, as dates and clocks are."""
    is_whole = holds_compact_dates(column) or is_compact_clock(column)
    return is_numeric(column) and not is_whole


def is_part(column: pd.Series) -> bool:
    """Tell whether a column holds years, months, days or hours of times, by its name and numbers.

    Example:
        >>> is_part(pd.Series([1, 12], name="Month")), is_part(pd.Series([1, 13], name="Month"))
        (True, False)
    """
    role = role_in(column)
    is_clear = str(column.name).lower() not in _AMBIGUOUS
    return role in _CALENDAR and is_clear and _fits(column, role)


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
        role = role_in(frame[name])
        if role is not None and role not in found and _fits(frame[name], role):
            found[role] = name
    clock = [found[role] for role in ("hour", "minute", "second") if role in found]
    clock = clock if clock and clock[0] == found.get("hour") else []
    if dated:
        parts = _date_and_clock(frame, candidates, dated[0], clock)
    elif "month" in found and ("year" in found or "day" in found):
        parts = [found[role] for role in ("year", "month", "day") if role in found]
        parts += (clock or _clocks(frame, candidates)[:1]) if "day" in found else []
    elif (day := found.get("day of the year")) is not None:
        clock = clock or _clocks(frame, candidates)[:1]
        parts = [found["year"], day, *clock] if "year" in found else [day, *clock] if clock else []
    elif "year" in found and (within := found.get("week", found.get("quarter"))) is not None:
        parts = [found["year"], within]
    else:
        parts = []
    return JOINT.join(parts) if parts else None


def _fits(column: pd.Series, role: str, ranges: Mapping[str, tuple[int, int]] = _RANGES) -> bool:
    values = _whole_numbers(column, role).dropna()
    low, high = ranges[role]
    return len(values) > 0 and bool((values.between(low, high) & (values % 1 == 0)).all())


def _clocks(frame: pd.DataFrame, candidates: Sequence[str]) -> list[str]:
    """Return the columns of clock times, written as such, or as numbers such as 840 and 1310."""
    texts = [c for c in candidates if frame[c].dtype.kind != "m" and is_duration(frame[c])]
    clocks = [c for c in texts if parsed_durations(frame[c]).between(0 * _DAY, _DAY).all()]
    return [*clocks, *(c for c in candidates if is_compact_clock(frame[c]))]


def is_compact_clock(column: pd.Series) -> bool:
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
    for name, role in roles_of(frame, parts).items():
        column = frame[name]
        if is_compact_clock(column):
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
    # Nanoseconds, which clocks come in, count no year before 1678.
    return (_of_calendar(calendar, parts) if whole is None else whole) + clock.dt.as_unit("us")


def _of_calendar(calendar: dict[str, pd.Series], parts: list[str]) -> pd.Series:
    """Return dates from years, months and days, NaT where there are none."""
    if not {"month", "day of the year", "quarter", "week"} & calendar.keys():
        raise TableError(
            f"Expected a month or a date among the parts of a time, got {', '.join(parts)}; name "
            "columns that hold them."
        )
    first = next(iter(calendar.values()))
    ones = pd.Series(1, index=first.index)
    month, day = calendar.get("month", ones), calendar.get("day", ones)
    if "month" not in calendar and "quarter" in calendar:
        month = 3 * calendar["quarter"] - 2
    number = calendar.get("day of the year", ones)
    year = _years(calendar.get("year"))
    if year is None:
        has_leap_day = ((month == 2) & (day == 29) | (number == 366)).any()
        assumed = _LEAP_YEAR if has_leap_day else _YEAR
        warnings.warn(
            f"There is no year beside {', '.join(map(repr, parts))}: {assumed} is put in its "
            "place.",
            ConvCNPWarning,
            stacklevel=6,
        )
        year = assumed * ones
    is_of_weeks = "week" in calendar and "month" not in calendar
    day = 4 * ones if is_of_weeks else day  # 4 January is in the first week of every year
    dates = pd.to_datetime(
        pd.DataFrame({"year": year, "month": month, "day": day}), errors="coerce"
    )
    if is_of_weeks:
        number = 7 * calendar["week"] - 6 - dates.dt.day_of_week
    return dates + pd.to_timedelta(number - 1, unit="D").dt.as_unit("us")


def _years(years: pd.Series | None) -> pd.Series | None:
    """Put years of two digits into their century, and say so."""
    if years is None or not (years < _CENTURY).any():
        return years
    whole = whole_years(years)
    first = years.index[(years < _CENTURY).argmax()]
    warnings.warn(
        f"Years of two digits are read as those of a century: {years[first]:02.0f} as "
        f"{whole[first]:.0f}.",
        ConvCNPWarning,
        stacklevel=7,
    )
    return whole


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
        values = column.astype("string").map(month_of, na_action="ignore")
    if role == "quarter" and values.isna().all():
        values = pd.to_numeric(column.astype("string").str.strip().str.extract(_QUARTER)[0])
    return values.astype("float64")
