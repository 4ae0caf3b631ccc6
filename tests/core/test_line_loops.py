"""The loops as plain Python, against operations of torch; `test_tape` has whole networks."""

import numpy as np
import pytest
import torch
from torch import Tensor

from convcnp.core import line_loops as loops
from convcnp.core.compiling import compiled
from convcnp.core.reading import Reading, reading_of

INPUTS, OUTPUTS = 3, 2


def drawn(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=generator)


def of(step: str, kernel_size: int = 5) -> Reading:
    return reading_of(step, kernel_size, 2, 6, (0, 0), torch.float64)


every_step = pytest.mark.parametrize("step", ["same", "halved", "doubled"])
every_way = pytest.mark.parametrize("made_by", [lambda loop: loop, compiled])


@every_way
def test_rows_are_copied_into_their_columns(made_by):
    rows, near = drawn(4, 3).numpy(), np.zeros((2, 5))
    made_by(loops.read)(rows, np.array([3, 1]), 2, near)
    assert (near[:, 2:] == rows[[3, 1]]).all()
    assert (near[:, :2] == 0).all()


@every_way
@every_step
@pytest.mark.parametrize("kernel_size", [1, 3, 5, 7])
def test_a_kernel_is_laid_out_as_its_matrix_and_back(made_by, step, kernel_size):
    reading, weight = of(step, kernel_size), drawn(OUTPUTS, INPUTS, 1, kernel_size)
    rows, read, made = reading.shape
    wide, long = read * INPUTS, made * OUTPUTS
    matrix, back = np.ones((rows * wide, long)), np.ones((rows * long, wide))
    made_by(loops.lay_out)(weight[:, :, 0].numpy(), reading.indices[2], made, matrix, back)
    expected = reading.matrix(weight)
    np.testing.assert_allclose(matrix, expected, atol=1e-15)
    transposed = expected.view(rows, wide, long).transpose(1, 2).reshape(-1, wide)
    np.testing.assert_allclose(back, transposed, atol=1e-15)


@every_way
@every_step
def test_the_gradient_of_a_matrix_is_collected_in_its_kernel(made_by, step):
    reading = of(step)
    rows, read, made = reading.shape
    of_matrix = drawn(read * INPUTS, rows * made * OUTPUTS)
    of_weight = np.zeros((OUTPUTS, INPUTS, 5))
    made_by(loops.collect)(of_matrix.numpy(), reading.indices[2], made, of_weight)
    np.testing.assert_allclose(of_weight, reading.weight(of_matrix, OUTPUTS)[:, :, 0], atol=1e-14)


@every_way
@pytest.mark.parametrize("is_cut", [True, False])
def test_a_bias_is_added_and_what_is_negative_cut_off(made_by, is_cut):
    found, bias = drawn(4, 3), drawn(3, seed=1)
    expected = (found + bias).clamp(min=0) if is_cut else found + bias
    made_by(loops.activate)(found.numpy(), bias.numpy(), is_cut)
    np.testing.assert_allclose(found, expected, atol=1e-15)


@every_way
def test_gradients_are_cut_where_values_were(made_by):
    grad, found = drawn(5, 6)[:, 2:5], drawn(5, 3, seed=1).clamp(min=0)  # with gaps between rows
    given, of_bias = np.ones((5, 3)), np.ones(3)
    made_by(loops.cut)(grad.numpy(), found.numpy(), given, of_bias)
    expected = torch.where(found > 0, grad, 0)
    np.testing.assert_allclose(given, expected, atol=0)
    np.testing.assert_allclose(of_bias, expected.sum(0), atol=1e-14)


@every_way
@every_step
def test_gradients_are_read_back_and_those_of_the_constant_summed(made_by, step):
    reading = of(step)
    rows, _, made = reading.shape
    reads, read_by, _ = reading.indices
    given = drawn(len(reads) // rows, made * OUTPUTS)
    given[4 // made - 1] = 0  # nothing is made there
    near = np.ones((len(read_by), made * OUTPUTS))
    made_by(loops.read_back)(given.numpy(), reads, read_by, near)
    expected = given[reading.read_by]
    expected[:rows] = reading.beyond @ given
    np.testing.assert_allclose(near, expected, atol=1e-14)
