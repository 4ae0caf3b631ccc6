"""A user's table as it is read: text, Parquet or another format, with plain names and types."""

from __future__ import annotations

import bz2
import codecs
import contextlib
import gzip
import hashlib
import io
import json
import lzma
import re
import sys
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from convcnp.errors import TableError, did_you_mean
from convcnp.extras import import_extra
from convcnp.frames.delimited import first_line, read_delimited
from convcnp.frames.sheets import read_workbook

_LINE_ENDS = re.compile(r"\s*[\r\n]\s*")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")  # characters that no table holds


Read = Callable[[bytes, str], pd.DataFrame]  # of a content, and the name of its file
MOST_BYTES = 2**31  # of a file: a table takes several times as much in memory


@dataclass(frozen=True)
class TableFile:
    """A table that was read, and what tells its file from others."""

    frame: pd.DataFrame
    digest: str  # fingerprint of the content
    path: str = "-"  # where a run finds the file again


def read_table(path: str | Path) -> TableFile:
    r"""Read a table from a file, or from standard input for `-`.

    The content says what it is: CSV, TSV, JSON lines, Parquet, Feather or Excel; or one of these,
    compressed by gzip, bzip2 or xz, or alone in a zip file.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "series.csv"
        ...     _ = path.write_text("day,level\n1,2.5\n2,3.5\n")
        ...     list(read_table(path).frame)
        ['day', 'level']
    """
    if str(path) == "-":
        content = sys.stdin.buffer.read(MOST_BYTES + 1)
        _check_size(len(content), "standard input")
        return parse_table(content, "standard input")
    return replace(parse_table(_content(Path(path)), str(path)), path=str(Path(path).resolve()))


def parse_table(content: bytes, name: str) -> TableFile:
    """Read the content of a file of this name."""
    if not content.strip():
        raise TableError(f"Expected a table in {name}, but it is empty; give it a header and rows.")
    frame = _read(content, name)
    if frame.empty:
        raise TableError(f"Expected rows below the header of {name}, but there are none; add some.")
    return TableFile(plain(frame), digest_of(content))


def _read(content: bytes, name: str) -> pd.DataFrame:
    read = next(read for beginning, read in _FORMATS if content.startswith(beginning))
    return read(content, name)


def digest_of(content: bytes) -> str:
    """Return a short fingerprint of a file's content."""
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def _content(path: Path) -> bytes:
    if path.is_dir():
        raise TableError(f"Expected a table in {path}, but it is a folder; give a file of it.")
    try:
        _check_size(path.stat().st_size, str(path))
        return path.read_bytes()
    except FileNotFoundError as error:
        folder = path.parent
        if not folder.exists():
            raise TableError(
                f"Expected a table in {path}, but the folder {folder} does not exist; check the "
                "path."
            ) from error
        files = folder.iterdir() if folder.is_dir() else ()
        hint = did_you_mean(path.name, (other.name for other in files if other.is_file()))
        raise TableError(f"Expected a table in {path}, but there is no such file{hint}") from error
    except OSError as error:
        raise TableError(
            f"Expected a table in {path}, but it cannot be read ({error.strerror}); check the path."
        ) from error


def _check_size(size: int, name: str) -> None:
    if size > MOST_BYTES:
        raise TableError(
            f"Expected a table of at most {MOST_BYTES:,} bytes, but {name} has {size:,} or more; "
            "give the rows and columns that are needed, or write it as Parquet."
        )


def _unpacked(read: Callable[[int], bytes], name: str) -> bytes:
    """Read what is compressed, and no more of it than may be a table."""
    content = read(MOST_BYTES + 1)
    _check_size(len(content), name)
    return content


def _read_parquet(content: bytes, name: str) -> pd.DataFrame:
    arrow = import_extra("pyarrow", "parquet")
    try:
        frame = pd.read_parquet(io.BytesIO(content))
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise TableError(
            f"Expected a Parquet file in {name}, but it cannot be read ({first_line(error)}); it "
            "may be cut short: write it again."
        ) from error
    return frame if isinstance(frame.index, pd.RangeIndex) else frame.reset_index()


def _read_feather(content: bytes, name: str) -> pd.DataFrame:
    arrow = import_extra("pyarrow", "parquet")
    try:
        return pd.read_feather(io.BytesIO(content))
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise TableError(
            f"Expected a Feather file in {name}, but it cannot be read ({first_line(error)}); it "
            "may be cut short: write it again."
        ) from error


def _packed_by(method: str, opened: Callable[[Any], Any]) -> Read:
    """Return what reads a table that is compressed by this method."""

    def read(content: bytes, name: str) -> pd.DataFrame:
        try:
            with opened(io.BytesIO(content)) as packed:
                inner = _unpacked(packed.read, name)
        except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
            raise TableError(
                f"Expected a table compressed by {method} in {name}, but it cannot be read "
                f"({first_line(error)}); write it again."
            ) from error
        return _read(inner, name)

    return read


