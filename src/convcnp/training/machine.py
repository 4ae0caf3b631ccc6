"""How the processor and the C library are set while a model is trained."""

from __future__ import annotations

import ctypes
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from convcnp.errors import SettingError
from convcnp.extras import import_extra

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


@contextmanager
def multiplying_alone() -> Iterator[None]:
    """Let compiled loops multiply on one thread: their matrices are too small to be shared.

    They take SciPy's routines, which have as many threads as the machine has cores.
    """
    import_extra("scipy.linalg", "train")  # what is not loaded yet cannot be limited
    limits = import_extra("threadpoolctl", "train").threadpool_limits
    with limits(limits=1, user_api="blas"):
        yield


def check_half_precision() -> None:
    """Refuse half precision where the processor stops a program that multiplies in it.

    Virtual machines announce matrix units that they do not hand on. The first product in bfloat16
    then ends the program without a word, so it is tried in another one.
    """
    product = "import torch; x = torch.ones(64, 64, dtype=torch.bfloat16); x @ x"
    if subprocess.run([sys.executable, "-c", product], capture_output=True).returncode != 0:
        raise SettingError(
            "precision must be one that this processor multiplies in, but bf16-mixed stops it, as "
            "on virtual machines that announce more than they have; leave precision out, or set "
            "ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16 in the environment."
        )
