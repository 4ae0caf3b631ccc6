"""From all entries to the few that count: ranked on ever more of the series."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from convcnp.models.dictionary.bordered import Bordered, Frame
from convcnp.models.dictionary.catalogue import Sampling
from convcnp.models.dictionary.evidence import Prior, Variants, pooled, summarised
from convcnp.models.dictionary.kernels import Entries
from convcnp.models.dictionary.observations import Observations
from convcnp.models.dictionary.search import Evidence, searched, with_exact_seasons
from convcnp.models.dictionary.seasons import apart
from convcnp.models.dictionary.series import SEEN
from convcnp.models.dictionary.variations import NO_SEASONS, PossibleSeasons

_JITTER = 1e-5  # single precision needs it
_NEGLIGIBLE = 1e-3  # weight
_HOPELESS = 30.0  # nats, of which rounding may be a few


@dataclass(frozen=True)
class Funnel:
    """How many entries are looked at on how many central points.

    Args:
        first: Contiguous points on which all entries are ranked, in single precision.
        second: Points on which the best of those are ranked again, in runs from all over: a stretch
            would be too short to tell of a week among hours.
        kept_first: Entries that pass the first ranking.
        kept_second: Entries that pass the second, where the series is long.
        affordable: Points up to which more pass the second, at no greater cost.
        searching: Points on which the truth is searched between the best.
        looking: Points of stretches of a long series, on which it is searched once more.
        rounds: How often the best entries are varied: the truth lies between those of a catalogue.
        leading: Entries that are varied in every round.
    """

    first: int = 48
    second: int = 126
    kept_first: int = 64
    kept_second: int = 8
    affordable: int = 300
    searching: int = 126
    looking: int = SEEN
    rounds: int = 0
    leading: int = 3

    def __call__(
        self,
        entries: Entries,
        series: Observations,
        frame: Frame,
        prior: Prior,
        sampling: Sampling | None = None,
    ) -> Entries:
        """Return the entries that are worth an exact look; times tell how they may be varied."""
        if sampling is None or not self.rounds:
            return self._ranked(entries, series, frame, prior).entries
        parts, possible = series.spread(self.searching), NO_SEASONS
        if series.is_in_parts:
            possible = PossibleSeasons.of(entries)
            entries = with_exact_seasons(entries, sampling.told)
        looks = [(parts, self.rounds, self.leading, possible)]
        if series.is_in_parts and len(stretches := series.stretches(self.looking)) > 1:
            # Short runs tell how rough a level is, and not how far it goes.
            parts = [*stretches[::2], *series.far_apart(self.looking)]
            looks.append((parts, 1, 2, NO_SEASONS))
        ranked = self._ranked(entries, series, frame, prior)
        for parts, rounds, leading, possible in looks:
            ranked = ranked.on(parts, frame, prior)
            found = searched(*ranked[:3], sampling, rounds, leading, possible)
            ranked = ranked._replace(entries=found[0], score=found[1]).best(self._last(series))
        entries, score = ranked.entries, ranked.score
        if [part.num_points for part in parts] != [series.num_points]:
            return entries
        return entries[may_count(score, entries.noise / series.count.max(), series.num_points)]

    def _ranked(
        self, entries: Entries, series: Observations, frame: Frame, prior: Prior
    ) -> _Ranked:
        """Return the best on few points, and of these the best on more."""
        last = self._last(series)
        # Of a long series no stretch tells a season's shape, or whether it drifts.
        seen = series.spread if series.is_in_parts else series.stretches
        ranked = _Ranked.unseen(entries, frame, prior)
        for kept, parts in (
            (max(self.kept_first, last), seen(self.first)),
            (last, series.spread(self.second)),
        ):
            if kept < len(ranked.entries):
                ranked = ranked.on(parts, frame, prior).best(kept)
        return ranked

    def _last(self, series: Observations) -> int:
        """As many in the end as cost no more than `kept_second` do on so many points."""
        affordable = int(self.kept_second * (self.affordable / series.num_points) ** 2.5)
        return max(self.kept_second, affordable)


class _Ranked(NamedTuple):
    """Entries, and their evidence on the parts of a series that were looked at last."""

    entries: Entries
    score: Float[Tensor, " e"]
    evidence: Evidence
    parts: Sequence[Observations]

    @classmethod
    def unseen(cls, entries: Entries, frame: Frame, prior: Prior) -> _Ranked:
        """Return entries of which no part of a series has told anything."""
        return cls(entries, torch.zeros(len(entries)), evidence_on([], frame, prior), [])

    def on(self, parts: Sequence[Observations], frame: Frame, prior: Prior) -> _Ranked:
        """Weigh the entries on other parts; a short series is seen as a whole again and again."""
        if len(parts) == len(self.parts) and all(map(operator.is_, parts, self.parts)):
            return self
        evidence = evidence_on(parts, frame, prior)
        return _Ranked(self.entries, evidence(self.entries), evidence, parts)

    def best(self, kept: int) -> _Ranked:
        """Return the best of the entries."""
        some = best(self.score, self.entries.family, kept)
        return self._replace(entries=self.entries[some], score=self.score[some])


def evidence_on(parts: Sequence[Observations], frame: Frame, prior: Prior) -> Evidence:
    """Return what weighs entries on parts of a series, whose exact seasons are the same in all."""
    alone = [screen(part, frame) for part in parts]

    def evidence(entries: Entries) -> Float[Tensor, " e"]:
        beside, seasons = apart(entries) if len(parts) > 1 else (entries, None)
        if seasons is None:
            return pooled_score(entries, alone, prior)
        shared = replace(frame, seasons=seasons)
        return pooled_score(beside, [screen(part, shared) for part in parts], prior)

    return evidence


def pooled_score(entries: Entries, parts: Sequence[Bordered], prior: Prior) -> Float[Tensor, " e"]:
    """Return every entry's evidence on some parts of a series, of its best form and trend."""
    found = pooled([summarised(entries, part) for part in parts])
    return (found.log_evidence(prior) + entries.log_prior[:, None, None]).amax((1, 2))


