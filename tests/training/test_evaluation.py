"""Scores of predictions against slow or counted versions."""

import pytest
import torch

from convcnp.core.predictive import GaussianPredictive
from convcnp.data.functions import GPSource
from convcnp.models.gaussian_process import Matern52
from convcnp.training.evaluation import Score, covered, crps, fixed_tasks, log_likelihoods


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


def test_fixed_tasks_are_the_same_however_many_are_asked_for():
    source = GPSource().held_out("test")
    few = list(fixed_tasks(source, 3, seed=5))
    many = list(fixed_tasks(source, 60, seed=5))
    assert torch.equal(few[0].y_target, many[0].y_target[:3])
    assert sum(task.batch_size for task in many) == 60


def test_a_score_is_the_mean_over_tasks_with_its_standard_error():
    score = Score.of(torch.tensor([1.0, 2.0, 6.0], dtype=torch.float64))
    assert score.log_likelihood == 3.0
    assert score.standard_error == pytest.approx((7 / 3) ** 0.5)
    assert score.num_tasks == 3


def test_the_exact_gp_scores_what_is_known_of_it():
    source = GPSource(kernel=Matern52()).held_out("test")
    scores = log_likelihoods(source.ceiling, fixed_tasks(source, 500, seed=1))
    assert scores.mean().item() == pytest.approx(1.0, abs=0.15)  # over 1000 tasks: 1.00
