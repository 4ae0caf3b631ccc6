"""Users' tables: reading them, finding columns, and times there and back."""

import warnings

import numpy as np
import pandas as pd
import pytest

from convcnp.errors import ConvCNPWarning, TableError
from convcnp.frames import (
    Columns,
    SeriesTable,
    TimeAxis,
    choose_columns,
    numbers,
    plain,
    read_table,
)

DATES = ["2020-02-01", "2020-02-02", "2020-02-13"]


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# --- Reading --------------------------------------------------------------------------------------

TABLES = {
    "comma": "t,v\n0,1.5\n1,\n",
    "quoted": '"t","v"\n"0","1.5"\n"1",""\n',
    "tab": "t\tv\n0\t1.5\n1\t\n",
    "semicolon and decimal comma": "t;v\n0;1,5\n1;\n",
    "semicolon and decimal point": "t;v\n0;1.5\n1;\n",
    "tab and decimal comma": "t\tv\r\n0\t1,5\r\n1\t\r\n",
    "spaces": "t, v\n0, 1.5\n1, \n",
    "separator at the end of rows": "t,v\n0,1.5,\n1,,\n",
    "remarks": "# made by hand\n\n# twice\nt,v\n0,1.5\n1,\n",
    "byte order mark": b"\xef\xbb\xbft,v\n0,1.5\n1,\n",
    "UTF-16": "t,v\n0,1.5\n1,\n".encode("utf-16"),
}


@pytest.mark.parametrize("kind", TABLES)
def test_one_table_is_read_from_all_its_kinds(kind, tmp_path):
    frame = read_table(written(tmp_path / "table.csv", TABLES[kind]))
    pd.testing.assert_frame_equal(frame, pd.DataFrame({"t": [0, 1], "v": [1.5, np.nan]}))


def test_dotted_dates_do_not_hide_decimal_commas(tmp_path):
    frame = read_table(written(tmp_path / "a.csv", "Tag;Wert\n01.02.2020;1,5\n02.02.2020;2,5\n"))
    assert frame["Wert"].tolist() == [1.5, 2.5]


def test_a_separator_inside_quotes_separates_nothing(tmp_path):
    frame = read_table(written(tmp_path / "a.csv", '"a;b;c",v\n0,1\n'))
    assert list(frame) == ["a;b;c", "v"]


def test_names_of_western_europe_are_read(tmp_path):
    frame = read_table(written(tmp_path / "a.csv", "t,Größe\n0,1\n".encode("cp1252")))
    assert list(frame) == ["t", "Größe"]


@pytest.mark.parametrize("first", ["0,1.5", "2020-01-01,1.5", "13/02/2020 10:00,", '"0","1"'])
def test_a_table_without_a_header_keeps_its_first_row(first, tmp_path):
    frame = read_table(written(tmp_path / "a.csv", f"{first}\n{first}\n"))
    assert list(frame) == ["time", "value1"]
    assert len(frame) == 2


@pytest.mark.parametrize("has_index", [True, False])
def test_parquet_is_read_with_its_index(has_index, tmp_path):
    frame = pd.DataFrame({"t": pd.to_datetime(DATES).tz_localize("UTC"), "v": [1.0, 2.0, 3.0]})
    (frame.set_index("t") if has_index else frame).to_parquet(tmp_path / "table.parquet")
    pd.testing.assert_frame_equal(read_table(tmp_path / "table.parquet"), frame)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "but it is empty"),
        (b" \n\n", "but it is empty"),
        (b"t,v\n", "but there are none"),
        (b"t,v\n0,1,2\n1,2,3\n", "Expected rows of equal length"),
        (b"t,v\n0,1\n1,2,3\n", "Expected rows of equal length"),
        (b't,v\n0,"1\n', "check the separator and quotes"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "neither text nor Parquet"),
        (np.random.default_rng(0).bytes(2000), "neither text nor Parquet"),
        (b"PAR1 and no more", "may be cut short"),
    ],
)
def test_what_is_no_table_gets_a_sentence(content, sentence, tmp_path):
    with pytest.raises(TableError, match=sentence):
        read_table(written(tmp_path / "table.csv", content))


