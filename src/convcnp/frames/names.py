"""What the names of columns say of them: times, numbers of rows, series and standard errors."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import pandas as pd

from convcnp.frames.padded import without_zeros

CERTAIN_TIME_NAMES = ("time", "times", "date", "dates", "datetime", "timestamp", "ds", "mjd", "jd")
WEAK_TIME_NAMES = ("year", "month", "week", "day", "hour", "x")  # parts of times, or a place
TIME_NAMES = (*CERTAIN_TIME_NAMES, "t", "when", *WEAK_TIME_NAMES)
GROUP_NAMES = (
    *("id", "group", "series", "series_id", "unique_id", "item_id", "object_id", "object"),
    *("station", "sensor", "subject", "patient", "key"),
)
_ROW_NAMES = ("unnamed: 0", "rownames", "row", "row_id", "rowid", "row_number")
_PERHAPS_ROW_NAMES = ("index", "id", "obs", "observation", "record", "no", "nr", "#", "t")
# Of columns that number something, where they hold whole numbers.
_NUMBERED = ("site", "plot", "location", "device", "logger", "buoy", "well")
_NUMBER_WORDS = ("id", "no", "nr", "number", "code")  # behind these, as in station_no
PLACE_NAMES = ("lat", "latitude", "lon", "long", "lng", "longitude", "easting", "northing")
# Of names of standard errors, behind a value's name and before it. Some are plain without anything
# between, and others are not: dose is no error of do, nor eCO2 one of CO2.
_ERROR_ENDINGS = ("err", "error", "sd", "std", "stderr", "se", "sigma", "unc", "uncertainty")
_ERROR_BEGINNINGS = ("e", "err", "error", "sigma", "sd", "unc")
_PLAIN_ERRORS = ("err", "error", "std", "stderr", "sigma", "uncertainty")
ERROR_NAMES = ("sigma", "yerr", "err", "stderr", "uncertainty")  # beside a single value
ONE_SIGMA = (
    "±",
    "+/-",
    "+-",
    "1s",
    "1sd",
    "1se",
    "1sigma",
    "1σ",
    "σ",
)  # behind a single value, or behind the time
_SEPARATORS = re.compile(r"[\W_]+")
_WORDS = re.compile(r"[\W_]+|(?<=[a-z])(?=[A-Z])")  # what is between the words of a name


def is_time_name(name: Any) -> bool:  # noqa: ANN401 - of a column
    """Tell whether a name is one that columns of times have."""
    return str(name).lower() in TIME_NAMES


def counts_rows(column: pd.Series) -> bool:
    """Tell whether a column is the number of the row, which exports like to put first."""
    name = str(column.name).lower()
    column = without_zeros(column)
    if not pd.api.types.is_integer_dtype(column):
        return False
    if name in _ROW_NAMES:  # rows may have been sorted, or left out, since they were numbered
        return bool(column.is_unique)
    if words_of(str(column.name))[-1:] == ["id"] and name not in GROUP_NAMES:
        return len(column) > 1 and bool(column.is_unique)
    return name in _PERHAPS_ROW_NAMES and bool((column.diff().iloc[1:] == 1).all())


def names_series(column: pd.Series) -> bool:
    """Tell whether a column has the name of one that tells series apart, and not what one reads."""
    if str(column.name).lower() not in GROUP_NAMES:
        return False
    return column.dtype.kind != "f" or bool((column.dropna() % 1 == 0).all())


def numbers_series(column: pd.Series) -> bool:
    """Tell whether a column is named after what tells series apart by number: station_id, plot.

    Example:
        >>> numbers_series(pd.Series([7, 7, 8], name="Station ID"))
        True
    """
    before, last = ["", "", *words_of(str(column.name))][-2:]
    is_told = last in _NUMBER_WORDS and before in (*_NUMBERED, *GROUP_NAMES)
    if not is_told and last not in ("id", *_NUMBERED):
        return False
    column = without_zeros(column)
    is_number = pd.api.types.is_numeric_dtype(column) and column.dtype.kind != "b"
    return is_number and bool((column.dropna() % 1 == 0).all()) and not column.is_unique


def words_of(name: str) -> list[str]:
    """Return the words of a name in small letters.

    Example:
        >>> words_of("windDir_10m (deg)")
        ['wind', 'dir', '10m', 'deg']
    """
    return [word.lower() for word in _WORDS.split(name) if word]


def error_of(value: str, names: Sequence[str]) -> str:
    """Return which of these names is that of a value's standard errors; empty if none is.

    Example:
        >>> error_of("flux", ["mjd", "flux", "flux_err"]), error_of("mag", ["mag", "MAGERR"])
        ('flux_err', 'MAGERR')
    """
    forms, whole = _error_forms(tuple(names)), squeezed(value)
    if not whole:  # as of a unit alone
        return ""
    after = ((f"{whole} {word}", whole + word, word) for word in _ERROR_ENDINGS)
    before = ((f"{word}_{whole}", word + whole, word) for word in _ERROR_BEGINNINGS)
    for apart, together, word in (*after, *before):
        name = forms.get(apart) or (forms.get(together) if word in _PLAIN_ERRORS else None)
        if name is not None:
            return name
    return ""


@lru_cache(maxsize=2)  # asked of every value of a table
def _error_forms(names: tuple[str, ...]) -> dict[str, str]:
    """Return names by their words in small letters: the last or first apart, and all together."""
    forms: dict[str, str] = {}
    for name in names:
        *before, last = words_of(name) or [""]
        first, *behind = _SEPARATORS.split(name.lower())
        for form in (f"{''.join(before)} {last}", f"{first}_{''.join(behind)}", squeezed(name)):
            forms.setdefault(form, name)
    return forms


def squeezed(name: str) -> str:
    """Return a name in small letters, with nothing between its words; signs alone stay.

    Example:
        >>> squeezed("Mag_Err"), squeezed("1-sigma"), squeezed("+/-")
        ('magerr', '1sigma', '+/-')
    """
    return "".join(words_of(name)) or name.strip()


def listed(names: Sequence[str], most: int = 8) -> str:
    """List names in a sentence, the first of them if they are many."""
    shown = ", ".join(repr(str(name)) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
