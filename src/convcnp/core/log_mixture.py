"""Mixtures whose components are Gaussians of the output, or of a logarithm of it."""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.distributions import Normal

from convcnp.core.heads import Head
from convcnp.core.normal_scores import EXACTLY, SMALLEST, mixed_score, root
from convcnp.core.predictive import MixturePredictive, Predictive

NUMBERS = 5  # of every component, as the head takes them
_NODES = 33  # per component, where the CRPS is an integral
_WIDEST = 20.0  # variance of a logarithm: wider ones are as good as infinite
_LARGEST = 340.0  # of a logarithm: its exponential, squared, is still a number


class LogMixturePredictive(Predictive):
    r"""Independent mixtures at the targets, some components of which are log-normal.

    .. math:: y = a + u \text{ or } y = a + e^u - c_k, \qquad u \sim \mathcal N(\mu_k, \sigma_k^2)

    Args:
        logits: Logarithms of the weights, up to a constant; the components are last.
        locations: Mean of every component, or of its logarithm.
        scales: Standard deviation of every component, or of its logarithm.
        is_log: Which components are of a logarithm.
        shift: What is added to the output before its logarithm is taken, :math:`c_k`; zero where
            there is none.
        offset: What is added to every output, :math:`a`.

    Example:
        >>> zeros, mask = torch.zeros(1, 1, 1, 1), torch.ones(1, 1, 1, dtype=torch.bool)
        >>> positive = LogMixturePredictive(zeros, zeros, zeros + 1, zeros == 0, zeros, mask)
        >>> round(positive.quantile(0.5).item(), 3), positive.cdf(torch.zeros(1, 1, 1)).item()
        (1.0, 0.0)
    """

    def __init__(
        self,
        logits: Float[Tensor, "B M Dy K"],
        locations: Float[Tensor, "B M Dy K"],
        scales: Float[Tensor, "B M Dy K"],
        is_log: Bool[Tensor, "B M Dy K"],
        shift: Float[Tensor, "B M Dy K"],
        mask: Bool[Tensor, "B M Dy"],
        offset: Tensor | float = 0.0,
    ) -> None:
        super().__init__(mask.shape, validate_args=False)
        self.log_weights = torch.log_softmax(logits, -1)
        self.locations, self.scales, self.is_log, self.shift = locations, scales, is_log, shift
        self.mask = mask
        self.offset = torch.as_tensor(offset).to(locations).expand(mask.shape)

    @property
    def weights(self) -> Float[Tensor, "B M Dy K"]:
        """The probability of every component."""
        return self.log_weights.exp()

    @property
    def mean(self) -> Float[Tensor, "B M Dy"]:
        """The mean of the mixture."""
        return self.offset + (self.weights * self._moments()[0]).sum(-1)

    @property
    def variance(self) -> Float[Tensor, "B M Dy"]:
        """Variances within components, and of the components' means."""
        means, variances = self._moments()
        away = means - (self.weights * means).sum(-1, keepdim=True)
        return (self.weights * (variances + away**2)).sum(-1)

    @property
    def stddev(self) -> Float[Tensor, "B M Dy"]:
        """The standard deviation of the mixture."""
        return self.variance.sqrt()

    def _moments(self) -> tuple[Tensor, Tensor]:
        """Return the mean and the variance of every component, without the offset."""
        square = self.scales**2
        mean = (self.locations + square / 2).clamp(max=_LARGEST).exp()
        variance = mean**2 * torch.expm1(square.clamp(max=_WIDEST))
        return (
            torch.where(self.is_log, mean, self.locations) - self.shift,
            torch.where(self.is_log, variance, square),
        )

    def score(self, value: Float[Tensor, "*S B M Dy"]) -> Float[Tensor, "*S B M Dy"]:
        r"""Return normal scores :math:`\Phi^{-1}(F(y))`, which tell tails apart where F cannot."""
        u, _ = self._inner(value)
        return mixed_score((u - self.locations) / self.scales, self.weights)

    def at_score(
        self, score: Float[Tensor, "*S B M Dy"], tolerance: float = EXACTLY
    ) -> Float[Tensor, "*S B M Dy"]:
        """Return the outputs that have these normal scores, in float64."""
        own = self.locations.double() + self.scales.double() * score[..., None]
        own = self._outer(own, self.is_log, self.shift)
        # A mixture's lies between those of its components, of those that have any weight.
        counts = self.weights > 0
        low = self.offset + torch.where(counts, own, torch.inf).amin(-1)
        high = self.offset + torch.where(counts, own, -torch.inf).amax(-1)
        return root(self.score, low, high, score.double(), tolerance)

    def _inner(self, value: Tensor) -> tuple[Tensor, Tensor]:
        """Return u for every component, and the logarithm that it would be."""
        y = (value.to(self.locations) - self.offset)[..., None] + self.shift
        logarithm = torch.where(y > 0, y.clamp(min=SMALLEST).log(), -torch.inf)
        return torch.where(self.is_log, logarithm, y), logarithm

    @staticmethod
    def _outer(u: Tensor, is_log: Tensor, shift: Tensor) -> Tensor:
        """Return the outputs, without the offset, that components stand for."""
        return torch.where(is_log, u.clamp(max=_LARGEST).exp(), u) - shift

    def _log_density(self, value: Tensor) -> Tensor:
        u, logarithm = self._inner(value)
        possible = ~self.is_log | logarithm.isfinite()
        components = Normal(self.locations, self.scales, validate_args=False)
        density = components.log_prob(torch.where(possible, u, 0))
        density = torch.where(self.is_log & possible, density - logarithm, density)
        density = torch.where(possible, density, -torch.inf)
        return torch.logsumexp(self.log_weights + density, -1)

    def crps(self, value: Float[Tensor, "B M Dy"]) -> Float[Tensor, "B M Dy"]:
        """Return the continuous ranked probability score of each output; smaller is better.

        In closed form where all components are Gaussian, as an integral elsewhere.
        """
        value = torch.where(self.mask, value.to(self.locations), self.mean)
        gaussian = MixturePredictive(self.log_weights, self.locations, self.scales, self.mask)
        score = gaussian.crps(value - self.offset)
        has_log = (self.is_log & (self.weights > 0)).any(-1).flatten()
        if has_log.any():
            score = score.flatten()
            score[has_log] = self._outputs(has_log)._integrated(value.flatten()[has_log])
            score = score.reshape(self.mask.shape)
        return torch.where(self.mask, score, 0)

    def _outputs(self, chosen: Tensor) -> LogMixturePredictive:
        """Return some of the outputs, as targets of one task and channel."""

        def some(each: Tensor) -> Tensor:
            return each.flatten(0, 2)[chosen][None, :, None]

        return LogMixturePredictive(
            *(some(self.log_weights), some(self.locations), some(self.scales)),
            *(some(self.is_log), some(self.shift)),
            some(self.mask[..., None])[..., 0],
            some(self.offset[..., None])[..., 0],
        )

    def _integrated(self, value: Float[Tensor, " m"]) -> Float[Tensor, " m"]:
        r"""Return :math:`\int (F(x) - 1[y \le x])^2 dx` on nodes that follow every component."""
        value = value[None, :, None]
        z = torch.linspace(-5, 5, _NODES).to(self.locations)
        nodes = self.locations[..., None] + z * self.scales[..., None]  # (1, m, 1, K, nodes)
        nodes = self._outer(nodes, self.is_log[..., None], self.shift[..., None])
        nodes = nodes + self.offset[..., None, None]
        # A component of no weight must not stretch the nodes.
        nodes = torch.where((self.weights > 0)[..., None], nodes, value[..., None, None])
        nodes = torch.cat([nodes.flatten(-2), value[..., None]], -1).sort(-1).values
        cdf = torch.stack([self.cdf(each) for each in nodes.unbind(-1)], -1)
        above = (nodes[..., 1:] > value[..., None]).to(cdf)
        left, right = cdf[..., :-1] - above, cdf[..., 1:] - above
        # Exact where the cdf is a line between nodes.
        square = (left**2 + left * right + right**2) / 3
        return (square * nodes.diff(dim=-1)).sum(-1)[0, :, 0]

    def affine(
        self, shift: Tensor | float, scale: Tensor | float, scatter: Tensor | float = 0.0
    ) -> LogMixturePredictive:
        """Return the distribution of shift + scale * output + noise of deviation `scatter`.

        The scale is positive. Noise on a log-normal component makes it a wider one, of the same
        mean and variance.
        """
        scale, scatter = (torch.as_tensor(part).to(self.offset) for part in (scale, scatter))
        factor = scale.expand(self.mask.shape)[..., None]
        noise = scatter.expand(self.mask.shape)[..., None]
        square = self.scales**2
        mean = self.locations + factor.log() + square / 2  # its logarithm
        relative = noise / mean.clamp(-_LARGEST, _LARGEST).exp()
        wider = torch.log1p(torch.expm1(square.clamp(max=_WIDEST)) + relative**2)
        wider = torch.where((noise > 0) & (square < _WIDEST), wider, square)
        locations = torch.where(self.is_log, mean - wider / 2, self.locations * factor)
        scales = torch.where(self.is_log, wider.sqrt(), torch.hypot(self.scales * factor, noise))
        offset = self.offset * scale + shift
        return LogMixturePredictive(
            *(self.log_weights, locations, scales, self.is_log, self.shift * factor),
            *(self.mask, offset),
        )

    def to(self, device: torch.device | str) -> LogMixturePredictive:
        """Move every tensor to a device."""
        numbers = (self.log_weights, self.locations, self.scales, self.is_log, self.shift)
        parts = (*numbers, self.mask, self.offset)
        return LogMixturePredictive(*(part.to(device) for part in parts))

    def _sample(self, shape: torch.Size, generator: torch.Generator | None) -> Tensor:
        choices = self.weights.flatten(0, -2)  # (outputs, K)
        chosen = torch.multinomial(choices, math.prod(shape), True, generator=generator)
        chosen = chosen.T.reshape(*shape, *self.mask.shape, 1)
        locations, scales, is_log, shift = (
            parameter.expand(*shape, *parameter.shape).gather(-1, chosen)[..., 0]
            for parameter in (self.locations, self.scales, self.is_log, self.shift)
        )
        white = torch.randn(locations.shape, dtype=locations.dtype, generator=generator)
        u = locations + scales * white.to(locations)
        return self.offset + self._outer(u, is_log, shift)


