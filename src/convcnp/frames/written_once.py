"""Cells that are written once for the rows below them, as people and merged cells do."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd

from convcnp.errors import ConvCNPWarning
from convcnp.frames.assembled import role_of
from convcnp.frames.kinds import is_date, is_duration, is_numeric, parsed_dates, parsed_durations
from convcnp.frames.names import listed, names_series, numbers_series
from convcnp.frames.time_axis import is_day_first

_MOST = 0.5  # of the rows


def filled_down(frame: pd.DataFrame) -> pd.DataFrame:
    """Fill names, dates and years that stand above the rows they are of, and say so.

    They do where another column begins anew at each of them, and grows from there to the next.

    Example:
        >>> frame = pd.DataFrame({"site": ["A", None, "B", None], "day": [1, 2, 1, 2]})
        >>> with warnings.catch_warnings(action="ignore"):
        ...     filled_down(frame)["site"].tolist()
        ['A', 'A', 'B', 'B']
    """
    sparse = [name for name in frame.columns if _may_be_written_once(frame[name])]
    if not sparse:
        return frame
    running = [_as_numbers(frame[name]) for name in frame.columns if frame[name].notna().all()]
    found = [
        name
        for name in sparse
        if any(_begin_anew(values, frame[name].notna().to_numpy()) for values in running)
    ]
    if found:
        warnings.warn(
            f"{listed(found)} {'stands' if len(found) == 1 else 'stand'} in few rows, at each of "
            "which another column begins anew: the rows below are of the same. If that is wrong, "
            "fill the cells.",
            ConvCNPWarning,
            stacklevel=5,
        )
    return frame.assign(**{name: frame[name].ffill() for name in found})


def _may_be_written_once(column: pd.Series) -> bool:
    """Tell whether a column has few cells, the first among them, that are no measurements."""
    is_missing = column.isna()
    if column.empty or is_missing.iloc[0] or is_missing.mean() < _MOST:
        return False
    is_name = names_series(column) or numbers_series(column) or role_of(str(column.name)) == "year"
    return is_name or not is_numeric(column)


def _as_numbers(column: pd.Series) -> np.ndarray:
    """Return numbers, dates or clocks as numbers, NaN where cells are none."""
    if is_numeric(column):
        values = pd.to_numeric(column, errors="coerce")
    elif is_duration(column):
        values = parsed_durations(column).dt.total_seconds()
    elif is_date(column):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvCNPWarning)  # said when the times are read
            dates = parsed_dates(column, is_day_first(column))
        values = (dates - dates.min()).dt.total_seconds()
    else:
        values = pd.Series(np.nan, index=column.index)
    numbers: np.ndarray = values.to_numpy(dtype=np.float64)
    return numbers


def _begin_anew(values: np.ndarray, is_first: np.ndarray) -> bool:
    """Tell whether values fall at every first row but that of all, and grow at all others."""
    steps, at_first = np.diff(values), is_first[1:]
    return bool(at_first.any() and (steps[at_first] < 0).all() and (steps[~at_first] > 0).all())
