import math
from dataclasses import replace

import pytest
import torch

from convcnp.models.dictionary.components import (
    Components,
    LogLimits,
    as_gaussians,
    bounded,
    condensed,
    student_nodes,
)


def components(c: int = 30, m: int = 4, seed: int = 0) -> Components:
    generator = torch.Generator().manual_seed(seed)
    weight = torch.rand(c, generator=generator, dtype=torch.float64).sort(descending=True).values
    location = torch.randn(c, m, generator=generator, dtype=torch.float64)
    scale = 0.1 + torch.rand(c, m, generator=generator, dtype=torch.float64)
    weight = (weight / weight.sum())[:, None].expand(c, m)
    return Components(weight, location, scale, torch.zeros(c, dtype=torch.bool), torch.zeros(c))


def moments(parts: Components) -> tuple[torch.Tensor, torch.Tensor]:
    mean = (parts.weight * parts.location).sum(0)
    square = (parts.weight * (parts.scale**2 + parts.location**2)).sum(0)
    return mean, square - mean**2


def test_condensing_keeps_weights_means_and_variances():
    many = components()
    few = condensed(many, 8)
    assert len(few) == 8
    torch.testing.assert_close(few.weight.sum(0), torch.ones(4).double())
    for one, other in zip(moments(many), moments(few), strict=True):
        torch.testing.assert_close(one, other)


def test_logarithms_are_condensed_apart():
    many = components()
    number = torch.arange(30)
    mixed = replace(many, is_log=number % 2 == 1, shift=1.0 * (number % 4 == 3))
    few = condensed(mixed, 8)
    for kind in (~few.is_log, few.shift == 1, few.is_log & (few.shift == 0)):
        assert kind.any()
    for shift in (0, 1):
        own, left = (each.is_log & (each.shift == shift) for each in (mixed, few))
        torch.testing.assert_close(few.weight[left].sum(0), mixed.weight[own].sum(0))


def test_logarithms_with_a_shift_stay_nearer_to_what_was_observed():
    logarithms = torch.tensor([0.0, 2.0, 5.0]).double()
    near, far = (LogLimits.of(logarithms, 2.0, shift) for shift in (1.0, 0.0))
    assert near.high == pytest.approx(5.5)
    assert near.largest_mean == pytest.approx(6.0)
    assert far.largest_mean > near.largest_mean


@pytest.mark.parametrize("freedom", [4.0, 8.0, 20.0, 60.0])
def test_three_gaussians_are_nearly_a_student_t(freedom):
    weights, factors = student_nodes(freedom)
    exact = torch.distributions.StudentT(freedom)
    at = torch.linspace(-4, 4, 81).double()
    density = sum(
        weight * torch.distributions.Normal(0.0, factor).log_prob(at).exp()
        for weight, factor in zip(weights, factors, strict=True)
    )
    # In expectation under the Student-t, within the range where almost all of it lies.
    loss = (exact.log_prob(at).exp() * (exact.log_prob(at) - density.log())).sum() * 0.1
    assert loss.abs() < 0.02


def test_gaussians_are_no_more_than_asked_for():
    for freedom in (2.0, 100.0):
        found = as_gaussians(components(), freedom, 24)
        assert len(found) <= 24
        torch.testing.assert_close(found.weight.sum(0), torch.ones(4).double())


def test_logarithms_stay_within_reach_and_values_as_they_are():
    far = Components(
        *(torch.full((2, 1), value).double() for value in (0.5, 1e3, 1e3)),
        *(torch.tensor([True, False]), torch.zeros(2)),
    )
    limits = {0.0: LogLimits.of(torch.tensor([0.0, 1.0, 2.0]).double(), 1.0)}
    near = bounded(far, limits)
    assert near.location.flatten().tolist() == [3.0, 1e3]
    torch.testing.assert_close(near.scale.flatten(), torch.tensor([2**0.5, 1e3]).double())
    middle = bounded(replace(far, location=torch.zeros(2, 1).double()), limits)
    assert middle.scale.flatten().tolist() == [1.5, 1e3]
    # Those of other logarithms have other limits, here none.
    assert bounded(replace(far, shift=torch.ones(2)), limits).location.tolist() == [[1e3], [1e3]]


@pytest.mark.parametrize("values", [[0.0], [-30.0, 0.0], [-3.0, -1.0, 0.0, 2.6]])
def test_no_mean_is_more_than_ten_times_the_largest_value(values):
    logarithms = torch.tensor(values).double()
    place = torch.linspace(-50, 50, 101).double()
    wide = Components(
        *(v[None] for v in (place * 0 + 1, place, place * 0 + 100)),
        *(torch.tensor([True]), torch.zeros(1)),
    )
    spread = float(logarithms.std(correction=0))
    near = bounded(wide, {0.0: LogLimits.of(logarithms, spread)})
    mean = near.location + near.scale**2 / 2
    assert (mean <= logarithms.max() + math.log(10) + 1e-2).all()
    assert near.scale.min() >= 0.5
