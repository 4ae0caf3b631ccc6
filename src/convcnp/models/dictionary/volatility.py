"""Series that are restless at some times and calm at others: at noon and at night, say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
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


@dataclass(frozen=True)
class View:
    """How restless a series is along a scale, in bins."""

    scale: Scale
    log_variance: Float[Tensor, " b"]
    gain: float  # nats, by which it tells scores better than one variance does

    @classmethod
    def of(cls, places: Places, squares: Float[Tensor, " n"], scale: Scale, width: float) -> View:
        """Average squared scores in the neighbourhood of every bin.

        Args:
            width: Of a neighbourhood.
        """
        own = (scale.share(places) * _BINS).long().clamp(max=_BINS - 1)
        each = torch.stack([torch.ones_like(squares), squares], 1)
        sums = squares.new_zeros(_BINS, 2).index_add(0, own, each)
        near = _nearness(width, scale.comes_round) @ sums + _BELIEF
        count, total = (near[own] - each).unbind(1)  # each observation is told by the others
        variance = total / count
        gain = 0.5 * (squares - squares / variance - variance.log()).sum()
        return cls(scale, (near[:, 1] / near[:, 0]).log(), float(gain))

    def at(self, places: Places) -> Float[Tensor, " m"]:
        """Return the logarithm of the variance at some places, a line between two bins' middles."""
        share = self.scale.share(places) * _BINS - 0.5
        below = share.floor()
        first, last = (self._bin(below + step) for step in (0, 1))
        return torch.lerp(self.log_variance[first], self.log_variance[last], share - below)

    def _bin(self, number: Float[Tensor, " m"]) -> Int[Tensor, " m"]:
        bins = number.long()
        return bins % _BINS if self.scale.comes_round else bins.clamp(0, _BINS - 1)


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

    def __call__(self, places: Places) -> Float[Tensor, " m"]:
        """Return how deviations at some places compare with those of the series."""
        log = torch.zeros_like(places.time)
        for view, weight in zip(self.views, self.weights, strict=True):
            log += 0.5 * weight * view.at(places)
        return log.exp()

    def strongest(self) -> tuple[Scale, float] | None:
        """Return along what a series is most restless, and by how much more than where it is calm.

        Nothing comes back where most of what is believed sees no restlessness along any scale.
        """
        weights: dict[Scale, float] = {}
        logs: dict[Scale, Tensor] = {}
        for view, weight in zip(self.views, self.weights, strict=True):
            weights[view.scale] = weights.get(view.scale, 0.0) + weight
            logs[view.scale] = logs.get(view.scale, 0.0) + weight * view.log_variance
        scale = max(weights, key=lambda each: weights[each], default=None)
        if scale is None or weights[scale] < _BELIEVED:
            return None
        low, high = (logs[scale] / weights[scale]).aminmax()
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
        View.of(places, squares, scale, width)
        for scale, widths in _scales(places, periods, span)
        for width in widths
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
