"""The Gaussian process of the winner of the PLAsTiCC challenge (Boone, 2019): Table 2."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray

from convcnp.core.predictive import GaussianPredictive
from convcnp.core.task import Task
from convcnp.data.plasticc import FLUX_MEAN, FLUX_SCALE
from convcnp.extras import import_extra

WAVELENGTHS = np.array([3671.0, 4827.0, 6223.0, 7546.0, 8691.0, 9710.0])  # Angstrom, u to y
_TIME_GUESS, _WAVELENGTH_SCALE = 20.0, 6000.0  # days, Angstrom
_LONGEST = 1000.0  # days
_SMALLEST = 1e-6  # standard deviation of a normalised flux: rounding can leave less than nothing

Posterior = Callable[
    [Float[ndarray, " M"], Int[ndarray, " M"]], tuple[Float[ndarray, " M"], Float[ndarray, " M"]]
]


class LightCurve(NamedTuple):
    """Observations of one object in physical units."""

    days: Float[ndarray, " N"]
    band: Int[ndarray, " N"]
    flux: Float[ndarray, " N"]
    error: Float[ndarray, " N"]


def fit(curve: LightCurve) -> Posterior:
    r"""Fit the process to a light curve; the result maps days and bands to means and variances.

    The kernel is a Matérn-3/2 over time and wavelength,
    :math:`a^2 (1 + \sqrt3 d) e^{-\sqrt3 d}` with
    :math:`d^2 = (t - t')^2 / \ell^2 + (\lambda - \lambda')^2 / 6000^2`; the amplitude and the
    length scale in time maximise the likelihood, or keep the guess where that fails. Measurement
    errors are on the diagonal for the observations, and are not part of the variances returned.
    """
    george, kernels = (import_extra(m, "baselines") for m in ("george", "george.kernels"))
    minimize = import_extra("scipy.optimize", "baselines").minimize
    level = backgrounds(curve)
    flux = curve.flux - level[curve.band]
    metric = [_TIME_GUESS**2, _WAVELENGTH_SCALE**2]
    kernel = (0.5 * guessed_scale(flux, curve.error)) ** 2 * kernels.Matern32Kernel(metric, ndim=2)
    kernel.freeze_parameter("k2:metric:log_M_1_1")
    gp = george.GP(kernel)
    gp.compute(_inputs(curve.days, curve.band), curve.error)
    guess = gp.get_parameter_vector()

    def objective(parameters: ndarray) -> tuple[float, ndarray]:
        gp.set_parameter_vector(parameters)
        return -gp.log_likelihood(flux, quiet=True), -gp.grad_log_likelihood(flux, quiet=True)

    bounds = [(guess[0] - 10, guess[0] + 10), (0, 2 * math.log(_LONGEST))]
    found = minimize(objective, guess, jac=True, bounds=bounds, method="L-BFGS-B")
    gp.set_parameter_vector(found.x if found.success else guess)

    def posterior(days: ndarray, band: ndarray) -> tuple[ndarray, ndarray]:
        mean, variance = gp.predict(flux, _inputs(days, band), return_var=True)
        return mean + level[band], variance

    return posterior


def _inputs(days: Float[ndarray, " N"], band: Int[ndarray, " N"]) -> Float[ndarray, "N 2"]:
    return np.stack([days, WAVELENGTHS[band]], 1)


def guessed_scale(flux: Float[ndarray, " N"], error: Float[ndarray, " N"]) -> float:
    """Return the flux with the highest ratio of signal to noise, as a first idea of their size."""
    noise = np.sqrt(error**2 + (0.01 * flux.max()) ** 2)
    best = int(np.argmax(np.abs(flux) / noise))
    # A single observation is all background, and leaves nothing but its error.
    return float(np.abs(flux[best]) or error[best])


def backgrounds(curve: LightCurve) -> Float[ndarray, " bands"]:
    """Return each band's background, zero where nothing was observed."""
    level = np.zeros(len(WAVELENGTHS))
    for band in np.unique(curve.band):
        level[band] = biweight_location(curve.flux[curve.band == band])
    return level


def biweight_location(values: Float[ndarray, " N"]) -> float:
    """Return Tukey's biweight estimate of location: a mean that outliers hardly move."""
    median = np.median(values)
    offset = values - median
    spread = np.median(np.abs(offset))
    if spread == 0:
        return float(median)
    weight = np.maximum(1 - (offset / (6 * spread)) ** 2, 0) ** 2
    return float(median + (weight * offset).sum() / weight.sum())


def predict(task: Task) -> GaussianPredictive:
    """Fit every object's context, and predict the fluxes at its targets, without their noise.

    Args:
        task: Days, fluxes and the errors of their measurement, one band observed per point, as
            `PlasticcSource(units="none", errors=True)` draws them.
    """
    # Without context there is nothing to fit, and an object is predicted to be like all others.
    shape = task.target_mask.shape
    mean, variance = (moment.repeat(*shape[:2], 1) for moment in (FLUX_MEAN, FLUX_SCALE**2))
    for i in task.context_mask.any((1, 2)).nonzero()[:, 0].tolist():
        posterior = fit(context_curve(task[i]))
        asked, band = task.target_mask[i].nonzero(as_tuple=True)
        days = task.x_target[i, asked, 0]
        moments = map(torch.from_numpy, posterior(days.numpy(), band.numpy()))
        mean[i, asked, band], variance[i, asked, band] = moments
    stddev = variance.clamp(min=0).sqrt()
    return GaussianPredictive(mean, torch.maximum(stddev, _SMALLEST * FLUX_SCALE), task.target_mask)


def with_noise(predictive: GaussianPredictive, task: Task) -> GaussianPredictive:
    """Add the noise of the measurements that are predicted."""
    assert task.target_error is not None
    return predictive.affine(0.0, 1.0, task.target_error)


def context_curve(task: Task) -> LightCurve:
    """Return the context of a single task."""
    assert task.context_error is not None
    seen, band = task.context_mask[0].nonzero(as_tuple=True)
    days = task.x_context[0, seen, 0]
    flux, error = task.y_context[0, seen, band], task.context_error[0, seen, band]
    return LightCurve(days.numpy(), band.numpy(), flux.numpy(), error.numpy())
