"""Series of two kinds of simulators: what one does not think of, the other may."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from convcnp.core.task import Task
from convcnp.data.random_series import SeriesSource
from convcnp.data.simulated_series import SimulatedSeries

_OF_COSINES = 0.5  # probability of a batch


@dataclass(frozen=True)
class MixedSeries(SimulatedSeries):
    """Batches of `SimulatedSeries`, and as many of `SeriesSource`.

    What is learned from one simulator holds for its own series, and less for others': a network
    that corrects a distribution is the more careful, the more kinds it has seen.

    Example:
        >>> MixedSeries().draw(2, torch.Generator().manual_seed(0)).batch_size
        2
    """

    def draw(self, batch_size: int, generator: torch.Generator) -> Task:
        """Draw a batch from one of the two, by chance."""
        if torch.rand((), generator=generator) < _OF_COSINES:
            other = SeriesSource(max_points=self.max_points, sizes=self.sizes)
            return other.draw(batch_size, generator)
        return super().draw(batch_size, generator)
