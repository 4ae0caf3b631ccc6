"""Times as numbers, and numbers as times of the same type."""

import numpy as np
import pandas as pd
import pytest

from convcnp.errors import ConvCNPWarning, TableError
from convcnp.frames.time_axis import TimeAxis

DATES = ["2020-02-01", "2020-02-02", "2020-02-13"]


TIMES = {
    "integers": pd.Series([1990, 1991, 1995]),
    "floats": pd.Series([0.25, 1e9 + 0.5, 3.0]),
    "seconds since 1970": pd.Series([1.7e9 + 0.125, 1.7e9]),
    "nanoseconds since 1970": pd.Series([1_700_000_000_000_000_001, 1_700_000_000_000_000_129]),
    "dates": pd.Series(pd.to_datetime(DATES)),
    "nanoseconds": pd.Series(pd.to_datetime(["2020-01-01 00:00:00.000000001"])),
    "milliseconds for decades": pd.Series(
        pd.to_datetime(["1960-01-01 00:00:00.960", "2019-01-01 00:00:00.019"])
    ),
    "zone": pd.Series(pd.date_range("2020-03-28", periods=3, freq="D", tz="Europe/Berlin")),
    "before 1677": pd.Series(pd.to_datetime(["1500-07-01", "2000-01-01"])),
    "durations": pd.Series(pd.to_timedelta([0, 90, 3600], unit="s")),
}


@pytest.mark.parametrize("kind", TIMES)
def test_times_there_and_back_are_the_same_times_of_the_same_type(kind):
    column = TIMES[kind].rename("time")
    axis = TimeAxis.of(column)
    back = axis.times(axis.numbers(column))
    pd.testing.assert_index_equal(back, pd.Index(column), check_names=False)


def test_rounding_alone_needs_no_finer_type():
    axis = TimeAxis.of(pd.Series(pd.to_datetime(["2020-01-01"]).as_unit("ms")))
    a_little_off = np.array([0.2 + 3 * np.spacing(0.2)])
    assert axis.times(a_little_off).unit == "ms"


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_that_no_type_holds_get_the_finest(unit):
    axis = TimeAxis.of(pd.Series(pd.to_datetime(["2020-01-01"]).as_unit(unit)))
    third = axis.times(np.array([1 / 3]))
    assert third.unit == "ns" and third.nanosecond.tolist() == [333]


def test_times_that_need_it_get_a_finer_type():
    assert TimeAxis.of(pd.Series([0, 1])).times(np.array([0.5])).tolist() == [0.5]
    axis = TimeAxis.of(pd.Series(pd.to_datetime(DATES)).astype("datetime64[s]"))
    assert axis.times(np.array([0.5]))[0] == pd.Timestamp("2020-02-01 00:00:00.5")


@pytest.mark.parametrize(
    "texts",
    [
        DATES,
        ["01/02/2020", "02/02/2020", "13/02/2020"],
        ["02/01/2020", "02/02/2020", "02/13/2020"],
        ["01.02.2020", "02.02.2020", "13.02.2020"],
        ["1 Feb 2020", "2 Feb 2020", "13 Feb 2020"],
        ["20200201T00", "2020-02-02", "2020-02-13 00:00:00"],
    ],
)
def test_dates_are_read_in_many_forms(texts):
    column = pd.Series(texts, name="date")
    axis = TimeAxis.of(column)
    assert axis.numbers(column).tolist() == [0.0, 86400.0, 12 * 86400.0]


def test_months_with_a_short_year_are_no_days_of_a_year_long_ago():
    column = pd.Series(["Nov-19", "Dec-19", None, "Jan-20"], name="month")
    dates = TimeAxis.of(column).times(TimeAxis.of(column).numbers(column.dropna()))
    assert dates.tolist() == [pd.Timestamp(d) for d in ("2019-11-01", "2019-12-01", "2020-01-01")]
    with pytest.raises(TableError, match="Expected a date or number in every cell of 'd', got"):
        TimeAxis.of(pd.Series(["20-Jan", "21-Jan"], name="d"))


@pytest.mark.parametrize(
    "days",
    [[20200131, None, 20200201], ["20200131", "20200201"], [20200131]],
    ids=["a missing one", "texts", "one"],
)
def test_dates_without_separators_are_dates_in_any_column(days):
    with pytest.warns(ConvCNPWarning, match="20200131 in 'day' are read as dates"):
        assert TimeAxis.of(pd.Series(days, name="day")).origin == pd.Timestamp("2020-01-31")


