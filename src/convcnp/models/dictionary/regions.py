"""Predictions of the chosen entries in the plane: of many points, region by region."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from convcnp.models.dictionary.bordered import Bordered, Frame
from convcnp.models.dictionary.components import Components
from convcnp.models.dictionary.evidence import (
    Factored,
    Prior,
    factored,
    pooled,
    posterior,
    summarised,
)
from convcnp.models.dictionary.funnel import Chosen, Funnel, chosen
from convcnp.models.dictionary.kernels import Entries
from convcnp.models.dictionary.points import Points

_CORE, _MARGIN = 160, 288  # points of a region at most, and those it sees around it
_WHOLE = _CORE + _MARGIN  # up to so many points there is one region
_NEIGHBOURS = 24  # regions among whose points those around one are looked for
_WEIGHING = 6  # regions at most from which the weights of many points come
_TARGETS = 2**12  # predicted at once


@dataclass(frozen=True)
class Region:
    """A part of the plane that predicts on its own, and where its say begins and ends."""

    points: Int[Tensor, " k"]  # that it sees
    low: Float[Tensor, " d"]  # its corners; infinite at the plane's ends
    high: Float[Tensor, " d"]
    blend: float  # how far beyond its sides, and how deep within, it shares its say

    def share(self, at: Float[Tensor, "m d"]) -> Float[Tensor, " m"]:
        """Return how much of the prediction at every point is this region's, up to a factor."""
        inside = torch.minimum(at - self.low, self.high - at)  # (m, d), from the nearest side
        return ((inside / self.blend + 1) / 2).clamp(0, 1).prod(1)


def regions(x: Float[Tensor, "n d"]) -> list[Region]:
    """Cut the plane into regions of few points that see some around them, one if there are few.

    The plane is halved again and again, each part along its longer side.
    """
    d = x.shape[1]
    low, high = x.new_full((d,), -torch.inf), x.new_full((d,), torch.inf)
    if len(x) <= _WHOLE:
        return [Region(torch.arange(len(x)), low, high, 1.0)]
    parts = list(_halved(x, torch.arange(len(x)), low, high))
    corners = [torch.stack(x[own].aminmax(dim=0)) for own, _, _ in parts]
    lows, highs = torch.stack(corners).unbind(1)  # (regions, d) each
    found = []
    for i, (own, low, high) in enumerate(parts):
        apart = torch.maximum(lows - highs[i], lows[i] - highs).clamp(min=0)
        nearest = apart.square().sum(1).argsort(stable=True)[:_NEIGHBOURS].tolist()
        around = torch.cat([parts[j][0] for j in nearest if j != i])
        away = torch.maximum(x[around] - highs[i], lows[i] - x[around]).clamp(min=0)
        ordered, order = away.square().sum(1).sqrt().sort(stable=True)
        seen = torch.cat([own, around[order[:_MARGIN]]]).sort().values
        blend = float(ordered[:_MARGIN][-1]) / 2
        found.append(Region(seen, low, high, blend if blend > 0 else 1.0))
    return found


def _halved(
    x: Float[Tensor, "n d"], own: Int[Tensor, " k"], low: Tensor, high: Tensor
) -> Iterator[tuple[Int[Tensor, " k"], Tensor, Tensor]]:
    """Yield the parts of the plane: the points of each, and its corners."""
    if len(own) <= _CORE:
        yield own, low, high
        return
    extent = x[own].amax(0) - x[own].amin(0)
    axis = int(extent.argmax())
    values, order = x[own, axis].sort(stable=True)
    half = len(own) // 2
    edge = (values[half - 1] + values[half]) / 2
    below, above = high.clone(), low.clone()
    below[axis], above[axis] = edge, edge
    yield from _halved(x, own[order[:half]], low, below)
    yield from _halved(x, own[order[half:]], above, high)


@dataclass(frozen=True)
class FittedPoints:
    """The entries that explain a set of points, their weights, and their scales."""

    points: Points
    regions: list[Region]
    entries: Entries
    prior: Prior
    weighed: Chosen
    variance: Float[Tensor, " c"]  # squared scale of each chosen variant
    freedom: float  # degrees of freedom of the Student-t that each predicts

    def predict(
        self, at: Float[Tensor, "m d"]
    ) -> tuple[Float[Tensor, "c m"], Float[Tensor, "c m"]]:
        """Return every chosen variant's mean and scale for new observations."""
        mean = at.new_zeros(len(self.weighed.weight), len(at))
        scale, total = torch.zeros_like(mean), at.new_zeros(len(at))
        for region in self.regions:
            share = region.share(at)
            own = share.nonzero()[:, 0]
            if not len(own):
                continue
            part = self.points.some(region.points)
            frame = Frame.of(part)
            found = factored(self.entries, part, frame, self.prior)
            for some in own.split(_TARGETS):
                expected, spread = self._alone(found, part, frame, at[some])
                mean[:, some] += share[some] * expected
                scale[:, some] += share[some] * spread
            total += share
        return mean / total, scale / total

    def _alone(
        self, found: Factored, part: Points, frame: Frame, at: Tensor
    ) -> tuple[Tensor, Tensor]:
        variants = self.weighed.variants
        mean, variance = posterior(found, self.entries, part, frame, at, variants)
        return mean, (variance * self.variance[:, None]).sqrt()

    @property
    def observations(self) -> Points:
        """What the entries explain."""
        return self.points

    @property
    def typical_variance(self) -> float:
        """The squared scale of the process, on average over what was chosen."""
        return float((self.weighed.weight * self.variance).sum())

    def students(self, x: Float[Tensor, "m d"]) -> Components:
        """Return the Student-t that each chosen variant predicts, in the user's units."""
        mean, scale = self.predict(self.points.places(x))
        weighed = self.weighed
        return self.points.students(weighed.variants.form, weighed.weight, mean, scale)


def fit_points(points: Points, entries: Entries, funnel: Funnel, prior: Prior) -> FittedPoints:
    """Choose and weigh entries by their evidence on the points."""
    every = regions(points.x)
    frame = Frame.of(points)
    entries = funnel(entries, points, frame, prior)
    parts = [points.some(region.points) for region in _spread(every)]
    found = [summarised(entries, Bordered.of(part, frame)) for part in parts]
    seen = sum(part.num_points for part in parts)
    summary = pooled(found, min(points.num_points / seen, 1.0))
    weighed = chosen(summary.log_evidence(prior) + entries.log_prior[:, None, None])
    variants = weighed.variants
    variance = summary.variance(prior)[variants.entry, variants.form, variants.trend]
    used, entry = variants.entry.unique(return_inverse=True)
    return FittedPoints(
        *(points, every, entries[used], prior),
        replace(weighed, variants=replace(variants, entry=entry)),
        variance,
        2 * prior.freedom + summary.freedom,
    )


def _spread(every: list[Region]) -> list[Region]:
    """Return some of the regions, evenly spread."""
    if len(every) <= _WEIGHING:
        return every
    return [every[round(i * (len(every) - 1) / (_WEIGHING - 1))] for i in range(_WEIGHING)]
