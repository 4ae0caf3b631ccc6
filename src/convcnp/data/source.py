"""What every source of tasks has in common: its members, and seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from convcnp.core.predictive import Predictive
from convcnp.core.task import Task
from convcnp.core.units import Normaliser
from convcnp.errors import SettingError

Part = Literal["training", "validation", "test"]


@runtime_checkable
class Source(Protocol):
    """Anything that draws batches of tasks: all that training and evaluation ask for."""

    @property
    def dim_x(self) -> int:
        """Input dimensions of the tasks."""

    @property
    def dim_y(self) -> int:
        """Output channels of the tasks."""

    def draw(self, batch_size: int, generator: torch.Generator) -> Task:
        """Draw a batch; the same state of the generator gives the same tasks."""

    def ceiling(self, task: Task) -> Predictive | None:
        """Return the best possible prediction, where it is known."""


@dataclass(frozen=True)
class Familiar:
    """The range of what training tasks hold, in a model's units."""

    gaps: tuple[float, float]  # between observations, the typical one of a task
    largest: float  # value
    spacing: float  # of observations that are as dense as in a full task
    has_repeats: bool = False  # whether several observations may share an input
    rows: int | None = None  # of a task at most, where its units are those of what it holds


@runtime_checkable
class NamedSource(Source, Protocol):
    """A source that experiment files can name: a frozen dataclass with options."""

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the fields that a file may set."""

    @property
    def takes(self) -> Literal["tables", "images"]:
        """What a user gives to a model that was trained on these tasks."""

    @property
    def normaliser(self) -> Normaliser:
        """How a user's data gets into the units of these tasks."""

    @property
    def familiar(self) -> Familiar:
        """What a model trained on these tasks has seen."""

    def held_out(self, part: Part) -> NamedSource:
        """Return the source of the tasks that choose a model, or of those that judge it.

        Those of the training part are drawn as these are, to see how much a model learned by heart.
        """


@runtime_checkable
class FiniteSource(Source, Protocol):
    """A source of finitely many objects, each of which can be asked for."""

    def __len__(self) -> int:
        """Return the number of objects."""

    def take(self, objects: Int[Tensor, " B"], generator: torch.Generator) -> Task:
        """Draw a task from each of these objects, given by their numbers."""


def seeded(seed: int, step: int = 0, rank: int = 0) -> torch.Generator:
    """Return the generator of one step of one process: equal keys, equal numbers.

    Drawing every batch from its own key makes a run resumable at any step without stored state.
    """
    for part in (seed, step, rank):
        if not 0 <= part < 2**32:
            raise SettingError(f"Seeds and steps must lie between 0 and 2**32 - 1, got {part}.")
    # torch's CPU generator uses 32 bits of its seed, so the key is hashed rather than packed.
    state = np.random.SeedSequence((seed, step, rank)).generate_state(1)
    return torch.Generator().manual_seed(int(state[0]))
