"""Users' tables: their rows, as series."""

import warnings

import numpy as np
import pandas as pd
import pytest

from convcnp.errors import ConvCNPWarning, TableError
from convcnp.frames.columns import Columns, choose_columns
from convcnp.frames.series import Ragged, Rows, SeriesTable
from helpers import points_frame

DATES = ["2020-02-01", "2020-02-02", "2020-02-13"]


def test_a_table_is_sorted_by_series_and_time_and_rows_without_either_are_left_out():
    frame = pd.DataFrame(
        {"id": ["b", "a", "b", None, "a"], "t": [2, 1, 1, 9, None], "v": [1.0, 2, 3, 4, 5]}
    )
    with pytest.warns(ConvCNPWarning, match="2 of 5 rows"):
        table = SeriesTable.of(frame, Columns(("v",), time="t", group="id"))
    assert table.labels.tolist() == ["b", "a"]
    assert table.series.x.tolist() == [1.0, 2.0, 1.0]
    assert table.series.starts.tolist() == [0, 2, 3]
    assert table.y[:, 0].tolist() == [3.0, 1.0, 2.0]


def test_values_that_are_all_missing_get_a_sentence():
    frame = pd.DataFrame({"t": [0, 1], "v": [np.nan, np.nan]})
    with pytest.raises(TableError, match="Expected observed values in 'v'"):
        SeriesTable.of(frame, Columns(("v",), time="t"))


def test_asked_rows_are_found_in_their_series():
    frame = pd.DataFrame({"id": ["b", "a"], "t": [0, 0], "v": [1.0, 2.0]})
    table = SeriesTable.of(frame, Columns(("v",), time="t", group="id"))
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
        pd.DataFrame({"id": ["b", "a"], "t": [0, 0], "v": [1.0, 2.0]}),
        Columns(("v",), time="t", group="id"),
    )
    with pytest.raises(TableError, match=sentence):
        table.asked_in(pd.DataFrame(asked))


def test_a_plain_table_gives_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = pd.DataFrame({"id": list("aabb"), "date": DATES[:2] * 2, "v": [1.0, 2, 3, 4]})
        SeriesTable.of(frame, choose_columns(frame))


def test_observed_rows_of_some_channels_are_kept_series_by_series():
    frame = pd.DataFrame(
        {"id": list("aab"), "t": [0, 1, 2], "u": [1.0, np.nan, 2], "v": [np.nan, 3, np.nan]}
    )
    table = SeriesTable.of(frame, Columns(("u", "v"), time="t", group="id"))
    series, y = table.observed([1])
    assert (series.x.tolist(), series.lengths.tolist(), y.tolist()) == ([1.0], [1, 0], [[3.0]])
    assert len(table.observed([0, 1])[1]) == 3


def test_ragged_series_know_their_rows_and_inputs():
    series = Ragged(np.array([3.0, 4.0, 5.0]), np.array([0, 2, 2, 3]))
    assert series.owners.tolist() == [0, 0, 2]
    assert series.x[series.rows(2)].tolist() == [5.0]
    assert (series.dim_x, series.inputs.shape) == (1, (3, 1))
    assert series.starts_among(np.array([False, True, True])).tolist() == [0, 1, 1, 2]
    assert Ragged(np.zeros((0, 2)), np.array([0, 0])).inputs.shape == (0, 2)


def test_rows_of_points_have_both_inputs():
    frame = points_frame(10)
    frame.loc[3, "depth"] = np.nan
    rows = Rows.of(frame, Columns(("depth",), inputs=("east", "north")))
    assert (rows.x.shape, rows.y.shape, rows.labels) == ((9, 2), (9, 1), ("",))
    assert set(rows.x[:, 1]) == set(frame["north"].drop(3))


@pytest.mark.parametrize(("ids", "asked"), [(["007", "012"], [12]), ([7, 12], ["012"])])
def test_series_named_in_digits_are_found_with_and_without_zeros_in_front(ids, asked):
    frame = pd.DataFrame({"id": ids, "t": [0, 0], "v": [1.0, 2.0]})
    table = SeriesTable.of(frame, Columns(("v",), time="t", group="id"))
    found, _ = table.asked_in(pd.DataFrame({"id": asked, "t": [5]}))
    assert found.lengths.tolist() == [0, 1]
    with pytest.raises(TableError, match="Expected series that are in the table"):
        table.asked_in(pd.DataFrame({"id": ["001" if ids[0] == 7 else 1], "t": [5]}))
