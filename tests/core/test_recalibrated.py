"""A corrected distribution: the base where nothing changes, exact where something does."""

import math

import pytest
import torch

from convcnp.core.heads import GaussianHead
from convcnp.core.predictive import GaussianPredictive, MixturePredictive
from convcnp.core.recalibrated import RecalibratedHead, RecalibratedPredictive
from convcnp.errors import SettingError
from helpers import assert_equal

MASK = torch.ones(1, 1, 1, dtype=torch.bool)


def numbers(*values):
    return torch.tensor(values, dtype=torch.float64)[None, None, None]


def two_peaks():
    return MixturePredictive(numbers(0.0, 1.0), numbers(-2.0, 3.0), numbers(0.5, 1.0), MASK)


def changed(
    base=None, weights=(0.0, -1.0), means=(0.3, -0.5), stddevs=(1.4, 0.7), tail=0.0, most=0.0
):
    change = MixturePredictive(numbers(*weights), numbers(*means), numbers(*stddevs), MASK)
    return RecalibratedPredictive(base or two_peaks(), change, tail, most)


def unchanged():
    return changed(means=(0.0, 0.0), stddevs=(1.0, 1.0))


def wide(predictive, y):
    """Evaluate density and distribution function of one output at many values."""
    mask = torch.ones(1, len(y), 1, dtype=torch.bool)

    def spread(mixture):
        parts = (mixture.log_weights, mixture.means, mixture.stddevs)
        return MixturePredictive(*(p.expand(1, len(y), 1, -1) for p in parts), mask)

    base, change = spread(predictive.base), spread(predictive.change)
    tails = (predictive.tail.item(), predictive.most.item())
    many = RecalibratedPredictive(base, change, *tails)
    return many.log_prob(y[None, :, None]).exp().flatten(), many.cdf(y[None, :, None]).flatten()


def test_no_change_is_the_base():
    base, same = two_peaks(), unchanged()
    value = torch.tensor([[[0.7]]], dtype=torch.float64)
    for function in ("log_prob", "cdf"):
        assert_equal(getattr(same, function)(value), getattr(base, function)(value), 1e-12)
    assert_equal(same.mean, base.mean, 1e-12)
    assert_equal(same.stddev, base.stddev, 1e-12)
    assert_equal(same.quantile(0.1), base.quantile(0.1), 1e-9)
    assert same.crps(value).item() == pytest.approx(base.crps(value).item(), rel=1e-2)


TAILS = pytest.mark.parametrize("tail, most", [(0.0, 0.0), (0.005, 0.0), (0.005, 0.01), (0.2, 0.3)])


@TAILS
def test_the_density_integrates_to_the_distribution_the_mean_and_the_spread(tail, most):
    predictive = changed(tail=tail, most=most)
    y = torch.linspace(-12, 16, 100_001, dtype=torch.float64)
    p, cdf = wide(predictive, y)
    assert torch.trapezoid(p, y).item() == pytest.approx(1, abs=1e-5)
    assert_equal(torch.cumulative_trapezoid(p, y), cdf[1:], 1e-5)
    mean = torch.trapezoid(p * y, y).item()
    assert predictive.mean.item() == pytest.approx(mean, abs=2e-3)
    second = torch.trapezoid(p * (y - mean) ** 2, y).item()
    assert predictive.stddev.item() == pytest.approx(second**0.5, rel=2e-3)
    value = torch.tensor([[[0.7]]], dtype=torch.float64)
    crps = torch.trapezoid((cdf - (y >= 0.7).double()) ** 2, y).item()
    assert predictive.crps(value).item() == pytest.approx(crps, rel=1e-2)


@TAILS
@pytest.mark.parametrize("level", [0.001, 0.05, 0.5, 0.95, 0.999])
def test_a_quantile_is_where_the_distribution_has_its_level(level, tail, most):
    predictive = changed(tail=tail, most=most)
    assert predictive.cdf(predictive.quantile(level)).item() == pytest.approx(level, rel=1e-6)


