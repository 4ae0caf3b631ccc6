"""Asked times: the gaps, even times, and times of one's own."""

import numpy as np
import pandas as pd
import pytest

from convcnp.errors import ConvCNPWarning, SettingError, TableError
from convcnp.frames.columns import choose_columns
from convcnp.frames.gaps import has_too_long_gaps
from convcnp.frames.series import SeriesTable
from convcnp.frames.targets import EVEN, TargetText, series_targets


def table(**columns):
    frame = pd.DataFrame(columns)
    return SeriesTable.of(frame, choose_columns(frame))


def asked(series, at=None):
    times = series_targets(series, at).inputs
    parts = np.split(times.x, times.starts[1:-1])
    return [series.axis.times(part).tolist() for part in parts]


def test_missing_cells_and_missing_rows_are_gaps():
    series = table(t=[0, 1, 2, 3, 5, 6, 9], v=[1.0, 2, np.nan, 4, 5, 6, 7])
    assert asked(series) == asked(series, "gaps") == [[2, 4, 7, 8]]


def test_each_series_has_its_own_gaps_and_its_own_spacing():
    series = table(
        id=["a"] * 5 + ["b"] * 5 + ["c"] * 4,
        t=[0, 1, 2, 4, 5, 0, 10, 20, 40, 50, 0, 1, 2, 3],
        v=np.arange(14.0),
    )
    assert asked(series) == [[3], [30], []]


def test_a_time_missing_in_several_columns_is_asked_once():
    series = table(t=[0, 0, 1, 2], u=[1.0, np.nan, 2, 3], v=[np.nan, np.nan, 2, 3])
    assert asked(series) == [[0]]


def test_a_column_that_a_series_never_has_is_no_gap_in_it():
    series = table(
        id=list("aaabbb"),
        t=[0, 1, 2] * 2,
        u=[1.0, np.nan, 3, 1, 2, 3],
        v=[np.nan, np.nan, np.nan, 1, 2, 3],
    )
    assert asked(series) == [[1], []]


def test_three_rows_show_no_usual_spacing_and_irregular_rows_have_no_gap():
    assert len(asked(table(t=[0, 1, 5], v=[1.0, 2, 3]))[0]) == EVEN
    assert len(asked(table(t=[0, 1, 2.4, 3.3, 4.6], v=[1.0, 2, 3, 4, 5]))[0]) == EVEN


def test_rows_in_bursts_have_gaps_that_are_too_long_for_their_step():
    bursts = (5000 * np.arange(9)[:, None] + np.arange(20)).ravel()
    series = table(t=bursts, v=np.ones(180))
    assert has_too_long_gaps(series)
    assert series_targets(series).meaning == (
        "200 evenly spaced times, as the gaps between rows are too long for their usual step"
    )
    with pytest.raises(
        TableError, match="Expected gaps to fill, but the gaps between rows are too"
    ):
        series_targets(series, "gaps")
    even = table(t=np.arange(20), v=np.ones(20))
    assert not has_too_long_gaps(even)
    assert series_targets(even).meaning.endswith("as there is no gap")


def test_irregular_rows_have_no_gaps_but_missing_cells():
    times = np.sort(np.random.default_rng(0).uniform(0, 100, 80))
    series = table(t=times, v=np.sin(times))
    targets = series_targets(series)
    assert len(targets.inputs.x) == EVEN
    assert "rows are irregular" in targets.meaning
    values = np.where(np.arange(80) == 7, np.nan, np.sin(times))
    assert asked(table(t=times, v=values)) == [[times[7]]]


def test_rows_that_are_regular_up_to_jitter_have_gaps():
    times = np.delete(np.arange(60.0), [20, 21, 40])
    jitter = np.random.default_rng(0).uniform(-0.08, 0.08, len(times))
    (found,) = asked(table(t=times + jitter, v=times))
    np.testing.assert_allclose(found, [20, 21, 40], atol=0.2)


def test_a_very_wide_gap_gets_a_bounded_number_of_times():
    assert len(asked(table(t=[0, 1, 2, 3, 1e9], v=[1.0] * 5))[0]) == 500
    long = np.delete(np.arange(3000), slice(1000, 1800))
    assert asked(table(t=long, v=np.zeros(len(long)))) == [list(range(1000, 1800))]


@pytest.mark.parametrize(
    ("dates", "missing"),
    [
        (["2020-01-01", "2020-02-01", "2020-03-01", "2020-06-01"], ["2020-04-01", "2020-05-01"]),
        (["2020-01-31", "2020-02-29", "2020-03-31", "2020-05-31"], ["2020-04-30"]),
        (["2019-07-15", "2020-07-15", "2021-07-15", "2023-07-15"], ["2022-07-15"]),
        (["2020-01-01", "2020-01-02", "2020-01-03", "2020-01-05"], ["2020-01-04"]),
    ],
)
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_gaps_between_dates_follow_the_calendar(dates, missing, zone):
    times = pd.Series(pd.to_datetime(dates)).dt.tz_localize(zone)
    expected = pd.to_datetime(missing).tz_localize(zone)
    assert asked(table(date=times, v=[1.0, 2, 3, 4])) == [expected.tolist()]