def test_a_missing_file_suggests_the_nearest(tmp_path):
    written(tmp_path / "basic.csv", "t,v\n0,1\n")
    with pytest.raises(TableError, match=r"did you mean 'basic.csv'\?"):
        read_table(tmp_path / "basics.csv")
    with pytest.raises(TableError, match="cannot be read"):
        read_table(tmp_path)


# --- Columns --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        ({"v": [1.0, 2], "time": [0, 1]}, Columns("time", ("v",))),
        ({"a": [0, 1], "b": [1.0, 2], "c": [3, 4]}, Columns("a", ("b", "c"))),
        ({"v": [1.0, 2], "when": ["2020-01-01", "2020-01-02"]}, Columns("when", ("v",))),
        ({"t": [0, 1], "v": [1.0, 2], "empty": [None, None]}, Columns("t", ("v", "empty"))),
        ({"station": [7, 7], "t": [0, 1], "v": [1.0, 2]}, Columns("t", ("v",), "station")),
        ({"kind": list("aabb"), "t": [0, 1] * 2, "v": [1.0] * 4}, Columns("t", ("v",), "kind")),
        ({"note": list("abcd"), "t": [0, 1] * 2, "v": [1.0] * 4}, Columns("t", ("v",))),
        ({"Unnamed: 0": [0, 1], "date": ["2020-01-01"] * 2, "v": [1, 2]}, Columns("date", ("v",))),
        ({"t": [0, 1, 2], "v": ["1", "2", "oops"]}, Columns("t", ("v",))),
    ],
)
def test_columns_are_guessed(frame, expected):
    assert choose_columns(pd.DataFrame(frame)) == expected


LATER = pd.date_range("2020-01-01", periods=6)
COLUMNS = {
    "date": DATES * 2,
    "time": range(6),
    "v": range(6),
    "w": range(6),
    "seen": LATER,
    "since": LATER - LATER[0],
    "holiday": [True, False] * 3,
    "on": [True, None] * 3,
    "probe": ["T1", "T2"] * 3,
    "mode": ["10m", "1-2"] * 3,
    "when": ["5-Feb-20", "6-Feb-20", "7-Feb-20"] * 2,
    "clock": [f"{i}:30" for i in range(6)],
    "well": ["T1001", "T1002"] * 3,
    "version": ["1.2.3", "1.2.4"] * 3,
    "since_noon": [f"{i}:30 PM" for i in range(6)],
    "began": ["Nov-19", "Dec-19", "Jan-20", "Feb-20", "Mar-20", "Apr-20"],
}


@pytest.mark.parametrize(
    ("names", "time", "values", "group"),
    [
        ("date v seen", "date", ("v",), None),
        ("v since w", "since", ("v", "w"), None),
        ("time v since", "time", ("v",), None),
        ("date v holiday", "date", ("v",), None),
        ("date v on", "date", ("v",), None),
        ("probe time v", "time", ("v",), "probe"),
        ("mode v w", "v", ("w",), "mode"),
        ("when v", "when", ("v",), None),
        ("date clock v", "date", ("v",), None),
        ("v clock", "clock", ("v",), None),
        ("well time v", "time", ("v",), "well"),
        ("version time v", "time", ("v",), "version"),
        ("v since_noon", "since_noon", ("v",), None),
        ("v began", "began", ("v",), None),
    ],
)
def test_dates_durations_flags_and_labels_are_told_apart(names, time, values, group):
    frame = pd.DataFrame({name: COLUMNS[name] for name in names.split()})
    assert choose_columns(frame) == Columns(time, values, group)


def test_dates_are_no_values_even_if_named():
    with pytest.raises(TableError, match="a number in every cell of 'seen', got 2020-01-01"):
        numbers(pd.DataFrame({"seen": LATER}), "seen")


def test_several_names_of_times_are_warned_of():
    frame = pd.DataFrame({"year": [2020] * 3, "month": [1, 2, 3], "v": [1.0, 2, 3]})
    with pytest.warns(ConvCNPWarning, match="'year', 'month' may all be the time; 'year' is taken"):
        assert choose_columns(frame).time == "year"