def _read_zip(content: bytes, name: str) -> pd.DataFrame:
    """Read the only table of a zip file; a workbook is one as well."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if "xl/workbook.xml" in archive.namelist():
                return read_workbook(content, name)
            files = [
                file
                for file in archive.namelist()
                if not file.endswith("/") and not file.startswith("__MACOSX/")
            ]
            if len(files) != 1:
                raise TableError(
                    f"Expected one table in {name}, got {len(files)} files; unpack it, and give "
                    "one of them."
                )
            with archive.open(files[0]) as packed:
                inner = _unpacked(packed.read, name)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
        raise TableError(
            f"Expected a zip file in {name}, but it cannot be read ({first_line(error)}); write "
            "it again."
        ) from error
    return _read(inner, f"{files[0]} in {name}")


def _read_json(content: bytes, name: str) -> pd.DataFrame:
    """Read JSON lines, or a list of rows."""
    try:
        text = _text(content, name).strip()
        lines = [text] if text.startswith("[") else text.splitlines()
        parsed = [json.loads(line) for line in lines if line.strip()]
        rows = parsed[0] if text.startswith("[") else parsed
        if not all(isinstance(row, dict) for row in rows):
            raise ValueError("a row is no object")
    except ValueError as error:
        raise TableError(
            f"Expected one JSON object per line in {name}, with a value for every column, but it "
            f"cannot be read ({first_line(error)}); write JSON lines, or CSV."
        ) from error
    return pd.DataFrame(rows)


def _text(content: bytes, name: str) -> str:
    """Decode a table as spreadsheets write it: in UTF-8, UTF-16 or the Western European page."""
    is_wide = content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    for encoding in ["utf-16"] if is_wide else ["utf-8-sig", "cp1252"]:
        with contextlib.suppress(UnicodeDecodeError):
            text = content.decode(encoding)
            if not _CONTROL.search(text):
                return text
    raise TableError(
        f"Expected a table as CSV, TSV, JSON lines, Parquet, Feather or Excel, but {name} is none; "
        "export it as one of these."
    )


def _read_text(content: bytes, name: str) -> pd.DataFrame:
    return read_delimited(_text(content, name), name)


def _refuse_old_workbook(content: bytes, name: str) -> pd.DataFrame:
    raise TableError(
        f"Expected a workbook as Excel has saved it since 2007, but {name} is older; save it as "
        ".xlsx, or as CSV."
    )


# What a file of each format begins with, and how it is read: the first that fits.
_FORMATS: tuple[tuple[bytes, Read], ...] = (
    (b"PAR1", _read_parquet),
    (b"ARROW1", _read_feather),
    (b"FEA1", _read_feather),
    (b"\x1f\x8b", _packed_by("gzip", gzip.open)),
    (b"BZh", _packed_by("bzip2", bz2.open)),
    (b"\xfd7zXZ", _packed_by("xz", lzma.open)),
    (b"\xd0\xcf\x11\xe0", _refuse_old_workbook),
    (b"PK\x03\x04", _read_zip),
    (b"{", _read_json),
    (b"[{", _read_json),
    (b"", _read_text),
)


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose columns have different names, without spaces around, and plain types.

    Periods become the dates they begin at, and Arrow's types those of NumPy.
    """
    frame = frame.set_axis(pd.Index(list(map(plain_name, frame.columns))), axis=1)
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise TableError(
            f"Expected columns of different names, got {twice!r} more than once; rename them."
        )
    columns = {name: _plain_type(frame[name]) for name in frame.columns}
    return pd.DataFrame(columns, index=frame.index, columns=frame.columns)


def plain_name(name: Any) -> str:  # noqa: ANN401 - pandas takes anything for a name
    """Return a column's name as text of one line, without spaces around it; levels are joined."""
    levels = name if isinstance(name, tuple) else (name,)
    return "_".join(filter(None, (_LINE_ENDS.sub(" ", str(level)).strip() for level in levels)))


def _plain_type(column: pd.Series) -> pd.Series:
    if isinstance(column.dtype, pd.PeriodDtype):
        return column.dt.to_timestamp()
    if not isinstance(column.dtype, pd.ArrowDtype):
        return column
    zone = getattr(column.dtype.pyarrow_dtype, "tz", None)
    if zone is not None:
        return column.astype(pd.DatetimeTZDtype(column.dtype.pyarrow_dtype.unit, zone))
    return column.astype(column.dtype.numpy_dtype) if column.dtype.kind in "mM" else column
