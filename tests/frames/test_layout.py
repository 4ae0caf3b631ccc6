"""Where a table begins."""

import io

import pandas as pd
import pytest

from convcnp.errors import ConvCNPWarning
from convcnp.frames.delimited import read_delimited
from convcnp.frames.layout import Layout, usual_width
from convcnp.frames.reading import parse_table

DATA = [["1", "4.5"], ["2", ""], ["3", "5.5"]]


def test_a_table_that_begins_with_its_names_is_left_as_it_is():
    assert Layout.of([["day", "level"], *DATA], width=2) == Layout()
    assert Layout.of(DATA, width=2) == Layout()
    coded = [["day", "123_00060"], ["20d", "14n"], *DATA]  # which Python reads as a number
    assert Layout.of(coded, width=2) == Layout(0, (1,))
    assert Layout.of([], width=0) == Layout()
    assert usual_width([["Harbour"], ["day", "level"], *DATA]) == 2


PADDED = [["Harbour 7", "", ""], ["of 2.12.2022", " ", ""], ["", "", ""], ["2.12.2022", "", ""]]


@pytest.mark.parametrize("count", range(1, 5))
def test_titles_padded_with_separators_are_left_out(count):
    rows = [*PADDED[:count], ["day", "level", "flow"], ["", "m", "l"], ["1", "2", "3"], ["2"] * 3]
    assert Layout.of(rows, width=3) == Layout(count, (count + 1,))
    assert Layout.of([["Harbour 7"], *rows], width=3) == Layout(count + 1, (count + 2,))


@pytest.mark.parametrize(
    "below",
    [
        [["1", "2", "3"], ["2", "3", "4"]],
        [["1", "", ""], ["2", "", ""], ["3", "4", "5"]],
        [["", "m", "l"], ["1", "2", "3"], ["2", "3", "4"]],
    ],
)
def test_a_name_beside_columns_without_any_is_no_title(below):
    header = ["day", "", ""]
    assert Layout.of([header, *below], width=3).start == 0
    assert Layout.of([["Harbour 7"], header, *below], width=3).start == 1


def test_a_logger_s_station_is_left_out_however_many_columns_it_has():
    rows = [["TOA5", "Stn1", "CR1000", "1234"], ["TIMESTAMP", "RECORD", "AirTC_Avg", "BattV"]]
    rows += [["TS", "RN", "Deg C", "Volts"], ["", "", "Avg", "Smp"]]
    rows += [[f"2023-05-01 0{i}:00:00", str(i), "NAN", "12.0"] for i in range(4)]
    assert Layout.of(rows, width=4) == Layout(1, (2, 3))


def test_rows_that_end_with_a_separator_have_their_header():
    ended = [["day", "level"], *([*row, ""] for row in DATA)]
    assert Layout.of(ended, width=3) == Layout()
    torn = [["day", "level"], ["1", "2", "3", "4"], ["1", "2"]]
    assert Layout.of(torn, usual_width(torn)) == Layout()  # refused when it is read


def test_names_may_stand_in_two_rows_of_which_one_names_what_columns_share():
    rows = "2020-01-01,1.5,0,2.5,1\n2020-01-02,1.0,0,2.0,1\n"
    for shared in (",Bern,,Basel,", ",Bern,Bern,Basel,Basel"):
        text = f"{shared}\ndate,temp,rain,temp,rain\n,°C,mm,°C,mm\n{rows}"
        with pytest.warns(ConvCNPWarning) as said:
            frame = read_delimited(text, "t.csv")
        assert list(frame) == ["date", "Bern temp", "Bern rain", "Basel temp", "Basel rain"]
        assert len(frame) == 2
        assert [str(each.message)[:11] for each in said] == ["Names stand", "Left out of"]
    with pytest.warns(ConvCNPWarning, match="units below the names"):
        named = read_delimited(f",a,b,c,d\nUTC,°C,mm,°C,mm\n{rows}", "t.csv")
    assert list(named)[1:] == ["a", "b", "c", "d"]


def test_a_title_and_units_of_a_sheet_are_left_out():
    pytest.importorskip("openpyxl")
    book = io.BytesIO()
    days = pd.Series(pd.date_range("2020-01-01", periods=5)).astype(object)
    cells = [("Report", None), (None, None), ("date", "temp"), (None, "°C")]
    cells += list(zip(days, [1.5, 2.5, None, 3.5, 4.5], strict=True))
    pd.DataFrame(cells).to_excel(book, header=False, index=False)
    with pytest.warns(ConvCNPWarning, match="above the row 'date', 'temp' and units below"):
        frame = parse_table(book.getvalue(), "t.xlsx").frame
    assert list(frame) == ["date", "temp"]
    assert (frame["date"].tolist()[4], frame["temp"].sum()) == ("2020-01-05", 12.0)


YEARS = ["1990", "1991", "1992"]
LAND = [["Chad", "TCD", "1.5", "2.5", "3.5"], ["Peru", "PER", "1", "", "2"]] * 2


@pytest.mark.parametrize("blank", [[], ["", "", ""]])
def test_titles_end_with_a_blank_row_although_they_hold_dates_and_names_are_years(blank):
    titles = [["Source", "World", ""], blank, ["Updated", "2024-05-30", ""], blank]
    series = [["Year", "CO2", ""], ["1990", "3.0", ""], ["1991", "3.1", ""]]
    assert Layout.of([*titles, *series], width=3) == Layout(4)
    assert Layout.of([*titles, ["land", "code", *YEARS], *LAND], width=5) == Layout(4)


def test_a_blank_row_below_the_names_or_among_the_rows_is_none_below_titles():
    names = ["day", "level"]
    assert Layout.of([names, [], *DATA], width=2) == Layout()
    assert Layout.of([names, [], ["d", "m"], *DATA], width=2) == Layout(0, (2,))
    assert Layout.of([names, *DATA, [], ["day", "flow"], *DATA], width=2) == Layout()
    spaced = [row for data in DATA for row in (data, [])]
    assert Layout.of([names, [], *spaced], usual_width([names, [], *spaced])) == Layout()
