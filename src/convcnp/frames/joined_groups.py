"""Groups in columns of their own: a strain and a replicate, named as strain+replicate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from convcnp.errors import TableError
from convcnp.frames.assembled import JOINT, parts_of


def group_columns(frame: pd.DataFrame, group: str | None) -> list[str]:
    """Return the columns that tell series apart: several where their names are joined.

    Example:
        >>> group_columns(pd.DataFrame({"strain": ["a"], "replicate": [1]}), "strain+replicate")
        ['strain', 'replicate']
    """
    return [] if group is None else parts_of(frame, group) or [group]


def group_column(frame: pd.DataFrame, group: str) -> pd.Series:
    """Return what tells series apart in one column; of joined ones as text, such as a+1.

    Example:
        >>> frame = pd.DataFrame({"strain": ["a+b", "a"], "plate": ["c", "b+c"]})
        >>> group_column(frame, "strain+plate").tolist()
        ['"a+b"+c', 'a+"b+c"']
    """
    parts = parts_of(frame, group)
    if not parts:
        return frame[group]
    first, *others = (_quoted(as_text(frame[part])) for part in parts)
    return first.str.cat(others, sep=JOINT).rename(group)


def as_text(column: pd.Series) -> pd.Series:
    """Return a column as text; whole numbers are read as 1.0 if a cell is missing, and are 1."""
    if pd.api.types.is_float_dtype(column) and (column.dropna() % 1 == 0).all():
        column = column.astype("Int64")
    return column.astype("string")


def _quoted(text: pd.Series) -> pd.Series:
    """Quote what would not be told from joined text, as CSV does."""
    is_unclear = text.str.contains(f'[{JOINT}"]', regex=True).fillna(False)
    return text.mask(is_unclear, '"' + text.str.replace('"', '""') + '"')


def cells_of(frame: pd.DataFrame, group: str | None, rows: np.ndarray) -> dict[str, pd.Index]:
    """Return what joined columns hold in these rows, one of each series."""
    return {part: pd.Index(frame[part].iloc[rows]) for part in parts_of(frame, group)}


def joined(names: Sequence[str]) -> str:
    """Join the names of columns that tell series apart together.

    Example:
        >>> joined(["strain", "replicate"])
        'strain+replicate'
    """
    if "" in names and len(names) > 1:
        given = next(filter(None, names), "")
        raise TableError(
            f"An empty group says that there is none, got {given!r} beside it; leave one out."
        )
    return JOINT.join(names)
