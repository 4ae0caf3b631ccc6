"""Which rows are read and made, and how weights lie between them; `test_line` multiplies them."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from convcnp.core import reading as module
from convcnp.core.reading import doubling, inside_of, reading_of
from helpers import assert_equal


def drawn(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=generator)


def test_rows_of_two_cells_are_read_from_their_own_task_or_from_the_constant():
    reading = reading_of("same", 5, 2, 4, (0, 0), torch.float64)
    assert reading.shape == (3, 2, 2)
    assert reading.reads.view(-1, 3).tolist() == [
        *[[0, 0, 0]] * 2,  # ahead of the tasks
        *[[0, 2, 3], [2, 3, 0]],
        *[[0, 4, 5], [4, 5, 0]],
    ]


def test_indices_of_large_lines_are_not_kept(monkeypatch):
    def found() -> list[Tensor]:
        reading = reading_of("halved", 5, 2, 10, (2, 2), torch.float64)
        return [reading.reads, inside_of(2, 10, (2, 2))]

    expected = found()
    prepared = (module._reading, module._inside)
    assert min(function.cache_info().currsize for function in prepared) > 0
    monkeypatch.setattr(module, "KEPT_CELLS", 19)
    for function in prepared:
        function.cache_clear()
    for one, other in zip(found(), expected, strict=True):
        assert_equal(one, other, 0)
    assert [function.cache_info().currsize for function in prepared] == [0, 0]


@pytest.mark.parametrize("kernel_size", [1, 3, 5, 7])
def test_two_cells_are_made_of_one_as_by_repeating_it(kernel_size):
    h, weight = drawn(2, 3, 1, 5), drawn(4, 3, 1, kernel_size, seed=1)
    repeated = h.repeat_interleave(2, 3)
    expected = functional.conv2d(repeated, weight, padding=(0, kernel_size // 2))
    made = doubling(weight)
    pairs = functional.conv2d(h, made, padding=(0, made.shape[3] // 2)).unflatten(1, (2, 4))
    assert made.shape[3] <= (kernel_size + 3) // 2
    assert_equal(pairs.movedim(1, -1).flatten(3), expected, 1e-12)


def test_large_products_have_few_sizes(monkeypatch):
    """Libraries prepare for every size anew, and lines of tasks have thousands of them."""
    sizes = set()

    def noted(a: Tensor, *others: Tensor) -> Tensor:
        sizes.add(len(a))
        return inner(a, *others)

    inner = module.product
    monkeypatch.setattr(module, "product", noted)
    matrix, bias = drawn(60, 48), drawn(48, seed=1)
    many = range(400, 800, 2)
    for cells in many:
        reading = reading_of("same", 5, 2, cells, (0, 0), torch.float64)
        rows = drawn(reading.read_from, 20, seed=cells)
        near = rows.index_select(0, reading.reads).view(-1, 60)
        found = reading.product(rows, matrix, bias)
        assert_equal(found, (near @ matrix + bias).view(found.shape), 1e-12)
    assert len(sizes) < len(many) / 10
