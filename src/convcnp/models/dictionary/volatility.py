"""Series that are restless at some times and calm at others: at noon and at night, say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

_FEWEST = 24  # observations: fewer do not tell
_CYCLES = 4  # of a period, from which on its phases tell
_OF_TIMES = 1 / 32, 1 / 10  # neighbourhoods, in periods or in spans of the series
_OF_VALUES = 1 / 16, 1 / 5  # likewise, in ranges of the values
_BINS = 128  # of a period, a span or a range
_LARGEST = 16.0  # squared score: beyond, one observation would rule all that are near
_BELIEF = 1.0  # observations that are as restless as all, wherever one looks
_PRICE = 3.0  # nats, that any restlessness has to earn
_TEMPER = 0.5  # of what scores say: near ones are alike
_BELIEVED = 0.5  # probability


class Places(NamedTuple):
    """Where observations or targets are on the scales that restlessness may depend on."""

    time: Float[Tensor, " m"]  # in gaps
    value: Float[Tensor, " m"]  # as it is foreseen, in spreads

    def some(self, chosen: Tensor) -> Places:
        """Return some of the places."""
        return Places(self.time[chosen], self.value[chosen])


@dataclass(frozen=True)
class Scale:
    """What a view looks along: times, the phases of a period, or values."""

    low: float
    length: float
    of_values: bool = False
    comes_round: bool = False

    def share(self, places: Places) -> Float[Tensor, " m"]:
        """Return where places are, from zero to one."""
        own = places.value if self.of_values else places.time
        share = (own - self.low) / self.length
        return share % 1 if self.comes_round else share.clamp(0, 1)

    def between(self, bins: Float[Tensor, " b"], places: Places) -> Float[Tensor, " m"]:
        """Return the number at some places, on a line between two bins' middles."""
        share = self.share(places) * _BINS - 0.5
        below = share.floor()
        first, last = (self._bin(below.long() + step) for step in (0, 1))
        return torch.lerp(bins[first], bins[last], share - below)

    def _bin(self, number: Int[Tensor, " m"]) -> Int[Tensor, " m"]:
        return number % _BINS if self.comes_round else number.clamp(0, _BINS - 1)


class View(NamedTuple):
    """How restless a series is along a scale, in bins."""

    scale: Scale
    log_variance: Float[Tensor, " b"]
    gain: float  # nats, by which it tells scores better than one variance does

    @classmethod
    def along(
        cls, scale: Scale, widths: Sequence[float], places: Places, squares: Float[Tensor, " n"]
    ) -> Iterator[View]:
        """Average squared scores in neighbourhoods of every bin, of one width after the other."""
        own = (scale.share(places) * _BINS).long().clamp_(max=_BINS - 1)
        each = torch.stack([torch.ones_like(squares), squares], 1)
        sums = squares.new_zeros(_BINS, 2).index_add_(0, own, each)
        for width in widths:
            near = _nearness(width, scale.comes_round) @ sums + _BELIEF
            count, total = (near[own] - each).unbind(1)  # each observation is told by the others
            variance = total / count
            gain = 0.5 * (squares - squares / variance - variance.log()).sum()
            yield cls(scale, (near[:, 1] / near[:, 0]).log(), float(gain))


@lru_cache
def _nearness(width: float, comes_round: bool) -> Float[Tensor, "b b"]:
    """Return how much every bin counts in the neighbourhood of every other."""
    middle = torch.arange(_BINS, dtype=torch.float64) / _BINS
    away = middle[:, None] - middle
    away = away - away.round() if comes_round else away
    return torch.exp(-0.5 * (away / width) ** 2)


@dataclass(frozen=True)
class Volatility:
    """Views of a series' restlessness, and how probable each is; what is left sees none."""

    views: tuple[View, ...] = ()
    weights: tuple[float, ...] = ()

    @cached_property
    def _beliefs(self) -> dict[Scale, tuple[float, Tensor]]:
        """Return how probable each scale is, and its logarithms of variances, times that."""
        found: dict[Scale, tuple[float, Tensor]] = {}
        for view, weight in zip(self.views, self.weights, strict=True):
            before, log = found.get(view.scale, (0.0, torch.zeros_like(view.log_variance)))
            found[view.scale] = before + weight, log + weight * view.log_variance
        return found

    def __call__(self, places: Places) -> Float[Tensor, " m"]:
        """Return how deviations at some places compare with those of the series."""
        log = torch.zeros_like(places.time)
        for scale, (_, log_variance) in self._beliefs.items():
            log += 0.5 * scale.between(log_variance, places)
        return log.exp()

    def strongest(self) -> tuple[Scale, float] | None:
        """Return along what a series is most restless, and by how much more than where it is calm.

        Nothing comes back where most of what is believed sees no restlessness along any scale.
        """
        scales = self._beliefs
        scale = max(scales, key=lambda each: scales[each][0], default=None)
        if scale is None or scales[scale][0] < _BELIEVED:
            return None
        weight, log = scales[scale]
        low, high = (log / weight).aminmax()
        return scale, float((0.5 * (high - low)).exp())


CALM = Volatility()


def volatility(
    places: Places, score: Float[Tensor, " n"], periods: Sequence[float], span: float
) -> Volatility:
    r"""Find where observations are farther from what the others say than they are elsewhere.

    A view is judged by how well it tells each score from all others, as :math:`z \sim N(0, v)`,
    beside one in which all are alike.

    Args:
        places: Those of observations, or of some of them.
        score: How far each is from what the others say, in deviations of that.
        periods: Rhythms of the series, in gaps.
        span: Of the series in gaps; zero if some observations were left out.
    """
    if len(score) < _FEWEST:
        return CALM
    squares = (score**2).clamp(max=_LARGEST)
    squares = squares / squares.mean().clamp(min=1e-12)
    views = [
        view
        for scale, widths in _scales(places, periods, span)
        for view in View.along(scale, widths, places, squares)
    ]
    gains = [_TEMPER * view.gain - _PRICE for view in views]
    weights = torch.tensor([0.0, *gains]).softmax(0)[1:]
    return Volatility(tuple(views), tuple(weights.tolist()))


def _scales(
    places: Places, periods: Sequence[float], span: float
) -> Iterator[tuple[Scale, Sequence[float]]]:
    low, high = places.value.aminmax()
    yield Scale(float(low), max(float(high - low), 1e-12), of_values=True), _OF_VALUES
    if span > 0:
        # Half a span longer at both ends: what is restless now need not stay so.
        yield Scale(-span / 2, 2 * span), [width / 2 for width in _OF_TIMES]
    for period in periods:
        if _CYCLES * period <= float(places.time[-1] - places.time[0]):
            yield Scale(0.0, period, comes_round=True), _OF_TIMES
