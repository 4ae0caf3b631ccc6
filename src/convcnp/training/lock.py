"""One process at a time in a run's directory."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from convcnp.errors import OutputError
from convcnp.storage import is_leftover, writing

try:
    import fcntl
except ImportError:  # on Windows, where runs are not locked
    fcntl = None  # type: ignore[assignment]

LOCK = ".lock"


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold a run's directory, making it, or say who does.

    The system lets go of what a process held that died. What it had begun to write is removed.
    """
    with writing(directory):
        directory.mkdir(parents=True, exist_ok=True)
        descriptor = _acquired(directory)
    try:
        _remove_leftovers(directory)
        yield
    finally:
        # While it is still held: whoever waits for this file finds that it is gone.
        with contextlib.suppress(OSError):
            (directory / LOCK).unlink()
        os.close(descriptor)


def refuse_if_held(directory: Path) -> None:
    """Say who holds a run's directory, if anyone does."""
    if not (directory / LOCK).exists() or fcntl is None:
        return
    with writing(directory):
        descriptor = os.open(directory / LOCK, os.O_RDWR | os.O_NOFOLLOW)
        try:
            _take(directory, descriptor)
        finally:
            os.close(descriptor)


def is_empty(directory: Path) -> bool:
    """Tell whether a directory holds nothing but what a killed process leaves at its start."""
    return all(path.name == LOCK or is_leftover(path) for path in directory.iterdir())


def _acquired(directory: Path) -> int:
    """Return the descriptor of the file of this name that we hold."""
    path = directory / LOCK
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
        try:
            _take(directory, descriptor)
            if fcntl is None or _is_at(path, descriptor):
                os.truncate(descriptor, 0)
                os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}".encode())
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # its holder has just removed it: there is another, or none


def _take(directory: Path, descriptor: int) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.pread(descriptor, 200, 0).decode(errors="replace") or "another process"
        raise OutputError(
            f"Expected a run's directory for one process, but {directory} is held by {holder}; "
            "wait until it ends, or choose another with out=."
        ) from error


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _remove_leftovers(directory: Path) -> None:
    for path in filter(is_leftover, directory.iterdir()):
        path.unlink(missing_ok=True)
