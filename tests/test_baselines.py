"""The methods we compare with, each on made-up data with a known answer."""

import numpy as np
import pytest
import torch

from convcnp.baselines.fitted_gp import FittedGP, periodogram_peaks
from convcnp.baselines.interpolation import Interpolation, cubic_spline, linear
from convcnp.errors import ShapeError
from convcnp.task import Task


def series(x, function, at, noise=0.0):
    random = np.random.default_rng(0)
    y = function(x) + noise * random.standard_normal(len(x))
    return Task.from_arrays(x, y, at, function(at))


def cubic(x):
    return 2 - x + 0.5 * x**2 - 0.1 * x**3


def test_a_line_joins_neighbours_and_a_spline_follows_a_cubic():
    x = np.array([0.0, 1.0, 2.5, 3.0, 4.5, 6.0])
    at = np.array([0.25, 2.0, 5.0])
    exact = Interpolation(cubic_spline)(series(x, cubic, at)).mean.flatten()
    torch.testing.assert_close(exact, torch.from_numpy(cubic(at)))
    broken = Interpolation(linear)(Task.from_arrays([0.0, 1.0, 3.0], [1.0, 5.0, 3.0], [0.25, 2.5]))
    assert broken.mean.flatten().tolist() == [2.0, 3.5]


@pytest.mark.parametrize("interpolant", [linear, cubic_spline])
def test_the_curve_passes_through_the_points(interpolant):
    x = np.array([0.0, 0.4, 1.0, 1.1, 3.0])
    y = np.array([1.0, -2.0, 0.5, 3.0, 1.0])
    mean = Interpolation(interpolant)(Task.from_arrays(x, y, x)).mean.flatten()
    torch.testing.assert_close(mean, torch.from_numpy(y))


def test_the_spread_is_that_of_points_left_out_one_at_a_time():
    task = Task.from_arrays([0.0, 1.0, 2.0, 4.0], [0.0, 3.0, 0.0, 6.0], [0.5, 3.0])
    # Without the second the line gives 0 there; without the third, 3 + 3 / 3 = 4.
    expected = ((3.0**2 + 4.0**2) / 2) ** 0.5
    assert Interpolation(linear)(task).stddev.flatten().tolist() == pytest.approx([expected] * 2)


def test_points_on_a_line_still_have_some_spread_and_equal_times_are_averaged():
    straight = Interpolation(linear)(Task.from_arrays([0.0, 1.0, 2.0], [5.0, 5.0, 5.0], [0.5]))
    assert 0 < straight.stddev.item() < 1e-3
    twice = Task.from_arrays([0.0, 1.0, 1.0, 2.0], [0.0, 1.0, 3.0, 0.0], [1.0])
    assert Interpolation(linear)(twice).mean.item() == 2


def test_what_the_mask_hides_is_not_used():
    hidden = Task.from_arrays([0.0, 1.0, 2.0, 3.0], [0.0, float("nan"), 2.0, 5.0], [1.0])
    assert Interpolation(linear)(hidden).mean.item() == 1


def test_too_few_points_and_several_series_are_refused():
    with pytest.raises(ShapeError, match="at least three observed times, got 2"):
        Interpolation(linear)(Task.from_arrays([0.0, 1.0], [0.0, 1.0], [0.5]))
    one = Task.from_arrays([0.0, 1.0, 2.0], [0.0, 1.0, 0.0], [0.5])
    with pytest.raises(ShapeError, match="one series with one channel at a time"):
        Interpolation(linear)(Task.stack([one, one]))


def test_the_periodogram_of_two_waves_peaks_at_both():
    x = np.delete(np.arange(200.0), slice(60, 75))
    y = np.sin(2 * np.pi * x / 25) + 0.5 * np.sin(2 * np.pi * x / 8)
    assert periodogram_peaks(x, y, 2) == pytest.approx([25, 8], rel=0.03)


def test_a_fitted_gp_carries_a_season_through_a_gap_and_knows_its_noise():
    x = np.arange(80.0)
    gap = (x > 50) & (x < 62)  # more than a period: a line or a spline cannot know
    task = series(x[~gap] / 365, lambda t: 300 + 7 * np.sin(2 * np.pi * 365 * t / 9), x[gap] / 365)
    noisy = series(x[~gap], lambda t: 300 + 7 * np.sin(2 * np.pi * t / 9), x[gap], noise=1.0)
    gp = FittedGP(periods=1, roughnesses=(1.5,))
    exact, spread = gp(task), gp(noisy).stddev
    error = (exact.mean - task.y_target).abs().max()
    missed = (Interpolation(linear)(task).mean - task.y_target).abs().max()
    assert error < 0.2
    assert missed > 5
    assert 0.7 < spread.mean() < 1.6  # the noise is part of what is predicted


def test_a_season_that_chance_made_is_left_out():
    x = np.arange(40.0)
    noise = Task.from_arrays(x, np.random.default_rng(1).standard_normal(40), x + 0.5)
    predictive = FittedGP(periods=2, roughnesses=(1.5,))(noise)
    assert predictive.mean.std() < 0.5
    assert 0.6 < predictive.stddev.mean() < 1.4


def test_a_fitted_gp_leaves_out_what_is_hidden_and_follows_shifts_and_units():
    x = np.arange(30.0)
    y = np.sin(x / 3)
    y[4] = np.nan
    gp = FittedGP(periods=1, roughnesses=(1.5,))
    here = gp(Task.from_arrays(x, y, [4.0, 10.5]))
    there = gp(Task.from_arrays(1e6 + 60 * x, 1e3 * y - 5, [1e6 + 240.0, 1e6 + 630.0]))
    torch.testing.assert_close(there.mean, 1e3 * here.mean - 5, rtol=0, atol=5.0)
    assert (here.mean.flatten() - torch.tensor([4.0, 10.5]).div(3).sin()).abs().max() < 0.02
