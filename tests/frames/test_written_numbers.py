"""Numbers as people write them."""

import re

import numpy as np
import pandas as pd
import pytest

from convcnp.errors import ConvCNPWarning, TableError
from convcnp.frames.kinds import is_numeric, numbers
from convcnp.frames.reading import parse_table
from convcnp.frames.written_numbers import read_numbers


def read(*texts, decimal="."):
    return read_numbers(pd.DataFrame({"v": list(texts)}), decimal)["v"].tolist()


@pytest.mark.parametrize(
    ("texts", "decimal", "values", "said"),
    [
        (("1,234", "980", "1,300,000.5"), ".", [1234, 980, 1300000.5], "'1,234' as 1234"),
        (("1.234,5", "980"), ",", [1234.5, 980], "'1.234,5' as 1234.5"),
        (("1 234", "-2 000"), ".", [1234, -2000], "'1 234' as 1234"),
        (("3%", "4.5 %"), ".", [3, 4.5], "'3%' as 3"),
        (("$12.30", "-$1,000"), ".", [12.3, -1000], r"'\$12.30' as 12.3"),
        (("12,30 €", "5 €"), ",", [12.3, 5], "'12,30 €' as 12.3"),
        (("1.5", "***", "///", "2"), ".", [1.5, np.nan, np.nan, 2], r"'\*\*\*' as missing"),
        (("1.5", "-", "2"), ".", [1.5, np.nan, 2], "'-' as missing"),
        (("(35)", "1,057", "$ (2)"), ".", [-35, 1057, -2], r"'1,057' as 1057 and '\(35\)' as -35"),
        (("CHF 1,050.00", "CHF 980.50"), ".", [1050, 980.5], "'CHF 1,050.00' as 1050"),
        (("5 EUR", "EUR -1.234,5"), ",", [5, -1234.5], "'5 EUR' as 5"),
        (("1.5 mg/l", "12 mg/l", "2"), ".", [1.5, 12, 2], "'1.5 mg/l' as 1.5"),
        (("-3,5°C", "4,0°C"), ",", [-3.5, 4], "'-3,5°C' as -3.5"),
        (("1.5", "Nan", "N.A.", "2"), ".", [1.5, np.nan, np.nan, 2], "'Nan' as missing"),
        (("(1.234,5)", "980"), ",", [-1234.5, 980], r"'\(1.234,5\)' as -1234.5"),
    ],
)
def test_numbers_in_disguise_are_read_and_said(texts, decimal, values, said):
    with pytest.warns(ConvCNPWarning, match=f"'v' is read as numbers, {said}"):
        found = read(*texts, decimal=decimal)
    np.testing.assert_array_equal(found, values)


@pytest.mark.parametrize(
    "texts",
    [
        ("1998/99", "1999/00", "2000/01"),
        ("1998-99", "1999-00", "2000-01"),
        ("1998–1999", "1999–2000", "2000–2001"),
        ("FY1998", "FY1999", "FY 2000"),
        ("FY1998/99", "FY1999/00", "FY2000/01"),
    ],
)
def test_of_two_years_the_first_is_read_and_said(texts):
    with pytest.warns(ConvCNPWarning, match=f"'v' is read as numbers, '{texts[0]}' as 1998"):
        assert read(*texts) == [1998, 1999, 2000]


def test_seasons_that_come_again_stay_names_unless_they_are_called_years():
    seasons = ["1998/99"] * 2 + ["1999/00"] * 2
    assert read(*seasons) == seasons
    with pytest.warns(ConvCNPWarning, match="'1998/99' as 1998"):
        named = read_numbers(pd.DataFrame({"water year": seasons}), ".")
    assert named["water year"].tolist() == [1998, 1998, 1999, 1999]


@pytest.mark.parametrize(
    "texts",
    [
        ("1,23", "5"),
        ("2000-01", "2000-02", "2000-03"),
        ("2000-01", "2001-02"),
        ("1998/2000", "1999/2001", "2000/2002"),
        ("12,3456", "5"),
        ("A-1", "A-2"),
        ("10m", "20m"),
        ("1.5 mg/l", "20.5 g/l"),
        ("EUR", "NOK"),
        ("-", "?"),
        ("2020-01-01",),
        ("<0.1", "2"),
        ("(1)", "(2)"),
    ],
)
def test_what_is_no_number_stays_text(texts):
    assert read(*texts) == list(texts)


def test_tables_with_such_numbers_are_read():
    english = b'date,sales\n2020-01-01,"1,234"\n2020-01-02,\n2020-01-03,"1,300"\n'
    german = b"Datum;Wert\n01.02.2020;1.234,5\n02.02.2020;\n03.02.2020;980,25\n"
    for content, first in ((english, 1234), (german, 1234.5)):
        with pytest.warns(ConvCNPWarning, match="is read as numbers"):
            frame = parse_table(content, "t.csv").frame
        assert frame.iloc[0, 1] == first
        assert np.isnan(frame.iloc[1, 1])


def test_a_stray_word_among_decimal_commas_leaves_the_others_numbers():
    frame = pd.DataFrame({"v": ["2,5", "-3,25", "4", "x"], "name": ["a,b", "c", "1,5", "d"]})
    read = read_numbers(frame, ",")
    assert read["v"].tolist() == ["2.5", "-3.25", "4", "x"]
    assert read["name"].tolist() == frame["name"].tolist()
    assert read_numbers(frame, ".")["v"].tolist() == frame["v"].tolist()


def test_commas_in_every_number_are_decimal_where_not_three_digits_follow():
    with pytest.warns(ConvCNPWarning, match="'1,5' as 1.5"):
        assert read("1,5", "-2,25") == [1.5, -2.25]
    with pytest.warns(ConvCNPWarning, match="'1,500' as 1500"):
        assert read("1,500", "2,250") == [1500.0, 2250.0]


@pytest.mark.parametrize(
    ("good", "bad", "plain"),
    [("4,920", "1.2.3", "4920"), ("12 %", "n.b.", "12"), ("(35)", "x", "-35"), ("5", "<1", "5")],
)
def test_one_bad_cell_leaves_the_others_numbers(good, bad, plain):
    texts = [good, "980", "-", "7", bad]
    with pytest.warns(ConvCNPWarning, match="'v' is read as numbers, '-' as missing"):
        found = read(*texts)
    assert found[:2] == [plain, "980"] and found[4] == bad
    frame = pd.DataFrame({"v": found})
    assert is_numeric(frame["v"])
    with pytest.raises(TableError, match=re.escape(f"got {bad!r} in row 5 of 5")):
        numbers(frame, "v")


def test_few_numbers_among_words_stay_words():
    assert read("4,920", "north", "south") == ["4,920", "north", "south"]


def test_identifiers_keep_their_zeros_beside_dashes():
    with pytest.warns(ConvCNPWarning, match="'-' as missing"):
        assert read("007", "-", "012")[::2] == ["007", "012"]


def test_digits_of_other_scripts_are_words():
    assert read("\u0661", "\u0662") == ["\u0661", "\u0662"]
