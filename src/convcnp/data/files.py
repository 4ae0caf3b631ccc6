"""Files of data sets: found in the user's folder or downloaded once; their content is cached."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy import ndarray

from convcnp.errors import DataError
from convcnp.extras import import_extra
from convcnp.storage import write_atomically

Arrays = dict[str, ndarray]
OnBytes = Callable[[int, int], None]  # those that are there, and all of them


@contextmanager
def unseen(name: str) -> Iterator[OnBytes]:
    """Show nothing of a download."""
    yield lambda done, total: None


download_bar: ContextVar[Callable[[str], AbstractContextManager[OnBytes]]] = ContextVar(
    "download_bar", default=unseen
)
"""How downloads are shown: given a file's name, a place to report bytes to."""


@dataclass(frozen=True)
class Upstream:
    """Where a file comes from, and the hash that tells it is whole."""

    url: str
    md5: str

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.url.rpartition("/")[2]


def data_folder() -> Path | None:
    """Return the folder that the environment variable CONVCNP_DATA names, if it is set."""
    name = os.environ.get("CONVCNP_DATA")
    return Path(name) if name else None


def data_file(folder: str, names: Sequence[str], home: str | Upstream) -> Path:
    """Return the first of these files that the data folder has, else download it once.

    Args:
        folder: The data set's own folder within the data folder.
        names: What the file may be called there.
        home: Where to get the file; a text tells the user, who has to.
    """
    root = data_folder()
    for name in names:
        if root is not None and (root / folder / name).exists():
            return root / folder / name
    wanted = f"{' or '.join(names)} in the folder {folder} of the folder that CONVCNP_DATA names"
    if isinstance(home, Upstream):
        return _downloaded(folder, home, wanted)
    raise DataError(
        f"Expected {wanted} ({root or 'not set'}), but it is not there; get it from {home}, and "
        "put it there."
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


def _downloaded(folder: str, upstream: Upstream, wanted: str) -> Path:
    pooch = import_extra("pooch", "images")
    try:
        with download_bar.get()(upstream.name) as report:
            path = pooch.retrieve(
                upstream.url,
                known_hash=f"md5:{upstream.md5}",
                fname=upstream.name,
                path=cache_folder() / folder,
                progressbar=_Bytes(report),
            )
    except (OSError, ValueError) as error:  # no connection, or another hash
        raise DataError(
            f"Expected {wanted}, or {upstream.url} to answer with the file known here, but "
            f"{str(error).splitlines()[0]}; try again later, or put the file there."
        ) from error
    return Path(path)


class _Bytes:
    """What pooch takes for a progress bar: counts bytes, and passes them on."""

    def __init__(self, report: OnBytes) -> None:
        self.total, self._done, self._report = 0.0, 0.0, report

    def update(self, advance: float) -> None:
        """Take note of bytes that arrived."""
        self._done += advance
        self._report(int(self._done), int(self.total))

    def reset(self) -> None:
        """Begin again, as pooch does before it fills the bar at the end."""
        self._done = 0.0

    def close(self) -> None:
        """Do nothing: who shows the bytes knows when the file is there."""
