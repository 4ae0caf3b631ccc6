"""Predictive distributions: densities under a mask, quantiles and samples."""

import math

import pytest
import torch
from torch import Tensor

from convcnp.core.predictive import GaussianPredictive, MixturePredictive
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


# --- Scores, and what every distribution promises -------------------------------------------------


def gaussian(mean, stddev, mask=None):
    mean, stddev = (torch.tensor(v, dtype=torch.float64)[None, :, None] for v in (mean, stddev))
    mask = torch.ones_like(mean, dtype=torch.bool) if mask is None else torch.tensor(mask)
    return GaussianPredictive(mean, stddev, mask.reshape(mean.shape))


def mixture(weights, means, stddevs, mask=True) -> MixturePredictive:
    """Return one output that is a mixture."""
    parts = (torch.tensor(v, dtype=torch.float64)[None, None, None] for v in (means, stddevs))
    logits = torch.tensor(weights, dtype=torch.float64).log()[None, None, None] + 5  # any constant
    return MixturePredictive(logits, *parts, torch.tensor([[[mask]]]))


ONE_OUTPUT = {
    "gaussian": gaussian([1.0], [2.0]),
    "two peaks": mixture([0.3, 0.7], [-3.0, 4.0], [0.5, 1.0]),
    "three, one wide": mixture([0.2, 0.5, 0.3], [0.0, 0.1, 5.0], [0.01, 4.0, 0.3]),
    "one component": mixture([1.0], [1.0], [2.0]),
    "one that never comes": mixture([1.0, 0.0], [1.0, 90.0], [2.0, 1.0]),
}
every_one = pytest.mark.parametrize("predictive", ONE_OUTPUT.values(), ids=ONE_OUTPUT.keys())
FINE = torch.linspace(-60, 60, 1_200_001, dtype=torch.float64)


def density(predictive, y):
    wide = type(predictive)(*(p.expand(1, len(y), *p.shape[2:]) for p in parameters(predictive)))
    return wide.log_prob(y[None, :, None]).exp().flatten(), wide.cdf(y[None, :, None]).flatten()


def parameters(predictive):
    if isinstance(predictive, MixturePredictive):
        return predictive.log_weights, predictive.means, predictive.stddevs, predictive.mask
    return predictive.mean, predictive.stddev, predictive.mask


@every_one
def test_the_density_integrates_to_the_distribution_the_mean_and_the_spread(predictive):
    y = FINE
    p, cdf = density(predictive, y)
    assert torch.trapezoid(p, y).item() == pytest.approx(1, abs=1e-6)
    assert_equal(torch.cumulative_trapezoid(p, y), cdf[1:], 1e-4)
    assert torch.trapezoid(p * y, y).item() == pytest.approx(predictive.mean.item(), abs=1e-5)
    second = torch.trapezoid(p * (y - predictive.mean.item()) ** 2, y).item()
    assert second**0.5 == pytest.approx(predictive.stddev.item(), abs=1e-5)


@every_one
@pytest.mark.parametrize("value", [-4.0, 1.0, 1.7, 9.0])
def test_crps_is_the_integral_of_the_squared_difference_of_distributions(predictive, value):
    y = FINE
    _, cdf = density(predictive, y)
    integral = torch.trapezoid((cdf - (y >= value).double()) ** 2, y)
    found = predictive.crps(torch.tensor([[[value]]], dtype=torch.float64))
    assert found.item() == pytest.approx(integral.item(), abs=1e-4)


@every_one
@pytest.mark.parametrize("level", [1e-9, 0.05, 0.3, 0.301, 0.5, 0.95, 1 - 1e-9])
def test_a_quantile_is_where_the_distribution_has_its_level(predictive, level):
    quantile = predictive.quantile(level)
    assert predictive.cdf(quantile).item() == pytest.approx(level, rel=1e-5, abs=1e-13)


def test_quantiles_may_differ_from_output_to_output():
    predictive, levels = example(), torch.linspace(0.1, 0.8, 8, dtype=torch.float64).view(2, 2, 2)
    assert_equal(predictive.cdf(predictive.quantile(levels)), levels, 1e-9)


@every_one
def test_samples_follow_the_distribution_and_their_generator(predictive):
    samples, again = (
        predictive.sample((40_000,), generator=torch.Generator().manual_seed(3)) for _ in range(2)
    )
    assert torch.equal(samples, again)
    assert samples.shape == (40_000, 1, 1, 1)
    for level in (0.1, 0.5, 0.9):
        below = (samples <= predictive.quantile(level)).double().mean().item()
        assert below == pytest.approx(level, abs=0.01)


