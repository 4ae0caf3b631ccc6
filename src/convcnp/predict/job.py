"""What is predicted at once: some value columns, as a model is given them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from convcnp.core.bounds import Bounds, Limits
from convcnp.frames.series import Ragged


@dataclass(frozen=True)
class Job:
    """Value columns that are predicted together, and what was observed of them.

    Args:
        channels: The columns by their numbers.
        y: Outputs (R, Dy) as the model is given them.
        bounds: Between which the user's values lie, if they do.
    """

    channels: list[int]
    names: tuple[str, ...]
    series: Ragged
    y: np.ndarray
    bounds: Bounds | None = None

    def within(self, limits: Limits) -> Job:
        """Return values that lie between limits as a model sees them, which knows of none."""
        if not limits.are_given:
            return self
        y = torch.from_numpy(self.y)
        bounds = Bounds.of(y, limits)
        return replace(self, y=bounds.free(y).numpy(), bounds=bounds)

    def back(self, y: np.ndarray) -> np.ndarray:
        """Return what the model was given, or drew, in the user's units."""
        if self.bounds is None:
            return y
        bounded: np.ndarray = self.bounds.bounded(torch.from_numpy(y)).numpy()
        return bounded
