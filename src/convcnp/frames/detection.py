"""Cells such as <0.5 or BDL: values beyond a limit of detection, which are not merely missing."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd

from convcnp.errors import ConvCNPWarning, TableError, shortened

_BEYOND = {  # where the value is, where predictions go without it, and what may stand for it
    "<": ("below", "up", "half the limit"),
    "≤": ("below", "up", "half the limit"),
    ">": ("above", "down", "the limit"),
    "≥": ("above", "down", "the limit"),
}
_SIGNED = rf"[{''.join(_BEYOND)}]=? ?[0-9.,]+.*"
_NOT_SEEN = ("perhaps below", "up", "half the limit")  # n.d. may say "no data" as well
# Words for that, with nothing between their letters.
_WORDS = ("bdl", "bld", "bql", "blq", "lod", "loq", "nd", "notdetected", "belowdetection")
_BETWEEN = r"[\W_]+"


def refuse_beyond(bad: np.ndarray, column: pd.Series, name: str) -> None:
    """Refuse the first bad cell if it is beyond a limit of detection, and say what may be done."""
    cells = column[bad]
    if not len(cells) or (beyond := _beyond(cells.iloc[0])) is None:
        return
    where, way, instead = beyond
    row, shown = int(np.argmax(bad)), shortened(repr(cells.iloc[0]))
    raise TableError(
        f"Expected a number in every cell of {name!r}, got {shown} in row {row + 1} of "
        f"{len(column)}, which is {where} a limit of detection: left out, it would pull "
        f"predictions {way}. Write a number in its place, such as {instead}, or name it with "
        "missing= all the same."
    )


def say_beyond(column: pd.Series, is_missing: pd.Series) -> None:
    """Say which cells, named as missing, are beyond a limit of detection."""
    for word, count in column[is_missing].astype("string").str.strip().value_counts().items():
        beyond = _beyond(word)
        if beyond is not None:
            where, way, instead = beyond
            warnings.warn(
                f"{column.name!r}: {word!r}, in {count:,} of {len(column):,} rows, is {where} a "
                f"limit of detection, and read as missing, which pulls predictions {way}; write a "
                f"number in its place, such as {instead}, to avoid that.",
                ConvCNPWarning,
                stacklevel=5,
            )


def are_beyond(cells: pd.Series) -> pd.Series:
    """Tell which cells are beyond a limit of detection, or may be.

    Example:
        >>> are_beyond(pd.Series(["<0.5", "> 20", "n.d.", "<18 years", "north"])).tolist()
        [True, True, True, True, False]
    """
    texts = cells.astype("string").str.strip()
    words = texts.str.lower().str.replace(_BETWEEN, "", regex=True)
    is_word = words.isin(_WORDS) & ~texts.str.contains(r"\d", regex=True)
    return (texts.str.fullmatch(_SIGNED) | is_word).fillna(False).astype(bool)


def _beyond(cell: Any) -> tuple[str, str, str] | None:  # noqa: ANN401 - of a table
    is_beyond = bool(are_beyond(pd.Series([cell])).all())
    return _BEYOND.get(str(cell).strip()[:1], _NOT_SEEN) if is_beyond else None
