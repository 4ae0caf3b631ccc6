"""Files of a data lake: found, checked to fit together, and read piece by piece."""

from __future__ import annotations

import glob
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from convcnp.errors import TableError
from convcnp.extras import import_extra
from convcnp.frames.kinds import is_numeric
from convcnp.frames.names import listed
from convcnp.frames.padded import is_padded, without_zeros
from convcnp.frames.reading import plain, read_table

_ENDINGS = (".parquet", ".pq", ".csv", ".tsv", ".csv.gz", ".tsv.gz")
# What names series.
_NAMES, _WHOLE, _DIGITS = "numbers or words", "whole numbers", "whole numbers with zeros in front"
_READERS = 16  # threads that look at files: disks of a network answer slowly


@dataclass(frozen=True)
class Piece:
    """Rows that are read at once: a row group of a Parquet file, or another file."""

    path: str
    file: int  # number of the file
    row_group: int | None = None
    first_row: int = 0  # of the file
    rows: int | None = None  # where they are known before they are read

    def read(self) -> pd.DataFrame:
        """Return the rows, with plain names and types; the index counts them within the file."""
        if self.row_group is None:
            return read_table(self.path).frame.reset_index(drop=True)
        arrow, parquet = _parquet()
        try:
            with parquet.ParquetFile(self.path) as file:
                frame = file.read_row_group(self.row_group).to_pandas()
        except (arrow.ArrowException, OSError) as error:
            raise _broken(self.path, error) from error
        if not isinstance(frame.index, pd.RangeIndex):
            frame = frame.reset_index()
        frame.index = pd.RangeIndex(self.first_row, self.first_row + len(frame))
        return plain(frame)


@dataclass(frozen=True)
class Inputs:
    """All pieces, and files that cannot be read, with the reason."""

    files: tuple[str, ...]
    pieces: tuple[Piece, ...]
    broken: dict[str, str]
    rows: int  # about

    @classmethod
    def find(cls, pattern: str) -> Inputs:
        """Look at a file, the tables of a folder, or those of a pattern: `lake/*.parquet`."""
        files = find_files(pattern)
        with ThreadPoolExecutor(_READERS) as pool:
            found = list(pool.map(_pieces, range(len(files)), files))
        broken = {file: part for file, part in zip(files, found, strict=True) if type(part) is str}
        pieces = tuple(piece for part in found if isinstance(part, list) for piece in part)
        if not pieces:
            raise TableError(
                f"Expected a table that can be read in {pattern}, got none; "
                + " ".join(list(broken.values())[:3])
            )
        return cls(tuple(files), pieces, broken, sum(map(_about, pieces)))


def find_files(pattern: str) -> list[str]:
    """Return the files of a folder or a pattern, or the file itself, sorted by name."""
    path = Path(pattern)
    if path.is_dir():
        found = [str(file) for file in path.rglob("*") if _is_table(file)]
    elif path.exists():
        found = [pattern]
    else:
        found = [name for name in glob.glob(pattern, recursive=True) if Path(name).is_file()]  # noqa: PTH207
    if not found:
        raise TableError(
            f"Expected Parquet or CSV files in {pattern}, but there are none; check the folder, or "
            "put the pattern in quotes."
        )
    return sorted(found)


def _is_table(path: Path) -> bool:
    return path.is_file() and path.name.endswith(_ENDINGS) and not path.name.startswith((".", "_"))


def _pieces(number: int, path: str) -> list[Piece] | str:
    """Return the pieces of a file, or a sentence if it cannot be read."""
    if not path.endswith((".parquet", ".pq")):
        return [Piece(path, number)]
    arrow, parquet = _parquet()
    try:
        with parquet.ParquetFile(path) as file:
            counts = [
                file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)
            ]
    except (arrow.ArrowException, OSError) as error:
        return str(_broken(path, error))
    starts = [sum(counts[:i]) for i in range(len(counts))]
    return [
        Piece(path, number, i, start, rows)
        for i, (start, rows) in enumerate(zip(starts, counts, strict=True))
        if rows
    ]


def _about(piece: Piece) -> int:
    """Return the rows of a piece, by the size of its file where they are not known."""
    return Path(piece.path).stat().st_size // 30 if piece.rows is None else piece.rows


def _parquet() -> tuple[Any, Any]:
    return import_extra("pyarrow", "parquet"), import_extra("pyarrow.parquet", "parquet")


def _broken(path: str, error: Exception) -> TableError:
    reason = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
    return TableError(
        f"Expected a Parquet file in {path}, but it cannot be read ({reason}); it may be cut "
        "short: write it again."
    )


def kind_of(column: pd.Series, is_group: bool = False) -> str:
    """Return what the cells of a column are, as far as all files must agree on it."""
    if column.dtype.kind in "mM":
        return {"m": "durations", "M": "dates"}[column.dtype.kind]
    if is_group and is_padded(column):
        return _DIGITS
    if is_group:
        return _WHOLE if column.dtype.kind in "iu" else _NAMES
    return "numbers" if is_numeric(column) else "words"


def named_alike(groups: pd.Series, kind: str) -> pd.Series:
    """Return names of series as the first table writes them: 120 as text, if 007 is among its own.

    Example:
        >>> kind = kind_of(pd.Series(["007", "012"]), is_group=True)
        >>> named_alike(pd.Series([120]), kind).tolist()
        ['120']
    """
    if kind == _DIGITS and groups.dtype.kind in "iu":
        return groups.astype(str)
    return without_zeros(groups) if kind == _WHOLE else groups


def check_form(
    frame: pd.DataFrame, path: str, kinds: dict[str, str], group: str, first: str
) -> None:
    """Refuse a table whose columns are not those of the first.

    Args:
        kinds: What the columns that are needed hold in the first table.
        first: Its path.
    """
    absent = [name for name in kinds if name not in frame.columns]
    if absent:
        raise TableError(
            f"Expected tables of one form, but {path} has no column {absent[0]!r}, which {first} "
            f"has (it has {listed(list(map(str, frame.columns)))}); bring them to one form."
        )
    for name, kind in kinds.items():
        found = kind_of(frame[name], name == group)
        are_texts = {found, kind} == {_NAMES, _DIGITS}
        if found != kind and "words" not in (found, kind) and not are_texts:
            raise TableError(
                f"Expected tables of one form, but {name!r} holds {found} in {path}, and {kind} in "
                f"{first}; bring them to one form."
            )
