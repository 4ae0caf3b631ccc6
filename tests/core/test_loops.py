"""The loops as plain Python, against the formula; `test_compiled` has them against windows."""

import math

import numpy as np
import pytest

from convcnp.core import loops
from convcnp.core.compiling import compiled

CELLS, REACH, SPACING = 12, 4, 0.5


def reached(decay: float, x: np.ndarray, function=loops.reached) -> list[np.ndarray]:
    first, position = np.empty(x.shape, np.int64), np.empty(x.shape)
    weights = np.empty((*x.shape, 2 * REACH))
    function(x, np.array([1.0]), SPACING, decay, CELLS, first, position, weights)
    return [first, position, weights]


@pytest.mark.parametrize("decay", [0.01, 0.25, 15.9, 16.1, 400.0])
def test_weights_are_those_of_the_kernel(decay):
    x = np.array([[0.3, 1.0, 2.26, 3.999, 7.2]])
    first, position, weights = reached(decay, x)
    for point, place in enumerate((x[0] - 1.0) / SPACING):
        assert first[0, point] == math.floor(place) + 1 - REACH
        assert position[0, point] == pytest.approx(place - first[0, point])
        for cell in range(2 * REACH):
            away = place - (first[0, point] + cell)
            wanted = math.exp(max(-0.5 * decay * away**2, loops.NEGLIGIBLE))
            assert weights[0, point, cell] == pytest.approx(wanted, rel=1e-9, abs=1e-25)


@pytest.mark.parametrize("x", [1e300, -1e300, 1e12])
def test_a_distant_point_reaches_no_cell(x):
    first, _, weights = reached(0.25, np.array([[x]]))
    assert first[0, 0] >= CELLS or first[0, 0] + 2 * REACH <= 0
    assert np.isfinite(weights).all()


def test_compiled_and_plain_loops_agree():
    x = 1.0 + 6 * np.random.default_rng(0).uniform(size=(1, 5))
    for plain, quick in zip(reached(0.3, x), reached(0.3, x, compiled(loops.reached)), strict=True):
        np.testing.assert_allclose(plain, quick, rtol=1e-12)
    first, position, weights = reached(0.3, x)
    random = np.random.default_rng(1)
    amounts, grad = random.normal(size=(1, 5, 4)), random.normal(size=(1, CELLS, 4))
    both = []
    for made_by in (lambda loop: loop, compiled):
        h, of_amounts, of_sums = np.zeros_like(grad), np.zeros_like(amounts), np.empty_like(grad)
        made_by(loops.spread)(first, weights, amounts, 2, 1e-8, h)
        made_by(loops.sums_back)(h, grad, 2, 1e-8, of_sums)
        total = made_by(loops.spread_back)(first, position, weights, amounts, of_sums, of_amounts)
        both.append((h, of_amounts, total))
    for plain, quick in zip(*both, strict=True):
        np.testing.assert_allclose(plain, quick, rtol=1e-9, atol=1e-12)
