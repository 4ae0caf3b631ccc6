"""Files of data sets: found in the user's folder, and their content kept in a cache."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy import ndarray

from convcnp.errors import DataError
from convcnp.storage import write_atomically

Arrays = dict[str, ndarray]


def data_folder() -> Path | None:
    """Return the folder that the environment variable CONVCNP_DATA names, if it is set."""
    name = os.environ.get("CONVCNP_DATA")
    return Path(name) if name else None


def data_file(folder: str, names: Sequence[str], home: str) -> Path:
    """Return the first of these files that the data folder has.

    Args:
        folder: The data set's own folder within the data folder.
        names: What the file may be called there.
        home: Where a user gets the file.
    """
    root = data_folder()
    for name in names:
        if root is not None and (root / folder / name).exists():
            return root / folder / name
    raise DataError(
        f"Expected {' or '.join(names)} in the folder {folder} of the folder that CONVCNP_DATA "
        f"names ({root or 'not set'}), but it is not there; get it from {home}, and put it there."
    )


def cache_folder() -> Path:
    """Return the user's folder for what can be made again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "convcnp")


def cached(path: Path, read: Callable[[Path], Arrays]) -> Arrays:
    """Return the arrays that are read from a file, kept for the next time.

    A file that has changed, by its size or time, is read again. Where the cache cannot be written
    there is none.
    """
    state = path.stat()
    key = f"{path.resolve()} {state.st_size} {state.st_mtime_ns} {read.__qualname__}"
    name = f"{path.name.partition('.')[0]}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.npz"
    kept = cache_folder() / name
    try:
        with kept.open("rb") as file, np.load(file, allow_pickle=False) as content:
            return dict(content)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):  # not there, or damaged
        arrays = read(path)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    with contextlib.suppress(OSError):
        write_atomically(kept, buffer.getvalue())
    return arrays
