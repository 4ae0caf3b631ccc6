"""Tables of text, as programs and people write them: separators, headers, remarks and units."""

from __future__ import annotations

import csv
import io
import itertools
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from convcnp.errors import ConvCNPWarning, TableError
from convcnp.frames.footers import BOTTOM, footer_rows, say_footer
from convcnp.frames.headers import is_data, names_in
from convcnp.frames.kinds import is_label
from convcnp.frames.layout import Layout, usual_width
from convcnp.frames.padded import has_padded_cells, is_padded
from convcnp.frames.plus_minus import split_errors
from convcnp.frames.written_numbers import read_numbers
from convcnp.frames.written_once import filled_down

_PREAMBLE = re.compile(r"\A(?:[ \t]*(?:#[^\n]*)?\r?\n)+")  # blank lines and remarks
_SEPARATOR_LINE = re.compile(r"\Asep=(.)[ \t]*\n", re.IGNORECASE)  # for spreadsheets
_QUOTED = re.compile(r'"[^"]*"')
_CELL = r'(?:^|[;\t|]) *"?[-+]?{} *"?(?:[;\t|]|\r?$)'
_COMMA_NUMBER = re.compile(
    _CELL.format(r"(?:\d{1,3}(?:\.\d{3})+|\d*),\d+(?:[eE][-+]?\d+)?"), re.MULTILINE
)
_POINT_NUMBER = re.compile(_CELL.format(r"\d*\.\d+(?:[eE][-+]?\d+)?"), re.MULTILINE)
NOTHING = ["NAN", "n.a.", "#DIV/0!", "#VALUE!", "#REF!", "#NUM!", "#NAME?"]  # beside NA and such
_SEPARATORS = "\t;|,"  # a comma last: it is in numbers, too
_SPACES = r"\s+"
_NO_NAME = "Unnamed: "  # and its number: what pandas calls a column without a name
_TOP = 200  # lines that may stand above a table, and show how it is written
_LONGEST_TOP = 10**6  # characters