@pytest.mark.parametrize("score", [-4.0, -2.1, 2.1, 4.0])
def test_of_tails_only_the_probability_changes(score):
    base = two_peaks()
    value = base.at_score(torch.full((1, 1, 1), score).double())
    # The mixture has 4 and 9 % beyond two deviations.
    kept, some, free = (changed(tail=0.025, most=most) for most in (0.0, 0.03, 1.0))
    assert_equal(kept.score(value), base.score(value), 1e-9)
    assert_equal(kept.log_prob(value), base.log_prob(value), 1e-9)
    assert_equal(some.log_prob(value), base.log_prob(value) + math.log(0.03 / 0.025), 1e-9)
    assert free.log_prob(value) > some.log_prob(value)


def test_a_little_more_probability_does_not_reach_what_is_next_to_impossible():
    base = MixturePredictive(numbers(0.0, -11.0), numbers(1.0, 1.0), numbers(1.0, 300.0), MASK)
    heavy = {"weights": (0.0, -4.0), "means": (0.0, 0.5), "stddevs": (1.0, 6.0)}
    assert changed(base, **heavy).stddev > 20
    assert base.stddev < changed(base, **heavy, tail=2e-5, most=0.0).stddev < 2


def test_a_wider_change_of_a_gaussian_is_a_wider_gaussian():
    base = GaussianPredictive(*(torch.full((1, 1, 1), v).double() for v in (1.0, 2.0)), MASK)
    predictive = changed(base, means=(0.5, 0.5), stddevs=(3.0, 3.0))
    alike = GaussianPredictive(*(torch.full((1, 1, 1), v).double() for v in (2.0, 6.0)), MASK)
    value = torch.tensor([[[4.0]]], dtype=torch.float64)
    assert_equal(predictive.log_prob(value), alike.log_prob(value), 1e-9)
    assert predictive.mean.item() == pytest.approx(2.0, abs=0.05)
    assert predictive.stddev.item() == pytest.approx(6.0, rel=0.05)
    assert predictive.crps(value).item() == pytest.approx(alike.crps(value).item(), rel=2e-2)


def test_samples_and_units_follow():
    predictive = changed()
    samples = predictive.sample((4000,), generator=torch.Generator().manual_seed(1))
    below = (samples <= predictive.quantile(0.3)).double().mean().item()
    assert below == pytest.approx(0.3, abs=0.03)
    moved = predictive.affine(7.0, 3.0)
    assert_equal(moved.quantile(0.2), 7 + 3 * predictive.quantile(0.2), 1e-7)
    assert moved.to("cpu").mask is not None


def test_a_head_of_zeros_changes_nothing():
    head = RecalibratedHead(GaussianHead(0.1), components=3)
    mask = torch.ones(2, 3, 2, dtype=torch.bool)
    assert head.channels(2) == 2 * 2 + 3 * 3 * 2 + 4
    raw = torch.randn(2, 3, 4, dtype=torch.float64)
    raw = torch.cat([raw, torch.zeros(2, 3, 18).double(), torch.full((2, 3, 4), 0.1).double()], -1)
    value = torch.randn(2, 3, 2, dtype=torch.float64)
    base = GaussianHead(0.1)(raw[..., :4], mask)
    assert_equal(head(raw, mask).log_prob(value), base.log_prob(value), 1e-9)


def test_what_is_doubted_is_halfway_between_the_change_and_the_base_once_training_is_over():
    raw = torch.randn(2, 3, 4 + 18, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    raw = torch.cat([raw, torch.zeros(2, 3, 4).double()], -1)
    mask = torch.ones(2, 3, 2, dtype=torch.bool)
    value = torch.randn(2, 3, 2, dtype=torch.float64)
    believed = RecalibratedHead(GaussianHead(0.1))(raw, mask).cdf(value)
    doubted = RecalibratedHead(GaussianHead(0.1), doubt=0.25)
    assert_equal(doubted.train()(raw, mask).cdf(value), believed, 1e-12)
    base = GaussianHead(0.1)(raw[..., :4], mask).cdf(value)
    assert_equal(doubted.eval()(raw, mask).cdf(value), 0.75 * believed + 0.25 * base, 1e-9)


def test_a_doubt_that_is_no_probability_is_refused():
    with pytest.raises(SettingError, match=r"doubt must be a probability below one, got 1\.0"):
        RecalibratedHead(GaussianHead(0.1), doubt=1.0)
