"""New times, written as a user's table writes its own."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Mapping

import numpy as np
import pandas as pd
from pandas.tseries.api import guess_datetime_format

from convcnp.errors import ConvCNPWarning
from convcnp.frames.assembled import is_compact_clock, parts_of, roles_of
from convcnp.frames.compact import holds_compact_dates, number_format
from convcnp.frames.kinds import is_date, is_duration, is_numeric, parsed_dates
from convcnp.frames.months import ENGLISH, in_english, own_words
from convcnp.frames.padded import padded_like
from convcnp.frames.time_axis import is_day_first

_SOME = 50  # texts that show how others are written
# Those that pandas does not guess; - takes a leading zero away.
_FORMATS = (
    *("%Y-Q{q}", "%YQ{q}", "Q{q} %Y", "Q{q}-%Y", "%G-W%V", "%Y-%j", "%d:%m:%Y"),
    *("{q}Q%Y", "{q}Q%y", "T{q} %Y", "T{q}-%Y", "%Y-T{q}", "%Y T{q}", "%G-W%-V", "%G W%V"),
    *(
        f"{week}{number}{between}%G"
        for week in ("W", "KW", "KW ", "Week ")
        for number in ("%V", "%-V")
        for between in (" ", "/")
    ),
    *("%Y\u5e74%m\u6708", "%Y\u5e74%-m\u6708"),
    *("%b %Y", "%B %Y", "%b. %Y", "%m/%Y", "%b-%y", "%b-%Y", "%Y-%m-%dT%H:%M:%SZ"),
    *("%Y-%m-%d %H:%M:%S.{ms}", "%Y-%m-%dT%H:%M:%S.{ms}", "%Y-%m-%dT%H:%M:%S.{ms}Z"),
)
_DATE_FORMATS = (
    *("%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%d-%b-%y", "%-m/%-d/%y", "%-d/%-m/%y", "%-d.%-m.%y"),
    *("%Y\u5e74%m\u6708%d\u65e5", "%Y\u5e74%-m\u6708%-d\u65e5"),
    *("%m/%d/%Y", "%-m/%-d/%Y", "%-d/%-m/%Y", "%-d.%-m.%Y"),
)
_CLOCK_FORMATS = (
    *("", " %H:%M", " %-H:%M", " %I:%M %p", " %-I:%M %p"),
    *(" %H:%M:%S", " %-H:%M:%S", " %I:%M:%S %p", " %-I:%M:%S %p"),
)
_OFFSET = re.compile(r"([+-]\d\d:?\d\d)$")  # of a clock from UTC
_DAY = pd.Timedelta(days=1)


def split_times(
    frame: pd.DataFrame, name: str, times: pd.Series
) -> dict[str, pd.Series | np.ndarray]:
    """Return the columns that hold these times in a table: the time itself, or its parts."""
    parts = parts_of(frame, name)
    if not parts:
        return {name: padded_like(frame[name], _written_like(frame[name], times))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvCNPWarning)  # said when the table was read
        roles = roles_of(frame, parts)
    years = times.dt.isocalendar().year if "week" in roles.values() else times.dt.year
    return {
        part: padded_like(frame[part], _part(frame[part], role, times, years))
        for part, role in roles.items()
    }


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
    own = like.dropna().astype("string").str.strip()
    texts = in_english(own.head(_SOME))
    is_foreign = bool((texts != own.head(_SOME)).any())
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
            found = _formatted(times, written)
            return _in_own_words(found, own_words(own)) if is_foreign else found
    return _formatted(times, guess or "%Y-%m-%d %H:%M:%S")


def _in_own_words(texts: pd.Series, words: Mapping[int, str]) -> pd.Series:
    """Write English months in the words of a table, where it has them."""
    for number, english in enumerate(ENGLISH, 1):
        texts = texts.str.replace(english, words.get(number, english), regex=False)
    return texts


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


def _part(like: pd.Series, role: str | None, times: pd.Series, years: pd.Series) -> pd.Series:
    """Write a part of times as a column does; years are those that weeks are counted in."""
    if is_compact_clock(like):
        return 100 * times.dt.hour + times.dt.minute
    if is_date(like) or holds_compact_dates(like):
        return _written_like(like, times.dt.normalize())
    if is_duration(like):
        return times.dt.strftime(_clock_format(like.dropna().astype("string").str.strip()))
    assert role is not None
    if role == "month" and not is_numeric(like):
        longest = like.dropna().astype("string").str.len().max()
        names = times.dt.month_name().str[:3] if longest <= 3 else times.dt.month_name()
        return times.dt.month.map(own_words(like)).fillna(names)
    if role == "quarter" and not is_numeric(like):
        return "Q" + times.dt.quarter.astype(str)
    number: pd.Series
    if role == "year":
        number = years % 100 if pd.to_numeric(like, errors="coerce").max() < 100 else years
    elif role == "week":
        number = times.dt.isocalendar().week
    else:
        number = getattr(times.dt, "day_of_year" if role == "day of the year" else role)
    return number.astype(like.dtype) if like.dtype.kind in "iuf" else number


def _clock_format(clocks: pd.Series) -> str:
    """Return the format of clock times: 18:30, 18:30:00 or 18.30.00."""
    if not clocks.str.contains(":").any():
        return "%H.%M.%S"
    hour = "%-H" if clocks.str.fullmatch(r"\d:.*").any() else "%H"
    return f"{hour}:%M" if clocks.str.count(":").max() == 1 else f"{hour}:%M:%S"
