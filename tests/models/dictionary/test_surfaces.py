"""Surfaces of the dictionary: joint draws whose spread is that of the predictions."""

from dataclasses import replace

import pytest
import torch

from convcnp.models.dictionary.bordered import Frame
from convcnp.models.dictionary.plane import PlaneDictionary
from convcnp.models.dictionary.surfaces import drawn_surfaces

SIDE = torch.linspace(0, 6, 5, dtype=torch.float64)
MAP = torch.cartesian_prod(SIDE, SIDE)


def fitted(count=40, *, positive=False, variance=None):
    """Fit a wavy field with noise."""
    generator = torch.Generator().manual_seed(0)
    x = 6 * torch.rand(count, 2, generator=generator, dtype=torch.float64)
    y = torch.sin(x[:, 0]) + torch.cos(0.7 * x[:, 1])
    y = y + 0.1 * torch.randn(count, generator=generator)
    return PlaneDictionary().fit(x, (2 * y).exp() if positive else y, variance)


def one_variant(points):
    """Leave the heaviest variant alone."""
    best = points.weighed.weight.argmax()[None]
    weighed = replace(
        points.weighed, variants=points.weighed.variants[best], weight=torch.ones(1).double()
    )
    return replace(points, weighed=weighed, variance=points.variance[best])


def predicted(points, x):
    """Return mean and deviation of the values as they are standardised."""
    mean, scale = points.predict(points.points.places(x))
    weight, freedom = points.weighed.weight[:, None], points.freedom
    expected = (weight * mean).sum(0)
    spread = scale**2 * freedom / (freedom - 2) + (mean - expected) ** 2
    return expected, (weight * spread).sum(0).sqrt()


@pytest.mark.parametrize("count", [12, 40, 600])  # the last in regions
def test_surfaces_have_the_mean_and_spread_that_is_predicted(count):
    points = fitted(count)
    surfaces = drawn_surfaces(points, MAP, 500, torch.Generator().manual_seed(1))
    z = (surfaces - points.points.level[0]) / points.points.scale[0]
    mean, deviation = predicted(points, MAP)
    assert ((z.mean(0) - mean) / deviation).abs().max() < 0.25
    torch.testing.assert_close(z.std(0) / deviation, torch.ones(25).double(), atol=0.25, rtol=0)


def test_points_go_together_as_a_slow_formula_has_it():
    points = one_variant(fitted())
    variant = points.weighed.variants
    entry, seen = points.entries[variant.entry], points.points
    far = MAP[[0, 1, 6, 12]]  # more than the distance in which noise turns
    at = seen.places(far)
    every = torch.cat([seen.x, at])
    lines = Frame.of(seen).means(every)
    trust = torch.tensor([1e4, *[points.prior.trends[int(variant.trend)] ** 2] * 2]).double()
    covariance = entry.kernels(every[:, None] - every)[0] + lines.T @ (trust[:, None] * lines)
    covariance += torch.diag(entry.noise.expand(len(every)) + 0.0)
    n = seen.num_points
    inverse = torch.linalg.inv(covariance[:n, :n])
    across = covariance[n:, :n]
    expected = covariance[n:, n:] - across @ inverse @ across.T
    surfaces = drawn_surfaces(points, far, 2000, torch.Generator().manual_seed(1))
    found = torch.corrcoef((surfaces - surfaces.mean(0)).T)
    size = expected.diagonal().sqrt()
    torch.testing.assert_close(found, expected / size / size[:, None], atol=0.08, rtol=0)


def test_neighbours_are_close_and_one_place_has_one_value():
    near = torch.tensor([[3.0, 3.0], [3.0, 3.02], [3.0, 3.0]]).double()
    surfaces = drawn_surfaces(fitted(), near, 400, torch.Generator().manual_seed(1))
    assert torch.corrcoef(surfaces.T)[0, 1] > 0.95
    torch.testing.assert_close(surfaces[:, 0], surfaces[:, 2])


def test_errors_that_are_known_widen_surfaces():
    generator = torch.Generator()
    exact, unsure = fitted(), fitted(variance=torch.full((40,), 0.5).double())
    spreads = [drawn_surfaces(p, MAP, 200, generator).std(0).mean() for p in (exact, unsure)]
    assert spreads[1] > 1.2 * spreads[0]


def test_positive_surfaces_stay_where_predictions_do():
    points = fitted(positive=True)
    assert (points.weighed.variants.form == 1).all()
    far = 20 * MAP - 57
    surfaces = drawn_surfaces(points, far, 200, torch.Generator().manual_seed(1))
    found = PlaneDictionary().components(points, far)
    assert surfaces.min() > 0
    highest = (found.location + 5 * found.scale)[found.is_log].max()
    assert surfaces.log().max() < highest


def test_equal_seeds_draw_equal_surfaces():
    points = fitted(12)
    first, again = (drawn_surfaces(points, MAP, 2, torch.Generator().manual_seed(4)) for _ in "ab")
    assert torch.equal(first, again)
    other = drawn_surfaces(points, MAP, 2, torch.Generator().manual_seed(5))
    assert not torch.equal(first, other)
