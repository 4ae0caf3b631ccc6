"""Whole numbers with zeros in front, such as 007: names in digits, which keep their zeros."""

from __future__ import annotations

import re

import pandas as pd

_DIGITS = r"[0-9]+"
_PADDED = r"0[0-9]+"


def has_padded_cells(text: str, separator: str) -> bool:
    """Tell whether a cell of a table of text is a whole number with zeros in front.

    Example:
        >>> has_padded_cells("id,v\\n007,1\\n", ","), has_padded_cells("id,v\\n7,0.5\\n", ",")
        (True, False)
    """
    edge = r"\s" if separator.startswith("\\") else rf"{re.escape(separator)}\n"
    cell = re.compile(rf'[{edge}][ \t]*"?{_PADDED}"?[ \t]*(?=[{edge}]|\Z)')
    return bool(cell.search(text) or cell.match("\n" + text.partition("\n")[0]))


def is_padded(column: pd.Series) -> bool:
    """Tell whether a column holds texts of digits, and some begin with a zero that says nothing.

    Example:
        >>> is_padded(pd.Series(["007", "120", None])), is_padded(pd.Series(["0", "12"]))
        (True, False)
    """
    if column.dtype.kind not in "OTU" and not isinstance(column.dtype, pd.StringDtype):
        return False
    some = column.dropna()
    if some.empty or not re.fullmatch(_DIGITS, str(some.iloc[0]).strip()):
        return False
    texts = some.astype("string").str.strip()
    return bool(texts.str.fullmatch(_DIGITS).all() and texts.str.fullmatch(_PADDED).any())


def without_zeros(column: pd.Series) -> pd.Series:
    """Return whole numbers with zeros in front as numbers; other columns stay as they are.

    Example:
        >>> without_zeros(pd.Series(["007", "120"])).tolist()
        [7, 120]
    """
    return pd.to_numeric(column) if is_padded(column) else column


def padded_like(like: pd.Series, numbers: pd.Series) -> pd.Series:
    """Write whole numbers with zeros in front, if a column does: as wide as those it has.

    Example:
        >>> padded_like(pd.Series(["08", "09"]), pd.Series([10, 1])).tolist()
        ['10', '01']
    """
    if not is_padded(like) or not pd.api.types.is_numeric_dtype(numbers):
        return numbers
    texts = like.dropna().astype("string").str.strip()
    width = int(texts[texts.str.fullmatch(_PADDED)].str.len().max())
    return numbers.astype("Int64").astype("string").str.zfill(width).astype(object)
