"""Plain loops that numba compiles, where it is installed: the extra `train` brings it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TypeVar

from numpy import ndarray
from torch import Tensor

Loop = TypeVar("Loop", bound=Callable[..., object])


@cache
def numba() -> ModuleType | None:
    """Return the compiler, or nothing where it is not installed."""
    try:
        return import_module("numba")
    except ModuleNotFoundError:
        return None


@cache
def multiplies() -> bool:
    """Tell whether compiled loops can multiply matrices: numba takes SciPy's routines for it."""
    return numba() is not None and find_spec("scipy") is not None


@cache
def compiled(loop: Loop) -> Loop:
    """Return a loop compiled, which takes seconds on a new machine and is kept on its disk."""
    compiler = numba()
    assert compiler is not None
    # Unwrapped: in the tests a check of its annotations is wrapped around it.
    found: Loop = compiler.njit(nogil=True, cache=True)(inspect.unwrap(loop))
    return found


def array(tensor: Tensor) -> ndarray:
    """Return the numbers of a tensor as a loop takes them: the same memory."""
    return tensor.detach().numpy()