@every_one
def test_a_change_of_units_changes_quantiles_likewise(predictive):
    moved = predictive.affine(7.0, 3.0)
    for level in (0.05, 0.5, 0.9):
        assert_equal(moved.quantile(level), 7 + 3 * predictive.quantile(level), 1e-7)
    scattered = predictive.affine(0.0, 1.0, 2.0)
    assert scattered.stddev.item() == pytest.approx((predictive.stddev.item() ** 2 + 4) ** 0.5)
    assert scattered.mean.item() == pytest.approx(predictive.mean.item())


def test_units_of_each_output_reach_all_its_components():
    predictive = mixture([0.5, 0.5], [-1.0, 1.0], [1.0, 1.0])
    shift, scale = torch.full((1, 1, 1), 2.0).double(), torch.full((1, 1, 1), 4.0).double()
    assert predictive.affine(shift, scale, scale).means.flatten().tolist() == [-2.0, 6.0]


def test_crps_grows_to_the_distance_and_counts_only_what_was_asked_for():
    predictive = gaussian([0.0, 0.0], [1e-6, 1.0], mask=[True, False])
    value = torch.tensor([[[-3.0], [nan]]], dtype=torch.float64)
    assert predictive.crps(value).flatten().tolist() == pytest.approx([3.0, 0.0], abs=1e-5)
    assert mixture([1.0], [0.0], [1.0], mask=False).crps(torch.full((1, 1, 1), nan)).item() == 0.0


def test_coverage_counts_outputs_within_the_central_interval():
    asked = [True] * 5 + [False]
    predictive = gaussian([0.0, 0.0, 0.0, 0.0, 10.0, 0.0], [1.0, 1.0, 1.0, 1.0, 2.0, 1.0], asked)
    # 90 % of a Gaussian lie within 1.645 standard deviations, half of it within 0.674.
    value = torch.tensor([1.64, -1.65, -1.64, 0.6, 13.2, 0.0], dtype=torch.float64)[None, :, None]
    within = predictive.covers(value).flatten().tolist()
    assert within == [True, False, True, True, True, False]
    half = predictive.covers(value, level=0.5).flatten().tolist()
    assert half == [False, False, False, True, False, False]


def test_a_mixture_of_equals_is_the_gaussian():
    one, same = gaussian([1.0], [2.0]), mixture([0.4, 0.6], [1.0, 1.0], [2.0, 2.0])
    value = torch.tensor([[[2.5]]], dtype=torch.float64)
    for function in ("log_prob", "cdf", "crps"):
        assert_equal(getattr(same, function)(value), getattr(one, function)(value), 1e-12)


def test_nan_where_nothing_is_asked_leaves_a_mixture_s_gradients_finite():
    means = torch.zeros(1, 1, 1, 2, requires_grad=True)
    mask = torch.zeros(1, 1, 1, dtype=torch.bool)
    predictive = MixturePredictive(torch.zeros_like(means), means, torch.ones_like(means), mask)
    predictive.log_likelihood(torch.full((1, 1, 1), nan)).sum().backward()
    assert means.grad.tolist() == [[[[0.0, 0.0]]]]


def test_a_mixture_can_be_moved():
    moved = mixture([0.5, 0.5], [0.0, 1.0], [1.0, 1.0]).to("meta")
    assert moved.mean.device == moved.mask.device == torch.device("meta")


def test_a_blend_is_the_mixture_of_both():
    mask = torch.ones(1, 2, 1, dtype=torch.bool)
    one = GaussianPredictive(torch.zeros(1, 2, 1), torch.ones(1, 2, 1), mask)
    other = GaussianPredictive(torch.full((1, 2, 1), 4.0), torch.full((1, 2, 1), 0.5), mask)
    share = torch.tensor([[[0.0], [0.25]]])
    blend = one.as_mixture().blended(other.as_mixture(), share)
    y = torch.tensor([[[1.0], [1.0]]])
    expected = (1 - share) * one.cdf(y) + share * other.cdf(y)
    torch.testing.assert_close(blend.cdf(y), expected)
    torch.testing.assert_close(blend.mean[0, :, 0], torch.tensor([0.0, 1.0]))
    torch.testing.assert_close(blend.quantile(0.7)[0, 0], one.quantile(0.7)[0, 0])
