"""What to name where a guessed time is shared by most rows."""

import numpy as np
import pandas as pd
import pytest

from convcnp.errors import ConvCNPWarning, TableError
from convcnp.frames.advice import check_times_differ
from convcnp.frames.columns import choose_columns

AVERAGE = "give time='date' to average"
DEPTHS = [5, 10, 20, 50, 100]


def casts(**columns):
    """Return four casts of a probe, each of one day, in which temperature falls with depth."""
    days = np.repeat(pd.date_range("2020-01-01", periods=4), 5).astype(str)
    depth = np.tile(DEPTHS, 4)
    content = {"date": days, "Bot. Depth [m]": 2000, "Depth [m]": depth, "temp": 20 - depth / 7.3}
    frame = pd.DataFrame(content).assign(**columns)
    frame["temp"] += np.repeat([0.01, 0.02, 0.03, 0.04], 5)
    return frame


def sentence(frame, time="date", group=None, channel=None):
    with pytest.raises(TableError, match="Expected times that differ") as refused:
        check_times_differ(frame, time, group, channel)
    return str(refused.value)


def test_casts_are_series_over_their_depth():
    station = np.repeat([11, 12, 13, 14], 5)
    advice = f"; give time='Depth [m]' and group='Station', or {AVERAGE}"
    assert advice in sentence(casts(Station=station))
    assert advice in sentence(casts(Station=station), group="Station")
    assert "give time='Depth [m]' and group='date'" in sentence(casts())
    with (
        pytest.warns(ConvCNPWarning, match="where a series was observed"),
        pytest.raises(TableError, match=r"give time='Depth \[m\]' and group='Station'"),
    ):
        choose_columns(casts(Station=station))


def test_what_is_in_order_within_every_series_is_told_by_its_repetition():
    frame = casts(cast=np.repeat(["b", "a", "d", "c"], 5)).drop(columns="Bot. Depth [m]")
    assert "give time='z' and group='cast'" in sentence(frame.rename(columns={"Depth [m]": "z"}))


def test_depths_at_many_times_tell_series_apart():
    depth = np.tile([5, 10], 10)
    days = np.repeat(pd.date_range("2020-01-01", periods=10), 2).astype(str)
    mooring = pd.DataFrame({"date": days, "depth": depth, "temp": np.arange(20) % 7 / 3})
    assert f"group= ('depth' may do so), or {AVERAGE}" in sentence(mooring)


def test_a_measurement_that_grows_is_no_time():
    child = np.repeat([f"{i:03d}" for i in range(6)], 5)
    age = np.tile([12, 15, 20, 26, 30], 6)
    height = 70 + age / 2 + np.repeat(np.arange(6), 5) / 7
    frame = pd.DataFrame({"child": child, "age_months": age, "height": height})
    said = sentence(frame, "age_months")
    assert "group= ('child' may do so)" in said
    assert "'height'" not in said


def test_the_only_measurement_names_no_series():
    days = np.repeat(pd.date_range("2020-01-01", periods=15), 2).astype(str)
    only = pd.DataFrame({"date": days, "v": np.arange(30) % 7})
    assert f"in 'date' with another; {AVERAGE}" in sentence(only)
    beside = only.assign(w=np.arange(30) / 3 % 2)
    assert f"in 'date' with another; {AVERAGE}" in sentence(beside)


def test_numbers_without_a_name_tell_series_apart_if_they_are_there_at_all_times():
    frame = pd.DataFrame({"date": list("aabbccdd"), "leg": [1, 2] * 4, "v": np.arange(8) % 5 / 3})
    assert "group= ('leg' may do so)" in sentence(frame)


def test_times_that_grow_from_the_first_row_to_the_last_may_be_it():
    frame = pd.DataFrame({"year": [1, 1, 1, 2, 2, 2], "part": [0.1, 0.4, 0.8, 1.1, 1.4, 1.8]})
    assert "name the time with time= ('part' may be it)" in sentence(frame.assign(v=3), "year")


def test_times_that_differ_are_not_refused():
    check_times_differ(pd.DataFrame({"date": [1, 2, 3], "v": [1, 1, 1]}), "date", None, None)
