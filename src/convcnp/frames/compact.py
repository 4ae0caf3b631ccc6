"""Dates that a table writes as numbers: 20200131, 202001, or 2020.01."""

from __future__ import annotations

import warnings

import pandas as pd

from convcnp.errors import ConvCNPWarning
from convcnp.frames.kinds import is_numeric

_DAYS, _MONTHS, _DAYS_OF_YEAR, _WEEKS = "%Y%m%d", "%Y%m", "%Y%j", "%G%V"
_CLOCKS = ("%Y%m%d%H", "%Y%m%d%H%M", "%Y%m%d%H%M%S")
_WRITTEN = {  # by what follows the year
    **{_DAYS: 10**4, _MONTHS: 10**2, _DAYS_OF_YEAR: 10**3, _WEEKS: 10**2},
    **{_CLOCKS[0]: 10**6, _CLOCKS[1]: 10**8, _CLOCKS[2]: 10**10},
}
_TELLING = 10  # numbers, across a new year, in which days or weeks of years differ from others
_DOTTED = "%Y.%m"  # months written as 2020.01 to 2020.12
_ROUNDING = 0.02  # hundredths, by which these are off in single precision
_PARTS = {
    **{"Y": "year", "m": "month", "d": "day", "H": "hour", "M": "minute", "S": "second"},
    **{"j": "day of the year", "G": "year", "V": "week"},
}
EXAMPLES = {
    _DAYS: "a date such as 20200131",
    _MONTHS: "a month such as 202001",
    _DAYS_OF_YEAR: "a day of a year such as 2020031",
    _WEEKS: "a week such as 202005",
    _CLOCKS[0]: "an hour such as 2020013118",
    _CLOCKS[1]: "a time such as 202001311830",
    _CLOCKS[2]: "a time such as 20200131183000",
    _DOTTED: "a month such as 2020.01",
}


def compact_format(column: pd.Series) -> str:
    """Return the format of dates that are written as whole numbers, and say so."""
    found = number_format(column)
    if found:
        first = float(column.dropna().iloc[0])
        shown = (
            f"Numbers such as {first:.2f}"
            if found == _DOTTED
            else f"Whole numbers such as {first:.0f}"
        )
        parts = ", ".join(_PARTS[letter] for letter in found if letter in _PARTS)
        warnings.warn(
            f"{shown} in {column.name!r} are read as dates: {parts}.",
            ConvCNPWarning,
            stacklevel=4,
        )
    return found


def compact_dates(column: pd.Series, written: str) -> pd.Series:
    """Read numbers as dates of a format such as %Y%m%d, NaT where they are none."""
    if "." in written:  # two digits behind the point: 2020.1 is October
        column, written = (100 * column.astype("float64")).round(), written.replace(".", "")
    texts = column.astype("Int64").astype("string")
    if written.endswith("%V"):
        texts, written = texts + "1", f"{written}%u"  # a week begins with its Monday
    return pd.to_datetime(texts, format=written, errors="coerce")


def holds_compact_dates(column: pd.Series) -> bool:
    """Tell whether whole numbers are dates written like 20200213, or months like 202002."""
    return bool(number_format(column))


def holds_compact_days(column: pd.Series) -> bool:
    """Tell whether whole numbers are days written like 20200213, or times: chance gives no others.

    Example:
        >>> holds_compact_days(pd.Series([20200228, 20200229])), holds_compact_days(pd.Series([7]))
        (True, False)
    """
    return column.nunique() > 1 and number_format(column) in (_DAYS, *_CLOCKS)


def dates_of_numbers(column: pd.Series) -> pd.Series:
    """Read whole numbers that are dates, such as 20200213 or 202002, NaT where cells are missing.

    Example:
        >>> dates_of_numbers(pd.Series([20200229])).dt.day_name().tolist()
        ['Saturday']
    """
    return compact_dates(pd.to_numeric(column), number_format(column))


def number_format(column: pd.Series) -> str:
    """Return the format that every one of some whole numbers could be a date in, if there is."""
    if column.dtype.kind in "mM" or not is_numeric(column) or not column.notna().any():
        return ""
    values = pd.to_numeric(column.dropna(), errors="coerce")
    for written, zeros in _WRITTEN.items():
        # Most numbers lie elsewhere, and are not looked at one by one.
        if not _are_years(values, zeros) or not (values % 1 == 0).all():
            continue
        # A single number of six digits is no more likely to be a month than a number.
        is_told = written == _DAYS or values.nunique() > 2
        if written in (_DAYS_OF_YEAR, _WEEKS):
            is_told = values.nunique() >= _TELLING and (values // zeros).nunique() > 1
        if is_told and compact_dates(values, written).notna().all():
            return written
    return _DOTTED if _are_dotted_months(values) else ""


def _are_years(values: pd.Series, zeros: int = 1) -> bool:
    """Tell whether all numbers are years between 1500 and 2500 with so many digits behind them."""
    return bool(1500 * zeros <= values.min() and values.max() <= 2501 * zeros)


def _are_dotted_months(values: pd.Series) -> bool:
    """Tell numbers such as 2020.01 to 2020.12 from years with a fraction, by at least a year."""
    if not _are_years(values):
        return False
    hundredths = 100 * values
    is_month = (hundredths - hundredths.round()).abs() < _ROUNDING
    is_month &= hundredths.round().mod(100).between(1, 12)
    return bool(is_month.all()) and values.nunique() >= 12
