"""What the cells of a table of text are."""

import pytest

from convcnp.frames.cells import is_nothing, is_number, usual_kind


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1.5", "<2", "-3e4"], "number"),
        (["31.1.2020", "1.2.2020", "?"], "date"),
        (["Jan-18", "Feb-18"], "date"),
        (["2020-W05", "NA", ""], "date"),
        (["10:30", "2:15 PM"], "clock"),
        (["g", "r", "1"], "word"),
        (["B2", "M31"], "word"),
        (["", " NA "], ""),
    ],
)
def test_cells_are_what_most_of_them_are(cells, kind):
    assert usual_kind(cells) == kind


def test_decimal_commas_make_numbers_where_they_are_the_table_s():
    assert usual_kind(["1,5", "2,25"], ",") == "number"
    assert usual_kind(["1,5", "2,25"]) == "word"


def test_what_python_takes_for_a_number_may_be_a_name():
    assert is_number("1e5")
    assert not is_number("123_456")
    assert is_nothing(" n/a ")
    assert not is_nothing("nan")
