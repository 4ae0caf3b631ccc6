"""What anybody could do without a model."""

import numpy as np
import pytest

from convcnp.predict.baselines import nearest_value, repeated, season_of

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


def test_where_nothing_repeats_a_line_answers_with_the_deviation_of_the_values():
    x, y = np.array([0.0, 1.0, 2.0]), np.array([0.0, 4.0, 8.0])
    mean, spread = repeated(x, y, np.array([0.5]), period=50.0)
    assert (mean[0], spread[0]) == (2.0, pytest.approx(np.std(y)))


def test_a_season_is_found_beside_a_trend_and_noise_and_nowhere_else():
    random = np.random.default_rng(0)
    x = np.arange(0.0, 520, 2)
    season = 3 * np.sin(2 * np.pi * x / 52)
    rising = 0.0001 * x**2 + season + 0.5 * random.normal(size=len(x))
    kept = random.random(len(x)) < 0.8  # rows are missing here and there
    assert season_of(x[kept], rising[kept]) == pytest.approx(52, rel=0.03)
    assert season_of(x, random.normal(size=len(x))) is None
    assert season_of(x, np.cumsum(random.normal(size=len(x)))) is None
    assert season_of(x[:50], season[:50]) is None  # two cycles are no season yet
    assert season_of(x, np.ones(len(x))) is None
    assert season_of(np.zeros(3), np.arange(3.0)) is None


def test_the_nearest_value_is_that_of_the_nearest_point():
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 5.0]])
    found = nearest_value(points, np.array([1.0, 2.0, 3.0]), np.array([[0.9, 0.3], [0.1, 4.0]]))
    assert found.tolist() == [2.0, 3.0]
