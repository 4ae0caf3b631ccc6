"""Products are the same numbers by either library, and in double precision exact."""

import pytest
import torch

from convcnp.core import products
from convcnp.core.products import product
from helpers import assert_equal


def matrices(dtype: torch.dtype, rows: int = 300) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(0)
    shapes = ((rows, 96), (96, 64), (64,))
    return tuple(torch.randn(shape, dtype=dtype, generator=generator) for shape in shapes)


@pytest.fixture
def asked(monkeypatch) -> list[int]:
    """Whether oneDNN was asked to multiply, as a list of the rows it was given."""
    found: list[int] = []
    if not products._has_onednn():
        return found
    inner = torch.ops.mkldnn._linear_pointwise

    def noting(a, *others):
        found.append(len(a))
        return inner(a, *others)

    monkeypatch.setattr(torch.ops.mkldnn, "_linear_pointwise", noting)
    return found


@pytest.mark.skipif(not products._has_onednn(), reason="this build of torch has no oneDNN")
def test_many_numbers_are_multiplied_by_onednn_as_by_mkl(asked):
    a, b, bias = matrices(torch.float32)
    assert_equal(product(a, b), a @ b, 1e-3)
    assert_equal(product(a, b, bias), a @ b + bias, 1e-3)
    assert_equal(product(a.mT, a), a.mT @ a, 1e-3)  # whatever lies how in memory
    assert asked == [300, 300, 96]


def test_few_numbers_and_double_precision_are_not(asked):
    a, b, bias = matrices(torch.float64)
    assert_equal(product(a, b, bias), a @ b + bias, 1e-12)
    few, b, bias = matrices(torch.float32, rows=5)
    assert_equal(product(few, b, bias), few @ b + bias, 1e-3)
    assert asked == []


def test_without_onednn_mkl_multiplies(asked, monkeypatch):
    monkeypatch.setattr(products, "_has_onednn", lambda: False)
    a, b, _ = matrices(torch.float32)
    assert_equal(product(a, b), a @ b, 0)
    assert asked == []
