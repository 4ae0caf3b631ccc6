"""A distribution that another one corrects: where outputs fall in it is not what it said."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from convcnp.core.heads import Head
from convcnp.core.normal_scores import EXACTLY, SMALLEST
from convcnp.core.predictive import GaussianPredictive, MixturePredictive, Predictive
from convcnp.core.quadrature import QuadraturePredictive
from convcnp.errors import SettingError

_FARTHEST = 7.0  # standard deviations that quadratures reach
_CORNERS, _STEPS = 57, 4  # even scores of a quadrature, and even steps between two of them
_ROUGHLY = 0.05  # of scores: nodes may lie where they like, as long as they are in order
_OUTPUTS_AT_ONCE = 2**18  # times nodes
_LARGEST_SCORE = 8.0  # standard deviations
_NO_TAIL = 1e6  # a score that no mixture reaches; gradients of an infinite one would be no numbers
_NEARLY_ALL = 1 - 1e-9  # of a mixture may lie in the tails
_STARTS_AT = (2.0, -1.0)  # logits of the first component and of the others, before any training


class RecalibratedPredictive(QuadraturePredictive):
    r"""Outputs whose normal scores under a base distribution follow a mixture of Gaussians.

    .. math:: u = \Phi^{-1}(F(y)) \sim \sum_k w_k \, \mathcal N(\mu_k, \sigma_k^2), \qquad
              p(y) = f(y) \, \frac{g(u)}{\varphi(u)}

    If the base :math:`F` is right, :math:`u` is standard normal and nothing changes. A wider
    mixture widens every interval, a shifted one moves it, one of several peaks bends it; bounds of
    the base, such as zero, stay bounds.

    In the tails of the base there may be nothing but what it holds for next to impossible, and
    wide. A little probability more would have no end there: of each tail only its probability
    changes, and that no further than to what is allowed.

    Args:
        base: The distribution that is corrected.
        change: The mixture :math:`g`.
        tail: Probability of the base's tails, on either side.
        most: What they may have after the change, if it is more.
    """

    def __init__(
        self,
        base: Predictive,
        change: MixturePredictive,
        tail: Float[Tensor, "B M Dy"] | float = 0.0,
        most: Float[Tensor, "B M Dy"] | float = 0.0,
    ) -> None:
        super().__init__(base.mask.shape, validate_args=False)
        self.base, self.change, self.mask = base, change, base.mask
        shape, like = base.mask.shape, change.means
        parts = (torch.as_tensor(part, dtype=like.dtype) for part in (tail, most))
        self.tail, self.most = (part.to(like.device).expand(shape) for part in parts)

    def integrated(self) -> tuple[Tensor, Tensor]:
        r"""Return mean and variance: those of the base, and what the change adds to them.

        With :math:`H` the changed distribution function, :math:`\Delta = F - H` integrates to the
        change of the mean, and :math:`2 (x - m) \Delta` to that of the second moment around m.
        """
        mean, variance = self.base.mean, self.base.variance
        first, second = torch.zeros_like(mean), torch.zeros_like(mean)
        for x, before, after in self._stretches():
            change = before - after
            first = first + torch.trapezoid(change, x, dim=0)
            second = second + torch.trapezoid(2 * (x - mean) * change, x, dim=0)
        left = torch.maximum(variance + second - first**2, 1e-4 * variance)
        return mean + first.to(mean), left.to(mean)

    def _stretches(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yield nodes along the outputs, with both distribution functions, some at a time.

        Nodes have even scores in the base, and even steps between these: where the base has a gap
        between two peaks, scores alone would jump over it.
        """
        scores = torch.linspace(-_FARTHEST, _FARTHEST, _CORNERS, dtype=torch.float64)
        scores = scores.to(self.mask.device)
        some = max(1, _OUTPUTS_AT_ONCE // (_STEPS * math.prod(self.mask.shape)))
        shares = torch.arange(_STEPS, dtype=torch.float64, device=scores.device) / _STEPS
        for start in range(0, _CORNERS - 1, some):
            part = scores[start : start + some + 1, None, None, None]
            corners = self.base.at_score(part.expand(-1, *self.mask.shape), _ROUGHLY)
            between = (
                corners[:-1, None] + shares[:, None, None, None] * corners.diff(dim=0)[:, None]
            )
            x = torch.cat([between.flatten(0, 1), corners[-1:]])
            score = self.base.score(x)
            yield x, torch.special.ndtr(score), torch.special.ndtr(self._changed(score))

    def score(self, value: Float[Tensor, "*S B M Dy"]) -> Float[Tensor, "*S B M Dy"]:
        """Return the score in the change of the score in the base."""
        return self._changed(self.base.score(value))

    def at_score(
        self, score: Float[Tensor, "*S B M Dy"], tolerance: float = EXACTLY
    ) -> Float[Tensor, "*S B M Dy"]:
        """Return the outputs that have these normal scores, in float64."""
        tails = self._tails
        within = _moved(score.double(), tails.after, tails.of_change)
        found = self.change.at_score(within, tolerance).clamp(-tails.reach, tails.reach)
        beyond = _moved(score.double(), tails.after, tails.before, is_outside=True)
        is_outside = torch.special.ndtr(-score.abs()) < torch.where(score < 0, *tails.after)
        return self.base.at_score(torch.where(is_outside, beyond, found), tolerance)

    def _changed(self, score: Float[Tensor, "*S B M Dy"]) -> Float[Tensor, "*S B M Dy"]:
        """Return the scores that scores in the base have after the change."""
        tails = self._tails
        within = _moved(self.change.score(score).double(), tails.of_change, tails.after)
        beyond = _moved(score.double(), tails.before, tails.after, is_outside=True)
        return torch.where(score.abs() < tails.reach, within, beyond).to(score)

    @cached_property
    def _tails(self) -> _Tails:
        tail = self.tail.double()
        reach = torch.where(tail > 0, -torch.special.ndtri(tail), _NO_TAIL)
        weights, means, stddevs = (
            part.double() for part in (self.change.weights, self.change.means, self.change.stddevs)
        )
        below, above = (
            (weights * torch.special.ndtr((side * means - reach[..., None]) / stddevs)).sum(-1)
            for side in (-1, 1)
        )
        most = torch.maximum(tail, self.most.double())
        after = torch.minimum(below, most), torch.minimum(above, most)
        return _Tails(reach, (tail, tail), (below, above), after)

    def crps(self, value: Float[Tensor, "B M Dy"]) -> Float[Tensor, "B M Dy"]:
        r"""Return the continuous ranked probability score of each output; smaller is better.

        As the integral of :math:`(H(x) - 1[y \le x])^2`, by trapezoids; the one that holds
        :math:`y` is cut there.
        """
        value = torch.where(self.mask, value.double(), 0)
        total, lowest, highest = torch.zeros_like(value), None, value
        for x, _, level in self._stretches():
            total = total + _trapezoids(x, level, value).sum(0)
            lowest = x[0] if lowest is None else lowest
            highest = x[-1]
        assert lowest is not None
        total = total + (lowest - value).clamp(min=0) + (value - highest).clamp(min=0)
        return torch.where(self.mask, total, 0).to(self.base.mean)

    def affine(
        self, shift: Tensor | float, scale: Tensor | float, scatter: Tensor | float = 0.0
    ) -> RecalibratedPredictive:
        """Return the distribution of shift + scale * output + noise of deviation `scatter`."""
        base = self.base.affine(shift, scale, scatter)
        return RecalibratedPredictive(base, self.change, self.tail, self.most)

    def to(self, device: torch.device | str) -> RecalibratedPredictive:
        """Move every tensor to a device."""
        tails = (self.tail.to(device), self.most.to(device))
        return RecalibratedPredictive(self.base.to(device), self.change.to(device), *tails)

    def _likely(self) -> Tensor:
        return self.base.mean  # its own takes a quadrature

    def _log_density(self, value: Tensor) -> Tensor:
        # Beyond, the change is that of the end: a single outlier must not rule what is learned.
        u, tails = self.base.score(value).clamp(-_LARGEST_SCORE, _LARGEST_SCORE), self._tails
        standard = -0.5 * u**2 - 0.5 * math.log(2 * math.pi)
        after, of_change = (
            torch.log1p(-(low + high).clamp(max=_NEARLY_ALL))
            for low, high in (tails.after, tails.of_change)
        )
        gain = self.change._log_density(u) - standard + after - of_change
        beyond = torch.zeros_like(u)
        for sign, side in ((1, tails.after), (-1, tails.before)):
            beyond = beyond + sign * torch.where(u < 0, *side).clamp(min=SMALLEST).log()
        return self.base._log_density(value) + torch.where(u.abs() < tails.reach, gain, beyond)

    def _sample(self, shape: torch.Size, generator: torch.Generator | None) -> Tensor:
        middle = torch.zeros_like(self.tail, dtype=torch.float64)
        standard = GaussianPredictive(middle, torch.ones_like(middle), self.mask)
        scores = standard.sample(tuple(shape), generator=generator)
        some = scores.reshape(-1, *self.mask.shape).split(
            max(1, _OUTPUTS_AT_ONCE // max(1, math.prod(self.mask.shape)))
        )
        return torch.cat(list(map(self.at_score, some))).reshape(scores.shape).to(self.base.mean)


class _Tails(NamedTuple):
    """Where the tails begin, and how probable they are on the lower and on the upper side."""

    reach: Tensor  # as a score in the base
    before: tuple[Tensor, Tensor]  # in the base
    of_change: tuple[Tensor, Tensor]  # in the mixture
    after: tuple[Tensor, Tensor]


def _moved(
    score: Tensor,
    before: tuple[Tensor, Tensor],
    after: tuple[Tensor, Tensor],
    *,
    is_outside: bool = False,
) -> Tensor:
    """Return scores of the same share of what lies between the tails, or of a tail, of others."""
    # From the nearer end: the other side of a distribution rounds to one.
    level = torch.special.ndtr(-score.abs())
    old, new = (torch.where(score < 0, *side) for side in (before, after))
    if is_outside:
        level = level * new / old.clamp(min=SMALLEST)
    else:
        between = [1 - low - high for low, high in (before, after)]
        level = new + (level - old) * between[1] / between[0].clamp(min=SMALLEST)
    found = torch.special.ndtri(level.clamp(SMALLEST, 1))
    return torch.where(score < 0, found, -found)


def _trapezoids(
    corners: Float[Tensor, "S B M Dy"],
    levels: Float[Tensor, "S B M Dy"],
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
        doubt: Probability that nothing is to be changed: what was learned may not hold for what is
            predicted. In training there is none, or it would be learned away.
    """

    def __init__(self, base: Head, components: int = 3, doubt: float = 0.0) -> None:
        super().__init__()
        if not 0 <= doubt < 1:
            raise SettingError(
                f"doubt must be a probability below one, got {doubt}; leave it out if unsure."
            )
        self.base, self.components, self.doubt = base, components, doubt

    def channels(self, dim_y: int) -> int:
        """Return the numbers of the base, of the change, and two of the tails per channel."""
        return self.base.channels(dim_y) + self.channels_of_change(dim_y) + 2 * dim_y

    def channels_of_change(self, dim_y: int) -> int:
        """Return three numbers per component and output channel."""
        return 3 * self.components * dim_y

    def forward(
        self, raw: Float[Tensor, "B M P"], mask: Bool[Tensor, "B M Dy"]
    ) -> RecalibratedPredictive:
        """Return the base's distribution with the change behind it."""
        dim_y = mask.shape[2]
        counts = [self.base.channels(dim_y), self.channels_of_change(dim_y), dim_y, dim_y]
        of_base, change, *tails = raw.split(counts, -1)
        return RecalibratedPredictive(self.base(of_base, mask), self.change(change, mask), *tails)

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
        change = MixturePredictive(logits + start, means, logs.clamp(-3, 3).exp(), mask)
        return change if self.training else _doubted(change, self.doubt)


def _doubted(change: MixturePredictive, doubt: float) -> MixturePredictive:
    """Add a standard normal to a mixture, which has this probability in it."""
    if doubt == 0:
        return change

    def beside(part: Tensor, new: float) -> Tensor:
        return torch.cat([part, torch.full_like(part[..., :1], new)], -1)

    return MixturePredictive(
        beside(change.log_weights + math.log1p(-doubt), math.log(doubt)),
        beside(change.means, 0.0),
        beside(change.stddevs, 1.0),
        change.mask,
    )
