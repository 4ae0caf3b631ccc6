"""A compiled loop is the loop, on the memory of a tensor."""

import sys

import torch
from numpy import ndarray

from convcnp.core import compiling
from convcnp.core.compiling import array, compiled


def doubled(numbers: ndarray) -> int:
    """Double numbers in place, and count them."""
    for i in range(len(numbers)):
        numbers[i] *= 2
    return len(numbers)


def test_a_compiled_loop_writes_to_the_memory_of_a_tensor():
    numbers = torch.arange(3.0, requires_grad=True)
    assert compiled(doubled)(array(numbers)) == 3
    assert numbers.tolist() == [0.0, 2.0, 4.0]


def test_a_loop_is_compiled_once():
    assert compiled(doubled) is compiled(doubled)


def test_without_numba_there_is_no_compiler(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    assert compiling.numba.__wrapped__() is None


def test_loops_multiply_where_scipy_is(monkeypatch):
    assert compiling.multiplies.__wrapped__()
    monkeypatch.setattr(compiling, "find_spec", lambda name: None)
    assert not compiling.multiplies.__wrapped__()
