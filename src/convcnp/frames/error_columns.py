"""Columns of standard errors beside those of values: named, or known by their names."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from convcnp.errors import ConvCNPWarning, TableError, did_you_mean
from convcnp.frames.columns import Columns
from convcnp.frames.kinds import is_numeric, numbers
from convcnp.frames.names import ERROR_NAMES, ONE_SIGMA, error_of, listed, squeezed


def with_errors(
    frame: pd.DataFrame,
    columns: Columns,
    named: Columns,
    learned: Columns | None = None,
    *,
    in_plane: bool = False,
) -> Columns:
    """Add the columns of standard errors: those named, learned, or known by their values' names.

    A recognised column of errors is no value of its own, unless it was named as one. A long table
    has one column of errors beside its values, which is that of every channel.

    Args:
        named: What a user named.
        learned: The columns of the training table, where a model has one.
        in_plane: Whether the model is told the errors of points in the plane as well.

    Example:
        >>> frame = pd.DataFrame({"t": [0.0, 1.0], "v": [1.0, 2.0], "v_err": [0.1, 0.3]})
        >>> found = with_errors(frame, Columns(("v", "v_err"), time="t"), Columns())
        >>> found.values, found.errors
        (('v',), ('v_err',))
    """
    is_untold = bool(columns.inputs) and not in_plane
    if named.errors == ("",) or (is_untold and not named.errors):
        return columns
    if is_untold:
        raise TableError(
            f"Expected points in the plane without standard errors, got {listed(named.errors)}; "
            "only predictions of 'general' take them there, so leave them out."
        )
    # Channels of a long table may have got columns of their own already.
    is_long = bool({columns.channel, learned.channel if learned else None} - {None})
    if named.errors:
        return _with_named(frame, columns, named, is_long)
    found = _learned(frame, columns, learned)
    if found or columns.channel is None:
        return replace(columns, errors=found) if found else _recognised(frame, columns, named)
    assert columns.value is not None
    whole = _recognised(frame, replace(columns, values=(columns.value,)), named)
    return replace(columns, errors=whole.errors * len(columns.values))


def _learned(frame: pd.DataFrame, columns: Columns, learned: Columns | None) -> tuple[str, ...]:
    """Return the columns of errors that belonged to these values in training, if all are here."""
    if learned is None or not set(columns.values) <= set(learned.values):
        return ()
    errors = dict(zip(learned.values, learned.errors, strict=False))
    found = tuple(errors.get(value, "") for value in columns.values)
    return found if any(found) and {*found} - {""} <= {*frame.columns} else ()


def _recognised(frame: pd.DataFrame, columns: Columns, named: Columns) -> Columns:
    free = [c for c in frame.columns if c not in (*named.values, columns.time, columns.group)]
    found = {
        value: error_of(value, free) or _only_error(frame, columns) for value in columns.values
    }
    taken = {error for error in found.values() if error and is_numeric(frame[error])}
    values = tuple(value for value in columns.values if value not in taken)
    errors = tuple(found[value] if found[value] in taken else "" for value in values)
    return replace(columns, values=values, errors=errors if any(errors) else ())


def _only_error(frame: pd.DataFrame, columns: Columns) -> str:
    """Return the column of errors beside a single value, if it is named like one and may be it."""
    named = [value for value in columns.values if squeezed(value) in (*ERROR_NAMES, *ONE_SIGMA)]
    if len(columns.values) != 2 or len(named) != 1:
        return ""
    error = named[0]
    others = [name for name in frame.columns if name in (columns.time, *columns.values)]
    if squeezed(error) in ONE_SIGMA and others[others.index(error) - 1] == columns.time:
        return ""  # of the time itself, such as an age
    numbers = pd.to_numeric(frame[error], errors="coerce")
    return error if (numbers.dropna() >= 0).all() else ""


def _with_named(frame: pd.DataFrame, columns: Columns, named: Columns, is_long: bool) -> Columns:
    present = [str(column) for column in frame.columns]
    for name in named.errors:
        if name and name not in frame.columns:
            raise TableError(
                f"Expected a column {name!r} of standard errors, but the table has "
                f"{listed(present)}{did_you_mean(name, present)}"
            )
    values = tuple(value for value in columns.values if value not in named.errors)
    is_one = is_long and len(named.errors) == 1
    errors = named.errors * len(values) if is_one else named.errors
    if len(values) != len(errors) or set(named.values) & set(errors):
        raise TableError(
            f"Expected one column of standard errors for each of {listed(values)}, got "
            f"{listed(named.errors)}; name the values with value=, and as many errors in their "
            "order."
        )
    return replace(columns, values=values, errors=errors)


def errors_of(frame: pd.DataFrame, columns: Columns, y: np.ndarray) -> np.ndarray | None:
    """Return standard errors (rows, values), zero for values without such a column.

    A value without its error gets the median of its column; an infinite error says that nothing
    was observed.

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
    found = numbers(frame, name, may_be_infinite=True)
    if (found < 0).any():
        raise TableError(
            f"Expected standard errors in {name!r}, which are zero or larger, got "
            f"{found[found < 0][0]:g}; name another column with error=."
        )
    is_unknown, is_finite = np.isnan(found), np.isfinite(found)
    lacking = int((is_unknown & is_observed).sum())
    if not is_finite.any():
        raise TableError(
            f"Expected standard errors in {name!r}, but every cell is missing or infinite; leave "
            'it out with error="".'
        )
    median = float(np.median(found[is_finite]))
    if lacking:
        warnings.warn(
            f"{lacking:,} values have no error in {name!r}; the median of the others, "
            f"{median:.4g}, is taken.",
            ConvCNPWarning,
            stacklevel=4,
        )
    return np.where(is_unknown, median, found)


def described(values: Sequence[str], errors: Sequence[str]) -> str:
    """Say which columns hold errors of which values, or nothing."""
    pairs = [(v, e) for v, e in zip(values, errors, strict=False) if e]
    if len(pairs) > 1 and len({error for _, error in pairs}) == 1:
        return f", with {errors[0]!r} as the standard errors of all"
    said = [f"{error!r} as the standard errors of {value!r}" for value, error in pairs]
    return f", with {' and '.join(said)}" if said else ""
