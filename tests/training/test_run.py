"""From an experiment to a result file."""

import json

import pytest
import torch

from convcnp.data.functions import GPSource
from convcnp.errors import CheckpointError, ExperimentError
from convcnp.predict.zoo import load
from convcnp.training.experiment import EvaluationSettings, Experiment, apply_override
from convcnp.training.run import evaluate, run
from helpers import ROOT, seeded_model

FILE = ROOT / "experiments/table1/eq-convcnp.toml"


def test_a_result_says_all_that_a_number_depends_on(finished_run):
    directory, result = finished_run
    assert json.loads((directory / "result.json").read_text()) == result
    assert result["name"] == "table1/eq-convcnp"
    assert result["num_tasks"] == 8
    assert result["parameters"] == 6516
    assert result["steps"] == 6
    assert result["exact_gp"]["log_likelihood"] > result["log_likelihood"]
    assert {"seed", "seconds", "hardware", "commit", "standard_error"} <= set(result)
    assert result["versions"]["torch"] == str(torch.__version__)
    assert Experiment.parse(result["experiment"]) == Experiment.load(FILE, smoke=True)


def test_a_loaded_run_scores_what_its_result_says(finished_run):
    directory, result = finished_run
    predictor = load(directory)
    source = predictor.experiment.source().held_out("test")
    again = evaluate(predictor.model, source, EvaluationSettings(num_tasks=8))
    assert again["log_likelihood"] == pytest.approx(result["log_likelihood"], abs=1e-6)
    other = evaluate(predictor.model, source, EvaluationSettings(num_tasks=8, seed=7))
    assert other["log_likelihood"] != again["log_likelihood"]


def test_a_finished_run_is_not_overwritten_and_resumes_only_the_same_experiment(finished_run):
    directory, _ = finished_run
    with pytest.raises(ExperimentError, match="holds a run; add resume=True"):
        run(Experiment.load(FILE, smoke=True), "table1/eq-convcnp", directory)
    changed = Experiment.load(FILE, ["training.seed=1"], smoke=True)
    with pytest.raises(CheckpointError, match="must hold a run of the same experiment"):
        run(changed, "table1/eq-convcnp", directory, resume=True)


def test_further_scores_join_the_result():
    model, source = seeded_model(), GPSource()

    def further(*arguments):
        assert arguments == (model, source, settings)
        return {"beauty": 7}

    settings = EvaluationSettings(num_tasks=2)
    assert evaluate(model, source, settings, further)["beauty"] == 7
    assert "beauty" not in evaluate(model, source, settings)


def test_a_run_on_images_says_how_often_each_was_seen(digits, tmp_path):
    content = {
        "data": {"name": "mnist", "size": 8},
        "model": {"name": "grid-convcnp", "channels": 4, "kernel_size": 3},
    }
    tiny = ["training.steps=2", "training.validate_every=2", "training.validation_tasks=2"]
    for change in (*tiny, "evaluation.num_tasks=2", "training.batch_size=11"):
        apply_override(content, change)
    result = run(Experiment.parse(content), "table/mnist", tmp_path / "run")
    assert result["training_images"] == 22  # of 24, a twelfth is for validation
    assert result["epochs"] == 1.0