def test_whole_numbers_that_are_all_dates_are_dates():
    column = pd.Series([20200131, 20200201, 20200203], name="day")
    with pytest.warns(ConvCNPWarning, match="such as 20200131 in 'day' are read as dates"):
        axis = TimeAxis.of(column)
    assert axis.numbers(column).tolist() == [0, 86400, 3 * 86400]
    assert axis.times(np.array([2 * 86400.0]))[0] == pd.Timestamp("2020-02-02")
    assert axis.numbers(pd.Series(["20200202", "20200204"])).tolist() == [2 * 86400, 4 * 86400]
    with pytest.raises(TableError, match=r"a date such as 20200131.*got 20200230"):
        axis.numbers(pd.Series([20200230], name="day"))
    assert TimeAxis.of(pd.Series([20200131, 20200132])).origin is None


@pytest.mark.parametrize(
    ("texts", "seconds"),
    [
        (["0 days 00:00:00", "1 days 02:00:00.5", "-1 days +23:00:00"], [0, 93600.5, -3600]),
        (["00:00", "06:30", "23:59"], [0, 23400, 86340]),
        (["0:00:10", "12:00:00", None], [10, 43200, np.nan]),
        (["12:30 AM", "1:00 a.m.", "12:00 PM", "11:59:59 pm"], [1800, 3600, 43200, 86399]),
    ],
)
def test_durations_and_clock_times_are_read_as_written(texts, seconds):
    column = pd.Series(texts, name="time")
    np.testing.assert_array_equal(TimeAxis.of(column).numbers(column), seconds)


SEVERAL = "'d' are written in several ways, such as '28.01.2023' and '2023-01-29'"


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("other", ["%Y-%m-%d", "%Y/%m/%d", "%Y%m%d", "%Y-%m-%d %H:%M"])
@pytest.mark.parametrize("written", ["%d.%m.%Y", "%d/%m/%Y", "%d/%m/%y %H:%M"])
def test_dates_of_mixed_formats_are_read_each_in_its_own(first, other, written):
    dates = pd.date_range("2023-01-28", periods=20)
    formats = (written, other)
    column = pd.Series([f"{d:{formats[(i + first) % 2]}}" for i, d in enumerate(dates)], name="d")
    column.index = [0] * 20
    with pytest.warns(ConvCNPWarning, match="'d' are written in several ways, such as '"):
        axis = TimeAxis.of(column)
    assert axis.times(axis.numbers(column)).tolist() == dates.tolist()


def test_dates_of_mixed_formats_are_said_with_two_of_them():
    with pytest.warns(ConvCNPWarning, match=SEVERAL):
        TimeAxis.of(pd.Series(["28.01.2023", "2023-01-29", "30.01.2023"], name="d"))
    worded = pd.Series(["27 Jan 2023", "28.01.2023", "01.02.2023"], name="d")
    with pytest.warns(ConvCNPWarning, match="such as '28.01.2023' and '27 Jan 2023'"):
        axis = TimeAxis.of(worded)
    assert axis.numbers(worded).tolist() == [0, 86400, 5 * 86400]


@pytest.mark.parametrize("day", ["28/01/2023", "28.01.2023", "01.02.2023"])
def test_dates_of_both_orders_are_refused(day):
    said = rf"order in 'd', got '{day}', which begins with the day, and '01/29/2023', which begins"
    with pytest.raises(TableError, match=said):
        TimeAxis.of(pd.Series([day, "01/29/2023", "02/01/2023"], name="d"))


def test_asked_dates_that_begin_with_the_year_are_read_as_such():
    axis = TimeAxis.of(pd.Series(["01/02/2020", "13/02/2020"]))
    for asked in ("2020-02-03", "2020/02/03", "2020/2/3"):
        assert axis.numbers(pd.Series([asked])).tolist() == [2 * 86400.0]


def test_asked_dates_are_read_as_those_of_the_series_are():
    axis = TimeAxis.of(pd.Series(["01/02/2020", "13/02/2020"]))
    assert axis.numbers(pd.Series(["02/02/2020"])).tolist() == [86400.0]


