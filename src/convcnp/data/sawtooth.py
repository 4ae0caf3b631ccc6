"""The random sawtooth process (Appendix C.2)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from convcnp.data.source import FunctionSource
from convcnp.errors import SettingError


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
