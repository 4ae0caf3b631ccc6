"""Settings chosen from data: what they are, what they follow from, and that they can be given."""

import numpy as np
import pandas as pd
import pytest

from convcnp.data.table import part_of
from convcnp.errors import ExperimentError, GridTooLargeError, SettingError, TableError
from convcnp.frames.columns import Columns, choose_columns
from convcnp.frames.series import Rows
from convcnp.training.own import choices
from convcnp.training.own.table import typical_gaps
from helpers import long_series, measured_frame, planned, points_frame, series_frame


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Take a pace as given in place of a rehearsal."""
    monkeypatch.setattr(choices, "_rehearse", lambda *_: choices._Pace(0.1, 0.05))


def test_every_choice_is_explained_and_a_given_one_is_kept():
    frame = series_frame()
    experiment, said = planned(frame)
    for sentence in (
        "Learning 'v' over 't' from 12 series by 'id', 288 rows",
        "the typical gap",
        "A task is a whole series",
        "relative to the mean and spread of all training rows",
        "cells per unit",
        "halves the grid",
        "A step sees",
        "Training takes 4,500 steps, as a step takes 100 ms and 10 minutes were given",
    ):
        assert sentence in said
    assert experiment.training.steps == 4500
    assert planned(frame, minutes=1.0)[0].training.steps == 450
    given = ["training.steps=7", "model.points_per_unit=2.5", "data.units=series"]
    experiment, said = planned(frame, given)
    assert experiment.training.steps == 7
    assert experiment.model["points_per_unit"] == 2.5
    assert experiment.data["units"] == "series"
    assert "training.steps = 7, as given." in said


def test_units_are_learned_from_the_training_series_alone():
    frame = series_frame(30)
    held = part_of(Rows.of(frame, choose_columns(frame)), "test")
    name = held.labels[np.flatnonzero(held.lengths)[0]]
    changed = frame.assign(v=frame["v"].where(frame["id"] != name, frame["v"] + 1e6))
    first, second = planned(frame)[0], planned(changed)[0]
    assert first.data["level"] == second.data["level"]
    assert first.data["level"][0] == pytest.approx(10, abs=0.5)
    assert first.data["scale"][0] == pytest.approx(3 / 2**0.5, abs=0.2)


def test_a_series_that_climbs_is_seen_relative_to_each_window():
    frame = long_series()
    assert planned(frame)[0].data["units"] == "fixed"
    climbing = frame.assign(v=frame["v"] + frame["t"] / 40)
    assert planned(climbing)[0].data["units"] == "series"


def test_levels_that_differ_much_are_taken_from_each_series():
    frame = series_frame(20)
    size = frame["id"].str[1:].astype(int)
    assert planned(frame)[0].data["units"] == "fixed"
    for changed in (frame["v"] + 100 * size, (frame["v"] - 10) * 3.0**size):
        experiment, said = planned(frame.assign(v=changed))
        assert experiment.data["units"] == "series"
        assert "level and spread of each task" in said


def test_the_time_unit_is_the_typical_gap_and_nothing_else_depends_on_the_users():
    hourly, in_days = long_series(), long_series(gap=1 / 24)
    first, second = planned(hourly)[0], planned(in_days)[0]
    assert first.data["gap"] == (1.0,)
    assert second.data["gap"][0] == pytest.approx(1 / 24)
    assert first.model == second.model
    dated = hourly.assign(t=pd.Timestamp("2024-01-01") + pd.to_timedelta(hourly["t"], unit="h"))
    experiment, said = planned(dated)
    assert experiment.data["gap"] == (3600.0,)
    assert "One unit of input is 01:00:00" in said


def test_inputs_of_one_kind_share_a_unit_and_others_do_not():
    frame = points_frame()
    columns = choose_columns(frame, Columns.named(inputs=("east", "north")))
    shared = typical_gaps(Rows.of(frame, columns))
    assert shared[0] == shared[1]
    own = typical_gaps(Rows.of(frame.assign(north=1000 * frame["north"]), columns))
    assert own[1] / own[0] == pytest.approx(1000, rel=0.2)


@pytest.mark.parametrize(
    ("frame", "names", "sentence"),
    [
        (series_frame(40, rows=2), {}, "at least 3 rows with a value, but the longest of 40 has 2"),
        (series_frame(3, rows=6), {}, "at least 5 series, or 60 rows .* got 3 series and 18 rows"),
        (series_frame().assign(v=4.0), {}, "vary in 'v', but in the training part it is 4 every"),
        (
            series_frame().assign(v=1e200),
            {},
            "a number below 1e.30 in every cell of 'v', got 1e.200",
        ),
        (series_frame().assign(t=5.0), {"time": "t"}, "rows that differ in 't', but within every"),
        (series_frame(), {"value": ["w"]}, "Expected a column 'w'"),
        (series_frame(), {"time": "id", "group": ""}, "number|date"),
    ],
    ids=[
        *("one row", "few rows", "constant", "huge", "one time", "no such column"),
        "words as times",
    ],
)
def test_a_table_with_nothing_to_learn_from_is_refused(frame, names, sentence):
    with pytest.raises(TableError, match=sentence):
        planned(frame, **names)


def test_settings_that_cannot_be_are_refused():
    with pytest.raises(SettingError, match="minutes must be a positive number, got 0"):
        planned(series_frame(), minutes=0.0)
    with pytest.raises(ExperimentError, match=r"Unknown key 'training.step'.*'steps'"):
        planned(series_frame(), ["training.step=5"])
    with pytest.raises(ExperimentError, match=r"data\.window"):
        planned(series_frame(), ["data.window=wide"])
    for setting, sentence in (
        ("model.points_per_unit=0", r"model.points_per_unit must be a positive number, got 0"),
        ("model.down=[]", r"model.down must have the channels of at least one halving"),
        ("data.gap=[1.0, 2.0]", r"data.gap must have one number per input: expected 1, got"),
        ("data.scale=[1.0, 2.0]", r"data.scale must have one number per value column: expected 1"),
    ):
        with pytest.raises(SettingError, match=sentence):
            planned(series_frame(), [setting])
    with pytest.raises(GridTooLargeError, match="fewer points per unit"):
        planned(series_frame(), ["model.points_per_unit=1e7"])


def test_columns_of_errors_are_recognised_and_choose_the_model():
    frame = measured_frame()
    experiment, said = planned(frame)
    assert experiment.model["name"] == "convcnp-measured"
    assert (experiment.data["values"], experiment.data["errors"]) == (("v",), ("v_err",))
    assert "Learning 'v' over 't', with 'v_err' as the standard errors of 'v', from 12" in said
    experiment, said = planned(frame, error="")
    assert experiment.model["name"] == "convcnp-ours"
    assert experiment.data["values"] == ("v", "v_err")
    experiment, said = planned(frame, ["model.name=convcnp"])
    assert "'convcnp' makes no use of standard errors; 'convcnp-measured' does." in said
    given = planned(frame.rename(columns={"v_err": "doubt"}), ['data.errors=["doubt"]'])[0]
    assert (given.data["values"], given.data["errors"]) == (("v",), ("doubt",))


def test_a_long_table_has_one_column_of_errors_for_all_channels():
    frame = measured_frame().assign(band=["g", "r", "r"] * 96)
    experiment, said = planned(frame, channel="band", group="id", time="t")
    assert experiment.data["errors"] == ("v_err", "v_err")
    assert "with 'v_err' as the standard errors of all, from" in said


def test_what_was_measured_with_an_infinite_error_is_not_learned_from():
    frame = measured_frame()
    poor = frame["v_err"] > 1
    infinite = frame.assign(v=frame["v"].mask(poor, 1e9), v_err=frame["v_err"].mask(poor, np.inf))
    found, expected = (planned(f)[0].data for f in (infinite, frame[~poor]))
    assert found == expected
