"""Outputs that lie between bounds: seen freely by a model, and brought back with their density."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from convcnp.core.normal_scores import EXACTLY
from convcnp.core.predictive import Predictive
from convcnp.core.quadrature import QuadraturePredictive
from convcnp.errors import SettingError

_NEAREST = 0.01  # of what is typical: nearer to a bound, values are seen as if so far from it
_WIDER, _TRIED = 3.0, 20  # what is near: so many times a typical distance, so many times
_FEWEST, _GAIN = 8, 3.0  # outputs, and nats, for it to be more than that
_FARTHEST, _NODES = 7.0, 113  # standard deviations that quadratures reach, and their nodes
_TAIL, _STEP = 3.0, 0.25  # scores: where tails begin, and how it is told how they do
_ROUGHLY = 1e-5  # of their scores
_OUTPUTS_AT_ONCE = 2**20  # times nodes


class Limits(NamedTuple):
    """Where outputs lie, as far as a user says; infinite where nothing is said."""

    lower: float = -math.inf
    upper: float = math.inf

    @classmethod
    def given(
        cls, lower: float | None = None, upper: float | None = None, positive: bool = False
    ) -> Limits:
        """Take what a user says; positive outputs have the lower bound zero.

        Example:
            >>> Limits.given(positive=True)
            Limits(lower=0.0, upper=inf)
        """
        if positive and lower is not None:
            raise SettingError(
                f"Expected lower= or positive=, got both, {lower:g} and positive; leave one out."
            )
        limits = cls(
            0.0 if positive else -math.inf if lower is None else float(lower),
            math.inf if upper is None else float(upper),
        )
        if not limits.lower < limits.upper:
            raise SettingError(
                f"Expected a lower bound below the upper one, got {limits.lower:g} and "
                f"{limits.upper:g}; change one of them."
            )
        return limits

    @property
    def are_given(self) -> bool:
        """Whether there is a bound at all."""
        return math.isfinite(self.lower) or math.isfinite(self.upper)


ANYWHERE = Limits()


@dataclass(frozen=True)
class Bounds:
    r"""A lower bound of outputs, an upper one, or both, and a change of units that knows of none.

    With one bound, the distance :math:`d` from it becomes :math:`s \log(e^{d/s} - 1)`: far from the
    bound nothing changes, near it distances are seen by their logarithm. What is near is told by
    the outputs: a typical distance, or more where outputs then look more like a Gaussian's, up to
    all of them, if they spread over powers of ten. With both, it is the logit, with slope one in
    the middle.

    Args:
        lower: No output is smaller; minus infinity if there is no such bound.
        upper: No output is larger.
        soft: The distance :math:`s` of every channel, below which a bound is near; with both
            bounds, their distance.
        nearest: The smallest distance of every channel that is told from none.

    Example:
        >>> bounds = Bounds(0.0, math.inf, torch.ones(1), torch.full((1,), 0.01))
        >>> free = bounds.free(torch.tensor([[0.1], [30.0]]))
        >>> free.round(decimals=1).tolist(), bounds.bounded(free).round(decimals=1).tolist()
        ([[-2.3], [30.0]], [[0.1], [30.0]])
    """

    lower: float
    upper: float
    soft: Float[Tensor, " Dy"]
    nearest: Float[Tensor, " Dy"]

    @classmethod
    def of(cls, y: Float[Tensor, "N Dy"], limits: Limits) -> Bounds:
        """Return bounds that fit to outputs, NaN where there is none; others are refused."""
        lower, upper = limits
        outside = (y < lower) | (y > upper)
        if outside.any():
            others = int(outside.sum()) - 1
            more = f" and {others:,} more" if others else ""
            raise SettingError(
                f"Expected values from {lower:g} to {upper:g}, got {y[outside][0].item():g}{more} "
                "outside; choose bounds that hold all values."
            )
        if math.isfinite(upper - lower):
            apart = torch.full(y.shape[1:], upper - lower, dtype=torch.float64)
            return cls(lower, upper, apart, _NEAREST / 2 * apart)
        away = (y - lower if math.isfinite(lower) else upper - y).double()
        typical = away.nanmedian(0).values
        smallest = torch.where(away > 0, away, torch.inf).amin(0)  # where most lie on the bound
        typical = torch.where(typical > 0, typical, smallest)
        typical = torch.where(typical.isfinite(), typical, 1.0)
        soft = [_softest(*channel) for channel in zip(away.unbind(1), typical, strict=True)]
        return cls(lower, upper, torch.stack(soft), _NEAREST * typical)

    def free(self, y: Tensor) -> Tensor:
        """Return outputs as a model sees them, any number."""
        y = y.double()
        if math.isfinite(self.lower) and math.isfinite(self.upper):
            share = ((y - self.lower) / self.soft).clamp(_NEAREST / 2, 1 - _NEAREST / 2)
            return 0.5 * (self.lower + self.upper) + self.soft / 4 * torch.logit(share)
        return self._back(_freed(self._away(y).maximum(self.nearest), self.soft))

    def bounded(self, u: Tensor) -> Tensor:
        """Return what a model sees as outputs between the bounds."""
        u = u.double()
        if math.isfinite(self.lower) and math.isfinite(self.upper):
            middle = 0.5 * (self.lower + self.upper)
            return self.lower + self.soft * torch.sigmoid(4 * (u - middle) / self.soft)
        away = self._away(u) / self.soft
        return self._back(self.soft * torch.nn.functional.softplus(away, threshold=50.0))

    def log_slope(self, y: Tensor) -> Tensor:
        """Return the logarithm of how fast what a model sees grows with an output."""
        y = y.double()
        if math.isfinite(self.lower) and math.isfinite(self.upper):
            share = ((y - self.lower) / self.soft).clamp(_NEAREST / 2, 1 - _NEAREST / 2)
            return -torch.log(4 * share * (1 - share))
        return _log_slope(self._away(y).maximum(self.nearest), self.soft)

    def predictive(self, base: Predictive) -> BoundedPredictive:
        """Return the distribution of outputs whose free form has this one."""
        return BoundedPredictive(base, self)

    def _away(self, y: Tensor) -> Tensor:
        """Return distances from the only bound."""
        return y - self.lower if math.isfinite(self.lower) else self.upper - y

    def _back(self, away: Tensor) -> Tensor:
        return self.lower + away if math.isfinite(self.lower) else self.upper - away


class Cut(Bounds):
    """Bounds of outputs that a model sees as they are: what it says beyond them lies on them.

    Example:
        >>> cut = Cut(0.0, math.inf, torch.ones(1), torch.ones(1))
        >>> cut.bounded(cut.free(torch.tensor([[-0.5], [0.1]]))).tolist()
        [[0.0], [0.10000000149011612]]
    """

    def free(self, y: Tensor) -> Tensor:
        """Return outputs as they are."""
        return y.double()

    def bounded(self, u: Tensor) -> Tensor:
        """Return the nearest outputs between the bounds."""
        return u.double().clamp(self.lower, self.upper) + 0.0  # no zero is negative

    def log_slope(self, y: Tensor) -> Tensor:
        """Return zero: nothing is changed."""
        return torch.zeros_like(y.double())

    def predictive(self, base: Predictive) -> BoundedPredictive:
        """Return the distribution that is cut off."""
        return CutPredictive(base, self)


def _freed(away: Tensor, soft: Tensor) -> Tensor:
    """Return distances from a bound as a model sees them."""
    return away + soft * torch.log(-torch.expm1(-away / soft))


def _log_slope(away: Tensor, soft: Tensor) -> Tensor:
    return -torch.log(-torch.expm1(-away / soft))


def _softest(away: Float[Tensor, " N"], typical: Float[Tensor, ""]) -> Float[Tensor, ""]:
    """Return below which distance a bound is near, so that outputs look like a Gaussian's.

    By the likelihood of all of them, their change of units included. Of few, or for little, it is
    the typical distance.
    """
    known = away[~away.isnan()].maximum(_NEAREST * typical)
    if len(known) < _FEWEST or known.min() == known.max():
        return typical
    factors = [_WIDER**i for i in range(_TRIED) if _WIDER ** (i - 1) * typical <= known.max()]
    tried = typical * known.new_tensor(factors)[:, None]  # (S, 1)
    spread = _freed(known, tried).std(1, correction=0).clamp(min=1e-300)
    likely = _log_slope(known, tried).sum(1) - len(known) * spread.log()
    best = int(likely.argmax())
    return tried[best, 0] if likely[best] > likely[0] + _GAIN else typical


class BoundedPredictive(QuadraturePredictive):
    r"""Outputs between bounds, whose free form has a distribution of its own.

    .. math:: p(y) = g(u(y)) \, u'(y)

    Quantiles and samples are those of the free form, brought back; mean, variance and CRPS are
    integrals over normal scores.

    Args:
        base: The distribution :math:`g` of what a model sees.
        bounds: Where the outputs lie.
    """

    def __init__(self, base: Predictive, bounds: Bounds) -> None:
        super().__init__(base.mask.shape, validate_args=False)
        self.base, self.bounds, self.mask = base, bounds, base.mask

    def integrated(self) -> tuple[Tensor, Tensor]:
        """Return mean and variance, as means over normal scores."""
        middle, low, lower, high, higher = (
            self.at_score(torch.full(self.mask.shape, score, dtype=torch.float64))
            for score in (0.0, -_TAIL, -_TAIL - _STEP, _TAIL, _TAIL + _STEP)
        )
        first, second = torch.zeros_like(middle), torch.zeros_like(middle)
        for z, y, weight in self._nodes:
            # Tails go on as they begin: an outlier that nobody foresees, seen by its logarithm,
            # would be all that the moments tell.
            y = torch.where(z < -_TAIL, low + (-_TAIL - z) / _STEP * (lower - low), y)
            y = torch.where(z > _TAIL, high + (z - _TAIL) / _STEP * (higher - high), y)
            first = first + (weight * (y - middle)).sum(0)
            second = second + (weight * (y - middle) ** 2).sum(0)
        return middle + first, (second - first**2).clamp(min=0)

    @cached_property
    def _nodes(self) -> list[tuple[Tensor, Tensor, Tensor]]:
        """Return normal scores, the outputs that have them, and weights, some at a time."""
        scores = torch.linspace(-_FARTHEST, _FARTHEST, _NODES, dtype=torch.float64)
        weights = torch.softmax(-0.5 * scores**2, 0)
        some = max(1, _OUTPUTS_AT_ONCE // max(1, math.prod(self.mask.shape)))
        found = []
        for z, weight in zip(scores.split(some), weights.split(some), strict=True):
            z, weight = z[:, None, None, None], weight[:, None, None, None]
            y = self.at_score(z.expand(-1, *self.mask.shape), _ROUGHLY)
            found.append((z, y, weight))
        return found

    def score(self, value: Float[Tensor, "*S B M Dy"]) -> Float[Tensor, "*S B M Dy"]:
        """Return the normal scores of the free form."""
        return self.base.score(self.bounds.free(value))

    def at_score(
        self, score: Float[Tensor, "*S B M Dy"], tolerance: float = EXACTLY
    ) -> Float[Tensor, "*S B M Dy"]:
        """Return the outputs that have these normal scores, in float64."""
        return self.bounds.bounded(self.base.at_score(score, tolerance))

    def crps(self, value: Float[Tensor, "B M Dy"]) -> Float[Tensor, "B M Dy"]:
        r"""Return the continuous ranked probability score of each output; smaller is better.

        As the mean over levels of twice the loss of their quantiles.
        """
        value = torch.where(self.mask, value.double(), 0)
        total = torch.zeros_like(value)
        for z, y, weight in self._nodes:
            is_below = (value <= y).to(y)
            total = total + (2 * weight * (is_below - torch.special.ndtr(z)) * (y - value)).sum(0)
        return torch.where(self.mask, total, 0)

    def affine(
        self, shift: Tensor | float, scale: Tensor | float, scatter: Tensor | float = 0.0
    ) -> Predictive:
        """Refuse: bounds are in the units of the outputs already."""
        raise SettingError("Outputs between bounds are in their own units; change the base before.")

    def to(self, device: torch.device | str) -> BoundedPredictive:
        """Move every tensor to a device."""
        bounds = replace(
            self.bounds, soft=self.bounds.soft.to(device), nearest=self.bounds.nearest.to(device)
        )
        return bounds.predictive(self.base.to(device))

    def _likely(self) -> Tensor:
        return self.bounds.bounded(self.base._likely())  # the mean takes a quadrature

    def _log_density(self, value: Tensor) -> Tensor:
        return self.base._log_density(self.bounds.free(value)) + self.bounds.log_slope(value)

    def _sample(self, shape: torch.Size, generator: torch.Generator | None) -> Tensor:
        return self.bounds.bounded(self.base._sample(shape, generator))


class CutPredictive(BoundedPredictive):
    """Outputs of a distribution that is cut off at bounds: what lies beyond lies on them.

    Its mean is that of the whole, if it lies between the bounds. That of what is cut would be drawn
    away by outliers that nobody foresees, of which those beyond the bounds would count for nothing.
    """

    def integrated(self) -> tuple[Tensor, Tensor]:
        """Return the mean, and the variance before the cut."""
        return self.bounds.bounded(self.base.mean), self.base.variance.double()
