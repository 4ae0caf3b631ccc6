"""What stands below a table in what a program exports: its source, remarks, a closing line."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence

from convcnp.errors import ConvCNPWarning, shortened
from convcnp.frames.cells import Kind, is_nothing, is_value, usual_kind

BOTTOM = 50  # rows, of which the last may stand below a table
_VALUES = ("number", "date", "clock")
_DIGIT = re.compile(r"\d")
_WRITTEN = re.compile(r"[^A-Za-z]*\d[^A-Za-z]*")  # a number with whatever signs: 1.234,5 \u20ac


def footer_rows(rows: Sequence[Sequence[str]], last: Sequence[Sequence[str]]) -> int:
    """Return how many of the last rows of a table are remarks, blank ones among them.

    Args:
        rows: The first rows, of which the upper half shows what the columns hold.

    Example:
        >>> rows = [["2020-01-01", "1.5"], ["2020-01-02", "2.5"]]
        >>> footer_rows(rows, [*rows, ["", ""], ["Source: DWD"]])
        2
    """
    rows = rows[: (len(rows) + 1) // 2]  # remarks below a short table would be among them
    kinds = [usual_kind(cells) for cells in _columns(rows)]
    if not any(kind in _VALUES for kind in kinds):
        return 0
    columns = _columns([*rows, *(row for row in last if any(map(is_value, row)))])
    are_remarks: list[bool] = []
    for row in reversed(last):
        are_remarks.append(_is_remark(row, kinds, columns))
        if not are_remarks[-1] and not all(map(is_nothing, row)):
            return len(are_remarks) - 1 if any(are_remarks) else 0
    return 0  # nothing of a table is left


def _columns(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    width = max(map(len, rows), default=0)
    return [[row[i] for row in rows if i < len(row)] for i in range(width)]


def _is_remark(row: Sequence[str], kinds: Sequence[Kind], columns: Sequence[Sequence[str]]) -> bool:
    """Tell whether a row holds words in place of values, and no number at all."""
    if row and row[0].startswith("#") and kinds[0] in _VALUES:
        return True
    filled = [i for i, cell in enumerate(row) if not is_nothing(cell)]
    if not filled or any(_WRITTEN.fullmatch(row[i]) for i in filled):
        return False
    if any(usual_kind([row[i]]) in _VALUES for i in filled):
        return False
    if len(filled) == 1:
        above = columns[filled[0]] if filled[0] < len(columns) else []
        return _is_sentence(row[filled[0]], above)
    instead = [i for i in filled if i < len(kinds) and kinds[i] in _VALUES]
    return any(not _DIGIT.search(row[i]) for i in instead)


def _is_sentence(cell: str, above: Sequence[str]) -> bool:
    """Tell whether a text is none of a column: a date that is not read is as long as others."""
    is_longer = len(cell) > max(map(len, above), default=0)
    return cell not in above and (is_longer or not _DIGIT.search(cell))


def say_footer(rows: Sequence[Sequence[str]], name: str) -> None:
    """Say which rows are left out."""
    filled = [" ".join(cell for cell in row if cell.strip()) for row in rows]
    shown = shortened(", ".join(repr(row) for row in filled if row))
    warnings.warn(
        f"Left out of {name}: what stands below its last row ({shown}).",
        ConvCNPWarning,
        stacklevel=6,
    )
