import math

import numpy as np
import pytest
import torch

from convcnp.core.task import Task
from convcnp.errors import SettingError
from convcnp.models.dictionary.model import GaussianProcessDictionary


@pytest.fixture(scope="module")
def model():
    return GaussianProcessDictionary()


def series(n: int = 60, seed: int = 0, positive: bool = False) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, n, n))
    y = np.sin(x / 2) + 0.3 * rng.standard_normal(n)
    return x, np.exp(y) if positive else y


def assert_same(one, other, tolerance: float = 1e-9) -> None:
    for moment in ("mean", "stddev"):
        torch.testing.assert_close(
            getattr(one, moment), getattr(other, moment), atol=tolerance, rtol=tolerance
        )


AT = np.linspace(-5, 70, 23)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("n", [5, 60, 200])
def test_a_shift_changes_nothing(model, n, positive):
    x, y = series(n, positive=positive)
    # Shifts that float64 represents exactly, so that only the model could tell.
    x, at = np.round(x * 1024) / 1024, np.round(AT * 1024) / 1024
    one = model(Task.from_arrays(x, y, at))
    assert_same(model(Task.from_arrays(x + 2.0**30, y, at + 2.0**30)), one)


def test_the_order_of_the_points_changes_nothing(model):
    x, y = series(positive=True)
    order = np.random.default_rng(1).permutation(len(x))
    assert_same(model(Task.from_arrays(x[order], y[order], AT)), model(Task.from_arrays(x, y, AT)))


def test_the_order_of_the_targets_is_theirs(model):
    x, y = series()
    one, other = model(Task.from_arrays(x, y, AT)), model(Task.from_arrays(x, y, AT[::-1].copy()))
    torch.testing.assert_close(one.mean.flip(1), other.mean, atol=1e-9, rtol=0)


@pytest.mark.parametrize("lattice", [False, True])
def test_an_added_target_changes_no_other(model, lattice):
    x, y = series()
    x = np.arange(60.0) if lattice else x
    one = model(Task.from_arrays(x, y, AT)).mean
    more = model(Task.from_arrays(x, y, np.append(AT, [1e4, 3.0]))).mean
    torch.testing.assert_close(more[:, : len(AT)], one, atol=1e-9, rtol=0)


def test_other_tasks_in_the_batch_change_nothing(model):
    tasks = [Task.from_arrays(*series(n, n), AT[:7]) for n in (4, 60, 23)]
    both = model(Task.stack(tasks))
    for i, task in enumerate(tasks):
        alone = model(task)
        torch.testing.assert_close(both.mean[[i]], alone.mean, atol=1e-9, rtol=0)
        torch.testing.assert_close(both.stddev[[i]], alone.stddev, atol=1e-9, rtol=0)


@pytest.mark.parametrize("scale, offset", [(1e-30, 0.0), (1e30, 0.0), (2.5, -1000.0)])
def test_predictions_follow_scale_and_offset(model, scale, offset):
    x, y = series()
    one = model(Task.from_arrays(x, y, AT))
    other = model(Task.from_arrays(x, scale * y + offset, AT))
    torch.testing.assert_close((other.mean - offset) / scale, one.mean, atol=1e-6, rtol=0)
    torch.testing.assert_close(other.stddev / scale, one.stddev, atol=1e-6, rtol=1e-6)


def test_channels_are_series_of_their_own():
    x, y = series()
    both = Task.from_arrays(x, np.stack([y, y**2 + 1], 1), AT)
    one = Task.from_arrays(x, y**2 + 1, AT)
    found = GaussianProcessDictionary(dim_y=2)(both)
    torch.testing.assert_close(
        found.mean[..., [1]], GaussianProcessDictionary()(one).mean, atol=1e-9, rtol=0
    )


def test_nothing_observed_is_standard_normal(model):
    found = model(Task.from_arrays([], [], [0.0, 5.0]))
    assert found.mean.flatten().tolist() == [0, 0]
    assert found.stddev.flatten().tolist() == [1, 1]


