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
from convcnp.predict.baselines import repeated

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SeasonalNaive:
    """Repeat what was observed one period away: before, after, or the mean of both (`repeated`).

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
        x, y, at = x[order], y[order], task.x_target[0, :, 0].double().numpy()
        mean, spread = (
            torch.from_numpy(values).reshape(task.target_mask.shape)
            for values in repeated(x, y, at, self.period or _highest_peak(x, y))
        )
        return GaussianPredictive(mean, spread, task.target_mask)


def _highest_peak(x: Array, y: Array) -> float:
    """Return the period of the highest peak of the periodogram, of an ordered series."""
    gap = float(np.median(np.diff(x))) or 1.0
    return gap * periodogram_peaks(x / gap, y, 1)[0]
