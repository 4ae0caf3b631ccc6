"""Predictive distributions: densities under a mask, quantiles and samples."""

import math

import pytest
import torch
from torch import Tensor

from convcnp.core.predictive import GaussianPredictive
from convcnp.errors import SettingError, ShapeError
from helpers import assert_equal

nan = float("nan")


def example(requires_grad: bool = False) -> GaussianPredictive:
    """Return two tasks of two targets and two channels, with three and two outputs asked for."""
    mean = torch.tensor([[[0.0, 1.0], [2.0, 3.0]], [[4.0, 5.0], [6.0, 7.0]]], dtype=torch.float64)
    stddev = torch.tensor([[[1.0, 2.0], [0.5, 1.0]], [[1.0, 3.0], [1.0, 1.0]]], dtype=torch.float64)
    mask = torch.tensor([[[True, True], [True, False]], [[False, True], [False, True]]])
    return GaussianPredictive(
        mean.requires_grad_(requires_grad), stddev.requires_grad_(requires_grad), mask
    )


VALUES = torch.tensor([[[1.0, 1.0], [1.0, nan]], [[nan, 2.0], [nan, 7.0]]])


def log_normal(value: float, mean: float, stddev: float) -> float:
    deviation = (value - mean) / stddev
    return -0.5 * deviation**2 - math.log(stddev) - 0.5 * math.log(2 * math.pi)


BY_HAND: list[list[float]] = [  # the outputs that are asked for, task by task
    [log_normal(1, 0, 1), log_normal(1, 1, 2), log_normal(1, 2, 0.5)],
    [log_normal(2, 5, 3), log_normal(7, 7, 1)],
]


def test_log_prob_is_the_gaussian_s_and_zero_where_not_asked():
    predictive = example()
    log_prob = predictive.log_prob(VALUES)
    assert log_prob.dtype == torch.float64
    for task, expected in enumerate(BY_HAND):
        asked = log_prob[task][predictive.mask[task]]
        assert_equal(asked, torch.tensor(expected, dtype=torch.float64), 1e-6)
    assert log_prob[~predictive.mask].tolist() == [0.0, 0.0, 0.0]


def test_log_likelihood_is_per_point_asked_for_and_summed_over_its_channels():
    expected = [sum(task) / 2 for task in BY_HAND]  # two points each
    assert_equal(example().log_likelihood(VALUES), torch.tensor(expected).double(), 1e-6)


def test_points_of_which_nothing_is_asked_do_not_count():
    mask = torch.tensor([[[True, True], [False, False]]])
    predictive = GaussianPredictive(torch.zeros(1, 2, 2), torch.ones(1, 2, 2), mask)
    expected = 2 * log_normal(1, 0, 1)
    assert predictive.log_likelihood(torch.ones(1, 2, 2)).item() == pytest.approx(expected)


def test_a_task_that_asks_for_nothing_scores_zero():
    mask = torch.zeros(1, 2, 1, dtype=torch.bool)
    predictive = GaussianPredictive(torch.zeros(1, 2, 1), torch.ones(1, 2, 1), mask)
    assert predictive.log_likelihood(torch.full((1, 2, 1), nan)).tolist() == [0.0]


def test_nan_where_nothing_is_asked_leaves_gradients_finite():
    predictive = example(requires_grad=True)
    predictive.log_likelihood(VALUES).sum().backward()
    for gradient in (predictive.loc.grad, predictive.scale.grad):
        assert gradient.isfinite().all()
        assert not gradient[~predictive.mask].any()
        assert gradient[predictive.mask].any()


def test_gradients_are_those_of_the_gaussian():
    predictive = example(requires_grad=True)
    predictive.log_prob(VALUES).sum().backward()
    # d log N / d mean = (value - mean) / stddev², here for one value of each task.
    assert predictive.loc.grad[0, 1, 0].item() == pytest.approx((1 - 2) / 0.5**2)
    assert predictive.loc.grad[1, 0, 1].item() == pytest.approx((2 - 5) / 3**2)


def test_moments_are_those_it_was_given():
    predictive = example()
    assert predictive.mean[0, 1].tolist() == [2.0, 3.0]
    assert predictive.stddev[0, 1].tolist() == [0.5, 1.0]


def test_a_prediction_can_be_moved():
    predictive, moved = example(), example().to("meta")
    assert moved.mean.device == moved.stddev.device == moved.mask.device == torch.device("meta")
    assert torch.equal(predictive.to("cpu").stddev, predictive.stddev)


def test_quantiles_are_those_of_the_gaussian():
    predictive = example()
    assert_equal(predictive.quantile(0.5), predictive.mean, 1e-12)
    upper = predictive.mean + 1.6448536269514722 * predictive.stddev
    assert_equal(predictive.quantile(0.95), upper, 1e-6)
    assert_equal(
        predictive.cdf(predictive.quantile(0.3)), torch.full((2, 2, 2), 0.3).double(), 1e-7
    )


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 5.0, nan])
def test_a_quantile_level_lies_between_zero_and_one(level):
    expected = rf"quantile level must lie strictly between 0 and 1, got {level}; 0\.05 is the 5 %"
    with pytest.raises(SettingError, match=expected):
        example().quantile(level)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_samples_have_the_predictions_shape_behind_their_own(shape):
    assert example().sample(shape).shape == (*shape, 2, 2, 2)
    assert example(requires_grad=True).rsample(shape).requires_grad


def test_samples_scatter_as_predicted():
    torch.manual_seed(0)
    samples = example().sample((20_000,))
    assert_equal(samples.mean(0), example().mean, 0.1)
    assert_equal(samples.std(0), example().stddev, 0.1)


@pytest.mark.parametrize("shape", [(2, 2, 1), (2, 2), (1, 2, 2)])
def test_a_value_is_needed_for_every_target_and_channel(unchecked, shape):
    value: Tensor = torch.zeros(shape)
    expected = (
        r"one value per target and channel: expected \(2, 2, 2\), got .*; pass task\.y_target\."
    )
    for method in (example().log_prob, example().log_likelihood):
        with pytest.raises(ShapeError, match=expected) as caught:
            method(value)
        assert f"got {shape}" in str(caught.value)
