"""Mixtures of Gaussians and log-normals."""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from convcnp.errors import SettingError

_BISECTIONS = 80
_NODES = 33  # per component, where the CRPS is an integral


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
        if not 0 < level < 1:
            raise SettingError(
                f"A quantile level must lie strictly between 0 and 1, got {level}; 0.05 is the "
                "5 % quantile."
            )
        z = torch.special.ndtri(torch.tensor(level, dtype=torch.float64))
        each = self.location + z * self.scale
        each = torch.where(self.is_log, each.clamp(max=700).exp(), each)
        # The mixture's lies between those of its components that have any weight.
        counts = self.weight > 0
        low = torch.where(counts, each, torch.inf).amin(-1)
        high = torch.where(counts, each, -torch.inf).amax(-1)
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

    def crps(self, value: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """Return the continuous ranked probability score, zero where nothing was asked for."""
        value = torch.where(self.mask, value.to(self.location), self.location[..., 0])
        has_log = (self.is_log & (self.weight > 0)).any()
        score = self._integrated_crps(value) if has_log else self._closed_crps(value)
        return torch.where(self.mask, score, 0)

    def _closed_crps(self, value: Tensor) -> Tensor:
        r"""Return :math:`E|Y - y| - \frac12 E|Y - Y'|`, both sums over components."""
        near = _mean_distance(value[..., None] - self.location, self.scale)
        apart = self.location[..., None] - self.location[..., None, :]
        both = torch.hypot(self.scale[..., None], self.scale[..., None, :])
        among = (_mean_distance(apart, both) * self.weight[..., None, :]).sum(-1)
        return (self.weight * (near - among / 2)).sum(-1)

    def _integrated_crps(self, value: Tensor) -> Tensor:
        r"""Return :math:`\int (F(x) - 1[y \le x])^2 dx` on nodes that follow every component."""
        z = torch.linspace(-5, 5, _NODES).to(self.location)
        nodes = self.location[..., None] + z * self.scale[..., None]  # (*shape, k, nodes)
        nodes = torch.where(self.is_log[..., None], nodes.clamp(max=340).exp(), nodes)
        # A component of no weight must not stretch the nodes.
        nodes = torch.where((self.weight > 0)[..., None], nodes, value[..., None, None])
        nodes = torch.cat([nodes.flatten(-2), value[..., None]], -1).sort(-1).values
        cdf = torch.stack([self.cdf(each) for each in nodes.unbind(-1)], -1)
        left, right = cdf[..., :-1], cdf[..., 1:]
        above = (nodes[..., 1:] > value[..., None]).to(cdf)
        left, right = left - above, right - above
        # Exact where the cdf is a line between nodes.
        square = (left**2 + left * right + right**2) / 3
        return (square * nodes.diff(dim=-1)).sum(-1)

    def sample(self, generator: torch.Generator) -> Float[Tensor, "*shape"]:
        """Draw one value per output, each on its own."""
        draw = torch.rand(self.weight.shape[:-1], generator=generator, dtype=torch.float64)
        component = (self.weight.cumsum(-1) < draw[..., None]).sum(-1, keepdim=True)
        component = component.clamp(max=self.weight.shape[-1] - 1)
        white = torch.randn(draw.shape, generator=generator, dtype=torch.float64)
        location, scale, is_log = (
            each.gather(-1, component)[..., 0] for each in (self.location, self.scale, self.is_log)
        )
        value = location + scale * white
        return torch.where(is_log, value.clamp(max=700).exp(), value)


def _mean_distance(mean: Tensor, stddev: Tensor) -> Tensor:
    """Return the expected absolute value of a Gaussian."""
    z = mean / stddev
    density = torch.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
    return 2 * stddev * density + mean * (2 * torch.special.ndtr(z) - 1)
