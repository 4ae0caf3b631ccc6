"""The methods we compare with, each on made-up data with a known answer."""

import warnings

import numpy as np
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning

from convcnp.core.task import Task
from convcnp.errors import ShapeError
from convcnp.paper.baselines.fitted_gp import FittedGP, periodogram_peaks
from convcnp.paper.baselines.interpolation import Interpolation, cubic_spline, linear


def series(x, function, at):
    return Task.from_arrays(x, function(x), at, function(at))


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
    hidden = Task.from_arrays([0.0, 1.0, 2.0, 3.0], [4.0, float("nan"), 2.0, 5.0], [1.0])
    assert Interpolation(linear)(hidden).mean.item() == 3


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


def test_a_fitted_gp_carries_a_season_through_a_gap():
    x = np.arange(80.0)
    gap = (x > 50) & (x < 62)  # more than a period: a line or a spline cannot know
    task = series(x[~gap] / 365, lambda t: 300 + 7 * np.sin(2 * np.pi * 365 * t / 9), x[gap] / 365)
    gp = FittedGP(periods=1, roughnesses=(1.5,))
    error = (gp(task).mean - task.y_target).abs().max()
    missed = (Interpolation(linear)(task).mean - task.y_target).abs().max()
    assert error < 0.2
    assert missed > 5


def test_a_fitted_gp_predicts_the_noise_that_repeated_observations_show():
    x = np.repeat(np.arange(30.0), 2)
    y = np.sin(x / 4) + 0.5 * np.tile([1.0, -1.0], 30)
    spread = FittedGP(periods=1, roughnesses=(1.5,))(Task.from_arrays(x, y, [10.0, 20.5])).stddev
    assert spread.flatten().tolist() == pytest.approx([0.5, 0.5], rel=0.15)


def test_a_season_is_kept_where_it_is_real_and_left_out_where_chance_made_it():
    x, gp = np.arange(40.0), FittedGP(periods=1, roughnesses=(1.5,))
    noise = np.random.default_rng(1).standard_normal(40)  # a season fits it best, a little
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        real = gp.fit(x, np.sqrt(2) * np.sin(2 * np.pi * x / 7) + 0.1 * noise)
        chance = gp.fit(x, noise)
    assert "ExpSineSquared" in str(real.kernel_)
    assert "ExpSineSquared" not in str(chance.kernel_)


def test_the_roughness_is_the_most_likely_one():
    walk = np.cumsum(np.random.default_rng(0).standard_normal(80))
    walk = (walk - walk.mean()) / walk.std()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = FittedGP(periods=1, roughnesses=(2.5, 0.5)).fit(np.arange(80.0), walk)
    assert "nu=0.5" in str(fitted.kernel_)


def test_a_fitted_gp_leaves_out_what_is_hidden_and_follows_shifts_and_units():
    x = np.arange(30.0)
    y = np.sin(x / 3)
    y[4] = np.nan
    gp = FittedGP(periods=1, roughnesses=(1.5,))
    here = gp(Task.from_arrays(x, y, [4.0, 10.5]))
    there = gp(Task.from_arrays(1e6 + 60 * x, 1e3 * y - 5, [1e6 + 240.0, 1e6 + 630.0]))
    torch.testing.assert_close(there.mean, 1e3 * here.mean - 5, rtol=0, atol=5.0)
    assert (here.mean.flatten() - torch.tensor([4.0, 10.5]).div(3).sin()).abs().max() < 0.02
