"""What the cells of a user's column are: numbers, dates, durations, flags or labels."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd

from convcnp.errors import TableError, shortened
from convcnp.frames.detection import are_beyond, refuse_beyond
from convcnp.frames.months import in_english

_MOST = 0.5  # of the cells
_YEARS_AHEAD = 10  # that a year of two digits may lie
_LARGEST = 1e30  # number: squares of larger ones overflow
DATE = re.compile(r"(\d{1,4})([-/.])(\d{1,2})\2(\d{1,4})(?!\d)")
# What dates look like; the parser takes labels such as T1 or 10m for times of today.
_MONTH_BEGINS, _MONTH_ENDS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec", r"[a-z]*\.?"
_MONTH = rf"(?:{_MONTH_BEGINS}){_MONTH_ENDS}"
_WEEKDAY = r"(?:[a-z]{3,9}\.?,? )?"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_SHORT_MONTH = re.compile(rf"({_MONTH_BEGINS}){_MONTH_ENDS}[-']+(\d\d)", re.IGNORECASE)  # Jan-19
_YEAR = r"((?:1[4-9]|2[01])\d\d)"
_LATE_YEAR = re.compile(r"(Q[1-4])[-/ ]?(\d{4})", re.IGNORECASE)  # Q1 2020
_FIRST_QUARTER = re.compile(r"([1-4])Q(\d{4})", re.IGNORECASE)  # 1Q2020
_SHORT_QUARTER = re.compile(r"([1-4])Q(\d\d)", re.IGNORECASE)  # 1Q20
_TRIMESTER = re.compile(r"T([1-4])[-/ ](\d{4})", re.IGNORECASE)  # T1 2020
_YEAR_TRIMESTER = re.compile(r"(\d{4})[-/ ]T([1-4])", re.IGNORECASE)  # 2020-T1
_COLONS = re.compile(r"(\d{1,2}):(\d{1,2}):(\d{4})")  # 31:01:2020
_ORDINAL = re.compile(rf"{_YEAR}[- ](\d{{3}})")  # 2020-031
_WEEK = r"(?:W|KW|Week|Wk)[ .]?"  # in German a Kalenderwoche
_ISO_WEEK = re.compile(rf"{_YEAR}[-/ ]?{_WEEK}(\d\d?)", re.IGNORECASE)  # 2020-W05
_LATE_WEEK = re.compile(rf"{_WEEK}(\d\d?)[-/, ]+{_YEAR}", re.IGNORECASE)  # KW 5/2020
_JOINED = re.compile(  # 31JAN2020:18:30:00
    rf"(\d\d?)({_MONTH_BEGINS}){_YEAR}(?::(\d\d:\d\d.*))?", re.IGNORECASE
)
_WHOLE = r"(?:\d{4}-\d\d?-\d\d?|\d\d?\.\d\d?\.\d{4}|\d\d?/\d\d?/\d{4})"
_WHOLE = rf"({_WHOLE}(?:[ T]\d\d?:\d\d(?::\d\d)?)?)"
_SPAN = re.compile(rf"{_WHOLE} ?(?:[-/\u2013]|to|until|bis|\u00e0|al?)? ?{_WHOLE}", re.IGNORECASE)
_SIGNS = re.compile(r"(\d{4})\u5e74 ?(\d{1,2})\u6708 ?(\d{1,2})\u65e5(.*)")  # year, month, day
_MONTH_SIGNS = re.compile(r"(\d{4})\u5e74 ?(\d{1,2})\u6708")
# What pandas does not read, how it is written instead, and read, if it is no date yet.
_REWRITTEN: dict[re.Pattern[str], tuple[str, str]] = {
    _SHORT_MONTH: (r"\1-\2", "%b-%y"),
    _LATE_YEAR: (r"\2\1", ""),
    _FIRST_QUARTER: (r"\2Q\1", ""),
    _SHORT_QUARTER: (r"20\2Q\1", ""),
    _TRIMESTER: (r"\2Q\1", ""),
    _YEAR_TRIMESTER: (r"\1Q\2", ""),
    _ISO_WEEK: (r"\1-W\2-1", "%G-W%V-%u"),
    _LATE_WEEK: (r"\2-W\1-1", "%G-W%V-%u"),
    _COLONS: (r"\3-\2-\1", ""),
    _ORDINAL: (r"\1-\2", "%Y-%j"),
    _JOINED: (r"\1 \2 \3 \4", ""),
    _SPAN: (r"\1", ""),
    _SIGNS: (r"\1-\2-\3\4", ""),
    _MONTH_SIGNS: (r"\1-\2", ""),
}
# Most tables hold plain dates, which are told soonest.
_PLAIN = r"(?:\d{4}-\d\d-\d\d|\d\d?[-./ ][a-z0-9]{1,3}[-./ ]\d{4})"
_PLAIN = rf"{_PLAIN}(?:[ T]\d\d?:\d\d(?::\d\d(?:\.\d+)?)?Z?)?"
_ANY_REWRITTEN = re.compile(
    rf"(?!{_PLAIN}$)(?:{'|'.join(form.pattern for form in _REWRITTEN)})", re.IGNORECASE
)
_DATED = re.compile(
    "|".join(
        (
            rf"(?:1[4-9]|2[01])\d\d[-/. ]?(?:\d|[QW]\d|{_MONTH}).*",  # 2020-01-31
            r"\d{1,2}([-/.])\d{1,2}\1(?:\d{4}|\d{2})(?!\d).*",  # 31.1.2020
            rf"{_WEEKDAY}{_DAY}[-/., ]*{_MONTH}[-/., ]+'?\d{{2,4}}.*",  # 31-Jan-20
            rf"{_WEEKDAY}{_MONTH}[-/., ]*(?:{_DAY}[-/., ]+)?\d{{4}}(?!\d).*",  # January 31, 2020
            rf"{_MONTH}[-/., ]*\d{{1,2}}, *\d\d(?!\d).*",  # Jan 31, 20
            r"(?:0?[1-9]|1[0-2])[-/](?:1[4-9]|2[01])\d\d",  # 01/2020
            *(form.pattern for form in _REWRITTEN),
        )
    ),
    re.IGNORECASE,
)
_LAST_MIDNIGHT = r"(?<=[ T])24:00(?=(?::00)?$)"
_CLOCK = r"[-+]?\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?: ?[AaPp]\.?[Mm]\.?)?"
_HALF_DAY = re.compile(r" ?([AaPp])\.?[Mm]\.?$")
_DURATION = re.compile(rf"-?\d+ days?(?: {_CLOCK})?|{_CLOCK}")
_DOTTED = re.compile(r"([01]?\d|2[0-3])\.([0-5]\d)\.([0-5]\d)")  # 18.30.00, unless it is a date
_YEAR_FIRST = re.compile(r"\s*(?:1[4-9]|2[01])\d\d")
_ONE_DAY = pd.Timedelta(days=1)
_ISO: dict[str, Any] = {"format": "ISO8601"}

# --- Kinds ----------------------------------------------------------------------------------------


def is_numeric(column: pd.Series) -> bool:
    """Tell whether a column holds numbers, or texts that are."""
    if is_true_or_false(column) or column.dtype.kind in "mM":
        return False
    if pd.api.types.is_numeric_dtype(column) or column.isna().all():
        return True
    # Numbers with a stray word are numbers; the word is complained about when they are used. So
    # are those beside what is below a limit of detection, of which there may be more.
    cells = column.dropna()
    is_number = pd.to_numeric(cells, errors="coerce").notna()
    if is_number.mean() > _MOST:
        return True
    return bool(is_number.any() and (is_number | are_beyond(cells)).mean() > _MOST)


def is_date(column: pd.Series) -> bool:
    """Tell whether a column holds dates, or texts that are."""
    if column.dtype.kind == "M":
        return True
    if not _is_text(column):
        return False
    some = column.dropna().head(20)
    texts = in_english(some.astype("string").str.strip())
    dated = some[texts.str.fullmatch(_DATED).to_numpy(dtype=bool)]
    return bool(parsed_dates(dated).notna().sum() > 0.5 * len(some))


def is_duration(column: pd.Series) -> bool:
    """Tell whether a column holds durations or clock times, or texts that are."""
    if column.dtype.kind == "m" or not _is_text(column):
        return bool(column.dtype.kind == "m")
    some = column.dropna().head(20).astype("string").str.strip()
    if some.str.fullmatch(_DOTTED).all():
        return not is_date(column)
    return bool(some.str.fullmatch(_DURATION).mean() > 0.5)


def is_label(column: pd.Series) -> bool:
    """Tell whether a column holds words, which may tell series apart."""
    return _is_text(column) and not is_date(column) and not is_duration(column)


def _is_text(column: pd.Series) -> bool:
    return not (is_numeric(column) or is_true_or_false(column) or column.dtype.kind in "mM")


def is_true_or_false(column: pd.Series) -> bool:
    """Tell whether a column holds true and false, of which some may be missing.

    Example:
        >>> is_true_or_false(pd.Series([True, None])), is_true_or_false(pd.Series([0, 1]))
        (True, False)
    """
    if column.dtype != object:
        return bool(pd.api.types.is_bool_dtype(column))
    cells = column.dropna()
    return len(cells) > 0 and all(isinstance(cell, bool) for cell in cells)


# --- Values ---------------------------------------------------------------------------------------


def numbers(frame: pd.DataFrame, name: str, *, may_be_infinite: bool = False) -> np.ndarray:
    """Return a column as floats, NaN where cells are missing."""
    column = frame[name]
    if column.dtype.kind in "mM":
        refuse_first(column.notna().to_numpy(), column, name, "a number")
    converted = pd.to_numeric(column, errors="coerce")
    values: np.ndarray = converted.to_numpy(dtype=np.float64, na_value=np.nan)
    bad = np.isnan(values) & column.notna().to_numpy()
    way = ", or name it with missing= where it stands for a missing value"
    refuse_beyond(bad, column, name)
    refuse_first(bad, column, name, "a number", way)
    infinite = np.isinf(values)
    if not may_be_infinite:
        refuse_first(infinite, column, name, "a finite number")
    large = (np.abs(values) > _LARGEST) & ~infinite
    refuse_first(large, column, name, f"a number below {_LARGEST:g}")
    return values


def refuse_first(
    bad: np.ndarray, column: pd.Series, name: str, expected: str, way: str = ""
) -> None:
    """Name the first bad cell, if there is one, and what was expected there."""
    if bad.any():
        row = int(np.argmax(bad))
        cell = column.iloc[row]
        shown = shortened(repr(cell) if isinstance(cell, str) else str(cell))
        raise TableError(
            f"Expected {expected} in every cell of {name!r}, got {shown} in row {row + 1} of "
            f"{len(column)}; correct it, or leave the cell empty{way}."
        )


def parsed_durations(column: pd.Series) -> pd.Series:
    """Parse durations, NaT where it is impossible; clock times are those since midnight."""
    texts = column.astype("string").str.strip().str.replace(_DOTTED, r"\1:\2:\3", regex=True)
    half = texts.str.extract(_HALF_DAY)[0].str.lower()  # a for the morning, p for the afternoon
    texts = texts.str.replace(_HALF_DAY, "", regex=True)
    has_no_seconds = texts.str.count(":") == 1
    passed = pd.to_timedelta(texts.mask(has_no_seconds, texts + ":00"), errors="coerce")
    noon = pd.Timedelta(hours=12)
    of_half = passed % noon + noon * (half == "p").fillna(False).astype(int)
    return passed.where(half.isna(), of_half)


def parsed_dates(column: pd.Series, day_first: bool = False) -> pd.Series:
    """Parse dates, NaT where it is impossible; clocks of different zones are put to UTC.

    Where days are first, they are behind a year that is first all the same.
    """
    begins = column.astype("string").str.match(_YEAR_FIRST).fillna(False).to_numpy(dtype=bool)
    if not day_first or not begins.any():
        return _parsed_dates(column, day_first)
    if begins.all():
        return _parsed_dates(column, False)
    cells = column.reset_index(drop=True)
    parts = [_parsed_dates(cells[begins], False), _parsed_dates(cells[~begins], True)]
    whole = pd.concat(parts).sort_index().set_axis(column.index)
    return whole if whole.dtype.kind == "M" else pd.to_datetime(whole, utc=True)


def _parsed_dates(column: pd.Series, day_first: bool) -> pd.Series:
    written = column.astype("string")
    texts = _as_pandas_writes(in_english(written))
    ends_day = texts.str.contains("24:00", regex=False).fillna(False).astype(bool)
    if ends_day.any():
        ends_day &= texts.str.contains(_LAST_MIDNIGHT, regex=True).fillna(False).astype(bool)
        texts = texts.str.replace(_LAST_MIDNIGHT, "00:00", regex=True)
    best = pd.Series(pd.NaT, index=column.index, name=column.name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas warns when it has to guess day and month
        order = {"dayfirst": day_first}
        for options in (_ISO, order, {"format": "mixed", **order}):
            try:
                parsed = pd.to_datetime(texts, errors="coerce", **options)
            except (ValueError, TypeError):  # zones differ
                parsed = pd.to_datetime(texts, errors="coerce", utc=True, **options)
            if options is not _ISO:
                parsed = parsed.where(parsed.dt.year > 1000)  # a date without a year gets the first
            if parsed.notna().sum() > best.notna().sum():
                best = pd.Series(parsed, index=column.index, name=column.name)
            if best.notna().sum() == texts.notna().sum():
                break
    best = best.mask(ends_day, best + _ONE_DAY) if ends_day.any() else best
    return _in_its_century(best, written)


def are_spans(texts: pd.Series) -> pd.Series:
    """Tell which texts hold two dates: those from which and until which something was.

    Example:
        >>> are_spans(pd.Series(["2020-01-05 - 2020-01-11", "2020-01-05"])).tolist()
        [True, False]
    """
    return texts.astype("string").str.strip().str.fullmatch(_SPAN).fillna(False).astype(bool)


def _as_pandas_writes(texts: pd.Series) -> pd.Series:
    """Put years first, weeks as their first day, and numbers of days as dates, cell by cell."""
    texts = texts.str.strip()
    if not texts.str.fullmatch(_ANY_REWRITTEN).any():
        return texts
    for form, (way, read) in _REWRITTEN.items():
        is_so = texts.str.fullmatch(form).fillna(False).astype(bool)
        if not is_so.any():
            continue
        changed = texts[is_so].str.replace(form, way, regex=True)
        if read:
            days = pd.to_datetime(changed, format=read, errors="coerce")
            changed = days.dt.strftime("%Y-%m-%d").astype("string")
        texts = texts.where(~is_so, changed)
        if is_so.all():
            break
    return texts


def _in_its_century(dates: pd.Series, texts: pd.Series) -> pd.Series:
    """Put years of two digits that lie far ahead into the last century: 58 is not 2058."""
    is_short = ~texts.str.contains(r"\d{4}", regex=True).fillna(True).astype(bool)
    if dates.dtype.kind != "M" or not is_short.any():
        return dates
    far = is_short & _is_far_ahead(dates.dt.year)
    return dates.mask(far, dates - pd.DateOffset(years=100)) if far.any() else dates


def whole_years(years: pd.Series) -> pd.Series:
    """Put numbers of two digits into this century or, if they lie far ahead, into the last.

    Example:
        >>> whole_years(pd.Series([5, 58, 1958])).tolist()
        [2005, 1958, 1958]
    """
    whole = years.mask(years < 100, years + 2000)
    return whole.mask(_is_far_ahead(whole) & (years < 100), whole - 100)


def _is_far_ahead(years: pd.Series) -> pd.Series:
    return years > pd.Timestamp.now().year + _YEARS_AHEAD
