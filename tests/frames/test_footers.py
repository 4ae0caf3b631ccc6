"""What stands below a table."""

import io

import pandas as pd
import pytest

from convcnp.errors import ConvCNPWarning
from convcnp.frames.delimited import read_delimited
from convcnp.frames.footers import footer_rows
from convcnp.frames.reading import parse_table

DAYS = [[f"2020-01-{day:02d}", f"{day}.5"] for day in range(1, 9)]
PLACES = [["Bern", *row] for row in DAYS] + [["Basel", *row] for row in DAYS]
MONTHS = [[f"{month} 2020", "15.497,16 €"] for month in ("Jan", "Feb", "Mar", "Apr", "Jun")]


@pytest.mark.parametrize(
    "remarks",
    [
        [["Source: office of weather"]],
        [["", ""], ["Source: office", ""], ["* preliminary in 2020", ""]],
        [[], [], ["Instrument", "Cary 60"], ["Scan rate", "600 nm/min"], []],
        [["# 60 rows"]],
    ],
)
def test_rows_of_words_below_values_are_no_part_of_a_table(remarks):
    assert footer_rows(DAYS, [*DAYS, *remarks]) == len(remarks)
    assert footer_rows([*DAYS, *remarks], [*DAYS, *remarks]) == len(remarks)


def test_a_single_text_below_words_is_left_out_as_well():
    assert footer_rows(PLACES, [*PLACES, ["Source: office", "", ""]]) == 1
    assert footer_rows(PLACES, [*PLACES, ["Basel", "", ""]]) == 0


@pytest.mark.parametrize(
    "row",
    [
        ["2020-01-09", ""],
        ["2020-01-09", "broken"],
        ["2020-02-30", "NA"],
        ["Total", "300"],
        ["Total", "1.234,50 €"],
        ["total", "(35)"],
        ["", ""],
        ["", "7"],
    ],
)
def test_rows_with_a_time_or_a_number_stay(row):
    assert footer_rows(DAYS, [*DAYS, row]) == 0


@pytest.mark.parametrize("row", [["Dez 2020", "16.464,81 €"], ["Dez 2020", ""], ["Dez 2020", "x"]])
def test_a_date_that_is_not_read_is_no_remark(row):
    assert footer_rows(MONTHS, [*MONTHS, row]) == 0


def test_where_there_are_no_values_nothing_is_a_remark():
    words = [["anna", "red"], ["bob", "blue"]]
    assert footer_rows(words, [*words, ["carl"]]) == 0
    assert footer_rows([], []) == 0


def test_remarks_below_a_table_of_text_are_left_out_and_said():
    text = "\n".join(["day,level", *map(",".join, DAYS)])
    for below in ("\nSource: office", "\n\nSource: office\n\n", '\n"Source: office",\n'):
        with pytest.warns(ConvCNPWarning, match=r"below its last row \('Source: office'\)"):
            frame = read_delimited(text + below, "t.csv")
        assert frame["level"].tolist() == [day + 0.5 for day in range(1, 9)]
    spaced = text.replace(",", " ") + "\n# end of file\n"
    with pytest.warns(ConvCNPWarning, match="'# end of file'"):
        assert len(read_delimited(spaced, "t.txt")) == 8


def test_cells_of_several_lines_are_no_remarks():
    text = 'day,level,note\n1,5,a\n2,6,"b\nc"\n'
    assert read_delimited(text, "t.csv")["note"].tolist() == ["a", "b\nc"]


def test_remarks_below_a_sheet_are_left_out_and_said():
    pytest.importorskip("openpyxl")
    book = io.BytesIO()
    days = pd.Series(pd.date_range("2020-01-01", periods=5)).astype(object)
    cells = [("date", "temp"), *zip(days, [1.5, 2.5, None, 3.5, 4.5], strict=True)]
    cells += [(None, None), ("Source: office", None)]
    pd.DataFrame(cells).to_excel(book, header=False, index=False)
    with pytest.warns(ConvCNPWarning, match="below its last row"):
        frame = parse_table(book.getvalue(), "t.xlsx").frame
    assert (frame["date"].tolist()[4], len(frame), frame["temp"].sum()) == ("2020-01-05", 5, 12.0)
