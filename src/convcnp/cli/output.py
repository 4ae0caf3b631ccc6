"""Where commands write: files that are checked before any work, and standard output."""

from __future__ import annotations

import errno
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from convcnp.cli.console import silence
from convcnp.errors import OutputError
from convcnp.extras import import_extra
from convcnp.storage import check_replaceable, is_file, write_together

if TYPE_CHECKING:
    import pandas as pd


def check_outputs(inputs: Sequence[str], out: Path | None, plot: Path | None) -> None:
    """Refuse, before any work, what could not be written after it, or would replace an input."""
    if out is not None and out.suffix.lower() not in (".csv", ".parquet"):
        raise OutputError(f"--out must end in .csv or .parquet, got {out}; choose one.")
    if out is not None and out.suffix.lower() == ".parquet":
        import_extra("pyarrow", "parquet")
    if plot is not None:
        import_extra("matplotlib", "plot")
        if plot.suffix.lower() not in (".png", ".svg", ".pdf"):
            raise OutputError(f"--plot must end in .png, .svg or .pdf, got {plot}; choose one.")
    for path in (out, plot):
        if path is not None:
            _check_output(inputs, path)


def _check_output(inputs: Sequence[str], path: Path) -> None:
    try:
        fault = _fault(path)
        is_input = path.exists() and any(is_file(file) and path.samefile(file) for file in inputs)
    except OSError as error:
        raise OutputError(
            f"Expected a file that can be written, but {path} cannot be ({error.strerror}); choose "
            "another path."
        ) from error
    if fault:
        raise OutputError(f"Expected a file that can be written, but {fault}.")
    try:
        check_replaceable(path)
    except OSError as error:
        raise OutputError(
            f"Expected a file that can be replaced, but {path} cannot be ({error.strerror}); "
            "choose another path, or change its permissions."
        ) from error
    if is_input:
        raise OutputError(
            f"Expected another file to write than the tables that are read, got {path}; choose "
            "another path."
        )


def _fault(path: Path) -> str:
    """Say why a file cannot be at a path, and what to do; nothing if it can."""
    if path.is_dir():
        return f"{path} is a folder; name a file in it"
    if path.parent.is_dir():
        return ""
    what = "is no folder" if path.parent.exists() else "does not exist"
    return f"the folder {path.parent} {what}; make it, or choose another path"


def write_answer(
    answer: pd.DataFrame, out: Path | None, others: Mapping[Path, bytes] | None = None
) -> None:
    """Write a table to a file, CSV or Parquet by its ending, or to standard output as CSV.

    Args:
        others: Files that are written with it, all or none.
    """
    contents: dict[Path, bytes] = {}
    if out is not None and out.suffix.lower() == ".parquet":
        contents[out] = answer.to_parquet(index=False)
    elif out is not None:
        contents[out] = answer.to_csv(index=False).encode()
    write_files(contents | dict(others or {}))
    if out is None:
        _print_answer(answer)


def write_files(contents: Mapping[Path, bytes]) -> None:
    """Write whole files, all or none, or say why not."""
    try:
        write_together(contents)
    except OSError as error:
        raise OutputError(
            f"Expected to write {' and '.join(map(str, contents))}, but it failed "
            f"({error.strerror}); what was there before is unchanged. Make room, or choose another "
            "path."
        ) from error


def _print_answer(answer: pd.DataFrame) -> None:
    try:
        answer.to_csv(sys.stdout, index=False)
        sys.stdout.flush()
    except OSError as error:
        silence(sys.stdout)
        if error.errno == errno.EPIPE:  # the reader, such as `head`, has seen enough
            return
        raise OutputError(
            f"Expected to write to standard output, but it failed ({error.strerror}); make room, "
            "or choose a file with --out."
        ) from error