def best(score: Float[Tensor, " e"], family: Int[Tensor, " e"], kept: int) -> Int[Tensor, " kept"]:
    """Return the highest scores, among them some of every family, at most a quarter of all.

    A stretch of the series is too short to tell of a long period: that is left to the whole.
    """
    order = score.argsort(descending=True, stable=True)
    families = family.unique()
    is_of = family[order] == families[:, None]  # (families, e)
    is_safe = (is_of & (is_of.cumsum(1) <= kept // max(4, len(families)))).any(0)
    return torch.cat([order[is_safe], order[~is_safe]])[:kept].sort().values


def may_count(
    score: Float[Tensor, " e"], noise: Float[Tensor, " e"], num_points: int
) -> Int[Tensor, " k"]:
    r"""Return which entries may count, by their evidence on the whole series in single precision.

    There is a jitter in it. Where that makes noise at most :math:`1 + \rho` times what it is, the
    evidence of n points without it differs by no more than :math:`\frac n2 \log (1 + \rho)`.

    Args:
        noise: The least that an observation has.
    """
    unsure = num_points / 2 * torch.log1p(_JITTER / noise)
    may = (score + unsure >= (score - unsure).max() - _HOPELESS) | score.isinf()
    return may.nonzero()[:, 0]


def screen(series: Observations, frame: Frame) -> Bordered:
    """Border a stretch of a series in single precision."""
    return Bordered.of(series.rounded(_JITTER), frame.moved(series.x[0]))


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
    _, forms, trends = score.shape
    variant, trend = index // trends, index % trends
    return Chosen(Variants(variant // forms, variant % forms, trend), weight / weight.sum())
