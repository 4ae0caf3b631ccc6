"""Trained models that ship with the package."""

import json
import shutil
import tomllib

import pytest

from convcnp.errors import ModelNotFoundError, SettingError
from convcnp.predict.zoo import USES, WEIGHTS, available, is_shipped, load, publish, rescore
from convcnp.training.experiment import EvaluationSettings
from convcnp.training.run import evaluate
from helpers import ROOT, held_out_tasks_of


def test_publishing_copies_the_result_and_the_weights(finished_run, tmp_path, monkeypatch):
    directory, result = finished_run
    monkeypatch.setattr("convcnp.predict.zoo.WEIGHTS", tmp_path / "weights")
    written = publish(directory, tmp_path / "results")
    assert json.loads((tmp_path / "results/table1/eq-convcnp.json").read_text()) == result
    assert len(written) == 3
    assert load("eq-convcnp").model.num_parameters == 6516
    assert [entry["name"] for entry in available()] == ["table1/eq-convcnp"]
    with pytest.raises(ModelNotFoundError, match=r"did you mean 'eq-convcnp'\?"):
        load("eq-convcnpp")


def test_weights_of_another_table_are_not_replaced(finished_run, tmp_path, monkeypatch):
    directory, result = finished_run
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


def test_new_scores_replace_the_old_ones_and_nothing_else(finished_run, tmp_path, monkeypatch):
    directory, result = finished_run
    monkeypatch.setattr("convcnp.predict.zoo.WEIGHTS", tmp_path / "weights")
    publish(directory, tmp_path / "results")
    written = rescore("eq-convcnp", {"log_likelihood": 9.0, "new": 1}, tmp_path / "results")
    assert written == [
        tmp_path / "weights/eq-convcnp.json",
        tmp_path / "results/table1/eq-convcnp.json",
    ]
    for path in written:
        found = json.loads(path.read_text())
        assert found.pop("scored_at_commit")
        assert found == result | {"log_likelihood": 9.0, "new": 1}
    with pytest.raises(ModelNotFoundError, match="got 'nothing'"):
        rescore("nothing", {}, tmp_path)


def test_publishing_an_unfinished_run_is_refused(tmp_path):
    with pytest.raises(ModelNotFoundError, match="Expected a finished run"):
        publish(tmp_path, tmp_path)


def test_a_model_ships_by_its_name():
    assert is_shipped("general")
    assert not is_shipped("particular")


def test_a_sentence_says_what_each_model_is_for():
    """One that ships anew needs a line in `weights/uses.toml`."""
    uses = tomllib.loads(USES.read_text())
    assert sorted(uses) == SHIPPED
    assert all(sentence.endswith(".") and len(sentence) <= 80 for sentence in uses.values())


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
