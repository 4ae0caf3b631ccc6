"""Columns of standard errors beside those of values: named, or known by their names."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from convcnp.errors import ConvCNPWarning, TableError, did_you_mean
from convcnp.frames.columns import Columns
from convcnp.frames.guesses import listed
from convcnp.frames.kinds import is_numeric, numbers

ENDINGS = ("_err", "_error", "_sd", "_std")  # of names of standard errors


def with_errors(frame: pd.DataFrame, columns: Columns, named: Columns) -> Columns:
    """Add the columns of standard errors: those named, or known by the names of their values.

    A recognised column of errors is no value of its own, unless it was named as one.

    Example:
        >>> frame = pd.DataFrame({"t": [0.0, 1.0], "v": [1.0, 2.0], "v_err": [0.1, 0.3]})
        >>> found = with_errors(frame, Columns(("v", "v_err"), time="t"), Columns())
        >>> found.values, found.errors
        (('v',), ('v_err',))
    """
    if named.errors == ("",):
        return columns
    if named.errors:
        return _with_named(frame, columns, named)
    free = [c for c in frame.columns if c not in (*named.values, columns.time, columns.group)]
    found = {
        value: next((value + end for end in ENDINGS if value + end in free), "")
        for value in columns.values
    }
    taken = {error for error in found.values() if error and is_numeric(frame[error])}
    values = tuple(value for value in columns.values if value not in taken)
    errors = tuple(found[value] if found[value] in taken else "" for value in values)
    return replace(columns, values=values, errors=errors if any(errors) else ())


def _with_named(frame: pd.DataFrame, columns: Columns, named: Columns) -> Columns:
    values = tuple(value for value in columns.values if value not in named.errors)
    present = [str(column) for column in frame.columns]
    for name in named.errors:
        if name and name not in frame.columns:
            raise TableError(
                f"Expected a column {name!r} of standard errors, but the table has "
                f"{listed(present)}{did_you_mean(name, present)}"
            )
    if len(values) != len(named.errors) or set(named.values) & set(named.errors):
        raise TableError(
            f"Expected one column of standard errors for each of {listed(values)}, got "
            f"{listed(named.errors)}; name the values with value=, and as many errors in their "
            "order."
        )
    return replace(columns, values=values, errors=named.errors)


def errors_of(frame: pd.DataFrame, columns: Columns, y: np.ndarray) -> np.ndarray | None:
    """Return standard errors (rows, values), zero for values without such a column.

    A value without its error gets the median of its column.

    Example:
        >>> frame = pd.DataFrame({"v": [1.0, 2.0], "v_err": [0.1, 0.3]})
        >>> errors_of(frame, Columns(("v",), errors=("v_err",)), np.array([[1.0], [2.0]])).tolist()
        [[0.1], [0.3]]
    """
    if not columns.errors:
        return None
    parts = [
        _read(frame, name, ~np.isnan(y[:, i])) if name else np.zeros(len(frame))
        for i, name in enumerate(columns.errors)
    ]
    return np.stack(parts, 1)


def _read(frame: pd.DataFrame, name: str, is_observed: np.ndarray) -> np.ndarray:
    found = numbers(frame, name)
    if (found < 0).any():
        raise TableError(
            f"Expected standard errors in {name!r}, which are zero or larger, got "
            f"{found[found < 0][0]:g}; name another column with error=."
        )
    is_unknown = np.isnan(found)
    lacking = int((is_unknown & is_observed).sum())
    if is_unknown.all():
        raise TableError(
            f"Expected standard errors in {name!r}, but every cell is missing; leave it out with "
            'error="".'
        )
    if lacking:
        median = float(np.nanmedian(found))
        warnings.warn(
            f"{lacking:,} values have no error in {name!r}; the median of the others, "
            f"{median:.4g}, is taken.",
            ConvCNPWarning,
            stacklevel=4,
        )
    return np.where(is_unknown, float(np.nanmedian(found)), found)


def described(values: Sequence[str], errors: Sequence[str]) -> str:
    """Say which columns hold errors of which values, or nothing."""
    pairs = [
        f"{error!r} as the standard errors of {value!r}"
        for value, error in zip(values, errors, strict=False)
        if error
    ]
    return f", with {' and '.join(pairs)}" if pairs else ""
