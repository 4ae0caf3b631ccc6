"""Times put together from columns of their own, and taken apart again."""

import pandas as pd
import pytest

from convcnp.errors import ConvCNPWarning, TableError
from convcnp.frames.assembled import has_time, is_part, joined_name, role_of, time_column
from convcnp.frames.written_times import split_times

FRAMES = {
    "Year+Month+Day": (
        {"Year": [2020, 2020], "Month": [2, 3], "Day": [29, 1]},
        ["2020-02-29", "2020-03-01"],
    ),
    "year+mon": ({"year": [1999, 2000], "mon": ["Dec", "January"]}, ["1999-12-01", "2000-01-01"]),
    "year+qtr": ({"year": [1999, 2000], "qtr": ["Q4", "Q1"]}, ["1999-10-01", "2000-01-01"]),
    "Year+Quarter": ({"Year": [1999, 2000], "Quarter": [4, 1]}, ["1999-10-01", "2000-01-01"]),
    "yr+doy": ({"yr": [2020, 2021], "doy": [366, 1]}, ["2020-12-31", "2021-01-01"]),
    "Year+Day": ({"Year": [2020, 2021], "Day": [366, 1]}, ["2020-12-31", "2021-01-01"]),
    "year+jday+hhmm": (
        {"year": [2020] * 3, "jday": [32, 32, 33], "hhmm": [30, 1530, 0]},
        ["2020-02-01 00:30", "2020-02-01 15:30", "2020-02-02"],
    ),
    "year+week": (
        {"year": [2018, 2019, 2020], "week": [52, 1, 53], "cases": [1, 2, 3]},
        ["2018-12-24", "2018-12-31", "2020-12-28"],
    ),
    "YY+MM+DD+hh+mm": (
        {"YY": [2020] * 2, "MM": [1, 1], "DD": [9, 9], "hh": [0, 23], "mm": [10, 50]},
        ["2020-01-09 00:10", "2020-01-09 23:50"],
    ),
    "year+month": ({"year": [1500, 1501], "month": [12, 1]}, ["1500-12-01", "1501-01-01"]),
    "year+month+day+hour": (
        {"year": [2020] * 2, "month": [1] * 2, "day": [1, 1], "hour": [0, 13], "min": [2, 70]},
        ["2020-01-01 00:00", "2020-01-01 13:00"],
    ),
    "Jahr+Monat+Tag": (
        {"Jahr": [2020, 2020], "Monat": [2, 3], "Tag": [29, 1]},
        ["2020-02-29", "2020-03-01"],
    ),
    "A\u00f1o+Mes": ({"A\u00f1o": [1999, 2000], "Mes": [12, 1]}, ["1999-12-01", "2000-01-01"]),
    "ann\u00e9e+mois": ({"ann\u00e9e": [1999], "mois": [12]}, ["1999-12-01"]),
    "anno+mese+giorno": ({"anno": [1999], "mese": [12], "giorno": [5]}, ["1999-12-05"]),
    "ANO+MES+DIA": ({"ANO": [1999], "MES": [12], "DIA": [5]}, ["1999-12-05"]),
    "dteday+hr": (
        {"dteday": ["2011-01-01"] * 2, "hr": [0, 1]},
        ["2011-01-01 00:00", "2011-01-01 01:00"],
    ),
    "Datum+time": (
        {"Datum": ["31.1.2020"] * 2, "time": ["08:30", "14:15:30"]},
        ["2020-01-31 08:30", "2020-01-31 14:15:30"],
    ),
    "Datum+clock": (
        {"Datum": [20200131] * 3, "clock": [5, 840, 1310], "time": [0.1, 0.2, 0.3]},
        ["2020-01-31 00:05", "2020-01-31 08:40", "2020-01-31 13:10"],
    ),
}


@pytest.mark.parametrize("name", FRAMES)
def test_parts_are_found_and_put_together_and_taken_apart(name):
    content, times = FRAMES[name]
    frame = pd.DataFrame(content)
    dated = [c for c in frame if c in ("dteday", "Datum")]
    assert joined_name(frame, list(frame), dated) == name
    found = time_column(frame, name)
    assert found.tolist() == list(map(pd.Timestamp, times))
    parts = pd.DataFrame(split_times(frame, name, found))
    assert list(parts) == name.split("+")
    again = time_column(parts, name)
    assert again.tolist() == found.tolist()


