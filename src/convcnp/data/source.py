"""What every source of tasks has in common."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from convcnp.core.predictive import Predictive
from convcnp.core.task import Task
from convcnp.core.units import AsIs, Normaliser
from convcnp.errors import SettingError, check_positive

Part = Literal["validation", "test"]

PARTS = ("training", "validation", "test")
_HELD_OUT = 0.1  # of a user's series or images, for validation and for test each


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


@runtime_checkable
class NamedSource(Source, Protocol):
    """A source that experiment files can name: a frozen dataclass with options."""

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the fields that a file may set."""

    @property
    def normaliser(self) -> Normaliser:
        """How a user's data gets into the units of these tasks."""

    @property
    def familiar(self) -> Familiar:
        """What a model trained on these tasks has seen."""

    def held_out(self, part: Part) -> NamedSource:
        """Return the source of the tasks that choose a model, or of those that judge it."""


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


def parts_by_name(names: Sequence[str]) -> np.ndarray:
    """Return the part that each name belongs to, as its number among `PARTS`, by a hash."""
    order = np.argsort([_hash(name) for name in names], kind="stable")
    count = max(1, round(_HELD_OUT * len(order)))
    parts = np.zeros(len(order), dtype=np.int64)
    parts[order[:count]] = PARTS.index("test")
    parts[order[count : 2 * count]] = PARTS.index("validation")
    return parts


def _hash(name: str) -> int:
    content = name.encode(errors="surrogateescape")  # names of files may be in any encoding
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest())


def drawn_sizes(
    low: int,
    high: int,
    batch_size: int,
    sizes: Literal["batch", "task"],
    generator: torch.Generator,
) -> Int[Tensor, " B"]:
    """Draw sizes from low to high, one for the whole batch or one for every task."""
    groups = batch_size if sizes == "task" else 1
    return torch.randint(low, high + 1, (groups,), generator=generator).expand(batch_size)


def split(
    x: Float[Tensor, "B K Dx"],
    y: Float[Tensor, "B K Dy"],
    num_context: Int[Tensor, " B"],
    observed: Bool[Tensor, "B K Dy"] | None = None,
) -> Task:
    """Make the first points of each task its context, as many as it is to have; the rest, targets.

    Args:
        observed: What was observed, channel by channel; everything if left out.
    """
    is_context = (torch.arange(x.shape[1]) < num_context[:, None])[..., None].expand(y.shape)
    observed = torch.ones_like(is_context) if observed is None else observed
    first, last = int(num_context.min()), int(num_context.max())
    return Task(
        *(x[:, :last], y[:, :last], x[:, first:], y[:, first:]),
        context_mask=(observed & is_context)[:, :last],
        target_mask=(observed & ~is_context)[:, first:],
    )


@dataclass(frozen=True)
class FunctionSource(ABC):
    """Tasks made of random functions, observed at uniformly drawn inputs (Appendix C.2).

    A new process is a subclass with one method, `values`.

    Args:
        low: Lower end of the inputs.
        high: Upper end of the inputs.
        max_points: Context and target sizes are each drawn from 3 to this number.
        sizes: Draw the sizes once for a batch, as the paper does, or for every task.
    """

    options: ClassVar[tuple[str, ...]] = ("low", "high", "max_points", "sizes")
    normaliser: ClassVar[Normaliser] = AsIs()

    low: float = -2.0
    high: float = 2.0
    max_points: int = 50
    sizes: Literal["batch", "task"] = "batch"
    dim_x: int = 1
    dim_y: int = 1

    def __post_init__(self) -> None:
        if not self.low < self.high or self.max_points < 3:
            raise SettingError(
                "A source needs low < high and max_points >= 3, got "
                f"low = {self.low}, high = {self.high}, max_points = {self.max_points}."
            )
        if self.sizes not in ("batch", "task"):
            raise SettingError(f"sizes must be 'batch' or 'task', got {self.sizes!r}; choose one.")
        check_positive("dim_x", self.dim_x)
        check_positive("dim_y", self.dim_y)

    def draw(self, batch_size: int, generator: torch.Generator) -> Task:
        """Draw functions, and split the points at which each is seen into context and targets."""
        groups = batch_size if self.sizes == "task" else 1
        sizes = torch.randint(3, self.max_points + 1, (2, groups), generator=generator)
        context, target = sizes.amax(1).tolist()
        unit = torch.rand(
            batch_size, context + target, self.dim_x, dtype=torch.float64, generator=generator
        )
        x = self.low + (self.high - self.low) * unit
        y = self.values(x, generator).float()
        return Task(
            *(x[:, :context], y[:, :context], x[:, context:], y[:, context:]),
            context_mask=self._first(sizes[0], batch_size, context),
            target_mask=self._first(sizes[1], batch_size, target),
        )

    def held_out(self, part: Part) -> FunctionSource:
        """Return the same process with sizes drawn per task; other seeds make other functions."""
        return replace(self, sizes="task")

    @property
    def familiar(self) -> Familiar:
        """What a model trained on these tasks has seen, three to `max_points` at a time."""
        width = self.high - self.low
        spacing = width / self.max_points
        return Familiar((0.2 * spacing, width / 2), largest=5.0, spacing=spacing)

    def _first(self, sizes: Int[Tensor, " groups"], batch_size: int, length: int) -> Tensor:
        """Return a mask of the first points, as many as each task has."""
        return (torch.arange(length) < sizes[:, None])[..., None].expand(
            batch_size, length, self.dim_y
        )

    @abstractmethod
    def values(
        self, x: Float[Tensor, "B K Dx"], generator: torch.Generator
    ) -> Float[Tensor, "B K Dy"]:
        """Draw one function per task and return its values at the inputs."""

    def ceiling(self, task: Task) -> Predictive | None:
        """Return the best possible prediction, where it is known: here it is not."""
        return None