def test_dates_that_could_be_read_otherwise_are_warned_of():
    with pytest.warns(ConvCNPWarning, match="read as month, day, year"):
        axis = TimeAxis.of(pd.Series(["01/02/2020", "02/02/2020"]))
    assert axis.origin == pd.Timestamp("2020-01-02")


@pytest.mark.parametrize(
    "dates",
    [
        pd.date_range("2019-11-01", periods=15, freq="MS"),  # in the other order a year has a gap
        pd.date_range("2020-03-01", periods=100, freq="h"),  # and these come once a month
    ],
)
@pytest.mark.parametrize("written", ["%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M"])
def test_dates_are_read_in_the_order_in_which_they_follow_each_other(dates, written):
    with pytest.warns(ConvCNPWarning, match="to be certain"):
        axis = TimeAxis.of(pd.Series(dates.strftime(written)))
    assert axis.origin == dates[0]
    assert axis.day_first == written.startswith("%d")


def test_offsets_that_differ_become_utc():
    column = pd.Series(["2020-03-29T01:00:00+01:00", "2020-03-29T03:00:00+02:00"])
    axis = TimeAxis.of(column)
    assert axis.numbers(column).tolist() == [0.0, 3600.0]
    assert str(axis.dtype.tz) == "UTC"


def test_clocks_without_a_zone_are_those_of_the_series():
    zoned = pd.Series(pd.to_datetime(["2020-01-01", "2020-06-01"]).tz_localize("Europe/Berlin"))
    naive = pd.Series(pd.to_datetime(["2020-01-01 01:00", "2020-03-29 02:30", "2020-10-25 02:30"]))
    assert TimeAxis.of(zoned).numbers(naive)[0] == 3600.0
    with pytest.warns(ConvCNPWarning, match=r"times with one \(Europe/Berlin\) are put to UTC"):
        numbers = TimeAxis.of(naive).numbers(zoned)
    assert numbers[0] == -7200.0  # midnight in Berlin is 23 UTC


@pytest.mark.parametrize(
    ("texts", "years"),
    [
        (["29-Mar-58", "29-Mar-74"], [1958, 1974]),
        (["3/29/58", "3/30/58"], [1958, 1958]),
        (["Mar-58", "Mar-05"], [1958, 2005]),
        (["2058-03-29", "2074-03-29"], [2058, 2074]),
    ],
)
def test_years_of_two_digits_do_not_lie_far_ahead(texts, years):
    axis = TimeAxis.of(pd.Series(texts, name="t"))
    assert axis.times(axis.numbers(pd.Series(texts, name="t"))).year.tolist() == years


def test_whole_numbers_may_be_months():
    months = pd.Series([201411, 201412, 201501], name="t")
    with pytest.warns(ConvCNPWarning, match="such as 201411 in 't' are read as dates: year, month"):
        axis = TimeAxis.of(months)
    assert axis.times(axis.numbers(months)).month.tolist() == [11, 12, 1]
    with pytest.raises(TableError, match="a month such as 202001"):
        axis.numbers(pd.Series([201413], name="t"))
    assert TimeAxis.of(pd.Series([201411, 201412], name="t")).dtype.kind == "i"


@pytest.mark.parametrize(
    ("series", "asked", "sentence"),
    [
        (["2020-01-01"], [5.0], "Expected times as dates, like the series'"),
        ([5.0], ["2020-01-01"], "Expected times as numbers, like the series'"),
        (["2020-01-01", "foo", "2020-01-03", "bar"], None, "got 'foo' in row 2 of 4"),
        (["2020-01-01", "2020-13-45"], None, "got '2020-13-45' in row 2 of 2"),
        ([1, "foo", 3], None, "got 'foo' in row 2 of 3"),
        ([1.0, -np.inf], None, "a finite number in every cell of 't', got -inf in row 2"),
        ([None, None], None, "all its cells are missing"),
    ],
)
def test_times_that_cannot_be_used_get_a_sentence(series, asked, sentence):
    with pytest.raises(TableError, match=sentence):
        axis = TimeAxis.of(pd.Series(series, name="t"))
        axis.numbers(pd.Series(series if asked is None else asked, name="t"))


