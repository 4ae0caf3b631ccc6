"""Sums over the cells in reach of points: few at a time, and only as far as the kernel goes."""

import math

import pytest
import torch
from torch import Tensor

from convcnp.core import window as module
from convcnp.core.window import Window, gather, spread
from helpers import assert_equal

CELLS = {1: (30,), 2: (14, 17)}
every_dim = pytest.mark.parametrize("dim", [1, 2])


def drawn(*shape: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(shape, dtype=torch.float64, generator=generator)


def example(dim: int) -> tuple[Window, Tensor, Tensor, Tensor]:
    """Return a window of five cells, and seven points of which some are beyond the grid."""
    window = Window(CELLS[dim], spacing=0.1, reach=5)
    cells = 40 * drawn(2, 7, dim, seed=dim) - 5
    cells[:, 0], cells[:, 1] = -1e9, 1e9
    return window, cells, *window.split(cells, torch.float64)


def spread_and_gathered(dim: int) -> list[Tensor]:
    """Return both sums, and the gradients of all they depend on."""
    window, _, start, fraction = example(dim)
    scale, amounts = torch.tensor(-2.0).double(), drawn(2, 7, 4, seed=3)
    values, beyond = drawn(2, *window.shape, 3, seed=4), drawn(3, seed=5)
    leaves = [t.requires_grad_() for t in (scale, fraction, amounts, values, beyond)]
    h = spread(scale, fraction, amounts, start, window, densities=2)
    f = gather(scale, fraction, values, beyond, start, window)
    (h.square().sum() + f.square().sum()).backward()
    return [h.detach(), f.detach(), *(leaf.grad for leaf in leaves)]


@every_dim
def test_a_window_holds_the_cells_on_either_side_of_its_point(dim):
    window, cells, start, fraction = example(dim)
    below = start - 2 * window.reach + window.reach - 1
    inside = (cells > -1) & (cells < torch.tensor(window.shape))
    assert_equal((below + fraction)[inside], cells[inside], 1e-9)
    assert (start >= 0).all()
    assert (start + 2 * window.reach <= torch.tensor(window.padded)).all()


@every_dim
def test_a_distant_point_adds_nothing_and_reads_the_constant(dim):
    window, _, start, fraction = example(dim)
    scale, amounts = torch.tensor(-2.0).double(), torch.ones(2, 2, 1).double()
    start, fraction = start[:, :2], fraction[:, :2]
    density = spread(scale, fraction, amounts, start, window, densities=1)
    assert_equal(density, torch.zeros(2, *window.shape, 1).double(), 0)
    values, beyond = drawn(2, *window.shape, 1, seed=4), torch.ones(1).double()
    found = gather(scale, fraction, values, beyond, start, window)
    total = sum(math.exp(-0.5 * (0.1 * n / math.exp(-2.0)) ** 2) for n in range(-4, 6))
    assert_equal(found, torch.ones(2, 2, 1).double() * total**dim, 1e-9)


@every_dim
def test_visiting_points_in_small_groups_changes_nothing(monkeypatch, dim):
    at_once = spread_and_gathered(dim)
    monkeypatch.setattr(module, "WEIGHTS_AT_ONCE", 2 * 3 * 10**dim)  # two tasks, three points each
    for one, other in zip(spread_and_gathered(dim), at_once, strict=True):
        assert_equal(one, other, 1e-12)


@every_dim
def test_sums_without_a_gradient_are_those_with_one(monkeypatch, dim):
    window, _, start, fraction = example(dim)
    values, beyond = drawn(2, *window.shape, 3, seed=4), drawn(3, seed=5)
    arguments = (torch.tensor(-2.0).double(), fraction, values, beyond, start, window)
    with_gradient = gather(*arguments)
    for at_once in (2**22, 2 * 3 * 10**dim):
        monkeypatch.setattr(module, "WEIGHTS_AT_ONCE", at_once)
        with torch.no_grad():
            assert_equal(gather(*arguments), with_gradient, 1e-12)


@pytest.mark.parametrize("at_once, groups", [(2**22, 1), (1, 7)])
def test_small_groups_bound_the_points_visited_at_once(monkeypatch, at_once, groups):
    monkeypatch.setattr(module, "WEIGHTS_AT_ONCE", at_once)
    window, _, start, fraction = example(1)
    visited = [part.weight.shape[1] for _, part in window.parts(start, fraction, 1.0)]
    assert visited == [7 // groups] * groups


@every_dim
@pytest.mark.parametrize("at_once", [1, module.WEIGHTS_AT_ONCE])
def test_visiting_only_what_was_observed_changes_nothing(monkeypatch, dim, at_once):
    window, _, start, fraction = example(dim)
    observed = drawn(2, 7, 3, seed=6) < 0.3
    assert 0 < observed.sum() < 0.5 * observed.numel()
    found = []
    for share in (0.0, 0.5):
        monkeypatch.setattr(module, "SPARSE", share)
        monkeypatch.setattr(module, "WEIGHTS_AT_ONCE", at_once)
        scale, amounts = torch.tensor(-2.0).double(), drawn(2, 7, 6, seed=3)
        leaves = [t.clone().requires_grad_() for t in (scale, fraction, amounts)]
        factors = observed.repeat(1, 1, 2) * leaves[2]
        h = spread(leaves[0], leaves[1], factors, start, window, densities=3)
        h.square().sum().backward()
        found.append([h.detach(), *(leaf.grad for leaf in leaves)])
    for every, some in zip(*found, strict=True):
        assert_equal(some, every, 1e-12)


@every_dim
def test_a_weight_of_an_observation_is_a_factor_on_its_amounts(dim):
    """An observation of weight two is that observation made twice."""
    window, _, start, fraction = example(dim)
    scale, amounts = torch.tensor(-2.0).double(), drawn(2, 7, 2, seed=3)
    twice = spread(
        scale,
        *(torch.cat([part, part[:, 2:3]], 1) for part in (fraction, amounts, start)),
        window,
        densities=1,
    )
    weight = torch.ones(7, 1).double()
    weight[2] = 2
    assert_equal(
        spread(scale, fraction, weight * amounts, start, window, densities=1), twice, 1e-12
    )


def test_the_smallest_weights_do_not_underflow():
    window = Window((30,), spacing=1.0, reach=3)
    start, fraction = window.split(torch.full((1, 1, 1), 10.5).double(), torch.float32)
    (_, part), *_ = window.parts(start, fraction, 50.0)
    assert part.weight.min() == pytest.approx(math.exp(-60))
