"""A distribution that another one corrects: where outputs fall in it is not what it said."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from convcnp.core.heads import Head
from convcnp.core.predictive import MixturePredictive, Predictive

_NODES = 9  # of the quadrature over every component
_LEVELS = 64  # of the quadrature over quantiles
_EDGE = 1e-14  # probability: beyond, a standard normal deviate would be infinite
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
        nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
        weights = weights / weights.sum()
        mean, variance = self.base.mean, self.base.variance
        spread = variance.sqrt().clamp(min=1e-300)

        def powers(u: Tensor) -> tuple[Tensor, Tensor]:
            away = (self._output(u) - mean) / spread
            return away, away**2

        first, second = torch.zeros_like(mean), torch.zeros_like(mean)
        for node, weight in zip(nodes.tolist(), weights.tolist(), strict=True):
            # The same rule for no change at all: its error falls out of the difference.
            same = powers(torch.full_like(mean, node))
            first, second = first - weight * same[0], second - weight * same[1]
            for k in range(self.change.means.shape[-1]):
                share = weight * self.change.weights[..., k]
                moved = powers(self.change.means[..., k] + self.change.stddevs[..., k] * node)
                first, second = first + share * moved[0], second + share * moved[1]
        left = (1 + second - first**2).clamp(min=1e-4)
        return mean + spread * first, variance * left

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

    def cdf(self, value: Float[Tensor, "B M Dy"]) -> Float[Tensor, "B M Dy"]:
        """Return the probability of a smaller output."""
        return self.change.cdf(self._score(value))

    def crps(self, value: Float[Tensor, "B M Dy"]) -> Float[Tensor, "B M Dy"]:
        r"""Return the continuous ranked probability score of each output; smaller is better.

        As twice the mean pinball loss over all levels, by Gauss's rule.
        """
        nodes, weights = np.polynomial.legendre.leggauss(_LEVELS)
        score = torch.zeros_like(self.base.mean)
        value = torch.where(self.mask, value.to(score), 0)
        for level, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
            below = value - self.quantile(float(level))
            score = score + 2 * weight * torch.maximum(level * below, (level - 1) * below)
        return torch.where(self.mask, score, 0)

    def affine(
        self, shift: Tensor | float, scale: Tensor | float, scatter: Tensor | float = 0.0
    ) -> RecalibratedPredictive:
        """Return the distribution of shift + scale * output + noise of deviation `scatter`."""
        return RecalibratedPredictive(self.base.affine(shift, scale, scatter), self.change)

    def to(self, device: torch.device | str) -> RecalibratedPredictive:
        """Move every tensor to a device."""
        return RecalibratedPredictive(self.base.to(device), self.change.to(device))

    def _score(self, value: Tensor) -> Tensor:
        """Return where outputs fall in the base, as standard normal deviates."""
        return torch.special.ndtri(self.base.cdf(value).clamp(_EDGE, 1 - _EDGE))

    def _output(self, score: Tensor) -> Tensor:
        """Return the outputs of standard normal deviates."""
        return self.base.quantile(torch.special.ndtr(score.double()).clamp(_EDGE, 1 - _EDGE))

    def _likely(self) -> Tensor:
        return self.base.mean  # its own takes a quadrature

    def _log_density(self, value: Tensor) -> Tensor:
        u = self._score(value)
        standard = -0.5 * u**2 - 0.5 * math.log(2 * math.pi)
        return self.base._log_density(value) + self.change._log_density(u) - standard

    def _quantile(self, levels: Tensor) -> Tensor:
        return self._output(self.change._quantile(levels))

    def _sample(self, shape: torch.Size, generator: torch.Generator | None) -> Tensor:
        scores = self.change.sample(tuple(shape), generator=generator)
        drawn = [self._output(score) for score in scores.reshape(-1, *self.mask.shape)]
        return torch.stack(drawn).reshape(scores.shape)


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
        parts = raw.unflatten(-1, (3, mask.shape[2], self.components))
        logits, means, logs = parts.unbind(-3)  # (B, M, Dy, K) each
        first, others = _STARTS_AT
        start = logits.new_tensor([first, *[others] * (self.components - 1)])
        return MixturePredictive(logits + start, means, logs.clamp(-3, 3).exp(), mask)
