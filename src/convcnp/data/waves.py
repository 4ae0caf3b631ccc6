"""Smooth random functions as sums of a few waves, in place of a Cholesky factor."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import torch
from jaxtyping import Complex, Float
from torch import Tensor

LEFT_OUT = 1e-12  # of the variance, by leaving out all further waves


@lru_cache(maxsize=16)
def waves_of(length_scale: float, span: float) -> Waves:
    """Return the same waves again and again: what they have in common is found once."""
    return Waves(length_scale, span)


@dataclass(frozen=True)
class Waves:
    r"""Functions of a Gaussian process whose covariance is :math:`\exp(-d^2 / 2\ell^2)`.

    Within a span the kernel equals one that repeats itself so late that no copy is seen, and which
    has a Fourier series, so that

    .. math:: f(x) = \operatorname{Re} \sum_j c_j e^{2 \pi i j x / P}

    The variances of :math:`c_j` fall as fast as the kernel does: some thirty waves give covariances
    to twelve digits, for any number of points.

    Args:
        length_scale: That of the kernel.
        span: The largest distance between two inputs.

    Example:
        >>> x = torch.linspace(-2, 2, 500, dtype=torch.float64)[None, :, None]
        >>> waves = Waves(length_scale=0.25, span=4.0)
        >>> waves.count, waves.sample(x, torch.Generator().manual_seed(0)).shape
        (29, torch.Size([1, 500, 1]))
    """

    length_scale: float
    span: float

    @cached_property
    def count(self) -> int:
        """How many waves there are, the constant among them."""
        return math.ceil(_vanishing() / self._rate) + 1

    def sample(
        self, x: Float[Tensor, "B K 1"], generator: torch.Generator, channels: int = 1
    ) -> Float[Tensor, "B K Dy"]:
        """Draw one function per task and channel and return its values at the inputs."""
        shape = (self.count, len(x), channels, 2)
        parts = torch.randn(shape, dtype=torch.float64, generator=generator)
        weights = torch.view_as_complex(parts).numpy() * self._deviations  # (J, B, Dy)
        rate = self._rate / self.length_scale
        wave = np.exp(1j * rate * x.detach().double().numpy()[:, None, :, 0])  # (B, 1, K)
        return torch.from_numpy(np.ascontiguousarray(_polynomial(weights, wave).real.mT))

    @cached_property
    def _deviations(self) -> Float[np.ndarray, "J 1 1"]:
        """Return the standard deviation of either part of every wave's weight."""
        variances = np.exp(-0.5 * (self._rate * np.arange(self.count)) ** 2)
        variances[0] /= 2
        return np.sqrt(math.sqrt(2 / math.pi) * self._rate * variances)[:, None, None]

    @cached_property
    def _rate(self) -> float:
        """Of the slowest wave: radians in a length scale."""
        return 2 * math.pi / (self.span / self.length_scale + _vanishing())


def _polynomial(
    weights: Complex[np.ndarray, "J B Dy"], z: Complex[np.ndarray, "B 1 K"]
) -> Complex[np.ndarray, "B Dy K"]:
    r"""Evaluate :math:`\sum_j c_j z^j`: powers within groups, and Horner's rule over groups.

    So there are about as many operations as the root of the number of weights.
    """
    size = math.isqrt(len(weights)) + 1
    groups = -(-len(weights) // size)
    padded = np.zeros((groups * size, *weights.shape[1:]), complex)
    padded[: len(weights)] = weights
    within = padded.reshape(groups, size, *weights.shape[1:]).transpose(0, 2, 3, 1)  # (g, B, Dy, s)
    powers = np.empty((len(z), size, z.shape[2]), complex)
    powers[:, :1] = 1
    for power in range(1, size):
        np.multiply(powers[:, power - 1], z[:, 0], out=powers[:, power])
    of_group = powers[:, -1:] * z  # (B, 1, K)
    sums = within @ powers  # (g, B, Dy, K)
    found = sums[-1]
    for each in sums[-2::-1]:
        found *= of_group
        found += each
    return found


def _vanishing() -> float:
    """Return where a standard normal density, the kernel's shape, has all but vanished."""
    return math.sqrt(-2 * math.log(LEFT_OUT))
