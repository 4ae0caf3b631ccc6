"""Scores of predictions against slow or counted versions."""

import pytest
import torch

from convcnp.core.predictive import GaussianPredictive
from convcnp.training.evaluation import covered, crps


def gaussian(mean, stddev, mask=None):
    mean, stddev = (torch.tensor(v, dtype=torch.float64)[None, :, None] for v in (mean, stddev))
    mask = torch.ones_like(mean, dtype=torch.bool) if mask is None else torch.tensor(mask)
    return GaussianPredictive(mean, stddev, mask.reshape(mean.shape))


@pytest.mark.parametrize("value", [-4.0, 1.0, 1.7, 9.0])
def test_crps_is_the_integral_of_the_squared_difference_of_distributions(value):
    predictive = gaussian([1.0], [2.0])
    y = torch.linspace(-40, 40, 800_001, dtype=torch.float64)
    steps = (y >= value).double()
    integral = torch.trapezoid((predictive.cdf(y).flatten() - steps) ** 2, y)
    found = crps(predictive, torch.tensor([[[value]]], dtype=torch.float64))
    assert found.item() == pytest.approx(integral.item(), abs=1e-4)


def test_crps_grows_to_the_distance_and_counts_only_what_was_asked_for():
    predictive = gaussian([0.0, 0.0], [1e-6, 1.0], mask=[True, False])
    value = torch.tensor([[[-3.0], [float("nan")]]], dtype=torch.float64)
    assert crps(predictive, value).flatten().tolist() == pytest.approx([3.0, 0.0], abs=1e-5)


def test_coverage_counts_outputs_within_the_central_interval():
    asked = [True] * 5 + [False]
    predictive = gaussian([0.0, 0.0, 0.0, 0.0, 10.0, 0.0], [1.0, 1.0, 1.0, 1.0, 2.0, 1.0], asked)
    # 90 % of a Gaussian lie within 1.645 standard deviations, half of it within 0.674.
    value = torch.tensor([1.64, -1.65, -1.64, 0.6, 13.2, 0.0], dtype=torch.float64)[None, :, None]
    within = covered(predictive, value).flatten().tolist()
    assert within == [True, False, True, True, True, False]
    half = covered(predictive, value, level=0.5).flatten().tolist()
    assert half == [False, False, False, True, False, False]
