"""Cells that hold a value and its error: 3.2 ± 0.1."""

from __future__ import annotations

import warnings

import pandas as pd

from convcnp.errors import ConvCNPWarning

_MOST = 0.5  # of the cells
_SOME = 20  # cells that show that a column holds words
_SIGN = r"(?:\u00b1|\+/[-\u2212]|\+-)"
_NUMBER = r"[-+\u2212]?[0-9][0-9.,]*(?:[eE][-+]?[0-9]+)?"
_BOTH = rf"\(?({_NUMBER}) ?{_SIGN} ?({_NUMBER})\)?"


def split_errors(frame: pd.DataFrame) -> pd.DataFrame:
    """Give errors that stand behind values, in their cells, a column of their own, and say so.

    Example:
        >>> frame = pd.DataFrame({"v": ["3.2 ± 0.1", "2.5", "2.8 ± 0.2"]})
        >>> with warnings.catch_warnings(action="ignore"):
        ...     split_errors(frame).dropna().to_dict("list")
        {'v': ['3.2', '2.8'], 'v_err': ['0.1', '0.2']}
    """
    for name in [name for name in frame.columns if _has_errors(frame[name])]:
        error = f"{name}_err"
        if error in frame.columns:
            continue
        texts = frame[name].astype("string").str.strip()
        if not texts.str.contains(".", regex=False).any():  # else commas are between thousands
            texts = texts.str.replace(",", ".", regex=False)
        both = texts.str.extract(f"^{_BOTH}$")
        first = both[0].first_valid_index()
        warnings.warn(
            f"{name!r} is read as values with standard errors, {frame[name][first]!r} as "
            f"{both[0][first]} and {both[1][first]}; the errors are called {error!r}.",
            ConvCNPWarning,
            stacklevel=5,
        )
        values = both[0].where(both[0].notna(), texts)
        frame = frame.assign(**{name: values.astype(object)})
        frame.insert(frame.columns.get_loc(name) + 1, error, both[1].astype(object))
    return frame


def _has_errors(column: pd.Series) -> bool:
    """Tell whether most cells hold a value and its error."""
    if pd.api.types.is_numeric_dtype(column):
        return False
    texts = column.dropna().astype("string").str.strip()
    return all(
        bool(some.str.fullmatch(_BOTH).sum() > _MOST * len(some))
        for some in (texts.head(_SOME), texts)
    )
