"""What simulated series and simulated fields have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from numpy.random import Generator as Random
from numpy.typing import NDArray

from convcnp.core.predictive import Predictive
from convcnp.core.task import Task
from convcnp.errors import SettingError

Array = NDArray[np.float64]
Kinds = Mapping[str, tuple[Callable[[Random, Array], Array], float]]  # with how often each is drawn

FEWEST = 6  # points of a series or field
_FARTHEST = 20.0  # standard deviations of what was seen


@dataclass(frozen=True)
class Simulated(ABC):
    """Points of random functions, some of them hidden, of which some are asked for.

    Args:
        max_points: Context and targets together, at most; at least there are six.
        max_targets: Of the hidden points, so many are asked for.
    """

    options: ClassVar[tuple[str, ...]] = ("max_points", "max_targets")
    takes: ClassVar[Literal["tables"]] = "tables"
    inputs: ClassVar[int]

    max_points: int = 256
    max_targets: int = 48
    dim_x: int = 1
    dim_y: int = 1

    def __post_init__(self) -> None:
        dimensions = (self.dim_x, self.dim_y)
        if self.max_points < FEWEST or self.max_targets < 1 or dimensions != (self.inputs, 1):
            raise SettingError(
                f"Expected max_points of at least {FEWEST}, a target, dim_x = {self.inputs} and "
                f"dim_y = 1, got max_points = {self.max_points}, max_targets = {self.max_targets}, "
                f"dim_x = {self.dim_x}, dim_y = {self.dim_y}; leave out what is unsure."
            )

    def draw(self, batch_size: int, generator: torch.Generator) -> Task:
        """Draw functions, and split the points of each into observed and hidden ones."""
        seed = torch.randint(2**62, (), generator=generator).item()
        random = np.random.default_rng(int(seed))
        return Task.stack(self._drawn(random, batch_size))

    @abstractmethod
    def _drawn(self, random: Random, batch_size: int) -> list[Task]:
        """Draw tasks of one function each."""

    def _log_uniform(self, share: float) -> float:
        """Return a number of points, this share of the way from the fewest to the most."""
        return float(FEWEST * (self.max_points / FEWEST) ** share)

    def _split(self, random: Random, x: Array, y: Array, hidden: NDArray[np.bool_]) -> Task:
        """Ask for some of the hidden points, given the others."""
        seen, asked = ~hidden, random.permutation(np.flatnonzero(hidden))[: self.max_targets]
        # What lies far from all that was seen cannot be foreseen, and would rule the loss.
        near = np.abs(y[asked] - y[seen].mean()) < _FARTHEST * y[seen].std()
        return Task.from_arrays(x[seen], y[seen], x[asked], np.where(near, y[asked], np.nan))

    def ceiling(self, task: Task) -> Predictive | None:
        """Return the best possible prediction: it is not known."""
        return None


def drawn_kind(random: Random, kinds: Kinds) -> str:
    """Draw one of several kinds of functions, by how often each is wanted.

    Example:
        >>> drawn_kind(np.random.default_rng(0), {"walk": (lambda random, x: x, 1.0)})
        'walk'
    """
    names = list(kinds)
    weights = np.array([kinds[name][1] for name in names])
    return str(names[random.choice(len(names), p=weights / weights.sum())])
