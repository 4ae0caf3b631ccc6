"""Models of one's own that are told standard errors: trained, asked, checked."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import convcnp
from convcnp.cli import app
from convcnp.core.task import Task
from convcnp.data.source import seeded
from convcnp.errors import ConvCNPWarning
from convcnp.predict.calibration import Check
from convcnp.predict.hidden import Hiding
from convcnp.predict.user_units import InUserUnits
from helpers import measured_frame

FRAME = measured_frame()


@pytest.fixture(scope="module")
def predictor(own_measured):
    return convcnp.load(own_measured / "model")


def means(predictor, frame, **options):
    return predictor.predict(frame, at=5, **options)["v_mean"].to_numpy()


def test_errors_are_learned_with_and_remembered(predictor):
    assert predictor.model.knows_errors
    assert predictor.source.errors == ("v_err",)
    request = predictor.request(FRAME, at=5)
    assert "'v_err' as the standard errors of 'v'" in request.description
    assert not np.allclose(means(predictor, FRAME), means(predictor, FRAME, error=""))
    renamed = FRAME.rename(columns={"v_err": "doubt"})
    assert means(predictor, renamed, error="doubt") == pytest.approx(means(predictor, FRAME))


def test_an_infinite_error_is_no_observation_and_zero_is_none(predictor):
    is_poor = np.arange(len(FRAME)) % 5 == 1
    infinite = FRAME.assign(v_err=FRAME["v_err"].mask(is_poor, np.inf))
    at = FRAME[["id", "t"]].iloc[::7]
    found, expected = (predictor.predict(f, at=at) for f in (infinite, FRAME[~is_poor]))
    assert found["v_mean"].to_numpy() == pytest.approx(expected["v_mean"].to_numpy())
    exact = FRAME.assign(v_err=0.0)
    assert means(predictor, exact) == pytest.approx(means(predictor, FRAME, error=""))


def test_a_table_without_errors_is_taken_for_exact_with_a_word(predictor):
    with pytest.warns(ConvCNPWarning, match=r"trained with standard errors in 'v_err', but.*exact"):
        bare = means(predictor, FRAME.drop(columns="v_err"))
    assert bare == pytest.approx(means(predictor, FRAME, error=""))


def test_a_measurement_is_predicted_wider_than_its_value(predictor):
    value, measurement = (
        predictor.predict(FRAME, at=5, of=of)["v_std"] for of in ("value", "measurement")
    )
    assert (measurement > value).all()


def test_a_check_compares_with_measurements_by_their_own_errors(predictor, own_measured):
    check = Check.of(predictor, own_measured / "table.csv")
    assert check.source.part == "test"
    assert check.description(5).endswith("hidden, with 'v_err' as the standard errors of 'v'.")
    (hidden,) = Hiding(check.source).tasks(3, seed=0)
    first, asked = hidden.series.rows(0), hidden.asked.rows(0)
    by_time = FRAME.set_index("t")["v_err"]
    assert hidden.asked.error[:, 0] == pytest.approx(by_time[hidden.asked.x].to_numpy())
    task = Task.from_arrays(
        hidden.series.x[first],
        hidden.y[first],
        hidden.asked.x[asked],
        context_error=hidden.series.error[first],
        target_error=hidden.asked.error[asked],
    )
    expected = InUserUnits(predictor.model, predictor.source)(task).stddev[0, :, 0].numpy()
    found = hidden.predicted(predictor).predictive.stddev[0, asked, 0].numpy()
    assert found == pytest.approx(expected, rel=1e-4)


def test_training_tasks_hold_the_errors_of_what_they_hold(predictor):
    task = predictor.source.held_out("test").draw(20, seeded(0))
    sizes = np.array([0.1, 2.0]) / predictor.source.scale[0]
    for error, mask in ((task.context_error, task.context_mask), (task.target_error, None)):
        mask = task.target_mask if mask is None else mask
        assert np.isclose(error[mask].numpy()[:, None], sizes).any(1).all()
        assert mask.any()


def test_the_commands_take_errors_and_refuse_what_is_none(own_measured, tmp_path):
    def invoke(*arguments):
        return CliRunner().invoke(app, [*map(str, arguments)])

    table, model = own_measured / "table.csv", own_measured / "model"
    with_errors = invoke("check", model, "--data", table, "--tasks", 5, "--json")
    without = invoke("check", model, "--data", table, "--tasks", 5, "--error", "", "--json")
    scores = [json.loads(done.stdout)["v"] for done in (with_errors, without)]
    assert scores[0]["values"] == scores[1]["values"]
    assert scores[0]["log_likelihood"] != scores[1]["log_likelihood"]
    train = ["train", "--data", table, "--out", tmp_path / "out"]
    wrong = invoke(*train, "--value", "v", "--error", "v_er")
    assert "column 'v_er' of standard errors" in str(wrong.exception)
    in_plane = invoke(
        *train, *("--inputs", "t", "--inputs", "v", "--value", "v_err", "--error", "v")
    )
    assert "points in the plane without standard errors" in str(in_plane.exception)
    assert not (tmp_path / "out").exists()
