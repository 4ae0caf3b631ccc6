"""What the names of columns say of them: times, numbers of rows, series and standard errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

CERTAIN_TIME_NAMES = ("time", "times", "date", "dates", "datetime", "timestamp", "ds", "mjd", "jd")
WEAK_TIME_NAMES = ("year", "month", "week", "day", "hour", "x")  # parts of times, or a place
TIME_NAMES = (*CERTAIN_TIME_NAMES, "t", "when", *WEAK_TIME_NAMES)
GROUP_NAMES = (
    *("id", "group", "series", "series_id", "unique_id", "item_id", "object_id", "object"),
    *("station", "sensor", "subject", "patient", "key"),
)
_ROW_NAMES = ("unnamed: 0", "rownames", "row", "row_id", "rowid", "row_number")
_PERHAPS_ROW_NAMES = ("index", "id", "obs", "observation", "t")
PLACE_NAMES = ("lat", "latitude", "lon", "long", "lng", "longitude", "easting", "northing")
_ERROR_ENDINGS = ("_err", "_error", "_sd", "_std")  # of names of standard errors


def is_time_name(name: Any) -> bool:  # noqa: ANN401 - of a column
    """Tell whether a name is one that columns of times have."""
    return str(name).lower() in TIME_NAMES


def counts_rows(column: pd.Series) -> bool:
    """Tell whether a column is the number of the row, which exports like to put first."""
    name = str(column.name).lower()
    if not pd.api.types.is_integer_dtype(column):
        return False
    if name in _ROW_NAMES:  # rows may have been sorted, or left out, since they were numbered
        return bool(column.is_unique)
    return name in _PERHAPS_ROW_NAMES and bool((column.diff().iloc[1:] == 1).all())


def names_series(column: pd.Series) -> bool:
    """Tell whether a column has the name of one that tells series apart, and not what one reads."""
    if str(column.name).lower() not in GROUP_NAMES:
        return False
    return column.dtype.kind != "f" or bool((column.dropna() % 1 == 0).all())


def error_of(value: str, names: Sequence[str]) -> str:
    """Return which of these names is that of a value's standard errors; empty if none is.

    Example:
        >>> error_of("flux", ["mjd", "flux", "flux_err"])
        'flux_err'
    """
    return next((value + end for end in _ERROR_ENDINGS if value + end in names), "")


def listed(names: Sequence[str], most: int = 8) -> str:
    """List names in a sentence, the first of them if they are many."""
    shown = ", ".join(repr(str(name)) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
