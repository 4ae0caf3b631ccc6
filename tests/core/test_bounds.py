"""Outputs between bounds: nothing outside, and densities that integrate to one."""

import math

import pytest
import torch

from convcnp.core.bounds import BoundedPredictive, Bounds, Cut, CutPredictive, Limits
from convcnp.core.predictive import GaussianPredictive
from convcnp.errors import SettingError

INF = math.inf
CASES = {"lower": (0.0, INF), "upper": (-INF, 0.0), "both": (-2.0, 3.0)}


def bounds_of(case, soft=1.0):
    lower, upper = CASES[case]
    soft = upper - lower if math.isfinite(upper - lower) else soft
    soft = torch.tensor([soft], dtype=torch.float64)
    return Bounds(lower, upper, soft, 0.01 * soft)


def predictive(case, mean=0.2, stddev=1.5):
    mask = torch.ones(1, 1, 1, dtype=torch.bool)
    full = torch.ones(1, 1, 1, dtype=torch.float64)
    return BoundedPredictive(GaussianPredictive(mean * full, stddev * full, mask), bounds_of(case))


def inside(case, count=200_001):
    lower, upper = (max(min(bound, 30.0), -30.0) for bound in CASES[case])
    return torch.linspace(lower, upper, count, dtype=torch.float64)[1:-1]


@pytest.mark.parametrize("case", CASES)
def test_there_and_back_is_the_same_and_the_slope_is_the_derivative(case):
    bounds, y = bounds_of(case), inside(case, 101)[2:-2, None].requires_grad_()
    free = bounds.free(y)
    torch.testing.assert_close(bounds.bounded(free), y)
    (slope,) = torch.autograd.grad(free.sum(), y)
    torch.testing.assert_close(slope.log(), bounds.log_slope(y).detach())
    ends = bounds.bounded(torch.tensor([[-1e6], [1e6]]))
    assert (ends >= CASES[case][0]).all()
    assert (ends <= CASES[case][1]).all()


@pytest.mark.parametrize("case", CASES)
def test_the_density_integrates_to_one_and_has_the_mean_and_the_spread(case):
    found, y = predictive(case), inside(case)
    mask = torch.ones(1, len(y), 1, dtype=torch.bool)
    base = GaussianPredictive(
        found.base.mean.expand(1, len(y), 1), found.base.stddev.expand(1, len(y), 1), mask
    )
    log_density = BoundedPredictive(base, found.bounds).log_prob(y[None, :, None])
    near = 0.02 * (found.bounds.soft.item())  # nearer to a bound values are seen as if farther
    density = log_density.exp()[0, :, 0]
    lower, upper = CASES[case]
    kept = (y > lower + near) & (y < upper - near)
    total = torch.trapezoid(density[kept], y[kept]).item()
    edges = [edge for edge in (lower + near, upper - near) if math.isfinite(edge)]
    below = [found.cdf(torch.tensor([[[edge]]])).item() for edge in edges]
    missed = sum(min(share, 1 - share) for share in below)
    assert total + missed == pytest.approx(1, abs=2e-3)
    draws = found.sample((200_000,), generator=torch.Generator().manual_seed(0))
    assert found.mean.item() == pytest.approx(draws.mean().item(), abs=0.02)
    assert found.stddev.item() == pytest.approx(draws.std().item(), rel=0.02)
    assert found.quantile(0.3).item() == pytest.approx(draws.quantile(0.3).item(), abs=0.02)
    value = torch.tensor([[[0.7 if lower > -3 else -0.7]]], dtype=torch.float64)
    pairs = (draws - draws.roll(1, 0)).abs().mean().item() / 2
    expected = (draws - value).abs().mean().item() - pairs
    assert found.crps(value).item() == pytest.approx(expected, abs=0.01)


def test_far_from_a_bound_nothing_changes():
    bounds = Bounds(0.0, INF, torch.ones(1), torch.full((1,), 0.01))
    far = torch.tensor([[40.0]], dtype=torch.float64)
    torch.testing.assert_close(bounds.free(far), far)


def test_values_on_a_bound_are_finite_and_typical_distances_are_told():
    y = torch.tensor([[0.0], [2.0], [4.0], [math.nan]], dtype=torch.float64)
    bounds = Bounds.of(y, Limits(0.0))
    assert bounds.soft.item() == 2.0
    assert bounds.free(y[:3]).isfinite().all()
    assert Bounds.of(torch.zeros(3, 1), Limits(0.0)).soft.item() == 1.0
    assert Bounds.of(y, Limits(-1.0, 5.0)).soft.item() == 6.0
    nothing = torch.full((3, 1), math.nan, dtype=torch.float64)
    assert Bounds.of(nothing, Limits(0.0)).soft.item() == 1.0
    alike = torch.full((20, 1), 5.0, dtype=torch.float64)
    assert Bounds.of(alike, Limits(0.0)).soft.item() == 5.0


