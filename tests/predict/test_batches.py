"""Many series at once: the numbers of each alone, however they are batched, padded or cut."""

import itertools

import numpy as np
import pandas as pd
import pytest

import convcnp
from convcnp.core.task import Task
from convcnp.data.functions import GPSource
from convcnp.data.random_series import SeriesSource
from convcnp.data.table import TableSource
from convcnp.frames.series import Ragged
from convcnp.models.cnp import CNP
from convcnp.models.convcnp import ConvCNP
from convcnp.models.gaussian_process import EQ
from convcnp.predict import batches
from convcnp.predict.batches import predict_many
from convcnp.predict.user_units import InUserUnits
from helpers import TINY, lively

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
    np.testing.assert_allclose(found.predictive.mean[0], mean, rtol=1e-5)
    np.testing.assert_allclose(found.predictive.stddev[0], stddev, rtol=1e-5)
    return found


def test_a_batch_gives_the_numbers_of_each_series_alone(model):
    found = assert_as_alone(model, *problem())
    assert np.ptp(found.predictive.mean.numpy()) > 1


@pytest.mark.parametrize(("name", "value"), [("_SERIES", 2), ("_POINTS", 20)])
def test_small_batches_change_no_number(model, monkeypatch, name, value):
    monkeypatch.setattr(batches, name, value)
    assert_as_alone(model, *problem())


def test_a_series_too_long_for_one_pass_is_cut_into_tiles(model, monkeypatch):
    passes = []
    in_passes = batches.raw_in_passes

    def in_small_passes(model, task, **options):
        passes.append(model.cells(task).max() > 256)
        return in_passes(model, task, cells_per_pass=256, **options)

    monkeypatch.setattr(batches, "raw_in_passes", in_small_passes)
    x, asked = np.arange(300.0), np.linspace(0, 299, 50)
    y = np.sin(x / 5)[:, None]
    assert_as_alone(model, Ragged(x, np.array([0, 300])), y, Ragged(asked, np.array([0, 50])))
    assert passes == [True]


def test_a_model_that_is_no_convcnp_predicts_as_well():
    assert_as_alone(lively(CNP()).eval(), *problem())


def test_series_that_look_alike_are_predicted_once(model, monkeypatch):
    sizes = []
    predict = batches.raw_in_passes
    monkeypatch.setattr(
        batches,
        "raw_in_passes",
        lambda m, task, **options: sizes.append(len(task)) or predict(m, task, **options),
    )
    count = 500
    alone = Ragged(np.random.default_rng(0).uniform(size=count), np.arange(count + 1))
    y = np.random.default_rng(1).normal(size=(count, 1))
    found = predict_many(model, SeriesSource(), alone, y, alone)
    assert sizes == [1]
    away = (found.predictive.mean[0].numpy() - y) / abs(y)
    np.testing.assert_allclose(away, np.full_like(away, away[0, 0]))


def test_unlike_series_are_not_taken_for_alike(model):
    x, starts = np.array([0.0, 1, 0, 1]), np.array([0, 2, 4])
    asked = Ragged(np.array([0.5, 0.7]), np.array([0, 1, 2]))
    assert_as_alone(model, Ragged(x, starts), np.array([[1.0], [2], [1], [2]]), asked)


def test_a_series_without_observations_has_no_prediction(model):
    series, asked = Ragged(np.array([0.0, 1]), np.array([0, 2, 2])), ragged((1, 2), 0)
    found = predict_many(model, SeriesSource(), series, np.array([[1.0], [2.0]]), asked)
    assert found.is_answered.tolist() == [True, False, False]
    assert found.predictive.mask[0, :, 0].tolist() == [True, False, False]


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


# --- Points in the plane --------------------------------------------------------------------------


PLANE = TableSource(("depth",), inputs=("east", "north"), gap=(1.0, 1.0))


def sets_of_points():
    random = np.random.default_rng(4)
    sets = Ragged(random.uniform(0, 6, (15, 2)), np.array([0, 9, 9, 15]))
    asked = Ragged(random.uniform(0, 6, (7, 2)), np.array([0, 3, 5, 7]))
    return sets, random.normal(size=(15, 1)), asked


def test_sets_of_points_are_predicted_each_from_its_own():
    model = lively(ConvCNP.small(2, 1, points_per_unit=3)).eval()
    sets, y, asked = sets_of_points()
    found = predict_many(model, PLANE, sets, y, asked)
    assert found.is_answered.tolist() == [True] * 3 + [False] * 2 + [True] * 2
    for i in (0, 2):
        rows, wanted = sets.rows(i), asked.rows(i)
        task = Task.from_arrays(sets.x[rows], y[rows], asked.x[wanted])
        alone = InUserUnits(model, PLANE)(task)
        np.testing.assert_allclose(found.predictive.mean[0, wanted], alone.mean[0], atol=1e-5)


def test_what_a_model_should_know_of_points_is_noted():
    model = ConvCNP.small(2, 1, points_per_unit=3).eval()
    points = Ragged(np.array([[0.0, 0], [3, 4], [3, 5]]), np.array([0, 3]))
    asked = Ragged(np.array([[3.0, 4], [0, 12]]), np.array([0, 2]))
    found = predict_many(model, PLANE, points, np.array([[1.0], [-7], [2]]), asked)
    np.testing.assert_allclose(found.distance, [0.0, 58**0.5], atol=1e-6)
    assert found.gaps == pytest.approx((1.0, 1.0))
    assert found.largest == 7.0


@pytest.fixture(scope="module")
def of_windows(tmp_path_factory):
    """Train a tiny model on one long series that rises, seen in windows of 64 rows."""
    days = np.arange(600.0)
    frame = pd.DataFrame({"day": days, "v": 0.5 * days + np.sin(days)})
    settings = [*TINY, "data.window=64", "data.units=series"]
    out = tmp_path_factory.mktemp("windows") / "run"
    return frame, convcnp.Predictor.fit(frame, out, minutes=0.1, settings=settings)


def test_a_long_series_is_answered_by_windows_as_long_as_in_training(of_windows):
    frame, predictor = of_windows
    asked = np.arange(200.25, 400, 0.5)
    far = frame.assign(v=frame["v"].where(frame["day"] < 500, 1e6))
    answer, other = (predictor.predict(part, asked) for part in (frame, far))
    # What lies several windows away is not seen, and does not move the units either.
    pd.testing.assert_frame_equal(answer, other)
    # In the units of the whole series the answer would hardly follow its rise.
    slope = np.polyfit(asked, answer["v_mean"], 1)[0]
    assert slope == pytest.approx(0.5, rel=0.1)


def test_windows_meet_without_a_step(of_windows):
    frame, predictor = of_windows
    fine = np.linspace(100, 500, 4001)
    answer = predictor.predict(frame, fine)
    for column in ("v_mean", "v_q05", "v_q95"):
        steps = np.abs(np.diff(answer[column]))
        assert steps.max() < 0.25 * answer["v_std"].median() + 0.1, column
    assert predictor.predict(frame, fine[::50], samples=2).notna().all(axis=None)
