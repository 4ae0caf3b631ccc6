"""Linear interpolation and cubic splines, with a spread from leaving out one point at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from convcnp.core.predictive import GaussianPredictive
from convcnp.core.task import Task
from convcnp.errors import ShapeError
from convcnp.extras import import_extra
from convcnp.paper.baselines.one_series import one_series

Array = NDArray[np.float64]
Interpolant = Callable[[Array, Array, Array], Array]  # observed x and y, and where to; values there

_SMALLEST_SPREAD = 1e-6  # of the values' range: data on a line leave no residuals


def linear(x: Array, y: Array, at: Array) -> Array:
    """Join the points by straight lines; beyond them the last value holds."""
    return np.interp(at, x, y)


def cubic_spline(x: Array, y: Array, at: Array) -> Array:
    """Lay a twice differentiable piecewise cubic through the points (not-a-knot)."""
    return import_extra("scipy.interpolate", "baselines").CubicSpline(x, y)(at)


@dataclass(frozen=True)
class Interpolation:
    r"""A curve through the points, with one standard deviation for all targets.

    An interpolant has no uncertainty of its own. It is given
    :math:`\sigma^2 = \frac{1}{N-2} \sum_{n=2}^{N-1} (y_n - \hat y_{-n}(x_n))^2`, where
    :math:`\hat y_{-n}` is the curve through all observations but the n-th, first and last excluded.
    Observations at one time are averaged.
    """

    interpolant: Interpolant

    def __call__(self, task: Task) -> GaussianPredictive:
        """Predict the targets of one series."""
        x, y = _averaged(*one_series(task))
        if len(x) < 3:
            raise ShapeError(
                f"Interpolation needs at least three observed times, got {len(x)}; observe more."
            )
        left_out = [
            y[n] - self.interpolant(np.delete(x, n), np.delete(y, n), x[n : n + 1])[0]
            for n in range(1, len(x) - 1)
        ]
        smallest = _SMALLEST_SPREAD * (np.ptp(y) or max(abs(y[0]), 1.0))
        spread = max(float(np.sqrt(np.mean(np.square(left_out)))), float(smallest))
        mean = torch.from_numpy(self.interpolant(x, y, task.x_target[0, :, 0].double().numpy()))
        mean = mean.reshape(task.target_mask.shape)
        return GaussianPredictive(mean, torch.full_like(mean, spread), task.target_mask)


def _averaged(x: Array, y: Array) -> tuple[Array, Array]:
    times, where, counts = np.unique(x, return_inverse=True, return_counts=True)
    return times, np.bincount(where, weights=y) / counts
