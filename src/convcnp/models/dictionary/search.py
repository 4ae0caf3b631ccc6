"""From the best entries of the catalogue to better ones: periods first, then every number."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from convcnp.models.dictionary.catalogue import Sampling
from convcnp.models.dictionary.kernels import Entries
from convcnp.models.dictionary.variations import (
    NO_SEASONS,
    Item,
    PossibleSeasons,
    improved,
    items,
    moved_periods,
    put_together,
    variations,
    with_another_season,
    without_drift,
)

_DIFFERENT = 2  # kernels to which seasons are added, for each that is varied

Evidence = Callable[[Entries], Tensor]


class _Pool:
    """Entries taken apart, and the evidence of each."""

    def __init__(self, found: list[Item], score: list[float], evidence: Evidence) -> None:
        self.found, self.score, self.evidence = found, score, evidence
        self.keys = [each.key for each in found]
        self.known = dict(zip(map(_identity, found, self.keys), score, strict=True))

    def add(self, new: list[Item]) -> list[float]:
        """Add entries, and return their evidence; what was met before is not weighed again."""
        keys = [each.key for each in new]
        identities = list(map(_identity, new, keys))
        unmet = {i: each for i, each in zip(identities, new, strict=True) if i not in self.known}
        if unmet:
            score = self.evidence(put_together(list(unmet.values())))
            self.known.update(zip(unmet, score.tolist(), strict=True))
        found = [self.known[identity] for identity in identities]
        self.found, self.keys, self.score = self.found + new, self.keys + keys, self.score + found
        return found

    @property
    def order(self) -> list[int]:
        return sorted(range(len(self.found)), key=lambda i: -self.score[i])

    def best_of_families(self) -> Iterator[int]:
        """Yield the best entry without a period, and the best with each."""
        met: set[int] = set()
        for i in self.order:
            if self.found[i].family not in met:
                met.add(self.found[i].family)
                yield i

    def best_of_kernels(self) -> list[Item]:
        """Return the entries in order, each kernel at the best of its noise levels."""
        ordered = [self.found[i] for i in self.order]
        return list({str(item.kernel): item for item in reversed(ordered)}.values())[::-1]

    def vary(self, leading: list[int], sampling: Sampling) -> None:
        """Change the numbers of some entries, each alone, then all of them together."""
        around = [variations(self.found[i], sampling) for i in leading]
        score = iter(self.add([each for some in around for each in some]))
        together = []
        for i, some in zip(leading, around, strict=True):
            heights = [next(score) for _ in some]
            together.append(improved(self.found[i], self.score[i], heights, sampling))
        self.add(together)


def _identity(item: Item, key: bytes) -> tuple[bytes, float, int]:
    """Return all that the evidence of an entry depends on: its prior may differ by its origin."""
    return key, item.log_prior, item.family


def searched(
    entries: Entries,
    score: Float[Tensor, " e"],
    evidence: Evidence,
    sampling: Sampling,
    rounds: int,
    leading: int,
    possible: PossibleSeasons = NO_SEASONS,
) -> tuple[Entries, Float[Tensor, " k"]]:
    """Look between the entries, and return them with those that were found, each with evidence.

    A periodogram tells a period to a few tenths of what the series resolves, an entry with the
    right shape and drift tells more: the periods of the best of every family are moved first.
    Then the best are varied in rounds.

    Args:
        score: Evidence of the entries.
        evidence: Returns that of others.
        sampling: Of the series.
        leading: Entries that are varied in every round.
        possible: Exact ones that may stand beside any entry, one after the other.
    """
    pool = _Pool(items(entries), score.tolist(), evidence)
    for _ in possible.periods:
        some = pool.best_of_kernels()[: _DIFFERENT * leading]
        pool.add([each for item in some for each in with_another_season(item, possible, sampling)])
    best = list(pool.best_of_families())
    pool.add([each for i in best for each in moved_periods(pool.found[i], sampling)])
    done: set[int] = set()
    for _ in range(rounds):
        varied = [i for i in pool.order if i not in done][:leading]
        pool.vary(varied, sampling)
        done |= set(varied)
    different = list({key: i for i, key in enumerate(pool.keys)}.values())
    found = put_together([pool.found[i] for i in different])
    return found, torch.tensor([pool.score[i] for i in different], dtype=torch.float64)


def with_exact_seasons(entries: Entries, told: float) -> Entries:
    """Add to every entry with seasons that drift the same one with seasons that do not.

    Args:
        told: The longest period of which a part of the series tells how it drifts.
    """
    found = items(entries)
    every = {each.key: each for each in [*found, *map(without_drift, found)]}
    return put_together([each for each in every.values() if not each.drifts_slowly(told)])
