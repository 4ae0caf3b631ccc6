"""Commands for experiments."""

import json
import re
import sys
from pathlib import Path

import pytest

from convcnp.cli.experiments import result_in_words
from convcnp.errors import SettingError
from helpers import ROOT, call, interrupted, invoke, write_pictures, write_untrained

FILE = str(ROOT / "experiments/table1/eq-cnp.toml")


def test_a_smoke_run_ends_with_a_result_that_can_be_evaluated(tmp_path):
    done = call("run", FILE, "--smoke", "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "log-likelihood per target point" in done.stdout
    assert "step 6 of 6" in done.stderr
    again = json.loads(invoke("evaluate", str(tmp_path / "run"), "--json").output)
    told = json.loads((tmp_path / "run/result.json").read_text())
    assert again["log_likelihood"] == pytest.approx(told["log_likelihood"])
    assert again["num_tasks"] == told["num_tasks"] == 8
    fewer = invoke("evaluate", str(tmp_path / "run"), "--tasks", "3", "--seed", "9", "--json")
    assert json.loads(fewer.output)["num_tasks"] == 3
    assert json.loads(fewer.output)["seed"] == 9
    refused = invoke("evaluate", "eq-convcnp", "--seed", "9", "--into", str(tmp_path))
    assert "--into keeps scores on the tasks of a model's own result" in str(refused.exception)


def test_an_interrupted_run_is_kept_and_says_how_to_go_on(tmp_path):
    changes = ["--set", "training.steps=100000", "--set", "training.validate_every=100000"]
    command = [sys.executable, "-m", "convcnp", "run", FILE, "--smoke", *changes]
    errors = interrupted([*command, "--out", str(tmp_path)], tmp_path)
    assert "Stopped. The run is kept in" in errors
    assert "--resume goes on" in errors


def test_models_are_listed_for_people_and_for_machines():
    shipped = json.loads(invoke("models", "--json").output)
    listing, numbers = invoke("models").output, invoke("models", "--numbers").output
    for result in shipped:
        assert Path(result["name"]).name in listing
        assert Path(result["name"]).name in numbers
        assert result["bytes"] > 0
    assert shipped[0]["name"] == "general/general"
    assert "begin with this one" in " ".join(re.sub(r"[│\n]", " ", listing).split())


@pytest.mark.parametrize(
    ("table", "sentences"),
    [
        ("table1/eq-convcnp", ["± 0.03", "over 1000 tasks (exact GP: "]),
        ("figure3/lotka-volterra-convcnp", ["Lynx and hare in thousands, every interval: log-"]),
        ("table2/plasticc-convcnpxl", ["Kept points, kaggle gp with noise: log-likelihood"]),
    ],
)
def test_a_result_is_told_with_all_that_a_model_was_judged_by(table, sentences):
    text = result_in_words(json.loads((ROOT / "results" / f"{table}.json").read_text()))
    assert text.startswith("log-likelihood per target point ")
    for sentence in sentences:
        assert sentence in text


def test_a_path_that_a_description_names_is_opened_only_where_the_user_names_it(tmp_path):
    write_untrained(tmp_path, "image-folder", {"name": "grid-convcnp"})
    result = json.loads((tmp_path / "result.json").read_text())
    result["experiment"]["data"]["path"] = "/secret"
    (tmp_path / "result.json").write_text(json.dumps(result))
    done = invoke("evaluate", str(tmp_path))
    assert isinstance(done.exception, SettingError)
    assert "its description says is /secret; name it with --data" in str(done.exception)
    done = invoke("evaluate", str(tmp_path), "--data", str(tmp_path / "mine"))
    assert "mine" in str(done.exception)
    assert "/secret" not in str(done.exception)
    done = invoke("evaluate", "eq-convcnp", "--data", "mine")
    assert "--data is for models that were trained on a table" in str(done.exception)


def test_a_part_of_the_data_can_be_scored(tmp_path):
    write_untrained(tmp_path / "run", "image-folder", {"name": "grid-convcnp"})
    images = write_pictures(tmp_path / "images", count=10)
    asked = ("evaluate", str(tmp_path / "run"), "--data", str(images), "--tasks", "4", "--json")
    scores = {
        part: json.loads(invoke(*asked, "--part", part).output)["log_likelihood"]
        for part in ("training", "validation", "test")
    }
    assert json.loads(invoke(*asked).output)["log_likelihood"] == scores["test"]
    assert len(set(scores.values())) == 3


def test_a_part_that_does_not_exist_is_refused_with_a_sentence():
    done = invoke("evaluate", "eq-convcnp", "--part", "training")
    assert "--part is for models of a data set, got 'training'" in str(done.exception)
    done = invoke("evaluate", "eq-convcnp", "--part", "train")
    assert "must be one of training, validation, test, got 'train'" in str(done.exception)
    done = invoke("evaluate", "mnist-convcnp", "--part", "training", "--into", "results")
    assert "--part training; leave those out" in str(done.exception)
