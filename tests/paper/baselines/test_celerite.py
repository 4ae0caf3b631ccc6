"""celerite2: what it fits and predicts, against dense matrices of the same kernel."""

import math

import numpy as np
import pytest
import torch

from convcnp.core.task import Task
from convcnp.data.source import seeded
from convcnp.paper.baselines.celerite import Celerite, FittedTerms
from convcnp.paper.measured_series import RealSeries
from convcnp.paper.removals import removed_at_random


def irregular(seed=0, count=60):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 60, count))
    return x, np.sin(2 * np.pi * x / 9) + 0.1 * rng.standard_normal(count)


def dense(fitted, at):
    """Return log-likelihood, mean and deviation by Cholesky factors, as a textbook has them."""
    covariance = fitted.kernel.get_value(fitted.x[:, None] - fitted.x)
    covariance += np.diag(fitted.errors**2 + fitted.jitter**2)
    factor = np.linalg.cholesky(covariance)
    rest = np.linalg.solve(factor, fitted.y - fitted.mean)
    likelihood = -0.5 * rest @ rest - np.log(np.diag(factor)).sum()
    across = np.linalg.solve(factor, fitted.kernel.get_value(fitted.x[:, None] - at))
    variance = fitted.kernel.get_value(np.zeros(1)) - (across**2).sum(0)
    variance = variance + fitted.jitter**2 + np.median(fitted.errors) ** 2
    likelihood -= 0.5 * len(fitted.x) * math.log(2 * math.pi)
    return likelihood, fitted.mean + across.T @ rest, np.sqrt(variance)


@pytest.fixture(scope="module")
def fitted():
    x, y = irregular()
    return Celerite(periods=1).fit(x, y, errors=np.linspace(0.01, 0.2, len(x)))


def test_likelihood_mean_and_deviation_are_those_of_dense_matrices(fitted):
    at = np.array([30.5, 3.3, 70.0])  # in any order, and beyond the end
    likelihood, mean, spread = dense(fitted, at)
    assert fitted.log_likelihood == pytest.approx(likelihood, rel=1e-6)
    found = fitted.predict(at)
    np.testing.assert_allclose(found[0], mean, rtol=1e-6)
    np.testing.assert_allclose(found[1], spread, rtol=1e-6)


def test_the_criterion_pays_half_the_logarithm_of_the_count_for_a_parameter(fitted):
    paid = fitted.log_likelihood - fitted.criterion
    assert paid == pytest.approx(0.5 * fitted.num_parameters * math.log(60))


def test_a_season_goes_on_through_a_gap_of_more_than_a_period():
    x = np.arange(80.0)
    y = 300 + 7 * np.sin(2 * np.pi * x / 9)
    gap = (x > 50) & (x < 62)
    found = Celerite(periods=1)(Task.from_arrays(x[~gap] / 365, y[~gap], x[gap] / 365))
    assert np.abs(found.mean.flatten().numpy() - y[gap]).max() < 0.5


def test_noise_without_a_season_gets_no_oscillator():
    noise = np.random.default_rng(1).standard_normal(50)
    plain = Celerite(periods=1).fit(np.arange(50.0), noise, errors=np.zeros(50))
    assert plain.num_parameters <= 4  # a mean, a jitter and one term


def test_the_errors_of_what_is_left_stand_on_the_diagonal(monkeypatch):
    x, y = irregular()
    errors = np.linspace(0.1, 0.5, len(x))
    series = RealSeries("a", "b", "c", "d", "e", x, 5 * y, errors=errors)
    removed = removed_at_random(len(x), seeded(0))
    task, told = series.without(removed), Celerite(periods=1).for_series(series, removed)
    assert told.errors.tolist() == errors[~removed.numpy()].tolist()
    seen = []
    original = FittedTerms.of
    monkeypatch.setattr(FittedTerms, "of", lambda *a: (seen.append(a[3]), original(*a))[1])
    told(task)
    np.testing.assert_allclose(seen[0] / seen[0][0], told.errors / told.errors[0])
    # A deviation of the values is one there, up to what few observations add.
    assert seen[0][-1] == pytest.approx(told.errors[-1] / (5 * y.std()), rel=0.1)


def test_what_is_known_of_no_errors_is_nothing():
    x, y = irregular()
    method = Celerite()
    removed = torch.zeros(len(x), dtype=torch.bool)
    assert method.for_series(RealSeries("a", "b", "c", "d", "e", x, y), removed) is method
