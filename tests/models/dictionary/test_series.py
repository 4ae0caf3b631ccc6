"""A series as the dictionary sees it: times in gaps, values around zero, repeats averaged."""

import pytest
import torch

from convcnp.models.dictionary.series import prepared


def numbers(*values):
    return torch.tensor(values, dtype=torch.float64)


def test_times_are_in_gaps_and_values_standardised():
    series = prepared(numbers(100.0, 110.0, 120.0, 140.0), numbers(-1.0, 2.0, 5.0, 6.0), None)
    assert series.gap == pytest.approx(10.0)
    assert (series.x.diff() - numbers(1.0, 1.0, 2.0)).abs().max() < 1e-12
    back = series.level[0] + series.scale[0] * series.z[0]
    assert (back - numbers(-1.0, 2.0, 5.0, 6.0)).abs().max() < 1e-12
    assert len(series.z) == 1
    assert not series.has_logarithms


def test_repeated_times_are_averaged_and_counted():
    series = prepared(numbers(0.0, 1.0, 1.0, 2.0), numbers(-5.0, 1.0, 3.0, 0.0), None)
    assert series.num_points == 3
    assert series.count.tolist() == [1.0, 2.0, 1.0]
    assert (series.level[0] + series.scale[0] * series.z[0])[1].item() == pytest.approx(2.0)
    assert series.scatter[0, 1] > 0


def test_the_order_of_observations_does_not_matter():
    x, y = numbers(3.0, 1.0, 2.0), numbers(1.0, -2.0, 4.0)
    one, other = prepared(x, y, None), prepared(x.flip(0), y.flip(0), None)
    assert torch.equal(one.x, other.x)
    assert torch.equal(one.z, other.z)
