"""Seasonal naive: the values one period away, and the errors they make."""

import numpy as np
import pytest
import torch

from convcnp.core.task import Task
from convcnp.errors import ShapeError
from convcnp.paper.baselines.seasonal_naive import SeasonalNaive, repeated
from convcnp.paper.measured_series import RealSeries

X = np.arange(12.0)
Y = np.array([0.0, 5, 1, 7, 2, 6, 0, 9, 4, 5, 1, 8])


def by_hand(target, observed, period=4):
    """Look for the nearest number of periods before and after, one by one."""
    found = []
    for sign in (-1, 1):
        times = [target + sign * k * period for k in range(1, 12)]
        there = [observed[t] for t in times if t in observed]
        found += there[:1]
    return found


def test_the_mean_is_that_of_the_nearest_periods_on_both_sides():
    hidden = {1, 5, 6}  # five is one period after one: two periods are needed
    seen = [i for i in range(12) if i not in hidden]
    observed = {float(i): Y[i] for i in seen}
    at = np.array([1.0, 5.0, 6.0, 13.0])
    mean, _ = repeated(X[seen], Y[seen], at, period=4.0)
    assert mean.tolist() == pytest.approx([np.mean(by_hand(t, observed)) for t in at])
    assert by_hand(1.0, observed) == [Y[9]]


def test_the_spread_is_that_of_its_own_errors_on_as_many_sides():
    mean, spread = repeated(X, Y, np.array([12.0, -1.0]), period=4.0)
    assert mean.tolist() == [Y[8], Y[3]]
    before = np.array([Y[i] - Y[i - 4] for i in range(4, 12)])
    assert spread.tolist() == pytest.approx([np.sqrt(np.mean(before**2))] * 2)
    _, spread = repeated(np.delete(X, 5), np.delete(Y, 5), np.array([5.0]), period=4.0)
    both = [Y[i] - (Y[i - 4] + Y[i + 4]) / 2 for i in (4, 6, 7)]
    assert spread[0] == pytest.approx(np.sqrt(np.mean(np.square(both))))


def test_long_gaps_are_filled_from_farther_periods():
    x = np.arange(60.0)
    y = np.sin(2 * np.pi * x / 6)
    gap = (x >= 20) & (x < 40)
    mean, _ = repeated(x[~gap], y[~gap], x[gap], period=6.0)
    np.testing.assert_allclose(mean, y[gap], atol=1e-9)


def test_the_period_comes_from_the_sampling_or_the_periodogram():
    months = 2000 + np.arange(60) / 12
    series = RealSeries("a", "b", "c", "years", "d", months, np.sin(months))
    removed = torch.zeros(60, dtype=torch.bool)
    assert SeasonalNaive().for_series(series, removed).period == pytest.approx(1.0)
    days = RealSeries("a", "b", "c", "hours", "d", months, np.sin(months))
    assert SeasonalNaive().for_series(days, removed).period is None
    x = np.arange(100.0) / 10
    task = Task.from_arrays(x, np.sin(2 * np.pi * x / 2), [10.5])
    assert SeasonalNaive()(task).mean.item() == pytest.approx(1.0, abs=0.05)


def test_where_nothing_repeats_a_line_answers_with_the_deviation_of_the_values():
    x, y = np.array([0.0, 1.0, 2.0]), np.array([0.0, 4.0, 8.0])
    mean, spread = repeated(x, y, np.array([0.5]), period=50.0)
    assert (mean[0], spread[0]) == (2.0, pytest.approx(np.std(y)))


def test_too_few_points_are_refused():
    with pytest.raises(ShapeError, match="at least three observed times, got 2"):
        SeasonalNaive()(Task.from_arrays([0.0, 1.0], [0.0, 1.0], [0.5]))
