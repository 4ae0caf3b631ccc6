"""Gaps of series; `test_targets.py` asks for them."""

import numpy as np
import pandas as pd
import pytest

from convcnp.frames.columns import Columns
from convcnp.frames.gaps import (
    day_of_month,
    gaps_of,
    has_regular_rows,
    missing_rows,
    usual_steps,
)
from convcnp.frames.series import SeriesTable


def table(times, **columns):
    frame = pd.DataFrame({"t": times, "v": np.arange(float(len(times))), **columns})
    return SeriesTable.of(frame, Columns(("v",), time="t", group="id" if columns else None))


def hours(start, *left_out, zone=None):
    times = pd.date_range(start, periods=48, freq="h", tz=zone)
    return times[~times.isin(pd.to_datetime(left_out))]


@pytest.mark.parametrize(
    ("start", "left_out", "missing"),
    [
        ("2021-03-27", ["2021-03-28 02:00"], 0),  # Europe
        ("2021-03-13", ["2021-03-14 02:00"], 0),  # North America
        ("2021-10-02", ["2021-10-03 02:00"], 0),  # Australia
        ("2021-03-27", ["2021-03-28 05:00"], 1),
        ("2021-03-27", ["2021-03-28 02:00", "2021-03-28 03:00"], 2),
        ("2021-03-20", ["2021-03-21 02:00"], 1),
    ],
)
def test_the_hour_that_clocks_skip_in_spring_is_not_missing(start, left_out, missing):
    assert len(gaps_of(table(hours(start, *left_out))).x) == missing


def test_clocks_with_a_zone_skip_nothing():
    days = table(hours("2021-03-27", zone="Europe/Berlin"))
    assert len(gaps_of(days).x) == 0


def test_steps_are_those_of_each_series():
    mixed = table([0, 1, 2, 4, 5, 0, 10, 20, 3], id=list("aaaaabbbc"))
    assert usual_steps(mixed.series).tolist() == [1.0, 10.0, 1.5]
    assert has_regular_rows(mixed)
    times, owners = missing_rows(mixed)
    assert (times.tolist(), owners.tolist()) == ([3.0], [0])
    assert not has_regular_rows(table([0, 1, 5, 5.3, 11, 30]))


@pytest.mark.parametrize(
    ("dates", "expected"),
    [
        (["2020-01-15", "2020-02-15", "2020-03-15"], (pd.Timedelta(days=14), 0)),
        (["2020-01-31", "2020-02-29", "2020-03-31"], (pd.Timedelta(days=-1), 1)),
        (["2020-01-31", "2020-02-28", "2020-03-30"], None),
        (["2020-01-01", "2020-01-02", "2020-01-03"], None),
    ],
)
def test_rows_may_follow_the_calendar(dates, expected):
    assert day_of_month(table(pd.to_datetime(dates))) == expected


def test_gaps_do_not_depend_on_where_times_are_counted_from():
    ticks = np.array([0, 2, 4, 6, 9, 11, 13, 18])  # 9 is just not a gap, 18 is one of one time
    for shift in range(12):
        times = pd.Timestamp("2024-01-01") + np.append(0, ticks + shift) * pd.Timedelta("100ms")
        frame = pd.DataFrame({"t": times, "id": [0] + [1] * 8, "v": 1.0})
        table = SeriesTable.of(frame, Columns(("v",), time="t", group="id"))
        assert len(gaps_of(table).x) == 1


def test_a_gap_too_long_for_the_usual_spacing_is_stretched_or_left_out():
    times = table([*range(9), 9000])
    assert len(missing_rows(times)[0]) == 500
    assert len(missing_rows(times, only_whole=True)[0]) == 0


@pytest.mark.parametrize("start", [0, 1_700_000_000_086, 2**60 + 1])
def test_missing_rows_of_whole_numbers_are_whole(start):
    found = table(start + np.array([0, 101, 199, 302, 400, 499, 702, 801]))
    times = found.axis.times(missing_rows(found)[0])
    assert times.tolist() == [start + 600]
    assert times.dtype.kind == "i"


def test_missing_rows_of_days_are_days():
    days = np.array([0, 30, 61, 90, 121, 184, 213]) * pd.Timedelta("1D")
    found = table(pd.Timestamp("2020-01-01") + days)
    assert found.axis.times(missing_rows(found)[0]) == pd.Timestamp("2020-06-01")


@pytest.mark.parametrize(
    "steps",
    [
        [68, 76, 62, 118],
        [60, 65, 107, 120, 75, 61],
        [121, 70, 80, 70, 82, 96, 66],
        [113, 65, 89, 70, 65],
    ],
)
def test_a_few_visits_at_random_have_none_missing_between(steps):
    days = np.cumsum([0, *steps]) * pd.Timedelta("1D")
    visits = table(pd.Timestamp("2020-01-01") + days)
    assert len(missing_rows(visits)[0]) == 0
    assert not has_regular_rows(visits)


@pytest.mark.parametrize(
    ("steps", "missing"),
    [([31, 28, 61, 31], 1), ([7, 7, 8, 7, 14, 7], 1), ([1, 1, 3, 1, 2, 1, 1], 3)],
)
def test_a_few_rows_that_are_nearly_even_have_gaps(steps, missing):
    found = table(np.cumsum([0.5, *steps]))
    assert len(missing_rows(found)[0]) == missing


def test_where_far_more_rows_are_missing_than_there_are_none_is():
    long_ago = np.arange(-40_000, 0, 1_000)
    assert len(missing_rows(table([*long_ago, *range(2000, 2050)]))[0]) == 0


@pytest.mark.parametrize("start", ["2021-03-20", "2021-10-24 09:30"])  # clocks change in the gap
def test_missing_days_of_a_zone_keep_their_clock(start):
    days = pd.date_range(start, periods=20, tz="Europe/Berlin")
    found = table(days.delete([6, 7, 8, 9]))
    assert found.axis.times(missing_rows(found)[0]).tolist() == days[6:10].tolist()
