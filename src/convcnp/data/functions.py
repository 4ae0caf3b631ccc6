"""Random functions: what such sources share, and the paper's two (Section 5.1, Appendix C.2)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from convcnp.core.predictive import GaussianPredictive, Predictive
from convcnp.core.task import Task
from convcnp.core.units import AsIs, Normaliser
from convcnp.data.source import Familiar, Part
from convcnp.data.waves import LEFT_OUT, Waves, waves_of
from convcnp.errors import SettingError, check_positive
from convcnp.models.gaussian_process import EQ, GaussianProcess, Kernel


@dataclass(frozen=True)
class FunctionSource(ABC):
    """Tasks made of random functions, observed at uniformly drawn inputs (Appendix C.2).

    A new process is a subclass with one method, `values`.

    Args:
        low: Lower end of the inputs.
        high: Upper end of the inputs.
        max_points: Context and target sizes are each drawn from 3 to this number.
        sizes: Draw the sizes once for a batch, as the paper does, or for every task.

    Example:
        >>> @dataclass(frozen=True)
        ... class Lines(FunctionSource):
        ...     def values(self, x, generator):
        ...         slope = torch.randn(len(x), 1, 1, dtype=x.dtype, generator=generator)
        ...         return slope * x
        >>> Lines().draw(16, torch.Generator().manual_seed(0)).x_context.shape[0]
        16
    """

    options: ClassVar[tuple[str, ...]] = ("low", "high", "max_points", "sizes")
    takes: ClassVar[Literal["tables"]] = "tables"
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
        x = torch.empty(batch_size, context + target, self.dim_x, dtype=torch.float64)
        x.uniform_(self.low, self.high, generator=generator)
        y = self.values(x, generator).float()
        (x, x_target), (y, y_target) = x.split([context, target], 1), y.split([context, target], 1)
        points = x, y, x_target, y_target
        if self.sizes == "batch":
            return Task(*points)  # every point counts
        return Task(
            *points,
            context_mask=self._first(sizes[0], context),
            target_mask=self._first(sizes[1], target),
        )

    def held_out(self, part: Part) -> FunctionSource:
        """Return the same process with sizes drawn per task; other seeds make other functions."""
        return replace(self, sizes="task")

    def for_curves(self) -> FunctionSource:
        """Return the process to draw whole curves of, whose inputs lie close together."""
        return self

    @property
    def familiar(self) -> Familiar:
        """What a model trained on these tasks has seen, three to `max_points` at a time."""
        width = self.high - self.low
        spacing = width / self.max_points
        return Familiar((0.2 * spacing, width / 2), largest=5.0, spacing=spacing)

    def _first(self, sizes: Int[Tensor, " B"], length: int) -> Bool[Tensor, "B K Dy"]:
        """Return a mask of the first points, as many as each task has."""
        return (torch.arange(length) < sizes[:, None])[..., None].expand(-1, -1, self.dim_y)

    @abstractmethod
    def values(
        self, x: Float[Tensor, "B K Dx"], generator: torch.Generator
    ) -> Float[Tensor, "B K Dy"]:
        """Draw one function per task and return its values at the inputs."""

    def ceiling(self, task: Task) -> Predictive | None:
        """Return the best possible prediction, where it is known: here it is not."""
        return None


@dataclass(frozen=True)
class GPSource(FunctionSource):
    """Noise-free functions drawn from a Gaussian process, in float64.

    Args:
        jitter: Variance added to every value: a Cholesky factor of a hundred points needs 1e-12.
        takes_waves: Draw smooth functions as sums of `Waves` where these are fewer than points,
            which takes less time. Held-out ones are drawn by Cholesky factors, as they were for
            every number that was published.
    """

    kernel: Kernel = field(default_factory=EQ)
    jitter: float = 1e-12
    takes_waves: bool = True

    def values(
        self, x: Float[Tensor, "B K Dx"], generator: torch.Generator
    ) -> Float[Tensor, "B K Dy"]:
        """Draw one function per task."""
        process = self._waves(x) or GaussianProcess(self.kernel, jitter=self.jitter)
        return process.sample(x, generator, self.dim_y)

    def _waves(self, x: Float[Tensor, "B K Dx"]) -> Waves | None:
        """Return the waves that values at these inputs are sums of, if there are, and few."""
        # A subclass of the kernel may be another kernel.
        if not self.takes_waves or type(self.kernel) is not EQ or self.dim_x != 1:
            return None
        waves = waves_of(self.kernel.length_scale, self.high - self.low)
        if waves.count >= self.max_points or self.jitter > LEFT_OUT:
            return None
        least, largest = x.aminmax()
        return waves if self.low <= least and largest <= self.high else None

    def held_out(self, part: Part) -> GPSource:
        """Return the process with sizes drawn per task, and by Cholesky factors."""
        return replace(self, sizes="task", takes_waves=False)

    def for_curves(self) -> GPSource:
        """Return the process with the jitter that hundreds of points close together need."""
        return replace(self, jitter=1e-7)

    def ceiling(self, task: Task) -> GaussianPredictive:
        """Return the exact posterior, with a jitter of 1e-8."""
        return GaussianProcess(self.kernel, jitter=1e-8)(task)


@dataclass(frozen=True)
class SawtoothSource(FunctionSource):
    r"""Truncated Fourier series of sawtooth waves with random frequency, shift and truncation.

    .. math:: y(t) = \tfrac12 - \tfrac1\pi \sum_{k=1}^K (-1)^k \frac{\sin 2\pi k f (t - s)}{k},
              \quad f \sim U(3, 5),\ K \sim U\{10, \dots, 20\},\ s \sim U(-5, 5)
    """

    max_points: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.dim_x, self.dim_y) != (1, 1):
            raise SettingError(
                "The sawtooth process has one input dimension and one channel, got "
                f"{self.dim_x} and {self.dim_y}; leave them out."
            )

    def values(
        self, x: Float[Tensor, "B K Dx"], generator: torch.Generator
    ) -> Float[Tensor, "B K Dy"]:
        """Draw one wave per task and return its values at the inputs."""
        frequency, shift = torch.rand(2, len(x), 1, 1, dtype=x.dtype, generator=generator)
        terms = torch.randint(10, 21, (len(x), 1, 1), generator=generator)
        phase = 2 * math.pi * (3 + 2 * frequency) * (x - (10 * shift - 5))  # (B, points, 1)
        k = torch.arange(1, 21).to(x)
        weight = torch.where(k <= terms, (-1) ** k / k, 0)  # (B, 1, 20)
        return 0.5 - (torch.sin(k * phase) * weight).sum(-1, keepdim=True) / math.pi
