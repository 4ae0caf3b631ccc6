"""Mixtures of Gaussians and log-normals."""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

_BISECTIONS = 80


class Mixture:
    r"""At every target a mixture :math:`\sum_k w_k N(\mu_k, \sigma_k^2)`, some of logarithms.

    Args:
        is_log: Where it is true, a component is of :math:`\log y`.
        mask: Where it is false, `log_prob` is zero whatever the value.
    """

    def __init__(
        self,
        weight: Float[Tensor, "*shape k"],
        location: Float[Tensor, "*shape k"],
        scale: Float[Tensor, "*shape k"],
        is_log: Bool[Tensor, "*shape k"],
        mask: Bool[Tensor, "*shape"],
    ) -> None:
        self.weight, self.location, self.scale = weight, location, scale
        self.is_log, self.mask = is_log, mask

    def log_prob(self, value: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """Return the log-density of each output, zero where it was not asked for."""
        y = torch.where(self.mask, value.to(self.location), 1.0)[..., None]
        logarithm = y.clamp(min=1e-300).log()
        standard = (torch.where(self.is_log, logarithm, y) - self.location) / self.scale
        log_density = -0.5 * standard**2 - self.scale.log() - 0.5 * math.log(2 * math.pi)
        log_density = torch.where(self.is_log, log_density - logarithm, log_density)
        log_density = torch.where(self.is_log & (y <= 0), -torch.inf, log_density)
        return torch.where(self.mask, (self.weight.log() + log_density).logsumexp(-1), 0)

    def log_likelihood(self, value: Float[Tensor, "B M Dy"]) -> Float[Tensor, " B"]:
        """Return each task's log-likelihood per target point, summed over its channels."""
        count = self.mask.any(-1).sum(1).clamp(min=1)
        return self.log_prob(value).sum((1, 2)) / count

    def cdf(self, value: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """Return the probability of staying below a value."""
        y = value.to(self.location)[..., None]
        logarithm = torch.where(y > 0, y.clamp(min=1e-300).log(), -torch.inf)
        standard = (torch.where(self.is_log, logarithm, y) - self.location) / self.scale
        return (self.weight * torch.special.ndtr(standard)).sum(-1)

    def quantile(self, level: float) -> Float[Tensor, "*shape"]:
        """Return the value that an output stays below with probability `level`, by bisection."""
        z = torch.special.ndtri(torch.tensor(level, dtype=torch.float64))
        each = self.location + z * self.scale
        each = torch.where(self.is_log, each.clamp(max=700).exp(), each)
        low, high = each.amin(-1), each.amax(-1)  # the mixture's lies between the components'
        for _ in range(_BISECTIONS):
            middle = low + (high - low) / 2
            below = self.cdf(middle) < level
            low, high = torch.where(below, middle, low), torch.where(below, high, middle)
        return low + (high - low) / 2

    def _moments(self) -> tuple[Tensor, Tensor]:
        log_mean = (self.location + self.scale**2 / 2).clamp(max=340).exp()
        mean = torch.where(self.is_log, log_mean, self.location)
        log_variance = log_mean**2 * torch.expm1((self.scale**2).clamp(max=20))
        return mean, torch.where(self.is_log, log_variance, self.scale**2)

    @property
    def mean(self) -> Float[Tensor, "*shape"]:
        """Return the mean of every output."""
        return (self.weight * self._moments()[0]).sum(-1)

    @property
    def stddev(self) -> Float[Tensor, "*shape"]:
        """Return the standard deviation of every output."""
        mean, variance = self._moments()
        centre = (self.weight * mean).sum(-1, keepdim=True)
        return (self.weight * (variance + (mean - centre) ** 2)).sum(-1).sqrt()
