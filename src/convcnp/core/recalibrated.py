"""A distribution that another one corrects: where outputs fall in it is not what it said."""

from __future__ import annotations

import math
from functools import cached_property

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from convcnp.core.heads import Head
from convcnp.core.predictive import MixturePredictive, Predictive

_NODES = 33  # of the quadrature of moments
_CORNERS = 129  # of the quadrature of the CRPS
_FARTHEST = 5.5  # standard deviations that both reach
_OUTPUTS_AT_ONCE = 2**17  # times nodes
_LARGEST_SCORE = 8.0  # standard deviations
_STARTS_AT = (2.0, -1.0)  # logits of the first component and of the others, before any training


class RecalibratedPredictive(Predictive):
    r"""Outputs whose normal scores under a base distribution follow a mixture of Gaussians.

    .. math:: u = \Phi^{-1}(F(y)) \sim \sum_k w_k \, \mathcal N(\mu_k, \sigma_k^2), \qquad
              p(y) = f(y) \, \frac{g(u)}{\varphi(u)}

    If the base :math:`F` is right, :math:`u` is standard normal and nothing changes. A wider
    mixture widens every interval, a shifted one moves it, one of several peaks bends it; bounds of
    the base, such as zero, stay bounds.

    Args:
        base: The distribution that is corrected.
        change: The mixture :math:`g`.
    """

    def __init__(self, base: Predictive, change: MixturePredictive) -> None:
        super().__init__(base.mask.shape, validate_args=False)
        self.base, self.change, self.mask = base, change, base.mask

    @cached_property
    def _moments(self) -> tuple[Tensor, Tensor]:
        """Return mean and variance: those of the base, and what the change adds to them."""
        nodes = torch.linspace(-_FARTHEST, _FARTHEST, _NODES, dtype=torch.float64)
        weights = torch.softmax(-0.5 * nodes**2, 0)
        mean, variance = self.base.mean, self.base.variance
        spread = variance.sqrt().clamp(min=1e-300)
        first, second = torch.zeros_like(mean), torch.zeros_like(mean)
        for some, weight in zip(self._split(nodes), self._split(weights), strict=True):
            # The same rule for no change at all: its error falls out of the difference.
            same, moved = (
                (found.to(mean) - mean) / spread
                for found in (self.base.at_score(some), self.at_score(some))
            )
            first = first + (weight * (moved - same)).sum(0)
            second = second + (weight * (moved**2 - same**2)).sum(0)
        left = (1 + second - first**2).clamp(min=1e-4)
        return mean + spread * first, variance * left

    def _split(self, nodes: Tensor) -> list[Tensor]:
        """Spread nodes over all outputs, as many at a time as fit into memory."""
        outputs = math.prod(self.mask.shape)
        some = nodes.to(self.mask.device).split(max(1, _OUTPUTS_AT_ONCE // outputs))
        return [part[:, None, None, None].expand(-1, *self.mask.shape) for part in some]

    @property
    def mean(self) -> Float[Tensor, "B M Dy"]:
        """The mean, by quadrature; exactly the base's where nothing is changed."""
        return self._moments[0]

    @property
    def variance(self) -> Float[Tensor, "B M Dy"]:
        """The variance, by quadrature; exactly the base's where nothing is changed."""
        return self._moments[1]

    @property
    def stddev(self) -> Float[Tensor, "B M Dy"]:
        """The standard deviation, by quadrature."""
        return self.variance.sqrt()

    def score(self, value: Float[Tensor, "*S B M Dy"]) -> Float[Tensor, "*S B M Dy"]:
        """Return the score in the change of the score in the base."""
        return self.change.score(self.base.score(value))

    def at_score(self, score: Float[Tensor, "*S B M Dy"]) -> Float[Tensor, "*S B M Dy"]:
        """Return the outputs that have these normal scores, in float64."""
        return self.base.at_score(self.change.at_score(score))

    def crps(self, value: Float[Tensor, "B M Dy"]) -> Float[Tensor, "B M Dy"]:
        r"""Return the continuous ranked probability score of each output; smaller is better.

        As the integral of :math:`(F(x) - 1[y \le x])^2`, by trapezoids whose corners have even
        normal scores; the one that holds :math:`y` is cut there.
        """
        value = torch.where(self.mask, value.double(), 0)
        scores = torch.linspace(-_FARTHEST, _FARTHEST, _CORNERS, dtype=torch.float64)
        corners = torch.cat([self.at_score(some) for some in self._split(scores)])
        levels = torch.special.ndtr(scores)[:, None, None, None].to(value)
        total = _trapezoids(corners, levels, value).sum(0)
        total = total + (corners[0] - value).clamp(min=0) + (value - corners[-1]).clamp(min=0)
        return torch.where(self.mask, total, 0).to(self.base.mean)

    def affine(
        self, shift: Tensor | float, scale: Tensor | float, scatter: Tensor | float = 0.0
    ) -> RecalibratedPredictive:
        """Return the distribution of shift + scale * output + noise of deviation `scatter`."""
        return RecalibratedPredictive(self.base.affine(shift, scale, scatter), self.change)

    def to(self, device: torch.device | str) -> RecalibratedPredictive:
        """Move every tensor to a device."""
        return RecalibratedPredictive(self.base.to(device), self.change.to(device))

    def _likely(self) -> Tensor:
        return self.base.mean  # its own takes a quadrature

    def _log_density(self, value: Tensor) -> Tensor:
        # Beyond, the change is that of the end: a single outlier must not rule what is learned.
        u = self.base.score(value).clamp(-_LARGEST_SCORE, _LARGEST_SCORE)
        standard = -0.5 * u**2 - 0.5 * math.log(2 * math.pi)
        return self.base._log_density(value) + self.change._log_density(u) - standard

    def _sample(self, shape: torch.Size, generator: torch.Generator | None) -> Tensor:
        scores = self.change.sample(tuple(shape), generator=generator)
        drawn = [self.base.at_score(score) for score in scores.reshape(-1, *self.mask.shape)]
        return torch.stack(drawn).reshape(scores.shape).to(self.base.mean)


def _trapezoids(
    corners: Float[Tensor, "S B M Dy"],
    levels: Float[Tensor, "S 1 1 1"],
    value: Float[Tensor, "B M Dy"],
) -> Float[Tensor, "T B M Dy"]:
    """Integrate the squared difference of a line and a step from each corner to the next."""
    low, high, at_low, at_high = corners[:-1], corners[1:], levels[:-1], levels[1:]
    width = (high - low).clamp(min=1e-300)
    share = ((value - low) / width).clamp(0, 1)  # of the way to the next corner, where the step is
    middle = at_low + (at_high - at_low) * share
    left = share * (at_low**2 + at_low * middle + middle**2)
    a, b = middle - 1, at_high - 1
    right = (1 - share) * (a**2 + a * b + b**2)
    return width * (left + right) / 3


class RecalibratedHead(Head):
    """Correct another head's distribution by a mixture; zeros change nothing.

    Args:
        base: Makes the distribution that is corrected, of the first numbers.
        components: Gaussians of the mixture, made of the numbers that follow.
    """

    def __init__(self, base: Head, components: int = 3) -> None:
        super().__init__()
        self.base, self.components = base, components

    def channels(self, dim_y: int) -> int:
        """Return the numbers of the base, and three per component and output channel."""
        return self.base.channels(dim_y) + self.channels_of_change(dim_y)

    def channels_of_change(self, dim_y: int) -> int:
        """Return three numbers per component and output channel."""
        return 3 * self.components * dim_y

    def forward(
        self, raw: Float[Tensor, "B M P"], mask: Bool[Tensor, "B M Dy"]
    ) -> RecalibratedPredictive:
        """Return the base's distribution with the change behind it."""
        count = self.base.channels(mask.shape[2])
        return RecalibratedPredictive(
            self.base(raw[..., :count], mask), self.change(raw[..., count:], mask)
        )

    def change(
        self, raw: Float[Tensor, "B M P"], mask: Bool[Tensor, "B M Dy"]
    ) -> MixturePredictive:
        """Return the mixture: weights first, then means, then logarithms of deviations."""
        # Components that begin alike would stay alike, did they not learn at different speeds.
        speeds = raw.new_tensor([2.0**k for k in range(self.components)])
        parts = raw.unflatten(-1, (3, mask.shape[2], self.components)) * speeds
        logits, means, logs = parts.unbind(-3)  # (B, M, Dy, K) each
        first, others = _STARTS_AT
        start = raw.new_tensor([first, *[others] * (self.components - 1)])
        return MixturePredictive(logits + start, means, logs.clamp(-3, 3).exp(), mask)
