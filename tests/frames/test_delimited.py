"""Tables of text as programs write them."""

import pandas as pd
import pytest

from convcnp.errors import ConvCNPWarning
from convcnp.frames.delimited import read_delimited

ROWS = "".join(f"2020-01-{day:02d},{day}.5,{60 + day}\n" for day in range(1, 12))
EXPECTED = pd.DataFrame(
    {
        "date": [f"2020-01-{day:02d}" for day in range(1, 12)],
        "temp": [day + 0.5 for day in range(1, 12)],
        "hum": [60 + day for day in range(1, 12)],
    }
)


def is_read(text):
    pd.testing.assert_frame_equal(read_delimited(text, "t.csv"), EXPECTED, check_dtype=False)


@pytest.mark.parametrize(
    "above",
    [
        "Station: Harbour 7\nSerial number: 12\nExported: 2020-02-01 10:00\n\n",
        '"TOA5","CR1000","555","prog"\n',
        "Site,Harbour\nVersion,3\n",
        "Harbour 7,,\nof 2.12.2022,,\n,,\n",
        '"TOA5","CR1000","555"\n',
    ],
)
def test_what_stands_above_a_table_is_left_out_and_said(above):
    with pytest.warns(ConvCNPWarning, match="Left out of t.csv: what stands above the row 'date'"):
        is_read(f"{above}date,temp,hum\n{ROWS}")


@pytest.mark.parametrize("units", [",Deg C,%\n", "TS,C,%\n,Avg,Smp\n", "10d,5n,5n\n"])
def test_units_below_the_names_are_left_out_and_said(units):
    with pytest.warns(ConvCNPWarning, match=r"units below the names \("):
        is_read(f"date,temp,hum\n{units}{ROWS}")


@pytest.mark.parametrize("line", ["North,,", "North,x,y", "2020-01-01,bad,bad"])
def test_a_first_row_of_words_that_come_again_and_of_dates_is_no_row_of_units(line):
    text = f"place,a,b\n{line}\nNorth,1,2\nSouth,3,4\nNorth,5,6\n"
    assert len(read_delimited(text, "t.csv")) == 4


def test_what_loggers_and_spreadsheets_write_for_nothing_is_missing():
    text = "t,NAN,v\n1,2,NAN\n2,3,#DIV/0!\n3,4,1.5\n4,5,2.5\n"
    assert read_delimited(text, "t.csv")["v"].isna().tolist() == [True, True, False, False]


def test_columns_may_stand_apart_by_spaces():
    is_read("date  temp  hum\n" + ROWS.replace(",", "   "))
    found = read_delimited("\n".join("  2020  1  3.5" for _ in range(4)), "t.txt")
    assert list(found) == ["time", "value1", "value2"]


def test_names_may_stand_in_the_last_remarks():
    rows = ROWS.replace(",", " ")
    is_read(f"# made by hand, twice, and again\n#date temp hum\n#dd   degC %\n{rows}")
    is_read(f"# date, temp, hum\n{ROWS}")
    assert "time" in read_delimited(f"# two words\n{ROWS}", "t.csv")


def test_a_separator_that_all_rows_share_goes_before_one_in_a_title():
    with pytest.warns(ConvCNPWarning, match="above the row"):
        is_read("Weather; Harbour 7\ndate,temp,hum\n" + ROWS)
    decimals = ROWS.replace(",", ";").replace(".5", ",5")
    with pytest.warns(ConvCNPWarning, match="above the row"):
        is_read("Weather\ndate;temp;hum\n" + decimals)


def test_cells_of_rows_may_be_of_any_length():
    text = f"t,v,note\n0,1.5,{'x' * 200_000}\n1,2.5,y\n"
    assert read_delimited(text, "t.csv")["v"].tolist() == [1.5, 2.5]


@pytest.mark.parametrize(("separator", "sign"), [(" ", "#"), (",", "# "), ("\t", "#")])
def test_names_in_a_remark_are_those_of_a_table_with_words(separator, sign):
    rows = [["time", "flux", "band"], ["1", "5.0", "g"], ["2", "5.5", "r"], ["3", "5.2", "i"]]
    text = sign + "\n".join(map(separator.join, rows))
    frame = read_delimited(text, "t.dat")
    assert frame.to_dict("list") == {"time": [1, 2, 3], "flux": [5.0, 5.5, 5.2], "band": [*"gri"]}


def test_without_names_the_time_is_the_first_column_that_holds_no_words():
    frame = read_delimited("A1,20200101,TMAX,50,\nA1,20200102,TMAX,51,\n", "t.csv")
    assert list(frame) == ["value1", "time", "value2", "value3", "value4"]
    assert frame["value3"].tolist() == [50, 51]


def test_cells_of_spaces_are_missing_in_tables_without_names_as_well():
    assert read_delimited('1,"2"\n2,"  "\n', "t.csv")["value1"].isna().tolist() == [False, True]


def test_columns_without_name_and_cells_are_left_out_and_no_others():
    assert list(read_delimited("day,level,,\n1,5,,\n2,6,,\n", "t.csv")) == ["day", "level"]
    assert list(read_delimited("day,level,n\n1,5,\n2,6,\n", "t.csv")) == ["day", "level", "n"]
    assert read_delimited("day,level,\n1,5,a\n2,6,\n", "t.csv").iloc[0, 2] == "a"


def test_a_header_that_is_longer_than_all_rows_is_said():
    with pytest.warns(ConvCNPWarning, match="has 3 cells, and its rows have 2 at most: 'deg C'"):
        read_delimited("day,temp,deg C\n1,5\n2,6\n", "t.csv")
    read_delimited("day,temp,note\n1,5\n2,6,x\n", "t.csv")
