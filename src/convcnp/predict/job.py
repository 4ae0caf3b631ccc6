"""What is predicted at once: some value columns, as a model is given them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from convcnp.core.bounds import Bounds, Cut, Limits
from convcnp.frames.series import Ragged


@dataclass(frozen=True)
class Job:
    """Value columns that are predicted together, and what was observed of them.

    Args:
        channels: The columns by their numbers.
        y: Outputs (R, Dy) as the model is given them.
        bounds: Between which the user's values lie, if they do.
        edges: What lies below the first or above the second (2, Dy) is on a bound.
    """

    channels: list[int]
    names: tuple[str, ...]
    series: Ragged
    y: np.ndarray
    bounds: Bounds | None = None
    edges: np.ndarray | None = None

    def within(self, limits: Limits, *, weighs_logarithms: bool = False) -> Job:
        """Return values that lie between limits as a model sees them, which knows of none.

        Args:
            weighs_logarithms: Whether the model sees by itself what comes near zero.
        """
        if not limits.are_given:
            return self
        y = torch.from_numpy(self.y)
        kind = Cut if weighs_logarithms and limits == Limits(lower=0.0) else Bounds
        bounds, series = kind.of(y, limits), self.series
        if series.error is not None:  # to first order
            slope = bounds.log_slope(y).exp().nan_to_num().numpy()
            series = replace(series, error=series.error * slope)
        edges = np.stack([_edge(y, bounds, limits.lower), _edge(y, bounds, limits.upper)])
        free = bounds.free(y).numpy()
        return replace(self, y=free, bounds=bounds, series=series, edges=edges)

    def asked(self, inputs: Ragged, is_of_measurements: bool) -> Ragged:
        """Return the inputs asked for, if of measurements with the median errors of their series.

        Example:
            >>> series = Ragged(np.arange(3.0), np.array([0, 3]), error=np.array([[1.0], [2], [9]]))
            >>> job = Job([0], ("v",), series, np.zeros((3, 1)))
            >>> job.asked(Ragged(np.array([0.5]), np.array([0, 1])), True).error.tolist()
            [[2.0]]
        """
        series = self.series
        if series.error is None or not is_of_measurements:
            return inputs
        observed = np.where(np.isnan(self.y), np.nan, series.error)
        typical = np.zeros((len(series), observed.shape[1]))
        for i in np.flatnonzero(series.lengths > 0):
            for channel, errors in enumerate(observed[series.rows(i)].T):
                known = errors[~np.isnan(errors)]
                typical[i, channel] = np.median(known) if len(known) else 0.0
        return replace(inputs, error=typical[inputs.owners])

    def on_bounds(self, y: np.ndarray) -> np.ndarray:
        """Return values in the user's units; what the model cannot tell from a bound is on it.

        Values on a bound are given to the model a little away from it, so that a band which ends
        between the two holds them.
        """
        if self.bounds is None or self.edges is None:
            return y
        y = np.where(y < self.edges[0], self.bounds.lower, y)
        return np.where(y > self.edges[1], self.bounds.upper, y)

    def back(self, y: np.ndarray) -> np.ndarray:
        """Return what the model was given, or drew, in the user's units."""
        if self.bounds is None:
            return y
        bounded: np.ndarray = self.bounds.bounded(torch.from_numpy(y)).numpy()
        return bounded


def _edge(y: torch.Tensor, bounds: Bounds, limit: float) -> np.ndarray:
    """Return how values on a limit are seen (Dy,), in the user's units; the limit if none is."""
    seen = bounds.bounded(bounds.free(torch.full(y.shape[1:], limit, dtype=torch.float64)))
    edge: np.ndarray = torch.where((y == limit).any(0), seen, limit).numpy()
    return edge
