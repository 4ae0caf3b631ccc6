"""Evenly spaced times, in the resolution of the data."""

import numpy as np
import pandas as pd
import pytest

from convcnp.frames.columns import Columns
from convcnp.frames.even import even_times
from convcnp.frames.series import SeriesTable


def table_of(times, **columns) -> SeriesTable:
    times = pd.Series(times)
    frame = pd.DataFrame({"t": times, "v": np.arange(len(times)) % 3.5, **columns})
    named = Columns(values=("v",), time="t", group="group" if columns else None)
    return SeriesTable.of(frame, named)


def asked(times, count, **options):
    table = table_of(times)
    return table.axis.times(even_times(table, count, **options).x)


def test_daily_data_get_dates():
    days = pd.date_range("2020-01-01", periods=30)
    found = asked(days, 200, at_most=True)
    assert list(found) == list(days)
    assert list(asked(days, 5)) == list(days[[0, 7, 14, 22, 29]])


def test_years_of_days_get_as_many_as_asked_for():
    found = asked(pd.to_datetime(["2020-01-01", "2020-03-07", "2022-05-05"]), 200, at_most=True)
    assert len(found) == 200
    assert (found == found.normalize()).all()
    assert found.is_unique


def test_more_times_than_days_are_rounded_to_what_is_small_beside_a_step():
    found = asked(pd.date_range("2020-01-01", periods=30), 200)
    assert len(found) == 200
    assert str(found[1]) == "2020-01-01 03:30:00"


@pytest.mark.parametrize(("step", "shown"), [("15min", "00:15:00"), ("1s", "00:00:01")])
def test_clocks_keep_their_unit(step, shown):
    found = asked(pd.date_range("2020-01-01", periods=9, freq=step), 9)
    assert str(found[1]).endswith(shown)


def test_dates_in_a_zone_are_those_of_its_clocks():
    days = pd.date_range("2021-03-25", periods=8, tz="Europe/Berlin")  # clocks change on the 28th
    assert list(asked(days, 200, at_most=True)) == list(days)


def test_hours_of_a_zone_are_each_there_once_when_clocks_are_put_back():
    hours = pd.date_range("2021-10-30", periods=72, freq="h", tz="Europe/Berlin")
    assert list(asked(hours, 200, at_most=True)) == list(hours)


def test_durations_are_rounded_too():
    found = asked(pd.to_timedelta([0, 1, 7], unit="h"), 200, at_most=True)
    assert list(found) == list(pd.to_timedelta(np.arange(8), unit="h"))


def test_numbers_and_finer_times_stay_exact():
    assert len(asked([0, 1, 5], 200, at_most=True)) == 200
    found = asked(pd.to_datetime([250, 1000], unit="ms"), 4)
    np.testing.assert_allclose(np.diff(found.astype("int64")), np.diff(found.astype("int64"))[0])


def test_every_series_has_its_own_and_a_single_time_stays_one():
    days = pd.to_datetime(["2020-01-01", "2020-01-04", "2020-02-01", "2020-01-01", "2020-01-11"])
    table = table_of(days, group=[*"aab", *"cc"])
    assert even_times(table, 200, at_most=True).lengths.tolist() == [4, 1, 11]
