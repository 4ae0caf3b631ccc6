"""Whole numbers with zeros in front."""

import numpy as np
import pandas as pd
import pytest

from convcnp.frames.assembled import is_part, joined_name, time_column
from convcnp.frames.columns import choose_columns
from convcnp.frames.delimited import read_delimited
from convcnp.frames.kinds import is_label, is_numeric
from convcnp.frames.names import counts_rows, numbers_series
from convcnp.frames.padded import is_padded, padded_like
from convcnp.frames.written_times import split_times

STATIONS = "station_id,day,level\n" + "".join(
    f"{station},{day},{day}.5\n" for station in ("007", "120") for day in range(1, 6)
)


def test_identifiers_keep_their_zeros():
    frame = read_delimited(STATIONS, "t.csv")
    assert frame["station_id"].tolist() == ["007"] * 5 + ["120"] * 5
    assert choose_columns(frame).group == "station_id"
    assert read_delimited("v 007\n1 08\n2 12\n", "t.txt")["007"].tolist() == ["08", "12"]
    assert read_delimited('t,id\n1,"01"\n2,\n3,"12"\n', "t.csv")["id"].tolist()[::2] == ["01", "12"]
    assert read_delimited("007,1\n120,2", "t.csv")["time"].tolist() == ["007", "120"]


@pytest.mark.parametrize("cell", ["0", "10", "0.5", "-01", "1e3", "01.5", "0x1"])
def test_other_numbers_stay_numbers(cell):
    found = read_delimited(f"t,v\n1,12\n2,{cell}\n3,4\n", "t.csv")["v"]
    assert not is_padded(found)


def test_whole_numbers_with_zeros_in_front_are_numbers_still():
    column = pd.Series(["007", "012", None], name="v")
    assert is_numeric(column)
    assert not is_label(column)
    assert numbers_series(pd.Series(["007", "007", "8"], name="plot"))
    assert counts_rows(pd.Series(["001", "002", "003"], name="obs"))
    assert not is_padded(pd.Series([7, 12]))
    assert not is_padded(pd.Series([np.nan, "A01"]))
    assert not is_padded(pd.Series(["0", "7"]))


def test_parts_of_times_may_have_zeros_in_front_and_are_written_so():
    text = "year,month,day,hhmm,v\n2020,01,09,0930,1\n2020,12,10,1530,2\n"
    frame = read_delimited(text, "t.csv")
    name = joined_name(frame, list(frame), [])
    assert name == "year+month+day+hhmm"
    times = time_column(frame, name)
    assert times.tolist() == [pd.Timestamp("2020-01-09 09:30"), pd.Timestamp("2020-12-10 15:30")]
    parts = pd.DataFrame(split_times(frame, name, times))
    pd.testing.assert_frame_equal(parts, frame[list(parts)], check_dtype=False)
    days = read_delimited("year,doy,v\n2020,001,1\n2020,045,2\n", "t.csv")
    assert time_column(days, "year+doy").dt.day_of_year.tolist() == [1, 45]
    assert is_part(pd.Series(["01", "12"], name="month"))


def test_numbers_are_written_as_wide_as_others():
    assert padded_like(pd.Series(["0005", None]), pd.Series([10.0, 7])).tolist() == ["0010", "0007"]
    assert padded_like(pd.Series(["5", "7"]), pd.Series([10])).tolist() == [10]
