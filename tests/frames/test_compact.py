"""Dates written as numbers: which numbers are some, and which they are."""

import numpy as np
import pandas as pd
import pytest

from convcnp.frames.compact import (
    EXAMPLES,
    compact_dates,
    dates_of_numbers,
    holds_compact_dates,
    holds_compact_days,
    number_format,
)

DAYS = pd.Series(pd.date_range("2019-12-02", periods=14, freq="7D"))
MONTHS = pd.Series(pd.date_range("2019-11-01", periods=14, freq="MS"))


@pytest.mark.parametrize("written", EXAMPLES)
def test_every_format_is_told_from_the_others_and_read_back(written):
    dates = MONTHS if written in ("%Y%m", "%Y.%m") else DAYS
    column = dates.dt.strftime(written).astype("float64" if "." in written else "int64")
    assert number_format(column) == written
    assert number_format(pd.concat([column, pd.Series([np.nan])])) == written
    assert dates_of_numbers(column).tolist() == dates.tolist()


@pytest.mark.parametrize(
    "numbers",
    [
        [1990, 1991, 1995],
        [14_991_231, 15_000_101],  # before 1500
        [25_020_101, 25_020_102],  # after 2500
        [20_200_131, 20_200_132],  # no day
        [20_200_131.5, 20_200_201.0],  # not whole
        [-20_200_131, -20_200_201],
        [201_411, 201_412],  # months, but too few to tell
        [1.7e9, 1.8e9],
        [np.nan, np.nan],
        ["2020-01-31", "2020-02-01"],
    ],
    ids=str,
)
def test_other_numbers_are_no_dates(numbers):
    column = pd.Series(numbers)
    assert number_format(column) == ""
    assert not holds_compact_dates(column)


def test_chance_gives_months_but_no_days():
    assert holds_compact_days(pd.Series([20_200_131, 20_200_201]))
    months = pd.Series([201_411, 201_412, 201_501])
    assert holds_compact_dates(months) and not holds_compact_days(months)


def test_what_is_no_date_of_a_format_is_missing():
    assert compact_dates(pd.Series([20_200_230, 20_200_229]), "%Y%m%d").isna().tolist() == [1, 0]
