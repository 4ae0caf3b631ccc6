"""What people would do with points in the plane: a fitted GP, triangles, the nearest point."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from convcnp.core.predictive import GaussianPredictive, Predictive
from convcnp.core.task import Task
from convcnp.errors import ShapeError
from convcnp.extras import import_extra

Array = NDArray[np.float64]
Surface = Callable[[Array, Array, Array], Array]  # observed points, values, and where to

_EXTRA = "baselines"
_SMALLEST_SPREAD = 1e-6  # of the values' range
_VARIANCES, _NOISE = (1e-3, 1e3), (1e-6, 1e1)  # bounds; the values have variance one
_SCALES = (1e-2, 1e2)  # bounds; the points have variance one along either input


def one_set(task: Task) -> tuple[Array, Array, Array]:
    """Return the observed points and values of a single set, and the targets.

    Example:
        >>> one_set(Task.from_arrays([[0.0, 1.0]], [5.0], [[1.0, 1.0]]))[1]
        array([5.])
    """
    if (task.batch_size, task.dim_x, task.dim_y) != (1, 2, 1):
        raise ShapeError(
            "A method that fits every set of points anew takes one set with one channel at a time: "
            f"expected (B, Dx, Dy) = (1, 2, 1), got {(task.batch_size, task.dim_x, task.dim_y)}; "
            "split the batch."
        )
    seen = task.context_mask[0, :, 0]
    x, y = task.x_context[0, seen], task.y_context[0, seen, 0]
    return x.double().numpy(), y.double().numpy(), task.x_target[0].double().numpy()


@dataclass(frozen=True)
class FittedPlaneGP:
    r"""A GP with a length scale along either input, fitted to every set anew (scikit-learn).

    .. math:: k = s_1 k_\nu(x / \ell_1, y / \ell_2) + s_2 \delta

    with EQ and three Matern kernels, of which the most likely is taken; all parameters are those of
    the highest marginal likelihood that L-BFGS finds from two starts, smooth and rough. Inputs and
    values are standardised.
    """

    roughnesses: tuple[float, ...] = (0.5, 1.5, 2.5, np.inf)

    def __call__(self, task: Task) -> Predictive:
        """Fit the observations of one set, and predict its targets, noise included."""
        x, y, at = one_set(task)
        centre, unit = x.mean(0), np.where(np.ptp(x, 0) > 0, x.std(0), 1.0)
        level, scale = y.mean(), y.std() or 1.0
        with warnings.catch_warnings():
            # A scale at its bound and a search that stops early are told by a warning each; the
            # best start counts.
            exceptions = import_extra("sklearn.exceptions", _EXTRA)
            warnings.simplefilter("ignore", exceptions.ConvergenceWarning)
            gp = self.fit((x - centre) / unit, (y - level) / scale)
            mean, spread = gp.predict((at - centre) / unit, return_std=True)
        mean, spread = (
            torch.from_numpy(values).reshape(task.target_mask.shape)
            for values in (level + scale * mean, scale * spread)
        )
        return GaussianPredictive(mean, spread, task.target_mask)

    def fit(self, x: Array, y: Array) -> Any:  # noqa: ANN401 - scikit-learn has no types
        """Return scikit-learn's regressor for standardised points and values."""
        kernels = import_extra("sklearn.gaussian_process.kernels", _EXTRA)
        regressor = import_extra("sklearn.gaussian_process", _EXTRA).GaussianProcessRegressor
        found = []
        for roughness in self.roughnesses:
            for length, noise in ((1.0, 0.1), (0.3, 0.01)):
                matern = kernels.Matern([length, length], _SCALES, nu=roughness)
                signal = kernels.ConstantKernel(1.0, _VARIANCES) * matern
                kernel = signal + kernels.WhiteKernel(noise, _NOISE)
                found.append(regressor(kernel, alpha=1e-8).fit(x, y))
        return max(found, key=lambda gp: float(gp.log_marginal_likelihood_value_))


def triangles(x: Array, y: Array, at: Array) -> Array:
    """Interpolate linearly within triangles of points; outside, the nearest point holds."""
    interpolate = import_extra("scipy.interpolate", _EXTRA)
    spatial = import_extra("scipy.spatial", _EXTRA)
    try:
        found: Array = interpolate.LinearNDInterpolator(x, y, rescale=True)(at)
    except spatial.QhullError:  # all points on a line
        found = np.full(len(at), np.nan)
    return np.where(np.isnan(found), nearest(x, y, at), found)


def nearest(x: Array, y: Array, at: Array) -> Array:
    """Return the value of the nearest point."""
    interpolate = import_extra("scipy.interpolate", _EXTRA)
    found: Array = interpolate.NearestNDInterpolator(x, y, rescale=True)(at)
    return found


@dataclass(frozen=True)
class SurfaceThrough:
    """A surface through the points, with one standard deviation for all targets.

    It is the root mean square of the errors at the points, each predicted from all others.
    """

    surface: Surface

    def __call__(self, task: Task) -> GaussianPredictive:
        """Predict the targets of one set of points."""
        x, y, at = one_set(task)
        if len(x) < 4:
            raise ShapeError(f"A surface needs at least four points, got {len(x)}; observe more.")
        left_out = [
            y[n] - self.surface(np.delete(x, n, 0), np.delete(y, n), x[n : n + 1])[0]
            for n in range(len(x))
        ]
        smallest = _SMALLEST_SPREAD * (np.ptp(y) or max(abs(y[0]), 1.0))
        spread = max(float(np.sqrt(np.mean(np.square(left_out)))), float(smallest))
        mean = torch.from_numpy(self.surface(x, y, at)).reshape(task.target_mask.shape)
        return GaussianPredictive(mean, torch.full_like(mean, spread), task.target_mask)
