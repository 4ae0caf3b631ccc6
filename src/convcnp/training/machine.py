"""How the processor and the C library are set while a model is trained."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Iterator
from contextlib import contextmanager

import torch

# The parameters of glibc's `mallopt`, by their names in malloc.h.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_LARGEST_BLOCK = 2**25  # bytes: larger ones come from the kernel, and go back to it
_KEPT = 2**29  # bytes: more than this, once freed, goes back as well


def keep_freed_memory() -> None:
    """Let the C library keep what a step has freed for the next one.

    By default glibc hands the memory of larger tensors back to the kernel at once, and every step
    begins with hundreds of page faults. Other C libraries have no such setting, and are left alone.
    """
    if platform.libc_ver()[0] == "glibc":
        library = ctypes.CDLL(None)
        library.mallopt(_M_MMAP_THRESHOLD, _LARGEST_BLOCK)
        library.mallopt(_M_TRIM_THRESHOLD, _KEPT)


@contextmanager
def flushing_denormals() -> Iterator[None]:
    """Round numbers below 1e-38 to zero: weight decay makes many, and each costs a step dearly."""
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)
