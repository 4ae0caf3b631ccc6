"""What the cells of a column are."""

import numpy as np
import pandas as pd
import pytest

from convcnp.errors import TableError
from convcnp.frames.kinds import (
    is_date,
    is_duration,
    is_label,
    is_numeric,
    numbers,
    parsed_dates,
)

DATES = """2020-01-31|2020/1/5|20200201T00|2020-02-13 00:00|2020-01|1 Feb 2020|5-Feb-20|Feb 5, 2020|
February 5 2020|01/02/2020|1.2.20|Jan-19|Jan. 01, 19|Jan 2019|Mon, 5 Jan 2020|2020Q1|
2020-02-13T00:00Z|13/02/2020 10:00|5th March 2020|2020 Jan 5|Wed Jan 01 2020|1500-07-01|
01/2020|2020-031|31:01:2020|2024\u5e7403\u670801\u65e5 12:00|2024\u5e743\u6708"""
LABELS = """T1|M1|1A|10m|1-2|T1001|at 1001|1001-1|1001/7|M-2001|1001-031|1001 W12|1.2.3|
well 2020|marsh 5|may|20-Jan|north"""
CLOCKS = """12:30|0:00:10|2:15 PM|12:00 a.m.|0 days 00:00:00|-1 days +23:00:00.5|3 days"""
KINDS = {is_date: DATES, is_label: LABELS, is_duration: CLOCKS}


@pytest.mark.parametrize(
    ("kind", "text"),
    [(kind, text.strip()) for kind, texts in KINDS.items() for text in texts.split("|")],
)
def test_texts_are_dates_durations_or_labels(kind, text):
    column = pd.Series([text] * 3 + [None])
    assert [other for other in (*KINDS, is_numeric) if other(column)] == [kind]


def test_dates_are_no_values_even_if_named():
    with pytest.raises(TableError, match="a number in every cell of 'seen', got 2020-01-01"):
        numbers(pd.DataFrame({"seen": pd.date_range("2020-01-01", periods=6)}), "seen")


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ([1, "oops", "also"], "a number in every cell of 'v', got 'oops' in row 2 of 3"),
        ([1.0, 2.0, np.inf], "a finite number in every cell of 'v', got inf in row 3 of 3"),
        ([1.0, -1e40], r"a number below 1e\+30 in every cell of 'v', got -1e\+40 in row 2 of 2"),
    ],
)
def test_the_first_bad_number_is_named(cells, sentence):
    with pytest.raises(TableError, match=sentence):
        numbers(pd.DataFrame({"v": cells}), "v")


def test_quarters_before_years_and_weeks_are_dates():
    quarters = pd.Series(["Q1 2020", "Q4 2020", None])
    assert is_date(quarters)
    assert parsed_dates(quarters).dt.month.tolist()[:2] == [1, 10]
    weeks = pd.Series(["2020-W01", "2020-W53"])
    assert is_date(weeks)
    assert parsed_dates(weeks).tolist() == list(pd.to_datetime(["2019-12-30", "2020-12-28"]))


@pytest.mark.parametrize(
    ("text", "day"),
    [
        *((text, "2020-07-01") for text in ("3Q2020", "3q20", "T3 2020", "2020-T3")),
        *((text, "2020-01-27") for text in ("2020-W5", "2020 KW 05", "KW 5/2020", "W05 2020")),
        ("Week 5, 2020", "2020-01-27"),
        ("2020 027", "2020-01-27"),
        ("27JAN2020", "2020-01-27"),
        ("27jan2020:18:30:00", "2020-01-27 18:30"),
        ("2020-01-26 24:00", "2020-01-27"),
        ("26.01.2020 24:00:00", "2020-01-27"),
        ("2020-01-27 - 2020-02-02", "2020-01-27"),
        ("27.1.2020-2.2.2020", "2020-01-27"),
        ("2020-01-27 2020-02-02", "2020-01-27"),
        ("2020-01-27T18:30/2020-01-27T19:30", "2020-01-27 18:30"),
    ],
)
def test_dates_are_read_as_people_and_programs_write_them(text, day):
    assert is_date(pd.Series([text]))
    assert parsed_dates(pd.Series([text])).tolist() == [pd.Timestamp(day)]


@pytest.mark.parametrize(
    "forms",
    [
        "Jan-18|Sept.'19",
        "Q1 2020|Q4-2020",
        "2020-W05|2020W53",
        "2020-031|2020-366",
        "31:01:2020",
        "2024\u5e7403\u670801\u65e5 12:00|2024\u5e743\u6708",
    ],
)
def test_one_bad_cell_leaves_the_other_dates_as_they_are(forms):
    texts = forms.split("|")
    good = parsed_dates(pd.Series(texts))
    assert good.notna().all()
    mixed = parsed_dates(pd.Series([*texts, "Total", None]))
    assert mixed.tolist()[: len(texts)] == good.tolist()
    assert mixed.isna().tolist()[len(texts) :] == [True, True]


def test_dates_of_several_forms_are_read_each_in_its_own():
    found = parsed_dates(pd.Series(["Jan-58", "2020-W01", "1 Feb 2020", "2020-031"]))
    expected = ["1958-01-01", "2019-12-30", "2020-02-01", "2020-01-31"]
    assert found.tolist() == list(map(pd.Timestamp, expected))
