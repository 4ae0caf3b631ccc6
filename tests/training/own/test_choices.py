"""Choices: what is given comes before what is chosen, and what is wanted is read from files."""

import pytest

from convcnp.errors import ExperimentError, SettingError
from convcnp.frames.columns import Columns
from convcnp.frames.reading import TableFile
from convcnp.training.own import choices
from convcnp.training.own.choices import Choices, Wanted, merge
from convcnp.training.own.table import plan_table
from helpers import TINY, planned, series_frame


def test_what_is_given_is_kept_and_said_and_what_is_chosen_is_explained():
    said = []
    made = Choices({"training": {"steps": 7}}, said.append)
    assert made.choose("training.steps", 100, "A hundred steps.") == 7
    assert made.choose("training.seed", 3, "The third.") == 3
    assert made.choose("training.warmup", 5) == 5
    assert said == ["training.steps = 7, as given.", "The third."]
    assert made.content["training"] == {"steps": 7, "seed": 3, "warmup": 5}


def test_a_mistake_in_what_is_given_is_found_before_any_work():
    made = Choices({"training": {"step": 7}}, lambda text: None)
    with pytest.raises(ExperimentError, match=r"Unknown key 'training.step'.*'steps'"):
        made.check("table", "convcnp-ours")


def test_changes_are_merged_table_by_table():
    content = {"data": {"name": "table", "window": 9}, "model": {"name": "cnp"}}
    merge(content, {"data": {"window": 11}, "training": {"seed": 1}})
    assert content["data"] == {"name": "table", "window": 11}
    assert content["training"] == {"seed": 1}


def test_what_is_wanted_is_read_from_a_file_and_overrides(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text('model = "convcnpxl"\n[data]\nwindow = 11\n[training]\nseed = 3\n')
    wanted = Wanted.of(Columns.named(value="v"), path, ["training.seed=4"])
    assert wanted.columns == Columns(("v",))
    assert wanted.settings["model"] == {"name": "convcnpxl"}
    assert wanted.settings["training"] == {"seed": 4}
    with pytest.raises(SettingError, match="minutes must be a positive number, got 0"):
        Wanted.of(minutes=0.0)


def test_settings_of_a_file_are_those_of_the_plan(tmp_path, monkeypatch):
    monkeypatch.setattr(choices, "_rehearse", lambda *_: choices._Pace(0.1, 0.05))
    path = tmp_path / "own.toml"
    path.write_text('model = "convcnpxl"\n[data]\nwindow = 11\n[training]\nseed = 3\n')
    wanted = Wanted.of(config=path)
    plan = plan_table(TableFile(series_frame(), "", "table.csv"), wanted)
    assert plan.experiment.model["name"] == "convcnpxl"
    assert plan.experiment.data["window"] == plan.source.window == 11
    assert plan.experiment.training.seed == 3


def test_a_rehearsal_measures_steps_and_validation():
    experiment, said = planned(series_frame(), [s for s in TINY if "steps" not in s], minutes=0.02)
    assert experiment.training.steps >= 20
    assert "as a step takes" in said


@pytest.mark.parametrize(("given", "rate"), [([], 4e-3), (["training.optimizer=adam"], 2e-3)])
def test_the_learning_rate_is_that_of_the_optimizer(monkeypatch, given, rate):
    monkeypatch.setattr(choices, "_rehearse", lambda *_: choices._Pace(0.1, 0.05))
    experiment, _ = planned(series_frame(), given)
    assert experiment.training.optimizer == ("adam" if given else "muon")
    assert experiment.training.learning_rate == rate
