import warnings

import numpy as np
import pandas as pd
import pytest

from convcnp.core.task import Task
from convcnp.errors import ConvCNPWarning
from convcnp.predict.zoo import load
from convcnp.training.catalogue import find_source

X = [-1.2, -0.4, 0.1, 0.9]
Y = [0.3, -0.8, 0.5, 1.1]


def play(visitor, shift=0.0, **question):
    points = [[x + shift, y] for x, y in zip(X, Y, strict=True)]
    body = {"points": points, "low": -2 + shift, "high": 2 + shift, "places": 81, **question}
    answer = visitor.post("/api/playground", body)
    assert answer.status == 200, answer.content
    return answer.json


def test_a_band_is_what_the_predictor_predicts(visitor):
    found = play(visitor, models=["eq-convcnp", "eq-attncnp"], exact="eq")
    assert [band["name"] for band in found["bands"]] == ["eq-convcnp", "eq-attncnp", "exact GP"]
    for band in found["bands"][:2]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvCNPWarning)  # of places far away
            expected = load(band["name"]).predict(
                (X, Y), at=found["x"], quantiles=[0.05, 0.25, 0.75, 0.95]
            )
        for part in ("mean", "q05", "q25", "q75", "q95"):
            np.testing.assert_allclose(band[part], expected[part], atol=1e-5)
    task = Task.from_arrays(X, Y, found["x"])
    exact = find_source("eq").ceiling(task)
    np.testing.assert_allclose(found["bands"][2]["mean"], exact.mean[0, :, 0], atol=1e-6)


def test_the_convcnp_travels_with_its_points_and_the_attncnp_does_not(visitor):
    models = ["eq-convcnp", "eq-attncnp"]
    here, there = (play(visitor, shift, models=models)["bands"] for shift in (0.0, 5.3))
    np.testing.assert_allclose(there[0]["q05"], here[0]["q05"], atol=1e-4)
    assert np.abs(np.subtract(there[1]["mean"], here[1]["mean"])).max() > 0.5


def test_the_score_is_that_of_the_hidden_points(visitor):
    hidden = [[0.5, 0.9], [-0.8, -0.4]]
    (band,) = play(visitor, models=["eq-convcnp"], hidden=hidden)["bands"]
    held_out = pd.DataFrame(hidden, columns=["time", "value0"])
    score = load("eq-convcnp").score((X, Y), held_out)["value0"]["log_likelihood"]
    assert band["log_likelihood"] == pytest.approx(score, abs=1e-4)
    assert len(band["mean"]) == 81
    (without,) = play(visitor, models=["eq-convcnp"])["bands"]
    assert without["log_likelihood"] is None
    np.testing.assert_allclose(without["mean"], band["mean"], atol=1e-6)


def test_an_empty_plane_shows_the_prior(visitor):
    answer = visitor.post(
        "/api/playground", {"points": [], "low": -1, "high": 1, "models": ["eq-convcnp"]}
    )
    (band,) = answer.json["bands"]
    assert max(band["q05"]) < 0 < min(band["q95"])


def test_sawtooth_has_no_exact_gp(visitor):
    assert play(visitor, exact="sawtooth")["bands"] == []


@pytest.mark.parametrize("kind", ["eq", "matern", "weakly-periodic", "sawtooth"])
def test_a_function_is_drawn_and_part_of_it_hidden(visitor, kind):
    first, again, other = (
        visitor.post("/api/playground/function", {"kind": kind, "seed": seed, "points": 40}).json
        for seed in (1, 1, 2)
    )
    assert first == again != other
    assert len(first["points"]) + len(first["hidden"]) == 40
    assert first["hidden"]
    x, y = np.transpose(first["points"] + first["hidden"])
    assert x.min() >= -2 and x.max() <= 2
    between = np.interp(x, first["x"], first["y"])
    assert np.median(np.abs(y - between)) < 0.05


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"low": 2, "high": -2}, "low below high"),
        ({"points": [[1]]}, "points.0"),
        ({"points": 501 * [[0, 0]]}, "points"),
        ({"points": [[1e300, 0]]}, "points.0.0"),
        ({"models": ["eq-convcnp"] * 4}, "models"),
        ({"models": ["mnist-convcnp-long"]}, "takes no tables"),
        ({"models": ["lotka-volterra-convcnp"]}, "one value over time"),
        ({"models": ["nothing"]}, "did you mean"),
        ({"exact": "cubic"}, "exact"),
        ({"places": 10**9}, "places"),
    ],
)
def test_a_wrong_question_is_a_sentence(visitor, change, sentence):
    body = {"points": [[0, 0]], "low": -2, "high": 2, "models": ["eq-convcnp"], **change}
    answer = visitor.post("/api/playground", body)
    assert answer.status == 422
    assert sentence in answer.sentence or "check the name" in answer.sentence


def test_points_far_apart_are_a_sentence_and_no_crash(visitor):
    body = {"points": [[-1e11, 0], [1e11, 0]], "low": -2, "high": 2, "models": ["eq-convcnp"]}
    answer = visitor.post("/api/playground", body)
    assert answer.status == 422
    assert answer.sentence