def test_any_name_is_a_name_of_a_column_but_several_levels_are_not():
    assert list(plain(pd.DataFrame({"self": [1], 2: [3]}))) == ["self", "2"]
    with pytest.raises(TableError, match="Expected one level of column names, got 2"):
        plain(pd.DataFrame({("a", "b"): [1]}))


def test_names_that_differ_by_spaces_alone_are_refused(tmp_path):
    with pytest.raises(TableError, match="different names, got 'a' more than once"):
        read_table(written(tmp_path / "a.csv", "time,a ,a\n0,1,2\n"))


def test_a_quoted_first_row_above_bare_numbers_is_a_header(tmp_path):
    frame = read_table(written(tmp_path / "a.csv", '"0","1"\n5,6\n7,8\n'))
    assert frame.to_dict("list") == {"0": [5, 7], "1": [6, 8]}


def test_named_columns_are_taken_and_an_empty_group_means_none():
    frame = pd.DataFrame({"id": [1, 2], "t": [0, 1], "u": [0.0, 1.0], "v": [1.0, 2.0]})
    assert choose_columns(frame, "u", "v", "t") == Columns("u", ("v",), "t")
    assert choose_columns(frame, group="") == Columns("t", ("u", "v"))
    with pytest.warns(ConvCNPWarning, match="2 series of one row each"):
        assert choose_columns(frame).group == "id"


@pytest.mark.parametrize(
    "names", [("tine", None, None), (None, "tine", None), (None, None, "tine")]
)
def test_a_column_that_is_not_there_suggests_the_nearest(names):
    with pytest.raises(TableError, match=r"Expected a column 'tine'.*did you mean 'time'\?"):
        choose_columns(pd.DataFrame({"time": [0], "v": [1.0]}), *names)


@pytest.mark.parametrize("names", [("t", "t", None), (None, "v", "v"), (None, ["v", "v"], None)])
def test_a_column_has_one_role(names):
    with pytest.raises(TableError, match=r"different columns for .* got '.' more than once"):
        choose_columns(pd.DataFrame({"t": [0], "v": [1.0]}), *names)


def test_a_number_among_dates_is_named():
    column = pd.Series(["2020-01-01", "17.5", "2020-01-03"], name="t")
    with pytest.raises(
        TableError, match=r"Expected a date, as in other rows, .* got '17.5' in row"
    ):
        TimeAxis.of(column).numbers(column)


def test_a_table_without_times_or_values_gets_a_sentence():
    with pytest.raises(TableError, match=r"Expected a column of times.*--time"):
        choose_columns(pd.DataFrame({"a": ["x"], "b": ["y"]}))
    with pytest.raises(TableError, match=r"beside the time 't'.*'b'.*--value"):
        choose_columns(pd.DataFrame({"t": [0], "b": ["y"]}))


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ([1, "oops", "also"], "a number in every cell of 'v', got 'oops' in row 2 of 3"),
        ([1.0, 2.0, np.inf], "a finite number in every cell of 'v', got inf in row 3 of 3"),
        ([1.0, -1e40], r"a number below 1e\+30 in every cell of 'v', got -1e\+40 in row 2 of 2"),
    ],
)
def test_the_first_bad_number_is_named(cells, sentence):
    with pytest.raises(TableError, match=sentence):
        numbers(pd.DataFrame({"v": cells}), "v")


# --- Times ----------------------------------------------------------------------------------------

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


@pytest.mark.parametrize("kind", ["period", "arrow", "arrow with a zone"])
def test_periods_and_times_of_arrow_are_dates(kind):
    dates = pd.Series(pd.to_datetime(DATES), name="time")
    if kind == "period":
        column = dates.dt.to_period("D")
    else:
        pyarrow = pytest.importorskip("pyarrow")
        zone = "Europe/Berlin" if "zone" in kind else None
        column = dates.dt.tz_localize(zone).astype(pd.ArrowDtype(pyarrow.timestamp("us", zone)))
        dates = dates.dt.tz_localize(zone)
    found = plain(column.to_frame())["time"]
    assert choose_columns(plain(pd.DataFrame({"a": column, "v": [1, 2, 3]}))).time == "a"
    assert TimeAxis.of(found).times(np.array([0.0]))[0] == dates[0]


