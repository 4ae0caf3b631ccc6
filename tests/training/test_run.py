"""From an experiment to a result file."""

import json
import shutil
from pathlib import Path

import pytest
import torch

from convcnp.errors import CheckpointError, ExperimentError, ModelNotFoundError, SettingError
from convcnp.predict.zoo import WEIGHTS, available, load, publish
from convcnp.training.evaluation import Score, fixed_tasks, log_likelihoods
from convcnp.training.experiment import EvaluationSettings, Experiment
from convcnp.training.run import evaluate, run
from helpers import held_out_tasks_of

ROOT = Path(__file__).parents[2]
FILE = ROOT / "experiments/table1/eq-convcnp.toml"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    directory = tmp_path_factory.mktemp("run")
    experiment = Experiment.load(FILE, smoke=True)
    return directory, run(experiment, "table1/eq-convcnp", directory)


def test_a_result_says_all_that_a_number_depends_on(finished):
    directory, result = finished
    assert json.loads((directory / "result.json").read_text()) == result
    assert result["name"] == "table1/eq-convcnp"
    assert result["num_tasks"] == 8
    assert result["parameters"] == 6516
    assert result["steps"] == 6
    assert result["exact_gp"]["log_likelihood"] > result["log_likelihood"]
    assert {"seed", "seconds", "hardware", "commit", "standard_error"} <= set(result)
    assert result["versions"]["torch"] == str(torch.__version__)
    assert Experiment.parse(result["experiment"]) == Experiment.load(FILE, smoke=True)


def test_a_loaded_run_scores_what_its_result_says(finished):
    directory, result = finished
    predictor = load(directory)
    source = predictor.experiment.source().held_out("test")
    again = evaluate(predictor.model, source, EvaluationSettings(num_tasks=8))
    assert again["log_likelihood"] == pytest.approx(result["log_likelihood"], abs=1e-6)
    other = evaluate(predictor.model, source, EvaluationSettings(num_tasks=8, seed=7))
    assert other["log_likelihood"] != again["log_likelihood"]


def test_a_finished_run_is_not_overwritten_and_resumes_only_the_same_experiment(finished):
    directory, _ = finished
    with pytest.raises(ExperimentError, match="holds a run; add --resume"):
        run(Experiment.load(FILE, smoke=True), "table1/eq-convcnp", directory)
    changed = Experiment.load(FILE, ["training.seed=1"], smoke=True)
    with pytest.raises(CheckpointError, match="must hold a run of the same experiment"):
        run(changed, "table1/eq-convcnp", directory, resume=True)


def test_publishing_copies_the_result_and_the_weights(finished, tmp_path, monkeypatch):
    directory, result = finished
    monkeypatch.setattr("convcnp.predict.zoo.WEIGHTS", tmp_path / "weights")
    written = publish(directory, tmp_path / "results")
    assert json.loads((tmp_path / "results/table1/eq-convcnp.json").read_text()) == result
    assert len(written) == 3
    assert load("eq-convcnp").model.num_parameters == 6516
    assert [entry["name"] for entry in available()] == ["table1/eq-convcnp"]
    with pytest.raises(ModelNotFoundError, match=r"did you mean 'eq-convcnp'\?"):
        load("eq-convcnpp")


def test_weights_of_another_table_are_not_replaced(finished, tmp_path, monkeypatch):
    directory, result = finished
    monkeypatch.setattr("convcnp.predict.zoo.WEIGHTS", tmp_path / "weights")
    publish(directory, tmp_path / "results")
    other = tmp_path / "other"
    shutil.copytree(directory, other)
    renamed = result | {"name": "table9/eq-convcnp"}
    (other / "result.json").write_text(json.dumps(renamed))
    with pytest.raises(SettingError, match="weights of table1/eq-convcnp ship under the name"):
        publish(other, tmp_path / "results")
    publish(other, tmp_path / "results", weights=False)
    assert (tmp_path / "results/table9/eq-convcnp.json").exists()
    assert [entry["name"] for entry in available()] == ["table1/eq-convcnp"]


def test_publishing_an_unfinished_run_is_refused(tmp_path):
    with pytest.raises(ModelNotFoundError, match="Expected a finished run"):
        publish(tmp_path, tmp_path)


def test_fixed_tasks_are_the_same_however_many_are_asked_for():
    source = Experiment.load(FILE).source().held_out("test")
    few = list(fixed_tasks(source, 3, seed=5))
    many = list(fixed_tasks(source, 60, seed=5))
    assert torch.equal(few[0].y_target, many[0].y_target[:3])
    assert sum(task.batch_size for task in many) == 60


def test_a_score_is_the_mean_over_tasks_with_its_standard_error():
    score = Score.of(torch.tensor([1.0, 2.0, 6.0], dtype=torch.float64))
    assert score.log_likelihood == 3.0
    assert score.standard_error == pytest.approx((7 / 3) ** 0.5)
    assert score.num_tasks == 3


def test_the_exact_gp_scores_what_is_known_of_it():
    source = Experiment.parse({"data": "matern", "model": "cnp"}).source().held_out("test")
    scores = log_likelihoods(source.ceiling, fixed_tasks(source, 500, seed=1))
    assert scores.mean().item() == pytest.approx(1.0, abs=0.15)  # over 1000 tasks: 1.00


SHIPPED = sorted(path.stem for path in WEIGHTS.glob("*.json"))


@pytest.mark.parametrize("name", SHIPPED)
def test_a_shipped_model_has_the_score_of_its_result_file(name):
    predictor = load(name)
    result = predictor.result
    published = ROOT / "results" / f"{result['name']}.json"
    assert json.loads(published.read_text()) == result
    # The first 50 of the thousand tasks: the whole score is `convcnp evaluate`'s to compute.
    source = held_out_tasks_of(predictor.experiment)
    score = evaluate(predictor.model, source, EvaluationSettings(num_tasks=50))
    error = result["standard_error"] * (1000 / 50) ** 0.5
    assert abs(score["log_likelihood"] - result["log_likelihood"]) < 4 * error
