"""The Kaggle GP against the same process written out with dense matrices."""

import sys
import warnings

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from convcnp import GaussianPredictive, Task
from convcnp.data.plasticc import FLUX_MEAN, FLUX_SCALE
from convcnp.errors import MissingExtraError
from convcnp.paper.baselines import kaggle_gp
from convcnp.paper.baselines.kaggle_gp import (
    WAVELENGTHS,
    LightCurve,
    backgrounds,
    biweight_location,
    fit,
    guessed_scale,
)


def made_up_curve(num_points=40, seed=0, height=300.0):
    """A burst that is brighter and later in the red, with measurement noise."""
    rng = np.random.default_rng(seed)
    days = np.sort(59_600 + 120 * rng.random(num_points))
    band = rng.integers(0, 6, num_points)
    error = rng.uniform(2, 10, num_points)
    burst = height * np.exp(-(((days - 59_650 - 3 * band) / 20) ** 2)) * (0.5 + 0.1 * band)
    return LightCurve(days, band, burst + 40 + error * rng.standard_normal(num_points), error)


def covariance(days, bands, other_days, other_bands, log_amplitude, log_metric):
    """Matern-3/2, entry by entry."""
    values = np.zeros((len(days), len(other_days)))
    for i, (day, band) in enumerate(zip(days, bands, strict=True)):
        for j, (other_day, other_band) in enumerate(zip(other_days, other_bands, strict=True)):
            squared = (day - other_day) ** 2 / np.exp(log_metric)
            squared += ((WAVELENGTHS[band] - WAVELENGTHS[other_band]) / 6000) ** 2
            r = np.sqrt(3 * squared)
            values[i, j] = np.exp(log_amplitude) * (1 + r) * np.exp(-r)
    return values


def dense_posterior(curve, days, bands):
    """Maximise the likelihood with numerical gradients, and condition by solving."""
    level = backgrounds(curve)
    flux = curve.flux - level[curve.band]
    guess = [2 * np.log(0.5 * guessed_scale(flux, curve.error)), 2 * np.log(20)]

    def negative_log_likelihood(parameters):
        k = covariance(curve.days, curve.band, curve.days, curve.band, *parameters)
        k += np.diag(curve.error**2)
        _, log_determinant = np.linalg.slogdet(k)
        return 0.5 * (flux @ np.linalg.solve(k, flux) + log_determinant)

    bounds = [(guess[0] - 10, guess[0] + 10), (0, 2 * np.log(1000))]
    found = minimize(negative_log_likelihood, guess, bounds=bounds).x
    k = covariance(curve.days, curve.band, curve.days, curve.band, *found)
    cross = covariance(days, bands, curve.days, curve.band, *found)
    solved = np.linalg.solve(k + np.diag(curve.error**2), cross.T)
    prior = covariance(days, bands, days, bands, *found).diagonal()
    return cross @ np.linalg.solve(k + np.diag(curve.error**2), flux) + level[bands], prior - (
        cross * solved.T
    ).sum(1)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_fit_is_the_process_written_out(seed):
    curve = made_up_curve(25, seed)
    days, bands = np.linspace(59_580, 59_750, 12), np.arange(12) % 6
    mean, variance = fit(curve)(days, bands)
    expected_mean, expected_variance = dense_posterior(curve, days, bands)
    np.testing.assert_allclose(mean, expected_mean, rtol=0, atol=0.5)
    np.testing.assert_allclose(variance, expected_variance, rtol=0.02)


def test_a_fit_that_fails_keeps_the_guess(monkeypatch):
    curve = made_up_curve(25)
    days, bands = np.linspace(59_580, 59_750, 12), np.arange(12) % 6
    fitted = fit(curve)(days, bands)[1]

    class Failed:
        success = False
        x = np.array([3.0, 3.0])

    monkeypatch.setattr("scipy.optimize.minimize", lambda *a, **k: Failed)
    _, variance = fit(curve)(days, bands)
    flux = curve.flux - backgrounds(curve)[curve.band]
    guess = [2 * np.log(0.5 * guessed_scale(flux, curve.error)), 2 * np.log(20)]
    k = covariance(curve.days, curve.band, curve.days, curve.band, *guess)
    cross = covariance(days, bands, curve.days, curve.band, *guess)
    expected = np.exp(guess[0]) - (
        cross * np.linalg.solve(k + np.diag(curve.error**2), cross.T).T
    ).sum(1)
    np.testing.assert_allclose(variance, expected, rtol=1e-6)
    assert not np.allclose(variance, fitted, rtol=0.1)


