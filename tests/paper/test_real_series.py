"""Real series: what they hold, and how points are removed from them."""

import numpy as np
import pytest
import torch

from convcnp.data.source import seeded
from convcnp.errors import SettingError
from convcnp.paper.real_series import (
    SERIES,
    real_series,
    removed_at_random,
    removed_in_blocks,
)


@pytest.mark.parametrize("name", SERIES)
def test_every_series_is_finite_ordered_in_time_and_affordable(name):
    series = real_series(name)
    assert series.name == name
    assert 50 <= series.num_points <= 600
    assert series.values.shape == series.times.shape
    assert np.isfinite(series.values).all()
    assert (np.diff(series.times) > 0).all()
    assert all((series.quantity, series.unit, series.time_unit, series.source))


@pytest.mark.parametrize(
    ("name", "time", "value"),
    [
        ("sunspots", 1957, 190.2),  # the highest of all
        ("nile", 1913, 456),  # the lowest
        ("co2", 0, 316.1),
        ("sea-temperature", 1981 + 0.5 / 12, 22.98),
        ("unemployment", 1982 + 3.5 / 4, 10.7),
        ("wheat", 1810, 99),
        ("hare", 1863, 152.65),
        ("lynx", 1845, 30.09),
    ],
)
def test_known_numbers_stand_at_their_times(name, time, value):
    series = real_series(name)
    (index,) = np.flatnonzero(np.isclose(series.times, time))
    assert series.values[index] == pytest.approx(value)


def test_times_are_days_for_daily_series_and_gaps_stay_gaps():
    assert real_series("seattle-wind").times.tolist() == list(range(365))
    weeks = np.diff(real_series("co2").times) / 7
    assert weeks.min() == 1
    assert weeks.max() > 1


@pytest.mark.parametrize("num_points", [52, 91, 365])
@pytest.mark.parametrize("seed", range(20))
def test_thirty_percent_are_removed_at_random_and_the_ends_stay(num_points, seed):
    removed = removed_at_random(num_points, seeded(seed))
    assert removed.sum() == round(0.3 * num_points)
    assert not removed[0]
    assert not removed[-1]


@pytest.mark.parametrize("num_points", [52, 91, 365])
@pytest.mark.parametrize("seed", range(60))
def test_three_blocks_are_removed_with_observations_around_each(num_points, seed):
    removed = removed_in_blocks(num_points, seeded(seed))
    edges = torch.diff(removed.int())
    starts, ends = (torch.nonzero(edges == sign).flatten() for sign in (1, -1))
    assert not removed[0]
    assert (ends - starts).tolist() == [round(0.06 * num_points)] * 3
    assert 0.15 <= removed.double().mean() <= 0.2


def test_the_seed_decides_what_is_removed():
    for remove in (removed_at_random, removed_in_blocks):
        assert torch.equal(remove(91, seeded(1)), remove(91, seeded(1)))
        assert not torch.equal(remove(91, seeded(1)), remove(91, seeded(2)))


def test_removed_points_are_the_targets_and_all_others_the_context():
    series = real_series("hare")
    removed = removed_in_blocks(series.num_points, seeded(0))
    task = series.without(removed)
    assert task.x_target.flatten().tolist() == series.times[removed.numpy()].tolist()
    assert task.y_target.flatten().tolist() == series.values[removed.numpy()].tolist()
    assert task.x_context.flatten().tolist() == series.times[~removed.numpy()].tolist()
    assert task.y_context.flatten().tolist() == series.values[~removed.numpy()].tolist()


def test_an_unknown_series_is_answered_with_the_nearest():
    with pytest.raises(SettingError, match="got 'sunspot'; did you mean 'sunspots'"):
        real_series("sunspot")
