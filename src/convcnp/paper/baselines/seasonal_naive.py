"""The value one period before and after, with a spread from its own errors."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool
from numpy.typing import NDArray
from torch import Tensor

from convcnp.core.predictive import GaussianPredictive, Predictive
from convcnp.core.task import Task
from convcnp.errors import ShapeError
from convcnp.paper.baselines.fitted_gp import periodogram_peaks
from convcnp.paper.baselines.one_series import one_series
from convcnp.paper.measured_series import RealSeries

Array = NDArray[np.float64]

_SMALLEST_SPREAD = 1e-6  # of the values' range: an exact season leaves no errors
_FEWEST_ERRORS = 3  # that make a standard deviation; below, that of the values stands in


@dataclass(frozen=True)
class SeasonalNaive:
    """Repeat what was observed one period away: before, after, or the mean of both.

    Where nothing was observed one period away, two or more are tried; where nothing was observed
    at any number of periods, the line through the neighbours answers. "Observed" means no farther
    than half a typical gap from an observation; the line through the neighbours says what.
    The standard deviation is that of the errors which the same rule makes at the observations, on
    both sides or on one as at the target.

    Args:
        period: In the series' time unit; the highest peak of the periodogram if left out.
    """

    period: float | None = None

    def for_series(self, series: RealSeries, removed: Bool[Tensor, " points"]) -> SeasonalNaive:
        """Return the method that knows the longest season of a series' sampling, if it has one."""
        if series.step is None or not series.seasons:
            return self
        return replace(self, period=max(series.seasons) * series.step)

    def __call__(self, task: Task) -> Predictive:
        """Predict the targets of one series."""
        x, y = one_series(task)
        if len(x) < 3:
            raise ShapeError(
                f"A season needs at least three observed times, got {len(x)}; observe more."
            )
        order = np.argsort(x, kind="stable")
        at = task.x_target[0, :, 0].double().numpy()
        mean, spread = (
            torch.from_numpy(values).reshape(task.target_mask.shape)
            for values in repeated(x[order], y[order], at, period=self.period)
        )
        return GaussianPredictive(mean, spread, task.target_mask)


def repeated(x: Array, y: Array, at: Array, period: float | None = None) -> tuple[Array, Array]:
    """Return mean and standard deviation at new times, of an ordered series.

    Example:
        >>> x = np.arange(12.0)
        >>> mean, spread = repeated(x, np.sin(np.pi * x / 2), np.array([13.0]), period=4.0)
        >>> round(float(mean[0]), 6), bool(spread[0] < 1e-5)
        (1.0, True)
    """
    if period is None:
        gap = float(np.median(np.diff(x))) or 1.0
        period = gap * periodogram_peaks(x / gap, y, 1)[0]
    there = np.stack([_away(x, y, at, sign * period) for sign in (-1, 1)])  # (2, M)
    own = np.stack([_away(x, y, x, sign * period) for sign in (-1, 1)])  # (2, N)
    is_seen = ~np.isnan(there)
    mean = np.where(is_seen.any(0), _mean(there), np.interp(at, x, y))
    smallest = _SMALLEST_SPREAD * float(np.ptp(y) or max(abs(y[0]), 1.0))
    around = float(np.std(y))
    spread = np.select(
        [is_seen.all(0), is_seen[0], is_seen[1]],
        [_spread(y - guess, around) for guess in (own.mean(0), own[0], own[1])],
        default=around,
    )
    return mean, np.maximum(spread, smallest)


def _away(x: Array, y: Array, at: Array, shift: float) -> Array:
    """Return the values at the nearest number of shifts where there are any, else NaN."""
    nearby = 0.5001 * float(np.median(np.diff(x)))  # half a gap, and rounding
    found = np.full_like(at, np.nan)
    for count in range(1, int(np.ptp(x) / abs(shift)) + 2):
        times = at + count * shift
        is_new = np.isnan(found) & (np.abs(times[:, None] - x).min(1) <= nearby)
        found[is_new] = np.interp(times[is_new], x, y)
    return found


def _mean(sides: Array) -> Array:
    """Return the mean of what is there of two sides; zero where neither is."""
    return np.nansum(sides, 0) / np.maximum((~np.isnan(sides)).sum(0), 1)


def _spread(errors: Array, otherwise: float) -> float:
    """Return the root mean square of the errors that are there, if there are a few."""
    there = errors[~np.isnan(errors)]
    return float(np.sqrt(np.mean(there**2))) if len(there) >= _FEWEST_ERRORS else otherwise
