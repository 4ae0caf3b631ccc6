"""Where a table begins in what a program exports: below titles, and with units under its names."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from convcnp.errors import ConvCNPWarning, shortened
from convcnp.frames.cells import is_nothing, is_value, usual_kind
from convcnp.frames.headers import told_data

_MOST_UNITS = 3  # rows of units, and of how values were made
_BELOW = 20  # rows that show what a column holds
_LOGGERS = (["TOA5"], ["TOACI1"])  # what files of Campbell begin with: the station, above the names


@dataclass(frozen=True)
class Layout:
    """Which of the first rows of a table is its header, and which are no data.

    Args:
        start: The header, or the first row of all if there is none.
        units: Rows below the header that hold units.

    Example:
        >>> rows = [["Harbour 7"], ["time", "temp"], ["", "°C"], ["1", "4.5"], ["2", "4.0"]]
        >>> Layout.of(rows, width=2)
        Layout(start=1, units=(2,))
    """

    start: int = 0
    units: tuple[int, ...] = ()

    @classmethod
    def of(cls, rows: Sequence[Sequence[str]], width: int) -> Layout:
        """Find the header among rows, of which those of the table have so many cells."""
        start = _start(rows, width)
        if not rows or any(map(is_value, rows[start])):
            return cls(start)
        below = [i for i in range(start + 1, len(rows)) if rows[i]]
        count = 0
        while count < _MOST_UNITS and _are_units([rows[i] for i in below[count:]], width):
            count += 1
        return cls(start, tuple(below[:count]))

    def names_in_two_rows(self, rows: Sequence[Sequence[str]]) -> list[str]:
        """Return names that the header and the row below it hold together; none if units are below.

        The header names what columns share: it has names twice, or once for those behind as well.

        Example:
            >>> rows = [["", "Bern", ""], ["day", "temp", "rain"], ["1", "4", "0"], ["2", "5", "1"]]
            >>> Layout.of(rows, width=3).names_in_two_rows(rows)
            ['day', 'Bern temp', 'Bern rain']
        """
        if not self.units or len(rows[self.start]) != len(rows[self.units[0]]):
            return []
        upper = [cell.strip() for cell in rows[self.start]]
        lower = [cell.strip() for cell in rows[self.units[0]]]
        behind = zip(upper[1:], lower[1:], strict=True)
        has_room = any(below and not above for above, below in behind)
        if not has_room and len({*upper}) == len(upper):
            return []
        names, shared = list[str](), ""
        for above, below in zip(upper, lower, strict=True):
            shared = above or shared
            names.append(f"{shared} {below}".strip())
        return names if len({*names}) == len(names) else []

    @property
    def left_out(self) -> list[int]:
        """The rows that are no part of the table."""
        return [*range(self.start), *self.units]

    def say(self, rows: Sequence[Sequence[str]], name: str) -> None:
        """Say which rows are left out, and where names stand in two of them."""
        said = []
        together = self.names_in_two_rows(rows)
        if together:
            warnings.warn(
                f"Names stand in two rows of {name}, and are put together: {_shown(together)}.",
                ConvCNPWarning,
                stacklevel=7,
            )
        if self.start:
            said.append(f"what stands above the row {_shown(rows[self.start])}")
        units = self.units[1:] if together else self.units
        if units:
            said.append(f"units below the names ({_shown(rows[units[0]])})")
        if said:
            warnings.warn(
                f"Left out of {name}: {' and '.join(said)}.", ConvCNPWarning, stacklevel=7
            )


def usual_width(rows: Sequence[Sequence[str]]) -> int:
    """Return how many cells most of the later rows have, which are below all titles."""
    rows = [row for row in rows if row]  # without blank lines
    later = [len(row) for row in rows[len(rows) // 2 :]]
    return Counter(later).most_common(1)[0][0] if later else 0


def _start(rows: Sequence[Sequence[str]], width: int) -> int:
    """Return the first row that is as wide as the table, if it holds names; else nothing is told.

    Rows may end with a separator that the header lacks, or one of them may be too long. Titles may
    be as wide, where programs pad them with separators: they are followed by names that are more.
    """
    if len(rows) > 1 and rows[0][:1] in _LOGGERS:
        return 1
    apart = _below_blank_row(rows, width)
    if apart is not None:
        return apart
    wide = [i for i, row in enumerate(rows) if len(row) == width]
    below = next((i for i in wide if not _is_title(rows[i])), None)
    if below is not None and rows[below][0].strip() and not any(map(is_value, rows[below])):
        return below
    return 0 if not wide or any(map(is_value, rows[wide[0]])) else wide[0]


def _below_blank_row(rows: Sequence[Sequence[str]], width: int) -> int | None:
    """Return the row of names below the last blank row above a table, if there is one."""
    blank = [i for i, row in enumerate(rows) if not any(cell.strip() for cell in row)]
    later = [row for row in rows[len(rows) // 2 :] if len(row) == width]
    kinds = [usual_kind([row[i] for row in later]) for i in range(width)]
    of_values = [i for i, kind in enumerate(kinds) if kind not in ("word", "")]
    for start in [i + 1 for i in reversed(blank) if i + 1 < len(rows) and i + 1 not in blank]:
        names, titles = rows[start], [row for row in rows[:start] if any(row)]
        if len(names) != width or not of_values or _is_title(names):
            continue
        if len(titles) == 1 and len(titles[0]) == width and all(titles[0]):
            continue  # names, perhaps above units
        if any(_holds(row, kinds, of_values) for row in titles if len(row) == width):
            continue  # a blank row within the table
        is_header = told_data(names, rows[start + 1 :]) is False
        if is_header and any(names[i].strip() for i in of_values):
            return start
    return None


def _holds(row: Sequence[str], kinds: Sequence[str], of_values: Sequence[int]) -> bool:
    """Tell whether a row holds values where the rows of the table do."""
    found = [(usual_kind([row[i]]), kinds[i]) for i in of_values]
    return any(kind for kind, _ in found) and all(kind in (other, "") for kind, other in found)


def _is_title(row: Sequence[str]) -> bool:
    """Tell whether few cells of a row are filled, from the first on, or none."""
    filled = [bool(cell.strip()) for cell in row]
    count = sum(filled)
    return 2 * count <= len(row) and all(filled[:count])


def _are_units(rows: Sequence[Sequence[str]], width: int) -> bool:
    """Tell whether the first of some rows holds words only, above columns of numbers or dates."""
    if len(rows) < 2 or len(rows[0]) != width or any(map(is_value, rows[0])):
        return False
    below = [row for row in rows[1 : 1 + _BELOW] if len(row) == width and any(map(is_value, row))]
    is_above_values = False
    for i, cell in enumerate(rows[0]):
        cells = [row[i] for row in below if not is_nothing(row[i])]
        if is_nothing(cell):
            continue
        if cell in cells:
            return False
        is_above_values |= bool(cells) and all(map(is_value, cells))
    return is_above_values


def _shown(row: Sequence[str]) -> str:
    return shortened(", ".join(repr(cell) for cell in row if cell.strip()))
