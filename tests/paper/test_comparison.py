"""Methods side by side: what is scored, what is written, and what stays."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from convcnp.core.predictive import GaussianPredictive
from convcnp.core.task import Task
from convcnp.data.random_series import SeriesSource
from convcnp.data.source import seeded
from convcnp.errors import OutputError, ResultError, SettingError
from convcnp.paper import comparison
from convcnp.paper.baselines.celerite import Celerite
from convcnp.paper.baselines.components import Components
from convcnp.paper.baselines.interpolation import Interpolation, linear
from convcnp.paper.comparison import (
    METHODS,
    NamedMethod,
    ToldErrors,
    compare,
    score,
    scores,
    set_up,
)
from convcnp.paper.real_series import real_series
from convcnp.paper.removals import REMOVALS
from convcnp.predict.user_units import InUserUnits
from convcnp.training.experiment import Experiment

ROOT = Path(__file__).parents[2]


def constant(mean, stddev):
    """Predict the same Gaussian everywhere."""

    def predict(task):
        means = torch.full(task.x_target.shape, mean, dtype=torch.float64)
        return GaussianPredictive(means, torch.full_like(means, stddev), task.target_mask)

    return predict


def test_scores_are_means_over_the_removed_points():
    task = Task.from_arrays([0.0], [0.0], [1.0, 2.0], [0.0, 3.0])
    found = score(constant(0.0, 1.0), task)
    assert found["log_likelihood"] == pytest.approx(-0.5 * np.log(2 * np.pi) - 9 / 4)
    # CRPS of a standard Gaussian at 0, and at 3 (from the closed form, by hand).
    assert found["crps"] == pytest.approx((0.23370 + 2.43630) / 2, abs=2e-4)
    assert (found["coverage90"], found["num_context"], found["num_target"]) == (0.5, 1, 2)
    assert 0 <= found["seconds"] < 10


def test_every_removal_is_scored_for_every_seed():
    found = scores(real_series("hare"), constant(50.0, 40.0))
    assert list(found) == ["random", "blocks", "middle", "forecast"]
    for removal, count in (("random", 27), ("blocks", 15), ("middle", 11)):
        assert [one["seed"] for one in found[removal]] == [0, 1, 2]
        assert {one["num_target"] for one in found[removal]} == {count}
        assert len({one["log_likelihood"] for one in found[removal]}) == 3
    assert [(one["seed"], one["num_target"]) for one in found["forecast"]] == [(0, 11)]


def test_a_method_is_told_what_it_can_use_of_a_series():
    series = real_series("k2-131")
    removed = REMOVALS["random"].choose(series.num_points, seeded(0))
    assert set_up(Celerite(), series, removed).errors.shape == (27,)
    plain = constant(0.0, 1.0)
    assert set_up(plain, series, removed) is plain
    assert scores(series, Components(), ["middle"]) is None


def test_errors_are_told_to_models_that_ask_for_them_and_not_to_others():
    series = real_series("supernova")
    removed = REMOVALS["random"].choose(series.num_points, seeded(0))
    told, task = ToldErrors("gp-dictionary"), series.without(removed)
    assert task.context_error is None
    with_errors = set_up(told, series, removed)(task)
    hidden = removed.numpy()
    expected = Task.from_arrays(
        *(series.times[~hidden], series.values[~hidden], series.times[hidden]),
        context_error=series.errors[~hidden],
        target_error=series.errors[hidden],
    )
    assert torch.equal(with_errors.stddev, told(expected).stddev)
    assert not torch.equal(with_errors.stddev, told(task).stddev)
    assert set_up(told, real_series("hare"), REMOVALS["middle"].choose(91, seeded(0))) is None


def test_a_method_that_cannot_take_a_series_leaves_no_result(tmp_path):
    compare(["epic203771098"], ["linear", "components"], tmp_path, removals=["forecast"])
    written = json.loads((tmp_path / "epic203771098.json").read_text())
    assert (list(written["methods"]), written["group"]) == (["linear"], "irregular")


def test_other_removals_of_a_method_stay_and_say_where_they_are_from(tmp_path, monkeypatch):
    compare(["hare"], ["linear"], tmp_path, removals=["random", "blocks"])
    before = json.loads((tmp_path / "hare.json").read_text())["methods"]["linear"]
    monkeypatch.setattr(comparison, "commit", lambda: "later")
    compare(["hare"], ["linear"], tmp_path, removals=["middle", "random"])
    after = json.loads((tmp_path / "hare.json").read_text())["methods"]["linear"]
    assert list(after["scores"]) == ["random", "blocks", "middle"]
    assert after["scores"]["blocks"] == before["scores"]["blocks"]
    assert [origin["removals"] for origin in after["origins"]] == [["blocks"], ["middle", "random"]]
    assert after["origins"][0] == {**before["origins"][0], "removals": ["blocks"]}
    assert after["origins"][1]["commit"] == "later"


def test_the_general_model_answers_in_the_series_units():
    model = Experiment.load(ROOT / "experiments/general/general.toml").build_model().eval()
    method = InUserUnits(model, SeriesSource())
    x, y = np.arange(12.0), np.sin(np.arange(12.0))
    here = method(Task.from_arrays(x, y, x + 0.5))
    there = method(Task.from_arrays(1e6 + 60 * x, 1e3 * y - 5, 1e6 + 60 * x + 30))
    assert not here.mean.requires_grad
    torch.testing.assert_close(there.mean, 1e3 * here.mean - 5, rtol=1e-4, atol=1e-2)
    torch.testing.assert_close(there.stddev, 1e3 * here.stddev, rtol=1e-4, atol=1e-2)


def test_a_method_run_again_replaces_its_own_result_and_no_other(tmp_path, monkeypatch):
    told = []
    compare(["hare"], ["linear", "splines"], tmp_path, report=lambda *of: told.append(of[:2]))
    before = json.loads((tmp_path / "hare.json").read_text())
    monkeypatch.setitem(METHODS, "linear", NamedMethod("Lines", lambda: constant(0.0, 1.0)))
    assert compare(["hare"], ["linear"], tmp_path) == [tmp_path / "hare.json"]
    after = json.loads((tmp_path / "hare.json").read_text())
    assert told == [("hare", "linear"), ("hare", "splines")]
    assert list(after["methods"]) == ["splines", "linear"]
    assert after["methods"]["splines"] == before["methods"]["splines"]
    assert after["methods"]["linear"]["scores"] != before["methods"]["linear"]["scores"]
    assert (after["num_points"], after["unit"]) == (91, "thousands")
    (origin,) = after["methods"]["linear"]["origins"]
    assert {"removals", "hardware", "versions", "commit"} == set(origin)
    assert {"scikit-learn", "celerite2", "radvel"} <= set(origin["versions"])


def test_the_scores_in_a_file_are_those_of_the_method(tmp_path):
    compare(["lynx"], ["linear"], tmp_path)
    written = json.loads((tmp_path / "lynx.json").read_text())["methods"]["linear"]["scores"]
    found = scores(real_series("lynx"), Interpolation(linear))
    for removal in ("random", "blocks"):
        for ours, theirs in zip(found[removal], written[removal], strict=True):
            assert ours["crps"] == theirs["crps"]


def test_wrong_names_are_refused_before_anything_is_computed(tmp_path):
    with pytest.raises(SettingError, match=r"^series must be one of .* did you mean 'nile'"):
        compare(["Nile"], ["gp"], tmp_path)
    with pytest.raises(SettingError, match=r"^methods must be one of .* did you mean 'splines'"):
        compare(["nile"], ["spline"], tmp_path)
    with pytest.raises(SettingError, match=r"^removals must be one of .* did you mean 'middle'"):
        compare(["nile"], ["linear"], tmp_path, removals=["midle"])
    assert list(tmp_path.iterdir()) == []


def test_a_broken_file_and_an_unwritable_folder_are_named(tmp_path):
    (tmp_path / "hare.json").write_text("{")
    with pytest.raises(ResultError, match=r"hare\.json must be a result file in JSON"):
        compare(["hare"], ["linear"], tmp_path)
    with pytest.raises(OutputError, match="Expected a directory that can be written"):
        compare(["hare"], ["linear"], Path("/proc/nowhere"))
