"""How many threads compute."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import torch

_lock = Lock()
_before: list[int] = []  # threads that had computed, once for everybody who computes on one


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread: where matrices are small, several gain little.

    Beside another busy process they lose much: each waits for the others at every matrix. The
    setting is of the whole process: of several that ask for it at once, the last one ends it.
    """
    with _lock:
        _before.append(_before[0] if _before else torch.get_num_threads())
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _lock:
            before = _before.pop()
            if not _before:
                torch.set_num_threads(before)
