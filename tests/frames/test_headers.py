"""Where the names of a table of text stand."""

import warnings

import pytest

from convcnp.errors import ConvCNPWarning
from convcnp.frames.headers import is_data, names_in

BANDS = [["2", "5.5", "r"], ["3", "5.2", "g"], ["4", "5.9", "r"]]
PLACES = [["Chad", "1.5", "2"], ["Peru", "1.2", "3"], ["Fiji", "0.3", "1"]]
COUNTS = [["oak", "5", "7"], ["elm", "3", "1"]]


@pytest.mark.parametrize(
    ("first", "below"),
    [
        (["1", "5.0", "g"], BANDS),  # a name is not met again in its column
        (["A1", "20200101", "", "50"], [["A1", "20200102", "", "51"], ["A1", "20200103", "", ""]]),
        (["Bern", "2020-01-01", "5"], [["Biel", "2020-01-01", "5"], ["Basel", "2020-01-02", "7"]]),
        (["x", "Jan-18", "5"], [["y", "Feb-18", "5"], ["z", "Mar-18", "NA"]]),
        (["10:00", "5"], [["11:00", "6"], ["12:00", "7"]]),
        (["1", "2"], [["2", "3"]]),
        (["2020-01-01", "5", "first"], [["2020-01-02", "6", ""]]),
    ],
)
def test_a_first_row_like_those_below_it_is_data(first, below):
    assert is_data(first, below)


@pytest.mark.parametrize(
    ("first", "below"),
    [
        (["t", "v", "band"], BANDS),
        (["t", "123_00060", "2"], BANDS),
        (["place", "2019", "2020"], PLACES),
        (["place", "2020-01-01", "2020-01-02"], PLACES),
        (["place", "00:00", "01:00"], PLACES),
        (["day", "0", "1.5"], [["1", "5.0", "5.1"], ["2", "5.5", "5.6"]]),
        (["place", "2019", "2020"], [["Chad", "1", "2"], ["place", "2019", "2020"]]),  # once more
    ],
)
@pytest.mark.parametrize("is_named", [False, True])
def test_a_first_row_of_names_is_a_header_although_some_are_numbers(first, below, is_named):
    assert not is_data(first, below, is_named=is_named)


def test_what_a_first_row_is_taken_for_is_said_where_it_is_in_doubt():
    with pytest.warns(ConvCNPWarning, match="'ash', '1', '2', is read as names, as its numbers"):
        assert not is_data(["ash", "1", "2"], COUNTS)
    with pytest.warns(ConvCNPWarning, match="'ash', '4', '2', is read as data, as numbers stand"):
        assert is_data(["ash", "4", "2"], COUNTS)


def test_names_in_a_remark_make_the_first_row_data():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert is_data(["ash", "1", "2"], COUNTS, is_named=True)


def test_names_are_as_many_as_there_are_columns_and_no_values():
    assert names_in([["JD", "mag"], ["d", "mmag"]], 2) == ["JD", "mag"]  # above their units
    assert names_in([["JD", "mag", "err"], ["a", "remark"]], 3) == ["JD", "mag", "err"]
    assert names_in([["of", "2020-01-01"], ["x", "x"]], 2) == []
    assert names_in([], 2) == []
