"""Sheets of workbooks, read as the tables of text that they would be exported as."""

from __future__ import annotations

import csv
import datetime
import io
import warnings
import zipfile
from collections.abc import Iterator
from typing import Any

import pandas as pd

from convcnp.errors import ConvCNPWarning, TableError
from convcnp.extras import import_extra
from convcnp.frames.cells import is_value
from convcnp.frames.delimited import first_line, read_delimited

_TOP = 200  # rows that tell whether a sheet holds a table
_FEWEST = 2  # rows of a table, and columns
_MIDNIGHT = " 00:00:00"
_TAB = "\t"


def read_workbook(content: bytes, name: str) -> pd.DataFrame:
    """Read the first sheet of a workbook that holds a table."""
    import_extra("openpyxl", "excel")
    try:
        with pd.ExcelFile(io.BytesIO(content), engine="openpyxl") as book:
            sheet = _chosen(book, name)
            cells = _cells(book, sheet)
    except (KeyError, ValueError, zipfile.BadZipFile) as error:
        raise TableError(
            f"Expected a workbook of Excel in {name}, but it cannot be read ({first_line(error)}); "
            "save it again, or as CSV."
        ) from error
    if cells.empty:
        raise TableError(
            f"Expected a table in {name}, but its sheet {sheet!r} is empty; give it a header and "
            "rows."
        )
    return read_delimited(_as_text(cells), name)


def _cells(book: pd.ExcelFile, sheet: str, rows: int | None = None) -> pd.DataFrame:
    """Return the cells of a sheet, without columns that are empty from top to bottom."""
    cells = pd.read_excel(
        book, sheet_name=sheet, header=None, nrows=rows, dtype=object, na_filter=False
    )
    return cells.loc[:, (cells != "").any()]


def _chosen(book: pd.ExcelFile, name: str) -> str:
    """Return the first sheet with several rows of values, and say so where there are others."""
    sheets = list(map(str, book.sheet_names))
    if not sheets:
        raise ValueError("it has no sheet")
    if len(sheets) == 1:
        return sheets[0]
    found = next((sheet for sheet in sheets if _holds_table(_cells(book, sheet, _TOP))), sheets[0])
    which = f"the first, {found!r}, is read"
    if found != sheets[0]:
        which = f"{found!r} is read, the first that holds a table"
    warnings.warn(
        f"{name} has {len(sheets)} sheets; {which}. If that is wrong, save the other as a file of "
        "its own.",
        ConvCNPWarning,
        stacklevel=7,
    )
    return found


def _holds_table(cells: pd.DataFrame) -> bool:
    """Tell whether there are rows of several cells, of which one is a number, date or clock."""
    rows = [[str(cell) for cell in row if cell != ""] for row in cells.to_numpy()]
    return sum(len(row) >= _FEWEST and any(map(is_value, row)) for row in rows) >= _FEWEST


def _as_text(cells: pd.DataFrame) -> str:
    """Write cells with tabs between them; what is text in a sheet stands in quotes."""
    columns = [list(_written(cells[name])) for name in cells]
    text = io.StringIO()
    writer = csv.writer(text, delimiter=_TAB, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerows(zip(*columns, strict=True))
    return f"sep={_TAB}\n{text.getvalue()}"


def _written(column: pd.Series) -> Iterator[Any]:
    """Write dates and clocks as text, and dates without a clock where no other has one."""
    texts = [_text(cell) for cell in column]
    dates = [text for text, cell in zip(texts, column, strict=True) if _is_date(cell)]
    are_days = all(date.endswith(_MIDNIGHT) for date in dates)
    for text, cell in zip(texts, column, strict=True):
        yield text.removesuffix(_MIDNIGHT) if are_days and _is_date(cell) else text


def _is_date(cell: Any) -> bool:  # noqa: ANN401 - of a sheet
    return isinstance(cell, datetime.datetime)


def _text(cell: Any) -> Any:  # noqa: ANN401 - of a sheet
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        written = pd.Timedelta(cell) if isinstance(cell, datetime.timedelta) else cell
        return " ".join(str(written).split())  # lines within a cell, too
    return cell
