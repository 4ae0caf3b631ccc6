"""Which gaps of a column are enlarged, and what their panels are called."""

import numpy as np
import pandas as pd
import pytest

import convcnp
from convcnp.frames.time_axis import TimeAxis
from convcnp.plots.zooms import Gap, gaps_between, windows, words, zooms_of


def shown(times, missing):
    """Return the first and last times of windows on gaps of a series with a step of one."""
    own = np.delete(times, np.concatenate([np.arange(*ends) for ends in missing]))
    gaps = gaps_between(own, times)
    return [(low, high) for _, low, high in windows(gaps, 1.0, (times[0], times[-1]))]


def test_the_longest_gaps_are_shown_and_those_of_a_step_or_two_only_where_none_is_longer():
    times = np.arange(1440.0)
    single = [(at, at + 1) for at in range(100, 700, 50)]
    assert shown(times, [(800, 896), (1000, 1002), *single]) == [(799 - 96, 896 + 96)]
    assert len(shown(times, [(200, 230), (500, 503), (800, 840), (1200, 1220)])) == 3
    assert shown(times, [(500, 501), (700, 702)]) == [(479, 521), (679, 722)]


def test_a_gap_is_what_no_value_of_the_column_divides_whatever_times_are_asked_for():
    own = np.array([0.0, 10, 11, 12, 40, 41])
    asked = np.array([2.0, 3, 8, 10, 11.5, 20, 39, 45, -4])
    found = [(gap.start, gap.stop, gap.first, gap.last) for gap in gaps_between(own, asked)]
    assert found == [(-4, 0, -4, -4), (0, 10, 2, 8), (12, 40, 20, 39), (41, 45, 45, 45)]
    assert [gap.is_ahead for gap in gaps_between(own, asked)] == [False, False, False, True]
    assert gaps_between(own, own) == []


def test_no_time_is_shown_twice_and_no_gap_in_part():
    times = np.arange(3000.0)
    # Beside the first gap lies one that its panel would cut off, and one that it shows anyway.
    missing = [(1000, 1100), (1190, 1215), (1130, 1140), (1230, 1290), (2000, 2050)]
    assert shown(times, missing) == [(899, 1215), (1215, 1350), (1949, 2100)]


def test_a_gap_that_is_most_of_a_series_is_seen_without_and_a_large_one_takes_half_of_it():
    times = np.arange(2000.0)
    assert shown(times, [(500, 1300), (1500, 1501)]) == []
    ((low, high),) = shown(times, [(500, 1000)])
    assert (low, high) == pytest.approx((250, 1250), abs=2)


def test_what_lies_ahead_is_shown_with_twice_as_much_before():
    times = np.arange(1500.0)
    gaps = gaps_between(times, np.arange(1500.0, 1520))
    assert [(low, high) for _, low, high in windows(gaps, 1.0, (0, 1519))] == [(1459, 1519)]


def test_every_column_is_enlarged_at_its_own_gaps():
    hours = pd.date_range("2023-07-01", periods=900, freq="h")
    frame = pd.DataFrame({"t": hours, "a": np.sin(np.arange(900.0)), "b": 1.0, "c": 2.0})
    frame.loc[100:129, "a"] = np.nan
    frame.loc[500:510, "b"] = np.nan
    request = convcnp.load("general").request(frame)
    found = [zooms_of(request, 0, channel) for channel in range(3)]
    assert [[zoom.low / 3600 for zoom in zooms] for zooms in found] == [[99 - 30], [499 - 20], []]
    assert [[zoom.title for zoom in zooms] for zooms in found] == [
        ["5 July 04:00 to 6 July 2023 09:00, 30 hours"],
        ["21 July 20:00 to 22 July 2023 06:00, 11 hours"],
        [],
    ]
    short = convcnp.load("general").request(frame.iloc[:599])
    assert zooms_of(short, 0, 0) == []


DAYS = TimeAxis.of(pd.Series(pd.date_range("2019-01-01", periods=3)))


@pytest.mark.parametrize(
    ("first", "last", "step", "said"),
    [
        ("2020-07-14", "2020-07-17", 86400, "14 to 17 July 2020, 4 days"),
        ("2020-07-30", "2020-08-02", 86400, "30 July to 2 August 2020, 4 days"),
        ("2019-12-31", "2020-01-01", 86400, "31 December 2019 to 1 January 2020, 2 days"),
        ("2016-06-01", "2016-09-28", 86400, "1 June to 28 September 2016, 120 days"),
        ("2016-01-01", "2019-12-31", 86400, "1 January 2016 to 31 December 2019, 4 years"),
        ("2020-07-14", "2020-07-14", 86400, "14 July 2020, 24 hours"),
        ("2020-07-14 03:00", "2020-07-14 05:00", 3600, "14 July 2020 03:00 to 05:00, 3 hours"),
        ("2020-07-14 03:00", "2020-07-14 03:00", 3600, "14 July 2020 03:00, 60 minutes"),
        ("2020-07-14 03:00", "2020-07-16 03:00", 3600, "14 to 16 July 2020, 2.04 days"),
        (
            "2020-07-14 03:00:01",
            "2020-07-14 03:00:04",
            1,
            "14 July 2020 03:00:01 to 03:00:04, 4 seconds",
        ),
    ],
)
def test_dates_are_said_in_few_words(first, last, step, said):
    low, high = DAYS.numbers(pd.Series([first, last], name="t"))
    assert words(Gap(low - step, high + step, high - low + step, low, high), DAYS, step) == said


def test_numbers_and_durations_are_said_plainly_and_what_lies_ahead_as_such():
    numbers = TimeAxis(np.dtype(float))
    gap = Gap(2455100.75, 2455148.33, 47.3, 2455101.25, 2455147.8125)
    assert words(gap, numbers, 0.5) == "2455101.25 to 2455147.81, 47.3 long"
    sparse = Gap(10.0, 60.0, 42.0, 30.0, 30.0)
    assert words(sparse, numbers, 8.0) == "10 to 60, 50 long"
    assert words(Gap(0, 9, 8, 1, 8, 1, True), TimeAxis(np.dtype(int)), 1) == "1 to 8, 8 ahead"
    clocks = TimeAxis(np.dtype("m8[ns]"), pd.Timedelta(0))
    said = words(Gap(0, 10800, 7200, 3600, 7200), clocks, 3600)
    assert said == "01:00:00 to 02:00:00, 2 hours"
