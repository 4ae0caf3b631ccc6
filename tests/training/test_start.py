"""Trainings that begin with the weights of shipped models."""

import json

import pytest
import torch

from convcnp.errors import ExperimentError
from convcnp.models.convcnp import ConvCNP
from convcnp.storage import WEIGHTS, read_tensors, write_tensors
from convcnp.training.experiment import Experiment
from convcnp.training.run import run
from convcnp.training.start import begin_with
from helpers import ROOT

FILE = ROOT / "experiments/table1/eq-convcnp.toml"


def test_a_run_goes_on_from_the_weights_it_starts_with(tmp_path):
    settings = ["start=eq-convcnp", "training.learning_rate=1e-12"]
    result = run(Experiment.load(FILE, settings, smoke=True), "table1/again", tmp_path / "run")
    shipped, _ = read_tensors(WEIGHTS / "eq-convcnp.safetensors")
    trained, _ = read_tensors(tmp_path / "run/best.safetensors")
    for name, value in shipped.items():
        torch.testing.assert_close(trained[name], value, atol=1e-6, rtol=0)
    earlier = json.loads((WEIGHTS / "eq-convcnp.json").read_text())
    assert result["steps"] == 6
    assert result["start"]["name"] == "eq-convcnp"
    assert result["start"]["steps"] == earlier["steps"]


def test_trainings_one_after_the_other_are_counted_together(tmp_path, monkeypatch):
    monkeypatch.setattr("convcnp.training.start.WEIGHTS", tmp_path)
    write_tensors(tmp_path / "second.safetensors", ConvCNP.small().state_dict())
    result = {"steps": 5, "seconds": 2.5, "start": {"name": "first", "steps": 7, "seconds": 1.0}}
    (tmp_path / "second.json").write_text(json.dumps(result))
    found = begin_with(ConvCNP.small(), "second")
    assert found == {"name": "second", "steps": 12, "seconds": 3.5}


def test_a_model_that_does_not_ship_is_refused_with_the_nearest():
    with pytest.raises(ExperimentError, match=r"got 'eq-convcmp'.*eq-convcnp"):
        begin_with(ConvCNP.small(), "eq-convcmp")


def test_weights_of_another_model_are_refused():
    with pytest.raises(ExperimentError, match="do not fit it"):
        begin_with(ConvCNP.small(), "eq-convcnpxl")


def test_a_run_may_begin_with_one_that_was_made_beside_it(tmp_path):
    first = run(Experiment.load(FILE, smoke=True), "table1/first", tmp_path / "first")
    settings = ["start=first", "training.learning_rate=1e-12"]
    second = run(Experiment.load(FILE, settings, smoke=True), "table1/second", tmp_path / "second")
    before, after = (
        read_tensors(tmp_path / n / "best.safetensors")[0] for n in ("first", "second")
    )
    for name, value in before.items():
        torch.testing.assert_close(after[name], value, atol=1e-6, rtol=0)
    assert second["start"] == {
        "name": "first",
        **{key: first[key] for key in ("steps", "epochs", "seconds") if key in first},
    }
    with pytest.raises(
        ExperimentError, match=r"that ships or that was trained before into .*elsewhere"
    ):
        begin_with(ConvCNP.small(), "first", tmp_path / "elsewhere")
