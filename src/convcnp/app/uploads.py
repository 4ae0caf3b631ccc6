"""Uploaded tables: checked for what they would unpack to, and then read as the command reads."""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager

import pandas as pd

from convcnp.app.limits import Limits
from convcnp.errors import ConvCNPWarning, TableError
from convcnp.extras import import_extra
from convcnp.frames.reading import parse_table

_UNPACKED = 8  # times the bytes of an upload, at most
_REFUSED = {
    b"\x1f\x8b": "compressed by gzip",
    b"ARROW1": "in Feather",
    b"FEA1": "in Feather",
    b"{": "in JSON",
    b"[{": "in JSON",
}
_SEPARATOR = re.compile(rb"[,;\t]")


@contextmanager
def warnings_heard() -> Iterator[list[str]]:
    """Collect our warnings as sentences, each once.

    What was raised is there when the block ends. Warnings are the whole process's: only one thread
    may be in here, or in anything else that filters them.

    Example:
        >>> with warnings_heard() as heard:
        ...     warnings.warn("Take care.", ConvCNPWarning)
        >>> heard
        ['Take care.']
    """
    heard: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvCNPWarning)
        yield heard
    ours = (str(found.message) for found in caught if issubclass(found.category, ConvCNPWarning))
    heard.extend(dict.fromkeys(ours))


def read_upload(content: bytes, name: str, limits: Limits) -> pd.DataFrame:
    r"""Read a table of at most so many cells, without unpacking more than that.

    Example:
        >>> list(read_upload(b"day,level\n1,2.5\n2,3.5\n", "level.csv", Limits()))
        ['day', 'level']
    """
    for beginning, kind in _REFUSED.items():
        if content.startswith(beginning):
            raise TableError(
                f"Expected a table as CSV, TSV, Parquet or Excel, got {name} {kind}; unpack it, or "
                "use `convcnp predict`, which takes more kinds."
            )
    if content.startswith(b"PAR1"):
        _check_parquet(content, name, limits)
    elif content.startswith(b"PK\x03\x04"):
        _check_workbook(content, name, limits)
    else:
        _check_text(content, name, limits)
    frame = parse_table(content, name).frame
    _check_cells(frame.shape[0], frame.shape[1], name, limits)
    return frame


def _check_cells(rows: int, columns: int, name: str, limits: Limits) -> None:
    if rows * columns > limits.table_cells:
        raise TableError(
            f"Expected a table of at most {limits.table_cells:,} cells, but {name} has {rows:,} "
            f"rows of {columns:,} columns; leave out some, or use `convcnp predict`."
        )


def _check_text(content: bytes, name: str, limits: Limits) -> None:
    """Count cells by the longest line: short rows are filled up to it."""
    lines = content.splitlines()
    columns = max((len(_SEPARATOR.findall(line)) + 1 for line in lines), default=1)
    _check_cells(len(lines), columns, name, limits)


def _check_parquet(content: bytes, name: str, limits: Limits) -> None:
    arrow = import_extra("pyarrow", "parquet")
    parquet = import_extra("pyarrow.parquet", "parquet")
    try:
        about = parquet.read_metadata(io.BytesIO(content))
    except (arrow.ArrowException, OSError, ValueError):
        return  # reading it says what is wrong
    _check_cells(about.num_rows, about.num_columns, name, limits)
    groups = (about.row_group(i) for i in range(about.num_row_groups))
    _check_unpacked(sum(group.total_byte_size for group in groups), name, limits)


def _check_workbook(content: bytes, name: str, limits: Limits) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            files = archive.infolist()
    except zipfile.BadZipFile:
        return
    if "xl/workbook.xml" not in {file.filename for file in files}:
        raise TableError(
            f"Expected a table as CSV, TSV, Parquet or Excel, got the zip file {name}; unpack it."
        )
    _check_unpacked(sum(file.file_size for file in files), name, limits)


def _check_unpacked(size: int, name: str, limits: Limits) -> None:
    if size > _UNPACKED * limits.table_bytes:
        raise TableError(
            f"Expected a table of at most {_UNPACKED * limits.table_bytes:,} bytes when unpacked, "
            f"but {name} has {size:,}; leave out rows, or use `convcnp predict`."
        )
