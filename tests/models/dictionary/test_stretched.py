"""Kernels of stretched distances."""

import math

import torch

from convcnp.models.dictionary.kernels import EQ
from convcnp.models.dictionary.stretched import PlaneCatalogue, StretchedBases, metric


def lengths(stretch: float, angle: float, difference: list[float]) -> float:
    at = torch.tensor([difference], dtype=torch.float64)
    return torch.linalg.vector_norm(at @ metric(len(difference), stretch, angle)).item()


def test_a_stretched_field_is_slow_along_its_angle_and_fast_across():
    along, across = [math.cos(0.3), math.sin(0.3)], [-math.sin(0.3), math.cos(0.3)]
    assert math.isclose(lengths(4.0, 0.3, along), 0.5)
    assert math.isclose(lengths(4.0, 0.3, across), 2.0)
    assert math.isclose(lengths(4.0, 0.3, [0.0, 0.0, 3.0]), 3.0)
    assert math.isclose(lengths(1.0, 0.3, [3.0, 4.0]), 5.0)


def test_every_base_has_its_own_metric():
    one = torch.ones(2, dtype=torch.float64)
    bases = StretchedBases(
        *(torch.tensor([EQ, EQ]), 2 * one, torch.inf * one, 0 * one, torch.tensor([1, 0])),
        torch.stack([metric(2, 1.0, 0.0), metric(2, 4.0, 0.0)]),
    )
    found = bases(torch.tensor([[[2.0, 0.0]]], dtype=torch.float64))
    assert found.shape == (2, 1, 1)
    expected = [math.exp(-0.5 * 0.5**2), math.exp(-0.5)]
    torch.testing.assert_close(found[:, 0, 0], torch.tensor(expected, dtype=torch.float64))
    torch.testing.assert_close(
        bases[torch.tensor([1])](torch.tensor([2.0, 0.0], dtype=torch.float64)[None]),
        torch.tensor([[expected[1]]], dtype=torch.float64),
    )


def test_the_unstretched_kernels_have_half_of_what_is_believed():
    catalogue = PlaneCatalogue()
    entries = catalogue.entries(2)
    kernels = list(catalogue.kernels())
    per_metric = sum(len(noises) for _, noises in kernels)
    assert len(entries) == per_metric * (1 + len(catalogue.stretches) * catalogue.angles)
    shares = entries.log_prior.softmax(0)
    assert math.isclose(shares[entries.family == 0].sum().item(), 0.5)
    torch.testing.assert_close(entries.weights.sum(1), torch.ones_like(entries.weights[:, 0]))


def test_without_stretches_there_is_one_metric():
    assert len(PlaneCatalogue(stretches=()).entries(3).bases.metrics) == 1
