"""Interpolation, with the spread of points left out."""

import numpy as np
import pytest
import torch

from convcnp.core.task import Task
from convcnp.errors import ShapeError
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
