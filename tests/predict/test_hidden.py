"""Hidden values: drawn from what a model may be judged by, predicted as users' gaps are."""

import numpy as np
import pandas as pd
import pytest

import convcnp
from convcnp.core.bounds import Limits
from convcnp.data.table import TableSource
from convcnp.frames.columns import Columns
from convcnp.frames.series import Rows
from convcnp.predict import hidden as module
from convcnp.predict.baselines import LINE, NEAREST, SEASON
from convcnp.predict.hidden import Hiding


def source_of(frame, **settings):
    columns = Columns(values=("v",), **settings.pop("columns", {"time": "t"}))
    return TableSource(**columns.given, read=Rows.of(frame, columns), **settings)


T = np.arange(400.0)
LONG = pd.DataFrame({"t": T, "v": 0.01 * T + np.sin(2 * np.pi * T / 12)})


def test_values_are_hidden_in_the_held_out_part_and_all_else_is_left():
    hiding = Hiding(source_of(LONG, window=32, part="test"))
    (found,) = hiding.tasks(20, seed=0)
    assert found.asked.x.min() >= 340  # the last 15 % judge
    assert (found.series.lengths + found.asked.lengths).tolist() == [400] * 20
    for i in range(20):
        seen, asked = found.series.x[found.series.rows(i)], found.asked.x[found.asked.rows(i)]
        assert sorted([*seen, *asked]) == T.tolist()
        assert found.truth[found.asked.rows(i), 0] == pytest.approx(LONG["v"][asked].to_numpy())
    (again,) = hiding.tasks(20, seed=0)
    assert np.array_equal(found.asked.x, again.asked.x)


def test_of_very_long_series_what_is_near_is_left(monkeypatch):
    monkeypatch.setattr(module, "_MOST_ROWS", 100)
    (found,) = Hiding(source_of(LONG, window=16, part="all")).tasks(10, seed=1)
    assert (found.series.lengths + found.asked.lengths <= 116).all()
    for i in range(10):
        seen, asked = found.series.x[found.series.rows(i)], found.asked.x[found.asked.rows(i)]
        assert np.abs(seen - asked.mean()).max() < 130


def test_the_model_predicts_as_it_does_for_users():
    (found,) = Hiding(source_of(LONG, window=64, part="all")).tasks(1, seed=0)
    predictor = convcnp.load("general")
    predictive = found.predicted(predictor).predictive
    expected = predictor.predict((found.series.x, found.y[:, 0]), at=found.asked.x)
    np.testing.assert_allclose(predictive.mean[0, :, 0].numpy(), expected["mean"], rtol=1e-5)


def test_bounds_are_those_of_a_prediction():
    levels = LONG.assign(v=np.exp(np.sin(T / 9)))
    (found,) = Hiding(source_of(levels, window=64, part="all")).tasks(1, seed=0)
    predictor = convcnp.load("general")
    predictive = found.predicted(predictor, Limits.given(positive=True)).predictive
    known = (found.series.x, found.y[:, 0])
    expected = predictor.predict(known, at=found.asked.x, positive=True, quantiles=[0.05])
    low = predictive.quantile(0.05)[0, :, 0].numpy()
    np.testing.assert_allclose(low, expected["q05"], rtol=1e-5)
    assert (low > 0).all()


def test_a_line_and_the_season_are_drawn_through_what_is_left():
    hiding = Hiding(source_of(LONG, window=32, part="all"))
    (found,) = hiding.tasks(10, seed=0)
    guesses = hiding.guesses(found)
    for i in range(10):
        rows, asked = found.series.rows(i), found.asked.rows(i)
        line = np.interp(found.asked.x[asked], found.series.x[rows], found.y[rows, 0])
        assert guesses[LINE][asked, 0] == pytest.approx(line)
    assert hiding.season(0, 0) == pytest.approx(12, rel=0.01)
    error = {name: np.abs(guess - found.truth).mean() for name, guess in guesses.items()}
    assert error[SEASON] < 0.7 * error[LINE]


def test_points_in_the_plane_are_compared_with_the_nearest():
    random = np.random.default_rng(0)
    east, north = random.random((2, 60))
    frame = pd.DataFrame({"e": east, "n": north, "v": east + north})
    columns = {"inputs": ("e", "n")}
    hiding = Hiding(source_of(frame, columns=columns, gap=(1.0, 1.0), window=20, part="all"))
    (found,) = hiding.tasks(5, seed=0)
    guesses = hiding.guesses(found)
    assert list(guesses) == [NEAREST]
    assert not np.isnan(guesses[NEAREST]).any()
    assert np.abs(guesses[NEAREST] - found.truth).mean() < 0.3
