"""Measured series: what their sampling tells, and the tasks they become."""

import numpy as np
import pytest

from convcnp.data.source import seeded
from convcnp.paper.measured_series import RealSeries, as_arrays
from convcnp.paper.real_series import real_series
from convcnp.paper.removals import removed_in_blocks


def sampled(times, unit="years"):
    return RealSeries("name", "quantity", "unit", unit, "source", *as_arrays(times, times))


@pytest.mark.parametrize(
    ("unit", "step", "count", "seasons"),
    [
        ("years", 1 / 12, 60, (12.0,)),
        ("years", 1 / 12, 20, ()),  # less than two years
        ("years", 1 / 4, 30, (4.0,)),
        ("years", 1.0, 300, ()),
        ("days", 1.0, 365, (7.0,)),
        ("days", 1.0, 800, (7.0, 365.25)),
        ("days", 7.0, 300, (365.25 / 7,)),
        ("hours", 1.0, 300, ()),
    ],
)
def test_seasons_come_from_the_sampling(unit, step, count, seasons):
    times = 1950 + step * np.arange(count)
    series = sampled(np.delete(times, [3, 4, 9]), unit)
    assert series.step == pytest.approx(step)
    assert series.seasons == seasons


def test_times_off_a_lattice_have_no_step_and_no_season():
    series = sampled(np.sort(np.random.default_rng(0).uniform(0, 10, 120)))
    assert series.step is None
    assert series.seasons == ()


def test_a_lattice_with_hardly_any_rows_is_none():
    assert sampled([0.0, 1.0, 500.0, 1000.0]).step is None


def test_removed_points_are_the_targets_and_all_others_the_context():
    series = real_series("hare")
    removed = removed_in_blocks(series.num_points, seeded(0))
    task = series.without(removed)
    assert task.x_target.flatten().tolist() == series.times[removed.numpy()].tolist()
    assert task.y_target.flatten().tolist() == series.values[removed.numpy()].tolist()
    assert task.x_context.flatten().tolist() == series.times[~removed.numpy()].tolist()
    assert task.y_context.flatten().tolist() == series.values[~removed.numpy()].tolist()
