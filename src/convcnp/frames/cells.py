"""What the cells of a table of text are, as far as they show by themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import pandas as pd

from convcnp.frames.kinds import DATE, is_date, is_duration

Kind = Literal["number", "date", "clock", "word", ""]  # the last of cells that hold nothing

_CLOCK = re.compile(r"\d{1,2}:\d\d")
_NOTHING = {"", "-", "na", "n/a", "null", "none"}  # and NaN, which is a number
_DIGIT = re.compile(r"\d")
_MOST = 0.5  # of the cells of a column


def is_nothing(cell: str) -> bool:
    """Tell whether a cell is empty, or says that it is."""
    return cell.strip().lower() in _NOTHING


def is_number(text: str) -> bool:
    """Tell whether a text is a number, and no name that Python would take for one: 123_456."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def is_value(cell: str) -> bool:
    """Tell whether a cell holds a number, a date or a clock time, rather than a name.

    Example:
        >>> [is_value(cell) for cell in ("1,5", "31.1.2020 10:00", "Deg C", "")]
        [True, True, False, False]
    """
    cell = cell.strip()
    return is_number(cell.replace(",", ".", 1)) or bool(DATE.match(cell) or _CLOCK.match(cell))


def usual_kind(cells: Sequence[str], decimal: str = ".") -> Kind:
    """Return what most of some cells are, nothing left aside.

    Example:
        >>> usual_kind(["1.5", "<2", "3"]), usual_kind(["Jan 2020"]), usual_kind(["NA", "g"])
        ('number', 'date', 'word')
    """
    filled = [cell.strip() for cell in cells if not is_nothing(cell)]
    if not filled:
        return ""
    if sum(is_number(cell.replace(decimal, ".")) for cell in filled) > _MOST * len(filled):
        return "number"
    if not any(map(_DIGIT.search, filled)):
        return "word"
    if sum(DATE.match(cell) is not None for cell in filled) > _MOST * len(filled):
        return "date"
    column = pd.Series(filled)
    return "date" if is_date(column) else "clock" if is_duration(column) else "word"
