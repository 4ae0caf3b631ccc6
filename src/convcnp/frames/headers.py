"""Where the names of a table of text stand: in its first row, in a remark above it, or nowhere."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence

from convcnp.errors import ConvCNPWarning, shortened
from convcnp.frames.cells import is_number, is_value, usual_kind

_YEARS = (1500, 2500)
_LAST_REMARKS = 2  # of which one may hold names, and one units


def names_in(remarks: Sequence[Sequence[str]], count: int) -> list[str]:
    """Return the names of columns that one of the last remarks above a table holds, if any.

    Example:
        >>> names_in([["made", "by", "hand"], ["t", "v"]], 2)
        ['t', 'v']
    """
    for cells in remarks[-_LAST_REMARKS:]:
        names = [cell.strip() for cell in cells]
        if len(names) == len({*names}) == count and not any(map(is_value, names)):
            return names
    return []


def is_data(
    first: Sequence[str],
    below: Sequence[Sequence[str]],
    decimal: str = ".",
    *,
    is_named: bool = False,
) -> bool:
    """Tell a first row of data from a header, by the rows below it, and say so if in doubt.

    Args:
        is_named: Whether a remark above the table holds as many names as there are columns.

    Example:
        >>> is_data(["1", "5.0", "g"], [["2", "5.5", "r"], ["3", "5.2", "g"]])
        True
        >>> is_data(["day", "2019", "2020"], [["1", "5.5", "5.0"], ["2", "5.2", "4.5"]])
        False
    """
    told = told_data(first, below, decimal)
    if told is not None or is_named:
        return told is not False
    numbers = [float(cell) for cell in _points(first, decimal) if is_number(cell)]
    seems_data = not _may_be_names(numbers)
    _say(first, seems_data)
    return seems_data


def told_data(
    first: Sequence[str], below: Sequence[Sequence[str]], decimal: str = "."
) -> bool | None:
    """Tell whether a first row is data rather than a header; nothing is told if in doubt."""
    if not any(map(is_value, first)):
        return False
    kinds = [usual_kind([cell], decimal) for cell in first]
    filled = [kind for kind in kinds if kind]
    if filled[:1] == ["date"] and "number" in filled:  # and perhaps remarks
        return True
    if {*filled} <= {"number", "date"}:
        return True
    rows = [row for row in below if len(row) == len(first) and [*row] != [*first]]
    columns = [[row[i] for row in rows] for i in range(len(first))]
    usual = [usual_kind(cells, decimal) for cells in columns]
    of_values = [i for i, kind in enumerate(usual) if kinds[i] and kind not in ("word", "")]
    if not of_values or any(kinds[i] != usual[i] for i in of_values):
        return False
    words = [i for i, kind in enumerate(kinds) if kind == "word"]
    if any(usual[i] != "number" for i in of_values) or any(first[i] in columns[i] for i in words):
        return True  # no name is met again in the column that it names
    later = [cell for i in of_values for cell in columns[i]]
    are_years = _are_years([first[i] for i in of_values], decimal) and not _are_years(
        later, decimal
    )
    return False if are_years else None


def _points(cells: Sequence[str], decimal: str) -> list[str]:
    return [cell.strip().replace(decimal, ".") for cell in cells]


def _are_years(cells: Sequence[str], decimal: str) -> bool:
    numbers = [float(cell) for cell in _points(cells, decimal) if is_number(cell)]
    return all(number % 1 == 0 and _YEARS[0] <= number <= _YEARS[1] for number in numbers)


def _may_be_names(numbers: Sequence[float]) -> bool:
    """Tell whether numbers beside each other could number columns: whole ones that grow."""
    are_whole = all(number % 1 == 0 for number in numbers)
    grow = all(before < after for before, after in itertools.pairwise(numbers))
    return len(numbers) > 1 and are_whole and grow


def _say(first: Sequence[str], seems_data: bool) -> None:
    shown = shortened(", ".join(repr(cell) for cell in first))
    said = (
        "data, as numbers stand below its numbers; if it holds names, write them as words"
        if seems_data
        else "names, as its numbers follow each other; if it is data, put a row of names above it"
    )
    warnings.warn(f"The first row, {shown}, is read as {said}.", ConvCNPWarning, stacklevel=5)