def test_zones_by_name_are_asked_for_as_offsets():
    with pytest.raises(TableError, match=r"as UTC or an offset such as \+01:00, .* CET' in row 1"):
        TimeAxis.of(pd.Series(["2020-01-31 18:30 CET", "2020-07-31 18:30 CEST"], name="t"))


def test_a_number_among_dates_is_named():
    column = pd.Series(["2020-01-01", "17.5", "2020-01-03"], name="t")
    with pytest.raises(
        TableError, match=r"Expected a date, as in other rows, .* got '17.5' in row"
    ):
        TimeAxis.of(column).numbers(column)


@pytest.mark.parametrize(
    "length, words",
    [
        (365.2425 * 86_400, "12 months"),
        (11 * 365.2425 * 86_400, "11 years"),
        (7 * 86_400, "7 days"),
        (86_400, "24 hours"),
        (90, "90 seconds"),
        (0.5, "0.5 seconds"),
    ],
)
def test_a_length_of_time_is_said_in_a_unit_that_people_count_in(length, words):
    axis = TimeAxis.of(pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"])))
    assert axis.duration(length) == words
    assert TimeAxis.of(pd.Series([1.0, 2.0])).duration(12.3456) == "12.3"


def test_months_behind_a_point_are_told_from_fractions_of_years():
    dates = pd.date_range("1999-03-01", periods=14, freq="MS")
    column = pd.Series(dates.year + dates.month / 100, name="date")
    for precision in ("float64", "float32"):
        with pytest.warns(ConvCNPWarning, match=r"Numbers such as 1999\.03 in 'date'"):
            axis = TimeAxis.of(column.astype(precision))
        assert axis.times(axis.numbers(column)).tolist() == dates.tolist()
    with pytest.raises(TableError, match=r"a month such as 2020\.01"):
        axis.numbers(pd.Series([1999.5], name="date"))
    assert TimeAxis.of(pd.Series(1999 + np.arange(24) / 12)).origin is None
    assert TimeAxis.of(column[:11]).origin is None  # too few to tell


@pytest.mark.parametrize("written", ["%Y%m%d%H", "%Y%m%d%H%M", "%Y%m%d%H%M%S"])
def test_times_written_as_one_number_are_no_plain_numbers(written):
    hours = pd.date_range("2020-01-31 20:00", periods=9, freq="h")
    column = pd.Series(hours.strftime(written).astype("int64"), name="time")
    with pytest.warns(ConvCNPWarning, match="are read as dates: year, month, day, hour"):
        axis = TimeAxis.of(column)
    assert axis.times(axis.numbers(column)).tolist() == hours.tolist()
    seconds = pd.Series(1_577_836_800 + 3600 * np.arange(9), name="time")
    assert TimeAxis.of(seconds).dtype.kind == "i"


@pytest.mark.parametrize("written", ["%Y%j", "%G%V"])
def test_days_and_weeks_of_years_are_told_by_the_new_year(written):
    days = pd.Series(pd.date_range("2019-12-02", periods=12, freq="7D"))
    column = days.dt.strftime(written).astype("int64").rename("d")
    with pytest.warns(ConvCNPWarning, match="read as dates: year, (day of the year|week)"):
        axis = TimeAxis.of(column)
    assert axis.times(axis.numbers(column)).tolist() == days.tolist()
    assert TimeAxis.of(column[:4]).dtype.kind == "i"  # of one year: as far apart as numbers
    assert TimeAxis.of(pd.Series(range(2_019_900, 2_020_100), name="d")).dtype.kind == "i"


def test_a_day_of_a_year_may_be_text():
    column = pd.Series(["2020-031", "2020-366"], name="d")
    axis = TimeAxis.of(column)
    assert axis.times(axis.numbers(column)).strftime("%m-%d").tolist() == ["01-31", "12-31"]


def test_of_two_dates_in_a_cell_the_first_is_read_and_said():
    weeks = pd.Series(["2020-01-05 - 2020-01-11", "2020-01-12 - 2020-01-18"], name="week")
    with pytest.warns(ConvCNPWarning, match="in 'week' are read as the date that they begin with"):
        axis = TimeAxis.of(weeks)
    assert axis.origin == pd.Timestamp("2020-01-05")


def test_an_era_is_no_zone():
    with pytest.raises(TableError, match="a date or number in every cell of 't', got '500 BC'"):
        TimeAxis.of(pd.Series(["500 BC", "490 BC"], name="t"))
