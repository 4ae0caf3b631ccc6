"""Many series at once: the numbers of each alone, however they are batched, padded or cut."""

import itertools

import numpy as np
import pytest

from convcnp.core.task import Task
from convcnp.data.gp import GPSource
from convcnp.data.random_series import SeriesSource
from convcnp.frames.series import Ragged
from convcnp.models.cnp import CNP
from convcnp.models.convcnp import ConvCNP
from convcnp.models.gaussian_process import EQ
from convcnp.predict import batches
from convcnp.predict.batches import predict_many, reach
from convcnp.predict.user_units import InUserUnits
from helpers import lively

LENGTHS, ASKED = (5, 1, 9, 3, 7), (2, 4, 1, 0, 3)


@pytest.fixture(scope="module")
def model():
    return lively(ConvCNP.small(points_per_unit=4)).eval()


def ragged(lengths, seed):
    x = np.random.default_rng(seed).uniform(0, 30, sum(lengths))
    starts = np.concatenate([[0], np.cumsum(lengths)])
    for start, stop in itertools.pairwise(starts):
        x[start:stop].sort()
    return Ragged(x, starts)


def problem():
    series = ragged(LENGTHS, 0)
    y = np.random.default_rng(1).normal(20.0, 3.0, (len(series.x), 1))
    return series, y, ragged(ASKED, 2)


def one_by_one(model, series, y, asked):
    """Predict every series in a task of its own."""
    mean, stddev = np.full((2, len(asked.x), 1), np.nan)
    for i in np.flatnonzero(asked.lengths):
        rows, wanted = (slice(r.starts[i], r.starts[i + 1]) for r in (series, asked))
        task = Task.from_arrays(series.x[rows], y[rows], asked.x[wanted])
        predictive = InUserUnits(model, SeriesSource())(task)
        mean[wanted], stddev[wanted] = predictive.mean[0].numpy(), predictive.stddev[0].numpy()
    return mean, stddev


def assert_as_alone(model, series, y, asked):
    found = predict_many(model, SeriesSource(), series, y, asked)
    mean, stddev = one_by_one(model, series, y, asked)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-5)
    np.testing.assert_allclose(found.stddev, stddev, rtol=1e-5)
    return found


def test_a_batch_gives_the_numbers_of_each_series_alone(model):
    found = assert_as_alone(model, *problem())
    assert np.ptp(found.mean) > 1


@pytest.mark.parametrize(("name", "value"), [("_SERIES", 2), ("_POINTS", 20), ("CELLS", 200)])
def test_small_batches_and_tiles_change_no_number(model, monkeypatch, name, value):
    monkeypatch.setattr(batches, name, value)
    assert_as_alone(model, *problem())


def test_a_series_too_long_for_one_pass_is_cut_into_tiles(model, monkeypatch):
    cuts = []
    tiles = batches.predict_in_tiles
    monkeypatch.setattr(batches, "CELLS", 256)
    monkeypatch.setattr(
        batches,
        "predict_in_tiles",
        lambda *a, **k: cuts.append(1) or tiles(*a, **k),
    )
    x, asked = np.arange(300.0), np.linspace(0, 299, 50)
    y = np.sin(x / 5)[:, None]
    assert_as_alone(model, Ragged(x, np.array([0, 300])), y, Ragged(asked, np.array([0, 50])))
    assert cuts


def test_a_model_that_is_no_convcnp_predicts_as_well():
    assert_as_alone(lively(CNP()).eval(), *problem())


def test_series_that_look_alike_are_predicted_once(model, monkeypatch):
    sizes = []
    predict = batches._predict
    monkeypatch.setattr(
        batches,
        "_predict",
        lambda m, task, p: sizes.append(len(task)) or predict(m, task, p),
    )
    count = 500
    alone = Ragged(np.random.default_rng(0).uniform(size=count), np.arange(count + 1))
    y = np.random.default_rng(1).normal(size=(count, 1))
    found = predict_many(model, SeriesSource(), alone, y, alone)
    assert sizes == [1]
    away = (found.mean - y) / abs(y)
    np.testing.assert_allclose(away, np.full_like(away, away[0, 0]))


def test_unlike_series_are_not_taken_for_alike(model):
    x, starts = np.array([0.0, 1, 0, 1]), np.array([0, 2, 4])
    asked = Ragged(np.array([0.5, 0.7]), np.array([0, 1, 2]))
    assert_as_alone(model, Ragged(x, starts), np.array([[1.0], [2], [1], [2]]), asked)


def test_a_series_without_observations_has_no_prediction(model):
    series, asked = Ragged(np.array([0.0, 1]), np.array([0, 2, 2])), ragged((1, 2), 0)
    found = predict_many(model, SeriesSource(), series, np.array([[1.0], [2.0]]), asked)
    assert np.isnan(found.mean[:, 0]).tolist() == [False, True, True]


def test_what_a_model_should_know_is_noted(model):
    series = Ragged(np.array([0.0, 2, 4, 10, 13]), np.array([0, 3, 5]))
    y = np.array([[1.0], [-7], [2], [0], [3]])
    asked = Ragged(np.array([5.0, 3.5, 30]), np.array([0, 2, 3]))
    found = predict_many(model, GPSource(kernel=EQ()), series, y, asked)
    assert found.distance.tolist() == [1.0, 0.5, 17.0]
    assert found.gaps == (2.0, 3.0)
    assert found.largest == 7.0


def test_progress_is_told_up_to_the_end(model, monkeypatch):
    monkeypatch.setattr(batches, "_SERIES", 1)
    told = []
    predict_many(model, SeriesSource(), *problem(), lambda done, total: told.append((done, total)))
    done = [part for part, _ in told]
    assert done == sorted(done)
    assert len(set(done)) == 4
    assert told[-1] == (sum(ASKED), sum(ASKED))


def test_a_convcnp_sees_as_far_as_its_radius_and_others_everything(model):
    assert reach(model) == model.receptive_radius
    assert reach(CNP()) == float("inf")
