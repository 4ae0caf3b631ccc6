"""Real series: what they hold."""

import numpy as np
import pytest

from convcnp.errors import SettingError
from convcnp.paper.real_series import SERIES, real_series
from convcnp.paper.real_series_tables import GROUPS


@pytest.mark.parametrize("name", SERIES)
def test_every_series_is_finite_ordered_in_time_and_affordable(name):
    series = real_series(name)
    assert series.name == name
    assert 9 <= series.num_points <= 400
    assert series.values.shape == series.times.shape
    assert np.isfinite(series.values).all()
    assert (np.diff(series.times) > 0).all()
    if series.errors is not None:
        assert series.errors.shape == series.times.shape
        assert (series.errors > 0).all()
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


def test_groups_are_stated_and_none_is_small():
    groups = [real_series(name).group for name in SERIES]
    assert len(groups) == 25
    assert all(groups.count(group) >= 5 for group in GROUPS)
    assert sum(groups.count(group) for group in GROUPS) == 25


@pytest.mark.parametrize("name", SERIES)
def test_a_positive_series_has_no_negative_value_and_an_irregular_one_no_step(name):
    series = real_series(name)
    assert series.group != "positive" or series.values.min() >= 0
    assert (series.group == "irregular") <= (series.step is None)
    assert series.group != "seasonal" or series.seasons


def test_an_unknown_series_is_answered_with_the_nearest():
    with pytest.raises(SettingError, match="got 'sunspot'; did you mean 'sunspots'"):
        real_series("sunspot")