HARD = {
    "one point": ([3.0], [5.0]),
    "one point at zero": ([3.0], [0.0]),
    "two points": ([3.0, 4.0], [5.0, 6.0]),
    "two equal points": ([3.0, 4.0], [5.0, 5.0]),
    "a constant": (np.arange(20.0), np.full(20, 7.0)),
    "zeros": (np.arange(20.0), np.zeros(20)),
    "repeated times": ([1.0, 1.0, 2.0, 2.0, 3.0], [1.0, 1.2, 2.0, 2.1, 3.0]),
    "one time": ([1.0, 1.0, 1.0], [1.0, 1.2, 2.0]),
    "a century": (np.r_[0.0:30, 36500:36530], np.sin(np.r_[0.0:60] / 3)),
    "time stamps": (1.7e9 + 3600 * np.arange(50.0), np.sin(np.arange(50) / 4)),
    "tiny": (1e-30 * np.arange(50.0), 1e-30 * np.sin(np.arange(50) / 4)),
    "huge": (1e30 * np.arange(50.0), 1e30 * np.sin(np.arange(50) / 4)),
    "tiny and positive": (np.arange(50.0), 1e-30 * np.exp(np.sin(np.arange(50) / 4))),
    "six decades": ([0.0, 1.0, 2.0], [1e-3, 1.0, 1e3]),
    "an outlier": (np.arange(50.0), np.where(np.arange(50) == 20, 1e6, np.sin(np.arange(50) / 4))),
}


@pytest.mark.parametrize("name", HARD)
def test_whatever_was_observed_predictions_are_numbers(model, name):
    x, y = (np.asarray(values) for values in HARD[name])
    at = np.concatenate([x, x + 0.5 * max(np.ptp(x), 1e-30), [x[-1] + 1e6 * np.ptp(x)]])
    found = model(Task.from_arrays(x, y, at))
    for values in (found.mean, found.stddev, found.quantile(0.05), found.quantile(0.95)):
        assert values.isfinite().all()
    assert (found.quantile(0.05) < found.quantile(0.95)).all()
    assert found.log_prob(found.quantile(0.5)).isfinite().all()


def test_two_equal_observations_leave_less_doubt_than_one(model):
    once = model(Task.from_arrays([0.0, 1.0, 2.0], [1.0, -1.0, 1.0], [1.0]))
    often = model(Task.from_arrays([0.0, *[1.0] * 9, 2.0], [1.0, *[-1.0] * 9, 1.0], [1.0]))
    assert often.stddev.item() < once.stddev.item()


