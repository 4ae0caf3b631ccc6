"""From all entries to the few that count: ranked on ever more of the series."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from convcnp.models.dictionary.evidence import Frame, Prior, Summary, Variants, factored, pooled
from convcnp.models.dictionary.kernels import Entries
from convcnp.models.dictionary.series import Series

_JITTER = 1e-5  # single precision needs it
_NEGLIGIBLE = 1e-3  # weight
_LONG, _PLACES = 1024, 4  # beyond, stretches from up to four places rank the entries


@dataclass(frozen=True)
class Funnel:
    """How many entries are looked at on how many central points.

    Args:
        first: Points on which all entries are ranked, in single precision.
        second: Points on which the best of those are ranked again.
        kept_first: Entries that pass the first ranking.
        kept_second: Entries that pass the second, where the series is long.
    """

    first: int = 48
    second: int = 126
    kept_first: int = 64
    kept_second: int = 8

    def __call__(self, entries: Entries, series: Series, frame: Frame, prior: Prior) -> Entries:
        """Return the entries that are worth an exact look."""
        last = self._last(series)
        for points, kept in ((self.first, max(self.kept_first, last)), (self.second, last)):
            if kept < len(entries):
                parts = stretches(series, points)
                found = pooled([screened(entries, part, frame, prior) for part in parts])
                score = found.log_evidence(prior) + entries.log_prior[:, None, None]
                entries = entries[best(score.amax((1, 2)), entries.family, kept)]
        return entries

    def _last(self, series: Series) -> int:
        """As many in the end as cost no more than eight do on three hundred points."""
        affordable = int(self.kept_second * (300 / series.num_times) ** 2.5)
        return max(self.kept_second, affordable)


def best(score: Float[Tensor, " e"], family: Int[Tensor, " e"], kept: int) -> Int[Tensor, " kept"]:
    """Return the highest scores, among them a quarter of the places for each family.

    A stretch of the series is too short to tell of a long period: that is left to the whole.
    """
    order = score.argsort(descending=True, stable=True)
    is_of = family[order] == family.unique()[:, None]  # (families, e)
    is_safe = (is_of & (is_of.cumsum(1) <= kept // 4)).any(0)
    return torch.cat([order[is_safe], order[~is_safe]])[:kept].sort().values


def stretches(series: Series, points: int) -> list[Series]:
    """Return contiguous points from the middle, of a long series from several places."""
    places = min(1 + series.num_times // _LONG, _PLACES)
    length = series.num_times / places
    starts = [max(int((i + 0.5) * length - points / 2), 0) for i in range(places)]
    return [series.part(start, start + points) for start in starts]


def screened(entries: Entries, series: Series, frame: Frame, prior: Prior) -> Summary:
    """Summarise a stretch of a series in single precision."""
    start = float(series.x[0])
    rounded = replace(
        series,
        x=(series.x - start).float(),  # before rounding: a stretch may lie far from zero
        z=series.z.float(),
        count=series.count.float(),
        extra=series.extra.float() + _JITTER,
        scatter=series.scatter.float(),
    )
    return factored(entries, rounded, frame.moved(start), prior).summary


@dataclass(frozen=True)
class Chosen:
    """The variants that count, and their weights."""

    variants: Variants
    weight: Float[Tensor, " c"]


def chosen(score: Float[Tensor, "e r t"]) -> Chosen:
    """Weigh variants by evidence, and leave out those that do not matter."""
    weight = score.flatten().softmax(0)
    ordered, index = weight.sort(descending=True, stable=True)
    # What all the others weigh together is what is lost.
    kept = ordered.cumsum(0) - ordered < 1 - _NEGLIGIBLE
    index, weight = index[kept], ordered[kept]
    return Chosen(Variants(*torch.unravel_index(index, score.shape)), weight / weight.sum())
