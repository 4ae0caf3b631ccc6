"""Level, trend and seasons as a state-space model (statsmodels' UnobservedComponents)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool
from numpy.typing import NDArray
from torch import Tensor

from convcnp.core.predictive import GaussianPredictive, Predictive
from convcnp.core.task import Task
from convcnp.errors import ShapeError
from convcnp.extras import import_extra
from convcnp.paper.baselines.one_series import one_series
from convcnp.paper.measured_series import RealSeries

Array = NDArray[np.float64]

_EXTRA = "baselines"
_MOST_HARMONICS = 6  # of a season: all that twelve months have
FIRST_VARIANCE = 100.0  # of the first state; the series has variance one
_LEVELS = ("local level", "local linear trend")


@dataclass(frozen=True)
class Components:
    """Structural time series: a level, seasons of known length and noise, on a regular lattice.

    The level is a random walk, with or without a trend that is one too: the Bayesian information
    criterion chooses. A season is a sum of waves whose sizes are random walks as well. Removed
    points are missing rows of the lattice, and are answered by the Kalman smoother. Of the first
    state is known that it has mean zero and ten times the deviation of the values: as good as
    nothing. (statsmodels' diffuse start breaks in gaps; its exact diffuse one agrees to four
    digits, but its recursions break down for a season of fifty-two weeks.)

    Args:
        step: The time from row to row.
        seasons: Lengths of the seasons, in rows.
    """

    step: float = 1.0
    seasons: tuple[float, ...] = ()

    def for_series(self, series: RealSeries, removed: Bool[Tensor, " points"]) -> Components | None:
        """Return the method that knows a series' sampling, or nothing where it has no lattice."""
        step = series.step
        return None if step is None else replace(self, step=step, seasons=series.seasons)

    def __call__(self, task: Task) -> Predictive:
        """Fit the observations of one series, and predict its targets, noise included."""
        x, y = one_series(task)
        at = task.x_target[0, :, 0].double().numpy()
        first = min(x.min(), at.min())
        seen, asked = (self._rows(times, first) for times in (x, at))
        level, scale = float(y.mean()), float(y.std()) or 1.0
        rows = np.full(max(seen.max(), asked.max()) + 1, np.nan)
        rows[seen] = (y - level) / scale
        mean, spread = (
            torch.from_numpy(values[asked]).reshape(task.target_mask.shape)
            for values in smoothed(self.fit(rows))
        )
        return GaussianPredictive(mean, spread, task.target_mask).affine(level, scale)

    def fit(self, rows: Array) -> Any:  # noqa: ANN401 - statsmodels has no types
        """Return statsmodels' results of the better level; missing rows are NaN."""
        structural = import_extra("statsmodels.tsa.statespace.structural", _EXTRA)
        seasons = [
            {"period": season, "harmonics": min(_MOST_HARMONICS, int(season // 2))}
            for season in self.seasons
        ]
        results = []
        with warnings.catch_warnings():
            # A search that stops early, and more states than a short series has rows.
            warnings.simplefilter("ignore")
            for level in _LEVELS:
                model = structural.UnobservedComponents(rows, level, freq_seasonal=seasons or None)
                states = model.ssm.k_states
                model.ssm.initialize_known(np.zeros(states), FIRST_VARIANCE * np.eye(states))
                model.ssm.loglikelihood_burn = 0
                results.append(model.fit(disp=False, maxiter=200))
        return min(results, key=lambda result: result.bic)

    def _rows(self, times: Array, first: float) -> NDArray[np.int64]:
        rows = (times - first) / self.step
        if np.abs(rows - rows.round()).max() > 0.1:
            raise ShapeError(
                f"Components need times on a lattice of step {self.step:g}, got some between; "
                "give the step of the series."
            )
        return rows.round().astype(np.int64)


def smoothed(results: Any) -> tuple[Array, Array]:  # noqa: ANN401 - statsmodels has no types
    """Return mean and standard deviation of new observations at every row."""
    states = results.smoother_results
    design, noise = states.design[0, :, 0], states.obs_cov[0, 0, 0]  # (k,), one number
    mean = design @ states.smoothed_state  # (rows,)
    variance = np.einsum("i,ijn,j->n", design, states.smoothed_state_cov, design)
    return mean, np.sqrt(np.maximum(variance, 0.0) + noise)
