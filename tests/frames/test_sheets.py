"""Sheets of workbooks, which are read like tables of text."""

import datetime
import io

import pytest

from convcnp.errors import ConvCNPWarning, TableError
from convcnp.frames.reading import parse_table

openpyxl = pytest.importorskip("openpyxl")

DAYS = [(datetime.datetime(2020, 1, day), 10.5 + day) for day in range(1, 6)]


def book(**sheets):
    whole, content = openpyxl.Workbook(), io.BytesIO()
    whole.remove(whole.active)
    for name, rows in sheets.items():
        sheet = whole.create_sheet(name)
        for row in rows:
            sheet.append(row)
    whole.save(content)
    return content.getvalue()


def test_a_first_row_of_data_is_no_header():
    frame = parse_table(book(one=DAYS), "t.xlsx").frame
    assert list(frame) == ["time", "value1"]
    assert frame["time"].tolist()[0] == "2020-01-01"
    assert frame["value1"].tolist() == [11.5, 12.5, 13.5, 14.5, 15.5]


def test_years_are_names_and_words_above_values_are_too():
    rows = [("day", 2019, 2020), (1, 5.5, 5.0), (2, 5.2, 4.5)]
    assert list(parse_table(book(one=rows), "t.xlsx").frame) == ["day", "2019", "2020"]
    named = parse_table(book(one=[("#", "level\nin cm"), (1, 5.5), (2, 5.0)]), "t.xlsx").frame
    assert list(named) == ["#", "level in cm"]


def test_numbers_and_dates_that_are_text_are_read_as_in_tables_of_text():
    rows = [("Datum", "Pegel"), ("13.02.2020", "1,5"), ("14.02.2020", "2,25")]
    assert parse_table(book(one=rows), "t.xlsx").frame["Pegel"].tolist() == [1.5, 2.25]
    padded = [("id", "v"), ("007", 1.5), ("008", 2.5)]
    assert parse_table(book(one=padded), "t.xlsx").frame["id"].tolist() == ["007", "008"]


def test_cells_are_written_as_they_are_shown():
    noon, none = datetime.datetime(2020, 1, 1, 12), datetime.datetime(2020, 1, 2)
    rows = [
        ("when", "clock", "lasting", "is_on", "v"),
        (noon, datetime.time(9, 30), datetime.timedelta(days=1, hours=2), True, 1),
        (none, datetime.time(10, 0), datetime.timedelta(hours=3), False, 2),
    ]
    frame = parse_table(book(one=rows), "t.xlsx").frame
    assert frame["when"].tolist() == ["2020-01-01 12:00:00", "2020-01-02 00:00:00"]
    assert frame["clock"].tolist() == ["09:30:00", "10:00:00"]
    assert frame["lasting"].tolist() == ["1 days 02:00:00", "0 days 03:00:00"]
    assert frame["is_on"].tolist() == [True, False]


def test_a_table_may_stand_off_the_edge_and_on_a_later_sheet():
    words = [("This workbook holds levels.",), ("Version of", "spring")]
    table = [(None, None, None), (None, "date", "level"), *[(None, *row) for row in DAYS]]
    with pytest.warns(ConvCNPWarning) as said:
        frame = parse_table(book(about=words, levels=table), "t.xlsx").frame
    assert "2 sheets; 'levels' is read, the first that holds a table" in str(said[0].message)
    assert list(frame) == ["date", "level"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (lambda: book(one=[]), "a table in t.xlsx, but its sheet 'one' is empty"),
        (lambda: book(one=DAYS).replace(b"sheet1.xml", b"sheet7.xml"), "it cannot be read"),
    ],
)
def test_a_workbook_without_a_table_gets_a_sentence(content, sentence):
    with pytest.raises(TableError, match=sentence):
        parse_table(content(), "t.xlsx")
