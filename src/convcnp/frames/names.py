"""What the names of columns say of them: times, numbers of rows, series and standard errors."""

from __future__ import annotations

import re
from collections.abc import Sequence
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
# Of names of standard errors.
_ERROR_ENDINGS = (
    *("_err", "_error", "_sd", "_std", "_stderr", "_se"),
    *("_sigma", "_unc", "_uncertainty"),
)
_ERROR_BEGINNINGS = ("e_", "err_", "error_", "sigma_", "sd_", "unc_")
ERROR_NAMES = ("sigma", "yerr", "err", "stderr", "uncertainty")  # beside a single value
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
        >>> error_of("flux", ["mjd", "flux", "flux_err"])
        'flux_err'
    """
    after = (value + end for end in _ERROR_ENDINGS)
    before = (beginning + value for beginning in _ERROR_BEGINNINGS)
    return next((name for name in (*after, *before) if name in names), "")


def listed(names: Sequence[str], most: int = 8) -> str:
    """List names in a sentence, the first of them if they are many."""
    shown = ", ".join(repr(str(name)) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
