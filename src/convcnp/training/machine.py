"""How the processor is set while a model is trained."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from convcnp.errors import SettingError
from convcnp.extras import import_extra


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
