"""Series that several columns tell apart together."""

import numpy as np
import pandas as pd
import pytest

from convcnp.errors import ConvCNPWarning, TableError
from convcnp.frames.columns import Columns, choose_columns, choose_learned
from convcnp.frames.joined_groups import group_column
from convcnp.frames.series import SeriesTable

GROUP = "strain+replicate"


def growth():
    """Return the growth of two strains, three times each."""
    hours = np.arange(6)
    return pd.concat(
        pd.DataFrame({"strain": strain, "replicate": i, "hours": hours, "od": hours / 7 + i})
        for strain in ("WT", "mutant")
        for i in (1, 2, 3)
    ).reset_index(drop=True)


@pytest.mark.parametrize("group", [GROUP, "strain + replicate", ["strain", "replicate"]])
def test_every_combination_is_a_series_and_answers_keep_the_columns(group):
    columns = choose_columns(growth(), Columns.named(group=group))
    assert (columns.time, columns.values) == ("hours", ("od",))
    table = SeriesTable.of(growth(), columns)
    assert table.series.lengths.tolist() == [6] * 6
    assert list(map(str, table.labels[:2])) == ["WT+1", "WT+2"]
    answer = table.frame(table.series)
    assert answer.equals(growth()[["strain", "replicate", "hours"]])
    asked = growth().iloc[[20, 2]]
    found, order = table.asked_in(asked)
    assert (found.x.tolist(), order.tolist()) == ([2.0, 2.0], [1, 0])


def test_rows_without_a_part_of_their_series_are_left_out():
    frame = growth()
    frame.loc[3, "replicate"] = np.nan
    assert group_column(frame, GROUP).tolist()[:3] == ["WT+1"] * 3
    with pytest.warns(ConvCNPWarning, match="1 of 36 rows have no time or no series"):
        table = SeriesTable.of(frame, Columns(("od",), time="hours", group=GROUP))
    assert table.series.lengths.tolist() == [5, 6, 6, 6, 6, 6]


def test_cells_that_hold_a_plus_or_a_quote_are_told_apart():
    cells = [("x+y", "z"), ("x", "y+z"), ('"x', 'y"'), ('""x+y', 'z"'), ("", "")]
    frame = pd.concat(
        pd.DataFrame({"a": a, "b": b, "t": np.arange(4), "v": 100.0 * i})
        for i, (a, b) in enumerate(cells)
    ).reset_index(drop=True)
    assert group_column(frame, "a+b").nunique() == len(cells)
    table = SeriesTable.of(frame, Columns(("v",), time="t", group="a+b"))
    assert table.series.lengths.tolist() == [4] * len(cells)
    assert list(table.labels[:2]) == ['"x+y"+z', 'x+"y+z"']
    assert table.frame(table.series).equals(frame[["a", "b", "t"]])
    found, order = table.asked_in(frame.iloc[[6, 1]])
    assert (found.x.tolist(), order.tolist()) == ([1.0, 2.0], [1, 0])


def test_a_part_that_is_not_there_suggests_the_nearest():
    with pytest.raises(TableError, match=r"column 'replicat', but .* did you mean 'replicate'\?"):
        choose_columns(growth(), Columns.named(group="strain+replicat"))
    with pytest.raises(TableError, match=r"Expected a column 'strains\+replicas', but the table"):
        choose_columns(growth(), Columns.named(group="strains+replicas"))
    with pytest.raises(TableError, match=r"Expected different columns .* got 'strain' more than"):
        choose_columns(growth(), Columns.named(group="strain+strain"))
    for role in ("value", "channel"):
        with pytest.raises(TableError, match=r"Expected a column 'strain\+replicate'"):
            choose_columns(growth(), Columns.named(**{role: GROUP}))


def test_an_empty_group_stands_alone():
    assert Columns.named(group=[""]).group == ""
    assert Columns.named(group=[]).group is None
    with pytest.raises(TableError, match="there is none, got 'strain' beside it; leave one out"):
        Columns.named(group=["strain", ""])


def test_a_column_of_that_name_is_one():
    frame = growth().assign(**{GROUP: "all", "hours": range(36)})
    table = SeriesTable.of(frame, Columns(("od",), time="hours", group=GROUP))
    assert list(table.labels) == ["all"]


@pytest.mark.parametrize("group", [None, "strain"])
def test_times_that_repeat_name_the_columns_to_join(group):
    with pytest.raises(TableError, match=r"give group='strain\+replicate': these tell series"):
        choose_columns(growth(), Columns.named(group=group))
    thrice = pd.concat([growth().assign(plate=name) for name in "abc"])
    with pytest.raises(TableError, match=r"give group='strain\+replicate\+plate'"):
        choose_columns(thrice, Columns.named(group=GROUP))


@pytest.mark.parametrize("group", ["", "strain"])
def test_where_times_are_averaged_numbers_of_their_rows_are_no_values(group):
    with pytest.warns(ConvCNPWarning, match=r"numbers of series \('replicate'\)"):
        columns = choose_columns(growth(), Columns.named(time="hours", group=group))
    assert columns.values == ("od",)
    counts = growth().assign(replicate=np.random.default_rng(0).poisson(2, 36))
    assert choose_columns(counts, Columns.named(time="hours", group="")).values[0] == "replicate"


def test_what_a_model_learned_by_joined_columns_is_read_by_them():
    learned = Columns(("od",), time="hours", group=GROUP)
    assert choose_learned(growth(), Columns(), learned)[1].group == GROUP
    alone = growth().query("strain == 'WT' and replicate == 2").drop(columns=["strain"])
    assert choose_learned(alone, Columns(), learned)[1].group is None
