"""The resolution of a table's times."""

import numpy as np
import pandas as pd
import pytest

from convcnp.frames.columns import Columns
from convcnp.frames.resolution import rounded, whole_unit
from convcnp.frames.series import SeriesTable


def table(times):
    return SeriesTable.of(pd.DataFrame({"t": times, "v": 1.0}), Columns(("v",), time="t"))


@pytest.mark.parametrize(
    ("times", "unit"),
    [
        (pd.date_range("2020-01-01", periods=3, freq="7D"), "D"),
        (pd.date_range("2021-03-27", periods=3, tz="Europe/Berlin"), "D"),
        (pd.date_range("2020-01-01", periods=3, freq="90min"), "min"),
        (pd.to_timedelta([0, 30, 90], unit="s"), "s"),
        (pd.to_timedelta([0.0, 0.5], unit="s"), None),
        ([1.0, 2.0], None),
    ],
)
def test_the_unit_is_the_largest_that_all_times_are_whole_in(times, unit):
    assert whole_unit(table(times)) == unit


def test_times_are_rounded_to_the_unit_of_their_table():
    days = table(pd.date_range("2021-03-27", periods=3, tz="Europe/Berlin"))
    noon = np.array([1.5 * 86400])  # of the day on which clocks change
    assert rounded(noon, np.zeros(1), "D", days).tolist() == [47 * 3600.0]
    assert rounded(noon + 100, np.full(1, 7.0), "h", days).tolist() == [36 * 3600.0 + 7]


def test_numbers_are_rounded_where_all_are_whole():
    x = np.array([1.4, 2.6])
    assert rounded(x, x, None, table([0, 3, 7])).tolist() == [1.0, 3.0]
    assert rounded(x, x, None, table([0, 3, 7.5])).tolist() == [1.4, 2.6]
    parts = table(pd.to_timedelta([0.0, 0.5], unit="s"))
    assert rounded(x, x, None, parts).tolist() == [1.4, 2.6]