@pytest.mark.parametrize("n, irregular", [(60, False), (150, True), (300, False)])
def test_sines_of_every_period_go_on_through_a_gap(model, n, irregular):
    rng = np.random.default_rng(n)
    for period in np.geomspace(3, n / 2, 9):
        x = np.arange(n) + irregular * rng.uniform(-0.4, 0.4, n)
        y = np.sin(2 * np.pi * x / period + rng.uniform(0, 6))
        size = round(0.12 * n)
        hidden = np.zeros(n, dtype=bool)
        hidden[(n - size) // 2 : (n - size) // 2 + size] = True
        found = model(Task.from_arrays(x[~hidden], y[~hidden], x[hidden]))
        error = ((found.mean[0, :, 0].numpy() - y[hidden]) ** 2).mean() / y.var()
        assert error < 0.05, period


def test_a_broken_twin_without_periods_loses_the_sine(model, monkeypatch):
    monkeypatch.setattr("convcnp.models.dictionary.model.find_periods", lambda x, z, step: [])
    x = np.arange(150.0)
    y, hidden = np.sin(2 * np.pi * x / 7), (x > 66) & (x < 77)
    y = y + 0.3 * np.random.default_rng(0).standard_normal(150)
    found = model(Task.from_arrays(x[~hidden], y[~hidden], x[hidden]))
    truth = np.sin(2 * np.pi * x[hidden] / 7)
    assert ((found.mean[0, :, 0].numpy() - truth) ** 2).mean() > 0.1


def wandering(x: np.ndarray, length: float, seed: int) -> np.ndarray:
    """Draw a Matern-3/2 process."""
    lag = math.sqrt(3) * np.abs(x[:, None] - x) / length
    covariance = (1 + lag) * np.exp(-lag) + 1e-9 * np.eye(len(x))
    return np.linalg.cholesky(covariance) @ np.random.default_rng(seed).standard_normal(len(x))


def test_a_clean_season_on_a_wandering_level_keeps_its_period_and_honest_bands(model):
    x, held = np.arange(200.0), []
    seen = (x < 90) | (x >= 110)
    for seed, length in ((0, 20.0), (1, 20.0), (2, 60.0), (3, 60.0)):
        y = 2 * np.sin(2 * np.pi * x / 24) + wandering(x, length, seed)
        task = Task.from_arrays(x[seen], y[seen], x[~seen], y[~seen])
        held.append(((model(task).cdf(task.y_target) - 0.5).abs() < 0.45).double().mean().item())
        (found,) = model.seen(task)[0][0].periods
        assert found == pytest.approx(24, rel=0.02)
    assert np.mean(held) > 0.8


def test_positive_series_of_many_sizes_are_seen_as_logarithms(model):
    rng = np.random.default_rng(0)
    x = np.arange(100.0)
    y = np.exp(2 * np.sin(x / 5) + 0.2 * rng.standard_normal(100))
    found = model(Task.from_arrays(x, y, x + 0.5))
    assert model.seen(Task.from_arrays(x, y, x))[0][0].logarithm > 0.99
    assert (found.quantile(0.01) > 0).all()


def test_it_tells_what_it_saw(model):
    rng = np.random.default_rng(0)
    years = 2000 + np.arange(120) / 12
    y = np.sin(2 * np.pi * years) + 0.3 * rng.standard_normal(120) - 5
    seen = model.seen(Task.from_arrays(years, y, [2005.0]))[0][0]
    assert seen.periods[0] == pytest.approx(1, abs=0.01)
    assert 0.75 < seen.shares[0] <= 1
    assert seen.gap == pytest.approx(1 / 12)
    assert "a rhythm of 12" in seen.kernel
    assert seen.logarithm == 0


def test_it_says_so_where_it_saw_no_rhythm(model):
    rng = np.random.default_rng(0)
    seen = model.seen(Task.from_arrays(np.arange(80.0), rng.standard_normal(80), [3.0]))[0][0]
    assert seen.shares == () or max(seen.shares) < 0.1
    assert model.seen(Task.from_arrays([], [], [3.0])) == [[None]]


def test_an_observation_of_large_known_error_hardly_counts(model):
    x, y = (torch.from_numpy(values) for values in series(30))
    moved, variance = y.clone(), torch.full_like(y, 1e-6)
    moved[10] += 3
    variance[10] = 1e4

    def mean(values, known):
        found = model.components(model.fit(x, values, known), x[10:11] + 0.01)
        return (found.weight * found.location).sum().item()

    assert abs(mean(moved, variance) - mean(y, variance)) < 0.2
    assert abs(mean(moved, None) - mean(y, None)) > 0.5


def measured(seed: int, too_small: float) -> tuple[np.ndarray, ...]:
    """Return times, values of a wave, errors told too small by a factor, and what is hidden."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 40, 40))
    error = np.exp(rng.uniform(np.log(0.1), np.log(1.5), 40))
    y = np.sin(x / 3 + seed) + error * rng.standard_normal(40)
    return x, y, error / too_small, np.arange(40) % 4 == 1


@pytest.mark.parametrize("too_small", [1.0, 2.0])
def test_errors_that_differ_raise_the_log_likelihood_even_if_they_are_too_small(model, too_small):
    gains = []
    for seed in range(3):
        x, y, error, hidden = measured(seed, too_small)
        told = Task.from_arrays(
            *(x[~hidden], y[~hidden], x[hidden], y[hidden]),
            context_error=error[~hidden],
            target_error=error[hidden],
        )
        scores = [model(t).log_likelihood(t.y_target).item() for t in (told, told.without_errors())]
        gains.append(scores[0] - scores[1])
    assert np.mean(gains) > 0.1


def test_the_plane_is_refused():
    with pytest.raises(SettingError, match="one input dimension, got dim_x = 2"):
        GaussianProcessDictionary(dim_x=2)


def test_it_has_no_weights_and_answers_in_float64(model):
    assert model.num_parameters == 0
    assert model.dtype == torch.float64
    assert model(Task(torch.zeros(1, 1, 1), torch.ones(1, 1, 1), torch.zeros(1, 2, 1))).mean.dtype


def test_bands_of_few_observations_hold_what_they_promise(model):
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(40):
        x = np.sort(rng.uniform(0, 8, 12))
        lag = np.abs(x[:, None] - x)
        y = np.linalg.cholesky(np.exp(-lag / 2) + 0.05 * np.eye(12)) @ rng.standard_normal(12)
        task = Task.from_arrays(x[::2], y[::2], x[1::2], y[1::2])
        inside.append(model(task).covers(task.y_target, 0.9).double().mean().item())
    assert 0.83 < math.fsum(inside) / len(inside) < 0.97


@pytest.mark.parametrize("has_errors", [False, True])
def test_series_that_differ_in_level_and_scale_are_weighed_once(monkeypatch, has_errors):
    model, weighed = GaussianProcessDictionary(), []
    real = GaussianProcessDictionary._weighed
    monkeypatch.setattr(
        GaussianProcessDictionary, "_weighed", lambda *a: weighed.append(a) or real(*a)
    )
    level = torch.tensor([0.0, 5.0, -3.0, 5.0], dtype=torch.float64)[:, None, None]
    x = torch.tensor([1.0, 2.0, 7.0, 9.0], dtype=torch.float64)[:, None, None]
    error = 0.5 * torch.where(level == 0, 1, level.abs()) if has_errors else None
    task = Task(x, level, x + 1, context_error=error)
    together = model.raw(task)
    assert len(weighed) == 1 + has_errors  # with errors, without them as well
    alone = torch.cat([model.raw(task[torch.tensor([i])]) for i in range(4)])
    torch.testing.assert_close(together, alone, rtol=1e-12, atol=1e-12)


def counts(rng: np.random.Generator, n: int = 150) -> tuple[np.ndarray, np.ndarray]:
    """Draw visitors by the hour: none at night, and most at noon."""
    x = np.arange(float(n))
    rate = 40 * np.maximum(np.sin(2 * np.pi * x / 24), 0.0) ** 2
    return x, rng.poisson(rate).astype(float)


def test_bands_are_narrow_where_counts_are_few_and_wide_where_they_are_many(model):
    x, y = counts(np.random.default_rng(0))
    hidden = (x >= 72) & (x < 96)
    found = model(Task.from_arrays(x[~hidden], y[~hidden], x[hidden]))
    width = (found.quantile(0.95) - found.quantile(0.05))[0, :, 0]
    noon, night = width[3:10].mean(), width[14:22].mean()
    assert night < 0.3 * noon
    assert found.covers(torch.from_numpy(y[hidden])[None, :, None]).double().mean() >= 0.8


def test_a_zero_among_values_leaves_their_logarithms_to_be_seen(model):
    x, y = series(80, positive=True)
    y = np.round(10 * y) / 10 * (y > np.quantile(y, 0.02))
    fitted = model.fit(torch.from_numpy(x), torch.from_numpy(y))
    is_log = fitted.series.is_log[fitted.weighed.variants.form]
    assert (y == 0).any()
    assert fitted.weighed.weight[is_log].sum() > 0.99


def test_units_of_counts_are_units_of_what_is_predicted(model):
    x, y = counts(np.random.default_rng(1))
    one, other = (model(Task.from_arrays(x, unit * y, AT)) for unit in (1.0, 1e6))
    torch.testing.assert_close(1e6 * one.mean, other.mean)
    torch.testing.assert_close(1e6 * one.quantile(0.05), other.quantile(0.05))


def test_curves_of_counts_are_as_wide_as_their_bands(model):
    x, y = counts(np.random.default_rng(2), 100)
    at = np.arange(30.0, 50.0)
    seen = (x < 30) | (x >= 50)
    task = Task.from_arrays(x[seen], y[seen], at)
    drawn = model.draw(task, 400, torch.Generator().manual_seed(0))[..., 0]
    bands = model(task).quantile(0.95)[0, :, 0] - model(task).quantile(0.05)[0, :, 0]
    own = drawn.quantile(0.95, dim=0) - drawn.quantile(0.05, dim=0)
    assert ((own / bands).log().abs() < 0.4).all()
    middle = model(task).quantile(0.5)[0, :, 0]
    assert ((drawn.median(0).values - middle).abs() < 0.15 * bands).all()
    assert (drawn > -0.7 * float(y[seen].mean())).all()


def test_the_mean_of_zeros_and_ones_is_how_often_they_are_one(model):
    y = (np.random.default_rng(0).uniform(size=120) < 0.4).astype(float)
    found = model(Task.from_arrays(np.arange(120.0), y, np.arange(20.5, 60.0)))
    assert float(found.mean.mean()) == pytest.approx(y.mean(), abs=0.1)
    assert float(found.stddev.max()) < 0.7
