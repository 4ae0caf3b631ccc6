"""Weekdays and hours that rows keep to."""

import numpy as np
import pandas as pd
import pytest

from convcnp.frames.columns import Columns
from convcnp.frames.gaps import gaps_of, missing_rows
from convcnp.frames.habits import Habits
from convcnp.frames.series import SeriesTable
from convcnp.frames.steps import times_ahead

TRADING = pd.date_range("2024-01-01", periods=8 * 7 * 24, freq="h")
TRADING = TRADING[(TRADING.day_of_week < 5) & (TRADING.hour > 8) & (TRADING.hour < 17)]
WEEKDAYS = pd.bdate_range("2024-01-01", periods=40)
DAYS = pd.date_range("2024-01-01", periods=56)


def table(times, group=None):
    frame = pd.DataFrame({"t": times, "v": np.arange(float(len(times)))})
    if group is not None:
        frame["id"] = group
    return SeriesTable.of(frame, Columns(("v",), time="t", group="id" if group else None))


@pytest.mark.parametrize("times", [TRADING, WEEKDAYS, WEEKDAYS.tz_localize("Europe/Berlin")])
def test_weekends_and_nights_are_not_missing(times):
    assert len(gaps_of(table(times)).x) == 0


def test_a_missing_working_day_is_missing():
    found = table(WEEKDAYS.delete([11, 12, 13]))  # from a Tuesday to a Thursday
    x, _ = missing_rows(found)
    assert found.axis.times(x).tolist() == WEEKDAYS[11:14].tolist()


def test_a_gap_of_a_few_weeks_is_no_habit():
    assert len(gaps_of(table(DAYS.delete(range(5, 19)))).x) == 14
    hours = pd.date_range("2024-01-01", periods=11 * 24, freq="h")  # from a Monday to a Thursday
    is_left_out = (hours >= "2024-01-05") & (hours < "2024-01-08")
    assert len(gaps_of(table(hours[~is_left_out])).x) == 72


def test_every_series_has_its_own_habits():
    both = table([*WEEKDAYS, *DAYS[~DAYS.isin(DAYS[[12, 13]])]], ["a"] * 40 + ["b"] * 54)
    assert gaps_of(both).lengths.tolist() == [0, 2]
    habits = Habits.of(both)
    assert (habits.share(0), habits.share(1)) == (5 / 7, 1.0)


def test_working_days_lie_ahead_of_working_days():
    found = table(WEEKDAYS)
    ahead = found.axis.times(times_ahead(found, "7").x)
    assert ahead.tolist() == pd.bdate_range(WEEKDAYS[-1], periods=8)[1:].tolist()
    ahead = found.axis.times(times_ahead(found, "14d").x)
    assert ahead.tolist() == pd.bdate_range(WEEKDAYS[-1], periods=11)[1:].tolist()
    ahead = table(TRADING).axis.times(times_ahead(table(TRADING), "9").x)
    assert ahead[:8].hour.tolist() == list(range(9, 17))
    assert ahead[8].hour == 9


def test_numbers_and_single_weekdays_are_no_habits():
    assert Habits.of(table(range(40))).weekdays.all()
    assert Habits.of(table(pd.date_range("2024-01-01", periods=9, freq="7D"))).weekdays.all()