class LogMixtureHead(Head):
    """The log weight, location and scale of every component, and of which logarithm it is, if any.

    The numbers are taken as they are: nothing is trained that would have to be made positive.

    Args:
        components: How many Gaussians and log-normals.
    """

    def __init__(self, components: int) -> None:
        super().__init__()
        self.components = components

    def channels(self, dim_y: int) -> int:
        """Return five numbers per component and output channel."""
        return NUMBERS * self.components * dim_y

    def forward(
        self, raw: Float[Tensor, "B M P"], mask: Bool[Tensor, "B M Dy"]
    ) -> LogMixturePredictive:
        """Return mixtures: weights first, then locations, scales, one for a logarithm, and shifts.

        Components are put in the order of their weights, and those that no output has left out.
        """
        parts = raw.unflatten(-1, (NUMBERS, mask.shape[2], self.components))
        logits = parts[..., 0, :, :]  # (B, M, Dy, K)
        order = torch.argsort(logits, dim=-1, descending=True, stable=True)
        most = int((torch.softmax(logits, -1) > 0).sum(-1).amax()) if logits.numel() else 1
        order = order[..., None, :, :most].expand(*parts.shape[:-1], most)
        logits, locations, scales, is_log, shift = parts.gather(-1, order).unbind(-3)
        return LogMixturePredictive(logits, locations, scales, is_log > 0.5, shift, mask)
