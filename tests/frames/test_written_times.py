"""New times, written as the others of a table are."""

import pandas as pd
import pytest

from convcnp.frames.time_axis import TimeAxis
from convcnp.frames.written_times import split_times


@pytest.mark.parametrize(
    "written",
    """2010-Q1|2010Q1|Q1 2010|2020-W05|Jan-19|Feb 2019|February 2019|02/2019|1/31/2020|31/01/20
    2020-01-01T01:00:00Z|2020-01-01 01:00:00.000|01/31/2020 01:00 PM|2020-01|31 Jan 2020
    12/31/2016 0:00|2020-01-31 18:30|7/31/24 9:00|07/31/24 09:00 PM|31.07.24 09:00|31-Jul-24
    7/31/2024 9:05:00 PM|2020-01-31T18:30:00+01:00
    2020-01-31 18:30:00-0500|2020-031|31:01:2020
    2024\u5e7403\u670801\u65e5 12:00|2024\u5e743\u67081\u65e5|2024\u5e743\u6708""".replace(
        "\n", "|"
    ).split("|"),
)
def test_times_are_written_as_the_others_are(written):
    frame = pd.DataFrame({"t": [written.strip()] * 3})
    axis = TimeAxis.of(frame["t"])
    times = pd.Series(axis.times(axis.numbers(frame["t"])))
    assert split_times(frame, "t", times)["t"].tolist() == frame["t"].tolist()


def test_times_of_a_zone_are_written_with_the_offsets_of_rows_before():
    hours = pd.date_range("2024-03-30 22:00", periods=8, freq="h", tz="Europe/Berlin")
    written = pd.Series([hour.isoformat() for hour in hours])
    frame = pd.DataFrame({"t": written.drop(index=[1, 5])})
    again = split_times(frame, "t", pd.Series(hours[[1, 5]].tz_convert("UTC")))["t"]
    assert again.tolist() == ["2024-03-30T23:00:00+01:00", "2024-03-31T04:00:00+02:00"]


@pytest.mark.parametrize(
    "clocks", [["08:10", "18:20"], ["8:10", "18:20"], ["08:10:05", "09:00:00"]]
)
def test_clocks_are_written_as_clocks(clocks):
    frame = pd.DataFrame({"when": clocks})
    passed = pd.Series(pd.to_timedelta([c if c.count(":") == 2 else f"{c}:00" for c in clocks]))
    assert split_times(frame, "when", passed)["when"].tolist() == clocks
    later = passed + pd.Timedelta(days=1)
    assert split_times(frame, "when", later)["when"].tolist() == later.tolist()


@pytest.mark.parametrize(
    ("before", "after"), [("KW 9/2020", "KW 10/2020"), ("W09 2020", "W10 2020"), ("T1 2020", None)]
)
def test_weeks_and_quarters_are_written_as_they_were(before, after):
    frame = pd.DataFrame({"date": [before]})
    times = pd.Series(pd.to_datetime(["2020-03-02"]))
    assert split_times(frame, "date", times)["date"].tolist() == [after or before]


def test_months_behind_a_point_are_written_as_they_were():
    dates = pd.date_range("2020-01-01", periods=12, freq="MS")
    frame = pd.DataFrame({"date": dates.year + dates.month / 100})
    again = split_times(frame, "date", pd.Series(dates))["date"]
    assert again.tolist() == frame["date"].tolist()
