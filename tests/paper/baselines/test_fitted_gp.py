"""A Gaussian process fitted to one series."""

import warnings

import numpy as np
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning

from convcnp.core.task import Task
from convcnp.paper.baselines.fitted_gp import FittedGP, periodogram_peaks
from convcnp.paper.baselines.interpolation import Interpolation, linear


def series(x, function, at):
    return Task.from_arrays(x, function(x), at, function(at))


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
