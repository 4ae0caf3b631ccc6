"""Numbers that stand for missing values."""

import numpy as np
import pandas as pd
import pytest

from convcnp.errors import ConvCNPWarning, TableError
from convcnp.frames.columns import Columns, choose_columns
from convcnp.frames.sentinels import (
    _looks_made_up,
    _may_look_made_up,
    missing_cells,
    without_sentinels,
)
from convcnp.frames.series import SeriesTable

LEVELS = [3.5, 4.0, 4.25, 5.0, 3.75, 4.5]


@pytest.mark.parametrize(
    "sentinel", [-999, 9999, 1e20, -99.9, -9999.0, -8888, -32768, 9.96921e36, -999.25, -9999.25]
)
def test_a_repeated_number_far_outside_is_noticed_and_said(sentinel):
    frame = pd.DataFrame({"t": range(8), "v": [*LEVELS, sentinel, sentinel]})
    with pytest.warns(ConvCNPWarning, match="'v': .* in 2 of 8 rows, is read as missing"):
        table = SeriesTable.of(frame, choose_columns(frame))
    assert np.isnan(table.y[:, 0]).tolist() == [False] * 6 + [True] * 2


@pytest.mark.parametrize(
    "values",
    [
        [*LEVELS, 9.9],  # once, and not very far
        [*LEVELS, 500, 500],  # nothing that is made up
        [90.0, 95, 99, 99, 85, 97],  # not far
        [9.0, 9.0, 1.0, 2.0],
        [-999, -999],  # nothing else
        ["low", "high", "low"],
    ],
)
def test_other_numbers_stay(values):
    frame = pd.DataFrame({"t": range(len(values)), "v": values})
    assert without_sentinels(frame, Columns(("v",), time="t")) is frame


def test_numbers_that_stand_for_missing_values_do_not_hide_each_other():
    column = pd.Series([*LEVELS, -8888, -8888, -9999])
    assert missing_cells(column, ())[1] == [-9999.0, -8888.0]


def test_a_number_that_is_there_once_is_kept_and_said():
    frame = pd.DataFrame({"t": range(7), "v": [*LEVELS, -999]})
    with pytest.warns(ConvCNPWarning, match=r"'v': -999 is very far .* name it with missing=\."):
        assert without_sentinels(frame, Columns(("v",), time="t")) is frame
    kept = Columns(("v",), time="t", missing=("none",))
    assert without_sentinels(frame, kept) is frame


WAVE = np.round(10 + np.sin(np.arange(40) / 3), 2)


@pytest.mark.parametrize("stuck", [-127, 0, 327.5])
def test_a_number_that_is_repeated_far_from_all_others_is_kept_and_said(stuck):
    values = WAVE.copy()
    values[[5, 6, 20]] = stuck
    frame = pd.DataFrame({"t": range(40), "v": values})
    with pytest.warns(ConvCNPWarning, match=rf"'v': {stuck} is very far .* 3 of 40 .* missing="):
        assert without_sentinels(frame, Columns(("v",), time="t")) is frame
    kept = Columns(("v",), time="t", missing=("none",))
    assert without_sentinels(frame, kept) is frame


RAIN = np.round(np.random.default_rng(1).gamma(0.3, 8.0, 200), 1)


@pytest.mark.parametrize(
    "values",
    [
        RAIN,  # many zeros
        np.random.default_rng(1).poisson(2.0, 200),  # counts
        np.minimum(500 * WAVE, 5200),  # a sensor at its limit
        np.where(np.arange(40) % 4 == 1, 100 * WAVE, 0.0),  # peaks over zeros
        np.where(np.arange(40) % 10 == 1, 100.0, 0.0),  # two states
        np.repeat([1.0, 10.0, 100.0, 1000.0], 3),  # a series of doses
    ],
)
def test_a_number_that_is_repeated_as_measurements_are_is_not_said(values):
    frame = pd.DataFrame({"t": range(len(values)), "v": values})
    assert without_sentinels(frame, Columns(("v",), time="t")) is frame


def test_repeated_numbers_at_both_ends_are_each_said():
    frame = pd.DataFrame({"t": range(44), "v": [*WAVE, -127, 85, 85, -127]})
    with (
        pytest.warns(ConvCNPWarning, match="-127 is very far .* in 2 of 44 rows"),
        pytest.warns(ConvCNPWarning, match="85 is very far .* in 2 of 44 rows"),
    ):
        without_sentinels(frame, Columns(("v",), time="t"))


def test_what_stands_for_missing_values_may_be_named():
    frame = pd.DataFrame({"t": range(4), "v": ["1.5", "-1", "miss", "2"], "w": [-1.0, 0, 1, 2]})
    named = Columns.named(missing=["miss", -1.0])
    cleaned = without_sentinels(frame, Columns(("v", "w"), time="t", missing=named.missing))
    assert cleaned.isna().sum().tolist() == [0, 2, 1]


def test_none_keeps_all():
    frame = pd.DataFrame({"t": range(8), "v": [*LEVELS, -999, -999]})
    columns = choose_columns(frame, Columns.named(missing="none"))
    assert SeriesTable.of(frame, columns).y.min() == -999
    assert missing_cells(frame["v"], ("none",))[1] == []


def test_a_column_of_named_values_alone_is_empty():
    frame = pd.DataFrame({"t": range(2), "v": [-1, -1]})
    with pytest.raises(TableError, match="every cell is missing"):
        SeriesTable.of(frame, Columns(("v",), time="t", missing=("-1",)))


def test_few_numbers_are_looked_at_one_by_one_and_all_that_look_made_up_among_them():
    generator = np.random.default_rng(3)
    measured = generator.normal(size=20_000) * 10 ** generator.uniform(-3, 12, 20_000)
    made_up = [float(f"{d * n}e{e}") for d in "789" for n in range(1, 9) for e in range(-6, 6)]
    numbers = np.array([*measured, *made_up, *np.round(measured, 1), 0.0, 9.96921e36, 1e20, -32768])
    may = _may_look_made_up(numbers)
    assert all(may[[_looks_made_up(number) for number in numbers.tolist()]])
    assert may[: len(measured)].mean() < 0.1