def test_asked_dates_are_read_as_those_of_the_series_are():
    axis = TimeAxis.of(pd.Series(["01/02/2020", "13/02/2020"]))
    assert axis.numbers(pd.Series(["02/02/2020"])).tolist() == [86400.0]


def test_dates_that_could_be_read_otherwise_are_warned_of():
    with pytest.warns(ConvCNPWarning, match="read as month, day, year"):
        axis = TimeAxis.of(pd.Series(["01/02/2020", "02/02/2020"]))
    assert axis.origin == pd.Timestamp("2020-01-02")


def test_offsets_that_differ_become_utc():
    column = pd.Series(["2020-03-29T01:00:00+01:00", "2020-03-29T03:00:00+02:00"])
    axis = TimeAxis.of(column)
    assert axis.numbers(column).tolist() == [0.0, 3600.0]
    assert str(axis.dtype.tz) == "UTC"


def test_clocks_without_a_zone_are_those_of_the_series():
    zoned = pd.Series(pd.to_datetime(["2020-01-01", "2020-06-01"]).tz_localize("Europe/Berlin"))
    naive = pd.Series(pd.to_datetime(["2020-01-01 01:00", "2020-03-29 02:30", "2020-10-25 02:30"]))
    assert TimeAxis.of(zoned).numbers(naive)[0] == 3600.0
    assert TimeAxis.of(naive).numbers(zoned)[0] == -7200.0  # midnight in Berlin is 23 UTC


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


# --- Series ---------------------------------------------------------------------------------------


def test_a_table_is_sorted_by_series_and_time_and_rows_without_either_are_left_out():
    frame = pd.DataFrame(
        {"id": ["b", "a", "b", None, "a"], "t": [2, 1, 1, 9, None], "v": [1.0, 2, 3, 4, 5]}
    )
    with pytest.warns(ConvCNPWarning, match="2 of 5 rows"):
        table = SeriesTable.of(frame, Columns("t", ("v",), "id"))
    assert table.labels.tolist() == ["b", "a"]
    assert table.series.x.tolist() == [1.0, 2.0, 1.0]
    assert table.series.starts.tolist() == [0, 2, 3]
    assert table.y[:, 0].tolist() == [3.0, 1.0, 2.0]


def test_values_that_are_all_missing_get_a_sentence():
    frame = pd.DataFrame({"t": [0, 1], "v": [np.nan, np.nan]})
    with pytest.raises(TableError, match="Expected observed values in 'v'"):
        SeriesTable.of(frame, Columns("t", ("v",)))


def test_asked_rows_are_found_in_their_series():
    frame = pd.DataFrame({"id": ["b", "a"], "t": [0, 0], "v": [1.0, 2.0]})
    table = SeriesTable.of(frame, Columns("t", ("v",), "id"))
    asked, order = table.asked_in(pd.DataFrame({"id": ["a", "b", "a"], "t": [7, 8, 6]}))
    assert asked.x.tolist() == [8.0, 7.0, 6.0]
    assert asked.starts.tolist() == [0, 1, 3]
    assert order.tolist() == [1, 0, 2]
    assert table.frame(asked)["id"].tolist() == ["b", "a", "a"]


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"t": [0]}, "Expected a column 'id' in the table of asked times"),
        ({"id": ["a"], "tt": [0]}, r"Expected a column 't'.*did you mean 'tt'\?"),
        ({"id": ["c"], "t": [0]}, "but 'c' in 'id' is not"),
        ({"id": ["a", "a"], "t": [0, None]}, "row 2 has none in 't'"),
    ],
)
def test_asked_rows_that_cannot_be_used_get_a_sentence(asked, sentence):
    table = SeriesTable.of(
        pd.DataFrame({"id": ["b", "a"], "t": [0, 0], "v": [1.0, 2.0]}), Columns("t", ("v",), "id")
    )
    with pytest.raises(TableError, match=sentence):
        table.asked_in(pd.DataFrame(asked))


def test_a_plain_table_gives_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = pd.DataFrame({"id": list("aabb"), "date": DATES[:2] * 2, "v": [1.0, 2, 3, 4]})
        SeriesTable.of(frame, choose_columns(frame))
