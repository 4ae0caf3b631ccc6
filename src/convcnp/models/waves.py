"""Smooth random functions as sums of a few waves, in place of a Cholesky factor."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

_LEFT_OUT = 1e-12  # of the variance: what Cholesky factors add to it to exist


@dataclass(frozen=True)
class Waves:
    r"""Functions of a Gaussian process whose covariance is :math:`\exp(-d^2 / 2\ell^2)`.

    Within a span the kernel equals one that repeats itself so late that no copy is seen, and whose
    Fourier series

    .. math:: f(x) = \operatorname{Re} \sum_j c_j e^{2 \pi i j x / P}

    has amplitudes that fall as fast as the kernel does: some thirty waves give covariances to
    twelve digits. Their number does not depend on how many points are asked for.

    Args:
        length_scale: That of the kernel.
        span: The largest distance between two inputs.

    Example:
        >>> x = torch.linspace(-2, 2, 500, dtype=torch.float64)[None, :, None]
        >>> Waves(length_scale=0.25, span=4.0).sample(x, torch.Generator().manual_seed(0)).shape
        torch.Size([1, 500, 1])
    """

    length_scale: float
    span: float

    def sample(
        self, x: Float[Tensor, "B K 1"], generator: torch.Generator, channels: int = 1
    ) -> Float[Tensor, "B K Dy"]:
        """Draw one function per task and channel and return its values at the inputs."""
        amplitudes = self._amplitudes
        parts = torch.randn(
            len(amplitudes), len(x), 1, channels, 2, dtype=torch.float64, generator=generator
        )
        weights = torch.view_as_complex(parts).numpy() * amplitudes[:, None, None, None]
        angle = (2 * math.pi / self._period) * x.double().numpy()
        wave = np.cos(angle) + 1j * np.sin(angle)
        values = np.zeros((*x.shape[:2], channels), dtype=complex)
        for weight in weights[::-1]:
            values *= wave
            values += weight
        return torch.from_numpy(np.ascontiguousarray(values.real))

    @cached_property
    def _amplitudes(self) -> Float[np.ndarray, " J"]:
        """Standard deviations of either part of every wave, the constant first."""
        scale = 2 * math.pi * self.length_scale / self._period
        waves = np.arange(math.ceil(_reach() / scale) + 1)
        variances = math.sqrt(2 / math.pi) * scale * np.exp(-0.5 * (scale * waves) ** 2)
        variances[0] /= 2
        return np.sqrt(variances)

    @property
    def _period(self) -> float:
        return self.span + _reach() * self.length_scale


def _reach() -> float:
    """Return after how many length scales the kernel, and in frequency its amplitude, is gone."""
    return math.sqrt(-2 * math.log(_LEFT_OUT))