def test_the_biweight_is_a_mean_that_outliers_hardly_move():
    values = np.array([1.0, 2.0, 3.0, 4.0, 1e6])
    # The median is 3, the median distance from it 1; weights (1 - (d/6)²)² of 2, 1, 0, 1 and none.
    weights = np.array([(1 - 4 / 36) ** 2, (1 - 1 / 36) ** 2, 1, (1 - 1 / 36) ** 2, 0])
    expected = 3 + (weights * (np.minimum(values, 5) - 3)).sum() / weights.sum()
    assert biweight_location(values) == pytest.approx(expected)
    assert biweight_location(np.array([5.0])) == 5.0


def test_a_background_belongs_to_its_band():
    curve = LightCurve(
        np.arange(4.0), np.array([0, 0, 3, 3]), np.array([1.0, 1.0, 7.0, 9.0]), np.ones(4)
    )
    assert backgrounds(curve).tolist() == [1.0, 0.0, 0.0, 8.0, 0.0, 0.0]


def test_the_scale_is_the_flux_with_the_most_signal_for_its_noise():
    assert guessed_scale(np.array([100.0, -50.0]), np.array([100.0, 1.0])) == 50.0
    # Noise has a floor of one per cent of the largest flux, so that a tiny error does not decide.
    assert guessed_scale(np.array([100.0, 20.0]), np.array([1.0, 1e-6])) == 100.0
    assert guessed_scale(np.array([0.0]), np.array([3.0])) == 3.0


def task_of(curve, context):
    """Put the first points of a curve into a task as context, the others as targets."""

    def by_band(values):
        y = np.full((len(values), 6), np.nan)
        y[np.arange(len(values)), curve.band] = values
        return y[:context], y[context:]

    x = (curve.days[:context], curve.days[context:])
    y, error = by_band(curve.flux), by_band(curve.error)
    return Task.from_arrays(x[0], y[0], x[1], y[1], error[0], error[1])


def test_predictions_of_a_task_are_the_fits():
    curve = made_up_curve(30)
    order = np.random.default_rng(1).permutation(30)
    curve = LightCurve(*(values[order] for values in curve))
    task = task_of(curve, 20)
    predictive = kaggle_gp.predict(task)
    noisy = kaggle_gp.with_noise(predictive, task)
    mean, variance = fit(LightCurve(*(values[:20] for values in curve)))(
        curve.days[20:], curve.band[20:]
    )
    for i, band in enumerate(curve.band[20:]):
        assert predictive.mean[0, i, band] == pytest.approx(mean[i])
        assert predictive.stddev[0, i, band] ** 2 == pytest.approx(variance[i])
        expected = variance[i] + curve.error[20 + i] ** 2
        assert noisy.stddev[0, i, band] ** 2 == pytest.approx(expected)
    assert isinstance(noisy, GaussianPredictive)
    assert torch.equal(noisy.mask, task.target_mask)


def test_without_observations_an_object_is_predicted_to_be_like_all_others():
    predictive = kaggle_gp.predict(task_of(made_up_curve(6), 0))
    assert torch.equal(predictive.mean, FLUX_MEAN.expand(1, 6, 6))
    assert torch.equal(predictive.stddev, FLUX_SCALE.expand(1, 6, 6))


@pytest.mark.parametrize("context", [1, 2])
def test_one_observation_is_enough(context):
    task = task_of(made_up_curve(6), context)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        predictive = kaggle_gp.predict(task)
    assert predictive.log_prob(task.y_target).isfinite().all()
    assert (predictive.stddev[task.target_mask] > 0).all()


def test_without_george_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "george", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*\[baselines\]'"):
        fit(made_up_curve(3))