def test_gaps_of_centuries_follow_the_calendar():
    centuries = pd.to_datetime(["1500-01-01", "1600-01-01", "1700-01-01", "1900-01-01"])
    assert asked(table(date=centuries, v=[1.0, 2, 3, 4])) == [[pd.Timestamp("1800-01-01")]]


def test_a_month_that_begins_with_a_skipped_hour_begins_after_it():
    months = pd.date_range("2017-08-01", "2018-01-01", freq="MS").tz_localize(
        "America/Asuncion", nonexistent="shift_forward"
    )
    kept = months[months.month != 10]
    (found,) = asked(table(date=kept, v=np.arange(5.0)))
    assert found == [pd.Timestamp("2017-10-01 01:00", tz="America/Asuncion")]


def test_a_series_without_any_time_is_left_out():
    for owners in (list("aaab"), list("baaa")):
        t = [np.nan if owner == "b" else float(i) for i, owner in enumerate(owners)]
        with pytest.warns(ConvCNPWarning, match="1 of 4 rows have no time"):
            series = table(t=t, id=owners, v=np.arange(4.0))
        first = owners.index("a")
        assert asked(series, 3) == [[first, first + 1, first + 2]]


def test_even_times_reach_from_the_first_to_the_last_of_each_series():
    series = table(id=list("aab"), t=[0, 8, 3], v=[1.0, 2, 3])
    assert asked(series, 5) == [[0, 2, 4, 6, 8], [3]]
    assert asked(series, np.int64(1)) == [[0], [3]]


def test_times_of_ones_own_are_asked_of_every_series_in_their_order():
    series = table(id=list("aab"), t=[0, 8, 3], v=[1.0, 2, 3])
    for at in ([5.0, 1.0], np.array([5, 1]), pd.Series([5, 1], index=[7, 8]), pd.Index([5, 1])):
        assert asked(series, at) == [[5, 1], [5, 1]]
    assert asked(series, 2.5) == [[2.5], [2.5]]


def test_a_table_asks_each_series_and_keeps_its_order():
    series = table(id=list("aab"), t=[0, 8, 3], v=[1.0, 2, 3])
    given = series_targets(series, pd.DataFrame({"t": [9, 4, 2], "id": list("bab")}))
    answer = series.frame(given.inputs)
    assert given.in_order(answer)["t"].tolist() == [9, 4, 2]
    assert given.in_order(answer)["id"].tolist() == ["b", "a", "b"]
    assert [given.rows(i).tolist() for i in range(2)] == [[1], [0, 2]]


@pytest.mark.parametrize(
    ("at", "error", "sentence"),
    [
        ("gaps", TableError, "Expected gaps to fill"),
        (0, SettingError, "must be at least 1"),
        (10**12, SettingError, "at most 20,000,000"),
        (np.zeros(2 * 10**7 + 1, np.int8), SettingError, "at most 20,000,000"),
        ([], TableError, "Expected at least one time"),
        ([1.0, None], TableError, "some are missing"),
        ([[1.0, 2.0]], TableError, "in one dimension"),
        (["yesterday"], TableError, "got 'yesterday' in row 1 of 1"),
    ],
    ids=["no gaps", "none", "many", "many of one's own", "empty", "missing", "matrix", "word"],
)
def test_what_cannot_be_asked_gets_a_sentence(at, error, sentence):
    with pytest.raises(error, match=sentence):
        series_targets(table(t=[0, 1], v=[1.0, 2.0]), at)


def test_a_text_tells_gaps_numbers_steps_and_files_apart(tmp_path):
    series = table(t=[0, 1, 2, 4, 5], v=[1.0, 2, 3, 4, 5])
    path = tmp_path / "asked.csv"
    path.write_text("t,other\n7,1\n3,2\n")
    asked_for = {"gaps": [3], "2": [0, 5], "0:1:0.5": [0, 0.5, 1], str(path): [7, 3]}
    for text, times in asked_for.items():
        assert asked(series, TargetText(text)) == [times]
    for text in ("0:1", "0:9:-1", "yesterday", "0:1:x"):
        with pytest.raises(TableError, match=r"^at= must be gaps, a number of times"):
            series_targets(series, TargetText(text))


def test_a_single_row_is_told_that_it_shows_no_steps():
    with pytest.raises(TableError, match="two times of a series at least, to know its steps"):
        series_targets(table(t=[0.0], v=[1.0]), TargetText("+3"))


@pytest.mark.parametrize(
    ("at", "said"),
    [
        ("9:1:1", "at= must stop after its start, got '9' and '1'; exchange them"),
        ("2020-01-01..2020-02-01..1d", "at times like those of 't', such as 0, got '2020-01-01'"),
        ("0:1e9:1e-9", r"at= must be at most 20,000,000 times, got more; take larger steps"),
        ("0:9:1d", "at= must be gaps, a number of times"),
    ],
)
def test_a_range_that_cannot_be_says_why(at, said):
    with pytest.raises(TableError, match=said):
        series_targets(table(t=[0, 1, 2, 3], v=[1.0, 2, 3, 4]), TargetText(at))


def test_a_length_of_time_ahead_of_numbers_is_told_to_have_no_unit():
    numbered = table(t=range(9), v=range(9))
    with pytest.raises(TableError, match="got '14d', but times are numbers, without a unit"):
        series_targets(numbered, TargetText("+14d"))