def read_delimited(text: str, name: str) -> pd.DataFrame:
    """Read a table of text, in the separator that its lines share.

    Example:
        >>> list(read_delimited("date temp\\n2020-01-01 1.5\\n2020-01-02 2.5\\n", "t"))
        ['date', 'temp']
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")  # as old Macs end them
    told = _SEPARATOR_LINE.match(text)
    text = _SEPARATOR_LINE.sub("", text)
    remarks = _PREAMBLE.match(text)
    text = _PREAMBLE.sub("", text)
    top = _Top.of(text, name, told[1] if told else None)
    text = top.without_footer(top.without_others(text, name), name)
    first, _, rest = text.partition("\n")
    decimal = _decimal(rest, top.separator)
    names = top.names_in(remarks[0] if remarks else "")
    second = rest.partition("\n")[0]
    has_header = _has_header(first, second, top, decimal, is_named=bool(names))
    options: dict[str, Any] = {
        "sep": top.separator,
        "decimal": decimal,
        "header": 0 if has_header else None,
    }
    frame = _without_blanks(_parsed(text, name, **options))
    torn = [i for i, c in enumerate(frame.columns) if _holds_words(frame[c])]
    if torn:  # among words, NA is one: a country, or initials
        words = _parsed(text, name, usecols=torn, keep_default_na=False, na_values=[""], **options)
        frame[words.columns] = words
    names_in_digits = _padded(text, name, frame, options)
    is_used = [not _is_unused(frame[c]) for c in frame.columns]
    if has_header:
        _say_if_wide(top.cells(first), top.below, name)
    else:
        is_fitting = len(names) == frame.shape[1]
        frame.columns = pd.Index(names if is_fitting else _made_up_names(frame))
    frame = frame.assign(**{frame.columns[i]: cells for i, cells in names_in_digits.items()})
    return filled_down(read_numbers(split_errors(frame.loc[:, is_used]), decimal))


# --- The first lines ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Top:
    """The first lines of a text, as rows of cells, and the line that each row ends with."""

    separator: str
    rows: list[list[str]]
    ends: list[int]

    @classmethod
    def of(cls, text: str, name: str, told: str | None) -> _Top:
        lines = text[:_LONGEST_TOP].splitlines(keepends=True)[:_TOP]
        separator = told or _separator(lines)
        if separator == _SPACES:
            return cls(separator, [line.split() for line in lines], [*range(1, len(lines) + 1)])
        found: list[tuple[list[str], int]] = []
        try:
            reader = csv.reader(lines, delimiter=separator)
            found.extend((row, reader.line_num) for row in reader)
        except csv.Error as error:
            if found:  # of rows, cells may be of any length
                return cls(separator, [row for row, _ in found], [end for _, end in found])
            raise TableError(
                f"Expected a header of short names in {name}, but it cannot be read ({error}); "
                "check the separator and quotes."
            ) from error
        return cls(separator, [row for row, _ in found], [end for _, end in found])

    def without_others(self, text: str, name: str) -> str:
        """Return a text without what stands above its table, and without units below the names."""
        layout = Layout.of(self.rows, usual_width(self.rows))
        if not layout.left_out:
            return text
        layout.say(self.rows, name)
        starts = [0, *self.ends]
        last = max(layout.left_out)
        lines = text.split("\n", self.ends[last])
        kept = [i for i in range(last + 1) if i not in layout.left_out]
        above = [line for i in kept for line in lines[starts[i] : self.ends[i]]]
        together = layout.names_in_two_rows(self.rows)
        if together and self.separator != _SPACES:
            above = [self.line(together), *above[self.ends[layout.start] - starts[layout.start] :]]
        return "\n".join([*above, *lines[self.ends[last] :]])

    @property
    def below(self) -> list[list[str]]:
        """The rows below the first of the table."""
        layout = Layout.of(self.rows, usual_width(self.rows))
        return [row for i, row in enumerate(self.rows) if i not in layout.left_out and row][1:]

    def without_footer(self, text: str, name: str) -> str:
        """Return a text without remarks below its table."""
        lines = text[-_LONGEST_TOP:].rstrip("\n").split("\n")[1:][-BOTTOM:]
        whole = itertools.takewhile(_may_be_a_row, reversed(lines))
        last = [self.cells(line) for line in whole][::-1]
        count = footer_rows(self.below, last)
        if not count:
            return text
        say_footer(last[-count:], name)
        return text.rstrip("\n").rsplit("\n", count)[0] + "\n"

    def names_in(self, remarks: str) -> list[str]:
        """Return the names of columns that stand in remarks above a table, if any do."""
        lines = [line.strip().lstrip("#").strip() for line in remarks.splitlines() if line.strip()]
        return names_in([self.cells(line) for line in lines], usual_width(self.rows))

    def line(self, cells: Sequence[str]) -> str:
        """Return the line that holds these cells."""
        written = io.StringIO()
        csv.writer(written, delimiter=self.separator, lineterminator="").writerow(cells)
        return written.getvalue()

    def cells(self, line: str) -> list[str]:
        """Return the cells of a line."""
        if self.separator == _SPACES:
            return line.split()
        return next(csv.reader([line], delimiter=self.separator), [])


def _may_be_a_row(line: str) -> bool:
    """Tell whether a line is short, and no part of a cell of several lines."""
    return line.count('"') % 2 == 0 and len(line) < csv.field_size_limit()


def _separator(lines: Sequence[str]) -> str:
    """Return what is most frequent in the first line, unless later ones are without it."""
    bare = [_QUOTED.sub("", line) for line in lines if line.strip()] or [""]
    later = bare[len(bare) // 2 :] if len(bare) > 1 else bare
    alike = [
        c for c in _SEPARATORS if len({line.count(c) for line in later}) == 1 and c in later[0]
    ]
    first = max("\t;,", key=bare[0].count)
    if first in bare[0] and any(first in line for line in later):
        return first
    if alike:
        return alike[0]
    counts = {len(line.split()) for line in later}
    if len(counts) == 1 and counts != {1}:
        return _SPACES
    return first if first in bare[0] else ","


def _decimal(rest: str, separator: str) -> str:
    has_commas = separator != "," and _COMMA_NUMBER.search(rest) and not _POINT_NUMBER.search(rest)
    return "," if has_commas else "."


def _has_header(first: str, second: str, top: _Top, decimal: str, *, is_named: bool) -> bool:
    # Where quotes tell words from numbers, a first row of quoted numbers is a header.
    is_quoted, next_is_quoted = (
        not _QUOTED.sub("", line).strip(f"{top.separator[-1]} \r") for line in (first, second)
    )
    if is_quoted and not next_is_quoted:
        return True
    return not is_data(top.cells(first), top.below, decimal, is_named=is_named)


def _say_if_wide(names: Sequence[str], rows: Sequence[Sequence[str]], name: str) -> None:
    """Say that no row is as long as the header, where names may have been torn apart."""
    longest = max(map(len, rows), default=len(names))
    if longest < len(names):
        warnings.warn(
            f"The header of {name} has {len(names)} cells, and its rows have {longest} at most: "
            f"{names[-1]!r} and what else is last has no values. If a name holds the separator, "
            "put it in quotes.",
            ConvCNPWarning,
            stacklevel=6,
        )


# --- The rows -------------------------------------------------------------------------------------


def _parsed(text: str, name: str, **options: Any) -> pd.DataFrame:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(
                io.StringIO(text),
                skipinitialspace=True,
                index_col=False,  # else rows that end with a separator lose their start
                low_memory=False,  # in pieces, one stray word would give a column two types
                **{"na_values": NOTHING, **options},
            )
    except pd.errors.ParserWarning as error:
        raise TableError(
            f"Expected rows as long as the header in {name}, but they have more cells; name all "
            "columns, and put cells that hold the separator in quotes."
        ) from error
    except (pd.errors.EmptyDataError, ValueError) as error:
        raise TableError(
            f"Expected rows of equal length in {name}, but it cannot be read as a table "
            f"({first_line(error)}); check the separator and quotes."
        ) from error


def _padded(
    text: str, name: str, frame: pd.DataFrame, options: dict[str, Any]
) -> dict[int, pd.Series]:
    """Return the columns that hold whole numbers with zeros in front as text, by their places."""
    whole = [i for i, c in enumerate(frame.columns) if _holds_whole_numbers(frame[c])]
    if not whole or not has_padded_cells(text, options["sep"]):
        return {}
    texts = _parsed(text, name, usecols=whole, dtype=str, **options)
    stripped = {i: texts.iloc[:, k].str.strip().replace("", None) for k, i in enumerate(whole)}
    return {i: column for i, column in stripped.items() if is_padded(column)}


def _holds_whole_numbers(column: pd.Series) -> bool:
    is_number = pd.api.types.is_numeric_dtype(column) and column.dtype.kind != "b"
    is_whole = is_number and column.notna().any() and (column.dropna() % 1 == 0).all()
    return bool(is_whole)


def _without_blanks(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table in which cells of spaces alone, which quotes keep, are missing."""
    for name in frame.columns[[not pd.api.types.is_numeric_dtype(t) for t in frame.dtypes]]:
        column = frame[name]
        is_blank = column.astype("string").str.fullmatch(r"\s*").fillna(False).astype(bool)
        if is_blank.any():
            rest = column.mask(is_blank)
            values = pd.to_numeric(rest, errors="coerce")
            frame[name] = values if (values.notna() == rest.notna()).all() else rest
    return frame


def _is_unused(column: pd.Series) -> bool:
    """Tell whether a column among named ones has neither name nor cells: lines end with commas."""
    return str(column.name).startswith(_NO_NAME) and bool(column.isna().all())


def _made_up_names(frame: pd.DataFrame) -> list[str]:
    """Return names for columns without any: the time is the first that does not hold words."""
    are_times = [not is_label(frame[name]) for name in frame.columns]
    time = are_times.index(True) if any(are_times) else 0
    count = itertools.count(1)
    return ["time" if i == time else f"value{next(count)}" for i in range(frame.shape[1])]


def _holds_words(column: pd.Series) -> bool:
    """Tell whether a column with missing cells holds words, rather than dates or numbers."""
    return bool(column.isna().any() and column.notna().any() and is_label(column))


def first_line(error: Exception) -> str:
    """Return the first line of what an error says, to be put into a sentence."""
    return str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
