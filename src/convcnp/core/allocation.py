"""What the C library does with memory that tensors free: keep it for the next, or give it back."""

from __future__ import annotations

import ctypes
import platform

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of malloc.h


def keep_freed_memory() -> None:
    """Let a training step find what the one before freed.

    By default glibc hands the memory of larger tensors back to the kernel at once, and every step
    maps and clears it anew, a tenth of its time. Other C libraries have no such setting.
    """
    _set_thresholds(mmap=2**25, trim=2**29)


def return_freed_memory() -> None:
    """Let tensors take what they hold and no more.

    What a tile frees is else kept in pieces, and beside a large photograph there is no room for it.
    """
    _set_thresholds(mmap=2**22, trim=2**22)


def _set_thresholds(*, mmap: int, trim: int) -> None:
    if platform.libc_ver()[0] == "glibc":
        library = ctypes.CDLL(None)
        library.mallopt(_MMAP_THRESHOLD, mmap)
        library.mallopt(_TRIM_THRESHOLD, trim)