def test_outputs_over_powers_of_ten_are_seen_by_their_logarithms():
    """Outputs of one size are not: they are as typical as distances from the bound are."""
    z = torch.randn(200, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = torch.stack([(3 * z).exp(), 10 + z, (3 * z).exp(), z.abs()], 1)
    y[50:, 2] = math.nan  # of fifty
    bounds = Bounds.of(y, Limits(0.0))
    largest, typical = y.nan_to_num(0).amax(0), y.nanmedian(0).values
    assert (bounds.soft > 3 * typical).tolist() == [True, False, True, False]
    assert bounds.soft[0] > largest[0] / 10
    seen, logs = bounds.free(y)[:, 0], y[:, 0].log()
    assert torch.corrcoef(torch.stack([seen, logs]))[0, 1] > 0.98
    assert Bounds.of(y[:7], Limits(0.0)).soft[0] == y[:7, 0].median()  # of seven nothing is told


class WithOutliers(GaussianPredictive):
    """A Gaussian, of which one output in a hundred thousand lies ten times as far."""

    def at_score(self, score, tolerance=0.0):
        return self.mean + self.stddev * torch.where(score.abs() > 4.2, 10 * score, score)


def test_moments_are_not_those_of_what_nobody_foresees():
    full = torch.ones(1, 1, 1, dtype=torch.float64)
    ordinary = predictive("lower", mean=-1.0, stddev=0.6)
    base = WithOutliers(-1.0 * full, 0.6 * full, full > 0)
    found = BoundedPredictive(base, ordinary.bounds)
    torch.testing.assert_close(found.mean, ordinary.mean)
    torch.testing.assert_close(found.stddev, ordinary.stddev)
    assert found.at_score(5 * full) > 4 * ordinary.at_score(5 * full)


def test_bounds_that_cannot_be_are_refused():
    y = torch.tensor([[1.0], [-2.0], [-3.0]])
    with pytest.raises(SettingError, match="from 0 to inf, got -2 and 1 more outside"):
        Bounds.of(y, Limits(0.0))
    with pytest.raises(SettingError, match="got -2 outside"):
        Bounds.of(y[:2], Limits(0.0))
    with pytest.raises(SettingError, match="lower bound below the upper one, got 3 and 3"):
        Limits.given(3.0, 3.0)
    with pytest.raises(SettingError, match="got both, 1 and positive"):
        Limits.given(1.0, positive=True)
    with pytest.raises(SettingError, match="own units"):
        predictive("lower").affine(0.0, 1.0)


def test_it_can_be_moved():
    moved = predictive("both").to("meta")
    assert moved.mask.device == moved.bounds.soft.device == torch.device("meta")


def cut(mean: float, stddev: float = 1.0) -> CutPredictive:
    full = torch.ones(1, 2, 1, dtype=torch.float64)
    base = GaussianPredictive(mean * full, stddev * full, full > 0)
    return Cut.of(full[0], Limits.given(positive=True)).predictive(base)


def test_what_is_cut_lies_on_the_bound():
    found = cut(0.5)
    assert (found.quantile(0.05) == 0).all()
    whole = found.base
    torch.testing.assert_close(found.quantile(0.9), whole.quantile(0.9))
    drawn = found.sample((1000,), generator=torch.Generator().manual_seed(0))
    assert drawn.min() == 0
    assert 0.25 < float((drawn == 0).double().mean()) < 0.37
    value = torch.full((1, 2, 1), 0.3, dtype=torch.float64)
    assert (found.crps(value) < whole.crps(value)).all()
    torch.testing.assert_close(found.log_prob(value), whole.log_prob(value))


def test_far_from_the_bound_a_cut_changes_nothing():
    found = cut(50.0)
    value = torch.full((1, 2, 1), 50.4, dtype=torch.float64)
    torch.testing.assert_close(found.crps(value), found.base.crps(value), atol=1e-3, rtol=1e-3)
    assert torch.equal(found.mean, found.base.mean)
    assert torch.equal(found.stddev, found.base.stddev)
    assert (cut(-3.0).mean == 0).all()
