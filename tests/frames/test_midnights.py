"""Clock times that pass midnight."""

import numpy as np
import pandas as pd
import pytest

from convcnp.errors import ConvCNPWarning
from convcnp.frames.columns import Columns
from convcnp.frames.midnights import continued, in_nearest_day, say_continued
from convcnp.frames.series import SeriesTable
from convcnp.frames.targets import read_times, series_targets

NIGHT = ["22:00", "23:00", "00:00", "01:00"]
HOURS = [22.0, 23.0, 24.0, 25.0]
ONE = np.zeros(4)


def hours(times):
    return (times / pd.Timedelta("1h")).tolist()


def test_clock_times_behind_midnight_are_those_of_the_next_day():
    assert hours(continued(pd.Series(NIGHT), ONE)) == HOURS
    assert hours(continued(pd.Series(NIGHT[::-1]), ONE)) == HOURS[::-1]
    three = pd.Series(["20:00", None, "04:00", "12:00", "20:00:30", "04:00"])
    np.testing.assert_allclose(
        hours(continued(three, np.zeros(6))), [20, np.nan, 28, 36, 44 + 1 / 120, 52]
    )


@pytest.mark.parametrize(
    "times",
    [
        ["08:00", "12:00", "16:00", "20:00"],
        ["20:00", "09:00", "12:00", "10:00"],  # in no order
        ["17:00", "08:00", "17:00", "08:00"],  # the hours of work
        ["22:00", "23:00", "25:00", "01:00"],  # durations
        ["0 days 23:00:00", "0 days 01:00:00", "1 days 02:00:00", "1 days 03:00:00"],
        ["22:00", "23:00", "noon", "01:00"],
        [3.0, 2.0, 1.0, 0.0],
    ],
)
def test_other_times_stay(times):
    column = pd.Series(times)
    assert continued(column, ONE) is column


def test_every_series_passes_midnight_by_itself():
    days = continued(pd.Series([*NIGHT, *NIGHT]), np.repeat([0, 1], 4))
    assert hours(days) == HOURS * 2
    both = pd.Series(["00:00", "23:00", "00:00", "23:00"])
    assert continued(both, np.array([0, 0, 1, 1])) is both
    unnamed = continued(pd.Series([*NIGHT, "05:00"]), np.array([0, 0, 0, 0, -1]))
    assert hours(unnamed) == [*HOURS, 5.0]


def test_a_table_is_read_so_and_it_is_said():
    frame = pd.DataFrame({"time": NIGHT, "v": [1.0, 2.0, 3.0, 4.0]})
    with pytest.warns(ConvCNPWarning, match="times in 'time' pass midnight once, .* write a date"):
        table = SeriesTable.of(frame, Columns(("v",), time="time"))
    assert table.series.x.tolist() == [3600 * hour for hour in HOURS]
    assert table.y[:, 0].tolist() == [1.0, 2.0, 3.0, 4.0]
    asked, _ = table.asked_in(pd.DataFrame({"time": ["21:30", "23:30", "00:30", "02:00"]}))
    assert (asked.x / 3600).tolist() == [21.5, 23.5, 24.5, 26.0]
    asked, _ = table.asked_in(pd.DataFrame({"time": ["1 days 00:30:00", "0 days 02:00:00"]}))
    assert (asked.x / 3600).tolist() == [24.5, 2.0]


def test_times_asked_of_a_night_lie_in_it():
    frame = pd.DataFrame({"time": NIGHT, "v": [1.0, 2.0, 3.0, 4.0]})
    with pytest.warns(ConvCNPWarning, match="pass midnight"):
        table = SeriesTable.of(frame, Columns(("v",), time="time"))
    for at in (["23:30", "00:30"], read_times(table, "23:30..00:30..1h")):
        assert (series_targets(table, at).inputs.x / 3600).tolist() == [23.5, 24.5]


def test_how_often_is_said():
    times = pd.Series(["20:00", "04:00"] * 3, name="clock")
    with pytest.warns(ConvCNPWarning, match="'clock' pass midnight 3 times"):
        say_continued(times, continued(times, np.zeros(6)))


def test_asked_clock_times_are_put_beside_the_series():
    clocks = pd.Series(["21:00", "01:00", "12:00"])
    seconds = 3600 * np.array([21.0, 1.0, 12.0])
    ends = 3600 * np.full(3, 22.0), 3600 * np.full(3, 25.0)
    assert (in_nearest_day(clocks, seconds, *ends) / 3600).tolist() == [21.0, 25.0, 12.0]
    assert in_nearest_day(clocks, seconds, *(end - 5 * 3600 for end in ends)) is seconds
