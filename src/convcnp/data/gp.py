"""Functions drawn from Gaussian processes (Section 5.1, Appendix C.2)."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from convcnp.core.predictive import GaussianPredictive
from convcnp.core.task import Task
from convcnp.data.source import FunctionSource
from convcnp.models.gaussian_process import EQ, GaussianProcess, Kernel


@dataclass(frozen=True)
class GPSource(FunctionSource):
    """Noise-free functions drawn from a Gaussian process."""

    kernel: Kernel = field(default_factory=EQ)
    jitter: float = 1e-12  # of the draws: enough for a hundred points, in float64

    def values(
        self, x: Float[Tensor, "B K Dx"], generator: torch.Generator
    ) -> Float[Tensor, "B K Dy"]:
        """Draw one function per task by a batched Cholesky factorisation in float64."""
        return GaussianProcess(self.kernel, jitter=self.jitter).sample(x, generator, self.dim_y)

    def ceiling(self, task: Task) -> GaussianPredictive:
        """Return the exact posterior, with a jitter of 1e-8."""
        return GaussianProcess(self.kernel, jitter=1e-8)(task)