@pytest.mark.parametrize(
    ("parts", "read"),
    [
        ({"a": [2019, 2020], "b": [12, 1]}, ["year", "month"]),
        ({"a": [30, 31], "b": [12, 1], "c": [2019, 2020]}, ["day", "month", "year"]),
        ({"year": [2020] * 2, "b": [7, 7], "c": [1, 2], "d": [0, 23]}, ["month", "day", "hour"]),
        ({"day": ["2020-01-01"] * 2, "b": [1, 23]}, ["hour"]),
    ],
)
def test_parts_that_are_named_as_such_are_told_by_their_numbers_and_said(parts, read):
    frame, name = pd.DataFrame(parts), "+".join(parts)
    assert joined_name(frame, list(frame), [c for c in frame if c == "day"]) is None
    with pytest.warns(ConvCNPWarning, match="is read as the") as said:
        times = time_column(frame, name)
    words = [str(warning.message).split(" is read as the ")[1].split(",")[0] for warning in said]
    assert words == read
    again = pd.DataFrame(split_times(frame, name, times))
    assert again.to_dict("list") == frame.to_dict("list")


def test_a_name_that_may_mean_something_else_is_a_part_beside_others_alone():
    assert not is_part(pd.Series([5, 12], name="dia"))
    assert is_part(pd.Series([5, 12], name="Giorno"))


def test_years_of_two_digits_get_their_century():
    frame = pd.DataFrame({"yr": [99, 0, 5], "mo": [12, 1, 1]})
    with pytest.warns(ConvCNPWarning, match="two digits are read .*: 99 as 1999"):
        found = time_column(frame, "yr+mo")
    assert found.dt.year.tolist() == [1999, 2000, 2005]
    assert split_times(frame, "yr+mo", found)["yr"].tolist() == [99, 0, 5]


def test_a_day_of_the_year_and_a_clock_need_no_year():
    frame = pd.DataFrame({"Day": [79, 79, 80], "Hour": [0, 1200, 0], "v": [1.0, 2, 3]})
    assert joined_name(frame, list(frame), []) == "Day+Hour"
    with pytest.warns(ConvCNPWarning, match="no year beside 'Day', 'Hour': 2001"):
        assert time_column(frame, "Day+Hour").dt.day_of_year.tolist() == [79, 79, 80]
    assert joined_name(frame[["Day", "v"]], ["Day", "v"], []) is None


def test_a_missing_year_is_said_and_put_in():
    frame = pd.DataFrame({"Month": [2, 5, None], "Day": [28, 30, 31]})
    with pytest.warns(ConvCNPWarning, match="no year beside 'Month', 'Day': 2001"):
        assert time_column(frame, "Month+Day").dt.year.tolist()[:2] == [2001, 2001]
    with pytest.warns(ConvCNPWarning, match="2000"):
        assert time_column(frame.assign(Day=29), "Month+Day").notna().tolist() == [
            True,
            True,
            False,
        ]


def test_a_column_stays_what_it_is():
    frame = pd.DataFrame({"a+b": [1, 2], "t": [3, 4]})
    assert time_column(frame, "a+b").tolist() == [1, 2]
    assert has_time(frame, "t")
    assert not has_time(frame, "t+c")
    assert split_times(frame, "t", pd.Series([5])).keys() == {"t"}


def test_a_clock_that_is_a_fact_of_the_day_is_no_part():
    days = pd.DataFrame({"date": ["2020-01-01", "2020-01-02"], "sunrise": ["8:17", "8:16"]})
    assert joined_name(days, list(days), ["date"]) is None


def test_numbers_are_clock_times_only_if_all_could_be():
    frame = pd.DataFrame({"Datum": ["2020-01-31"] * 2, "time": [840, 870]})
    assert joined_name(frame, list(frame), ["Datum"]) is None
    assert joined_name(frame.assign(time=[840, 910]), list(frame), ["Datum"]) == "Datum+time"
    elapsed = frame.assign(time=[5, 40])  # perhaps hours, perhaps not
    assert joined_name(elapsed, list(frame), ["Datum"]) is None


def test_minutes_without_hours_and_days_without_months_are_no_time():
    frame = pd.DataFrame({"year": [2020, 2021], "day": [1, 2], "minute": [3, 4]})
    assert joined_name(frame, list(frame), []) is None
    with pytest.raises(TableError, match="Expected a month or a date among the parts"):
        time_column(frame, "year+day")
    with pytest.raises(TableError, match=r"such as a year.*got 'v'"):
        time_column(frame.assign(v=1.5), "year+v")


def test_parts_are_known_by_their_names():
    assert (role_of("YEAR"), role_of("min"), role_of("doy")) == ("year", None, "day of the year")
