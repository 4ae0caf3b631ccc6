"""Months by name, in several languages."""

import pandas as pd
import pytest

from convcnp.frames.kinds import is_date, is_label, parsed_dates
from convcnp.frames.months import month_of
from convcnp.frames.reading import parse_table
from convcnp.frames.written_times import split_times

FEBRUARY = """Februar 2020|Febr. 2020|2020 févr.|février 2020|1er février 2020|1. Februar 2020|
1 de febrero de 2020|feb-20|sábado 1 de fevereiro de 2020|1 febbraio 2020|01-Feb-2020|
febrero de 2020|FÉVRIER 2020|1. Februar 2020 00:00"""


@pytest.mark.parametrize("text", [text.strip() for text in FEBRUARY.split("|")])
def test_a_month_is_read_in_any_of_the_languages(text):
    assert is_date(pd.Series([text]))
    assert parsed_dates(pd.Series([text])).tolist() == [pd.Timestamp("2020-02-01")]


@pytest.mark.parametrize(
    "text", ["Set-01", "set 12", "mars 7", "gen 2", "mai", "Jui 2020", "Feber 2020", "OKT4"]
)
def test_words_that_may_mean_something_else_are_labels(text):
    assert is_label(pd.Series([text] * 3))


def test_a_month_is_known_by_its_first_letters_if_no_other_has_them():
    months = {"Mär": 3, "mrt": 3, "Okt.": 10, "set": 9, "ju": None, "jui": None, "juil.": 7}
    assert {word: month_of(word) for word in months} == months


def test_columns_of_years_and_months_are_put_together():
    frame = parse_table("Année,Mois\n2019,décembre\n2020,août\n".encode(), "t.csv").frame
    times = pd.Series(pd.to_datetime(["2019-12-01", "2020-08-01", "2020-09-01"]))
    parts = split_times(frame, "Année+Mois", times)
    assert parts["Mois"].tolist() == ["décembre", "août", "September"]


def test_new_dates_are_written_in_the_words_of_the_others():
    frame = pd.DataFrame({"mois": ["janv. 2020", "févr. 2020", "janv. 2021"]})
    times = pd.Series(pd.to_datetime(["2021-02-01", "2021-03-01"]))
    assert split_times(frame, "mois", times)["mois"].tolist() == ["févr. 2021", "Mar 2021"]
