"""Users' tables: what their columns are, and their series."""

import warnings

import numpy as np
import pandas as pd
import pytest

from convcnp.errors import ConvCNPWarning, TableError
from convcnp.frames.series import Columns, SeriesTable, choose_columns
from convcnp.frames.time_axis import TimeAxis

DATES = ["2020-02-01", "2020-02-02", "2020-02-13"]

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


def test_several_names_of_times_are_warned_of():
    frame = pd.DataFrame({"year": [2020] * 3, "month": [1, 2, 3], "v": [1.0, 2, 3]})
    with pytest.warns(ConvCNPWarning, match="'year', 'month' may all be the time; 'year' is taken"):
        assert choose_columns(frame).time == "year"


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
