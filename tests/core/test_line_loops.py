"""The loops as plain Python, against operations of torch; `test_tape` has whole networks."""

import inspect

import numba
import numpy as np
import pytest
import torch
from torch import Tensor

from convcnp.core import line_loops as loops
from convcnp.core.reading import Reading, reading_of
from convcnp.core.rows import Rows, rows_of

INPUTS, OUTPUTS = 3, 2


def drawn(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=generator)


def of(step: str, kernel_size: int = 5) -> Reading:
    return reading_of(step, kernel_size, 2, 6, (0, 0), torch.float64)


def rows(step: str, kernel_size: int = 5) -> Rows:
    return rows_of(step, kernel_size, (6, 6), (0, 0))


def freshly_compiled(loop):
    """Compile a loop anew: what it knows of its module is fixed when it is compiled."""
    return numba.njit(inspect.unwrap(loop))


every_step = pytest.mark.parametrize("step", ["same", "halved", "doubled"])
every_way = pytest.mark.parametrize("made_by", [lambda loop: loop, freshly_compiled])


@every_way
@every_step
@pytest.mark.parametrize("kernel_size", [1, 3, 5, 7])
def test_a_kernel_is_laid_out_as_its_matrix_and_back(made_by, step, kernel_size):
    reading, weight = of(step, kernel_size), drawn(OUTPUTS, INPUTS, 1, kernel_size)
    many, read, made = reading.shape
    wide, long = read * INPUTS, made * OUTPUTS
    matrix, back = np.ones((many * wide, long)), np.ones((many * long, wide))
    made_by(loops.lay_out)(
        weight[:, :, 0].numpy(), rows(step, kernel_size).meets, made, matrix, back
    )
    expected = reading.matrix(weight)
    np.testing.assert_allclose(matrix, expected, atol=1e-15)
    transposed = expected.view(many, wide, long).transpose(1, 2).reshape(-1, wide)
    np.testing.assert_allclose(back, transposed, atol=1e-15)


@every_way
@every_step
def test_the_gradient_of_a_matrix_is_collected_in_its_kernel(made_by, step):
    reading = of(step)
    many, read, made = reading.shape
    of_matrix = drawn(read * INPUTS, many * made * OUTPUTS)
    of_weight = np.zeros((OUTPUTS, INPUTS, 5))
    made_by(loops.collect)(of_matrix.numpy(), rows(step).meets, made, of_weight)
    np.testing.assert_allclose(of_weight, reading.weight(of_matrix, OUTPUTS)[:, :, 0], atol=1e-14)


def layer(step: str) -> tuple[Tensor, Tensor, Tensor, np.ndarray, np.ndarray]:
    """Return what is read, a weight and a bias, and the weight's matrices there and back."""
    reading = of(step)
    many, read, made = reading.shape
    weight = drawn(OUTPUTS, INPUTS, 1, 5, seed=1)
    wide, long = read * INPUTS, made * OUTPUTS
    matrix, back = np.empty((many * wide, long)), np.empty((many * long, wide))
    loops.lay_out(weight[:, :, 0].numpy(), rows(step).meets, made, matrix, back)
    return drawn(reading.read_from, wide), weight, drawn(OUTPUTS, seed=2), matrix, back


def in_parts(rows: Tensor, read: int) -> tuple[np.ndarray, ...]:
    """Return rows of one cell in two parts, and those of two cells whole."""
    parts = (rows[:, :1], rows[:, 1:]) if read == 1 else (rows,)
    return tuple(part.contiguous().numpy() for part in parts)


few_at_once = pytest.mark.parametrize("some", [3, 128])  # rows, of which there are more than three


@every_way
@every_step
@few_at_once
@pytest.mark.parametrize("is_cut", [True, False])
def test_a_layer_is_the_product_of_all_that_it_reads(monkeypatch, made_by, step, some, is_cut):
    monkeypatch.setattr(loops, "SOME", some)
    reading, reads = of(step), rows(step).reads
    values, _, bias, matrix, _ = layer(step)
    found = np.ones((len(reads) // reading.shape[0], len(matrix.T)))
    made_by(loops.multiply)(
        in_parts(values, reading.shape[1]), reads, matrix, bias.numpy(), is_cut, found
    )
    expected = reading.product(values, torch.from_numpy(matrix), bias.repeat(reading.shape[2]))
    expected = expected.relu() if is_cut else expected
    np.testing.assert_allclose(found, expected.view(found.shape), atol=1e-12)


@every_way
@every_step
@few_at_once
def test_the_gradients_of_a_layer_are_those_that_torch_finds(monkeypatch, made_by, step, some):
    """With a ReLU, and without gradients of what nothing reads."""
    monkeypatch.setattr(loops, "SOME", some)
    reading = of(step)
    count, _, made = reading.shape
    values, _, bias, matrix, back = layer(step)
    leaves = [tensor.requires_grad_() for tensor in (values, torch.from_numpy(matrix), bias)]
    found = reading.product(leaves[0], leaves[1], bias.repeat(made)).relu().view(-1, len(matrix.T))
    grad = drawn(*found.shape, seed=3)
    grad[4 // made - 1] = 0
    of_rows, of_matrix, of_bias = torch.autograd.grad(found, leaves, grad)
    own = made_by(loops.multiply_back)(
        *(grad.numpy(), found.detach().numpy(), True, rows(step).reads, rows(step).read_by, back),
        in_parts(values.detach(), reading.shape[1]),
    )
    np.testing.assert_allclose(own[0], of_rows, atol=1e-12)
    inside = of_matrix.view(count, -1, len(matrix.T)).transpose(0, 1).reshape(own[1].shape)
    np.testing.assert_allclose(own[1], inside, atol=1e-12)
    np.testing.assert_allclose(own[2].reshape(made, -1).sum(0), of_bias, atol=1e-12)
