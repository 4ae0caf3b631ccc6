"""Values beyond a limit of detection."""

import numpy as np
import pandas as pd
import pytest

from convcnp.errors import ConvCNPWarning, TableError
from convcnp.frames.columns import Columns, choose_columns
from convcnp.frames.detection import refuse_beyond, say_beyond
from convcnp.frames.kinds import is_numeric
from convcnp.frames.series import SeriesTable


def frame(cell):
    return pd.DataFrame({"day": range(5), "lead": ["1.5", cell, "2", cell, "0.7"]})


def read(cell, *missing):
    return SeriesTable.of(frame(cell), Columns(("lead",), time="day", missing=missing))


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("<0.5", "below a limit of detection: .* predictions up. Write .* as half the limit, or"),
        (" < 0.5", "below a limit"),
        ("≤0.5", "below a limit"),
        ("n.d.", "perhaps below a limit"),
        (">2420", "above a limit of detection: .* predictions down. Write .* as the limit, or"),
    ],
)
def test_a_value_beyond_a_limit_is_refused_with_what_may_be_written(cell, said):
    with pytest.raises(TableError, match=f"got '{cell}' in row 2 of 5, which is {said}"):
        read(cell)


@pytest.mark.parametrize("cell", ["<0.5", "< 0.5", "BDL", "not detected"])
def test_values_mostly_below_a_limit_are_values_all_the_same(cell):
    column = pd.Series([cell] * 6 + ["0.7", "1.2"], name="lead")
    assert is_numeric(column)
    other = pd.DataFrame({"day": range(8), "lead": column, "ph": np.arange(8.0)})
    assert choose_columns(other).values == ("lead", "ph")


def test_classes_of_ages_are_words():
    assert not is_numeric(pd.Series(["<18", "18-65", ">65"]))


def test_other_words_are_refused_as_before():
    with pytest.raises(TableError, match="got 'lost' in row 2 of 5; correct it, or leave the cell"):
        read("lost")
    refuse_beyond(np.zeros(5, dtype=bool), frame("<1")["lead"], "lead")


@pytest.mark.parametrize(("cell", "way"), [("<0.5", "up"), (">2420", "down")])
def test_a_value_beyond_a_limit_may_be_named_as_missing_and_its_pull_is_said(cell, way):
    said = rf"'lead': '{cell}', in 2 of 5 rows, .* read as missing, which pulls predictions {way};"
    with pytest.warns(ConvCNPWarning, match=said):
        table = read(cell, cell)
    assert np.isnan(table.y[:, 0]).tolist() == [False, True, False, True, False]


def test_nothing_is_said_of_other_words_that_are_named():
    table = read("lost", "lost")
    assert np.isnan(table.y[:, 0]).sum() == 2
    say_beyond(frame("<1")["lead"], pd.Series([False] * 5))
