"""Which kernels the dictionary holds."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import combinations, count, product

import numpy as np
import torch
from jaxtyping import Float

from convcnp.models.dictionary.kernels import EQ, MATERN12, MATERN32, Bases, Entries

Base = tuple[int, float, float, float]  # shape, length scale, period, sharpness
Kernel = dict[Base, float]  # weights that sum to one

ENDLESS = 1e6  # gaps: a season that drifts over so many is exact
_FEW = 8.0  # observations: of so many a period costs twice the logarithm of their number
_HOLES = 2  # in the phases that are observed: nights, weekends
_SEEN = 512  # observations that tell of phases
_BURSTS = 4.0  # typical gaps, from which mean one on observations come in bursts
_LONGEST_IN_BURSTS = 40.0  # typical gaps, about: shorter scales are in the catalogue already


@dataclass(frozen=True)
class Sampling:
    """When a series was observed, at increasing times in gaps.

    Args:
        told: The longest period that the parts tell of by which entries are weighed: of those that
            are slower the periodogram of a whole long series tells more.
    """

    times: Float[np.ndarray, " n"]
    told: float = math.inf
    _known: dict[float, float] = field(init=False, repr=False, compare=False, default_factory=dict)

    @cached_property
    def span(self) -> float:
        """Return the time from the first observation to the last, at least a gap."""
        return max(float(self.times[-1] - self.times[0]), 1.0)

    @cached_property
    def mean_gap(self) -> float:
        """Return the mean gap, in typical ones: many, where observations come in bursts."""
        return self.span / max(len(self.times) - 1, 1)

    def sharpest(self, period: float) -> float:
        r"""Return how sharp a season can be whose shape these times tell.

        Months see the same twelve phases of a year again and again. What a year does between them
        no other year tells, and a sharp kernel leaves it open: next phases, of distance
        :math:`\delta`, are to be correlated by :math:`1 / e` at least,
        :math:`a \le 1 / (2 \sin^2 \pi \delta)`.
        """
        if period not in self._known:
            self._known[period] = self._sharpest(period)
        return self._known[period]

    def _sharpest(self, period: float) -> float:
        first = max(len(self.times) - _SEEN, 0) // 2
        phases = np.sort(self.times[first : first + _SEEN] / period % 1)
        apart = np.sort(np.append(phases[1:], phases[0] + 1) - phases)
        typical = float(apart[max(len(apart) - 1 - _HOLES, 0)])
        return 1 / max(2 * math.sin(math.pi * min(typical, 0.5)) ** 2, 1e-12)


@dataclass(frozen=True)
class Catalogue:
    """Length scales in gaps, shares of parts, and noise relative to the kernel's variance.

    Args:
        smooth: Length scales of EQ kernels.
        rough: Of Matern-3/2 kernels.
        roughest: Of Matern-1/2 kernels.
        slow: Of the slow part of sums, EQ.
        fast: Of their fast part, Matern-3/2.
        shares: Of the fast part's variance in a sum.
        sharpness: Of the periodic factor: a pure sine, a round season, and a pointed one.
        drifts: Length scales of a season's change, in periods; infinite for an exact one.
        damped: Length scales of sines that a rough envelope damps, in periods.
        beside: What stands beside a season: shape, length scale in gaps, and share.
        wandering: A level beside which a season may be clean: shape, length scale, and share.
        weather: Rough levels beside an exact season, for long series: shape, length scale, share.
        far: What long series wander by, in which there may be many observations to a day: shape
            and length scale.
        far_noises: For these.
        level_of_bursts: What wanders from one burst of observations to the next, EQ, in mean gaps.
        within_bursts: Beside it, what goes on within one: shape and length scale in typical gaps.
        within: Of two seasons, the second one's share.
        aside: What stands beside two seasons: shape, length scale, and share.
        exact: Sharpness of two exact seasons on a rough level, the shorter one's first: a round
            day, and a week whose weekends begin and end at once.
        rough_aside: That level.
        noises: For kernels of one part.
        few_noises: For kernels of several.
        least_noises: For seasons on a level that wanders: without these, clean ones would be
            taken for seasons that drift.
    """

    smooth: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 80.0)
    rough: tuple[float, ...] = (1.5, 4.0, 10.0, 25.0, 60.0, 200.0)
    roughest: tuple[float, ...] = (1.5, 5.0, 20.0, 80.0)
    slow: tuple[float, ...] = (10.0, 25.0, 60.0, 150.0)
    fast: tuple[float, ...] = (1.5, 4.0)
    shares: tuple[float, ...] = (0.1, 0.5)
    sharpness: tuple[float, ...] = (0.0, 1.0, 4.0)
    drifts: tuple[float, ...] = (2.5, 8.0, math.inf)
    damped: tuple[float, ...] = (0.7, 2.0, 6.0)
    beside: tuple[tuple[int, float, float], ...] = (
        (EQ, 25.0, 0.1),
        (EQ, 60.0, 0.5),
        (MATERN32, 3.0, 0.2),
        (MATERN12, 25.0, 0.5),
        (MATERN12, 100.0, 0.1),
    )
    wandering: tuple[int, float, float] = (MATERN32, 25.0, 0.3)
    weather: tuple[tuple[int, float, float], ...] = (
        (MATERN12, 5.0, 0.3),
        (MATERN12, 40.0, 0.3),
        (MATERN12, 320.0, 0.3),
        (MATERN12, 1280.0, 0.15),
    )
    far: tuple[tuple[int, float], ...] = (
        (MATERN12, 320.0),
        (MATERN12, 1280.0),
        (MATERN32, 600.0),
        (EQ, 300.0),
    )
    far_noises: tuple[float, ...] = (1e-4, 3e-3, 0.03)
    level_of_bursts: tuple[float, ...] = (1.5, 4.0, 10.0, 30.0)
    within_bursts: tuple[tuple[int, float], ...] = (
        (MATERN32, 1.5),
        (MATERN32, 6.0),
        (MATERN12, 10.0),
    )
    within: tuple[float, ...] = (0.15, 0.5)
    aside: tuple[tuple[int, float, float], ...] = ((EQ, 60.0, 0.15), (MATERN32, 3.0, 0.15))
    exact: tuple[tuple[float, float], ...] = ((1.0, 4.0), (1.0, 20.0))
    rough_aside: tuple[int, float, float] = (MATERN12, 3.0, 0.1)
    noises: tuple[float, ...] = (1e-5, 1e-3, 0.03, 0.5)
    few_noises: tuple[float, ...] = (1e-3, 0.1)
    least_noises: tuple[float, ...] = (1e-5, 3e-3)

    def plain(self, is_long: bool = False) -> Iterator[tuple[Kernel, Sequence[float]]]:
        """Yield the kernels without a period, and their noise levels."""
        if is_long:
            yield from (({_base(*far): 1.0}, self.far_noises) for far in self.far)
        for shape, scale in self._scales:
            yield {_base(shape, scale): 1.0}, self.noises
        for slow, fast, share in product(self.slow, self.fast, self.shares):
            kernel = {_base(EQ, slow): 1 - share, _base(MATERN32, fast): share}
            yield kernel, self.few_noises

    @property
    def _scales(self) -> Iterator[tuple[int, float]]:
        kinds = ((EQ, self.smooth), (MATERN32, self.rough), (MATERN12, self.roughest))
        yield from ((shape, scale) for shape, scales in kinds for scale in scales)

    def of_bursts(self, mean_gap: float) -> Iterator[tuple[Kernel, Sequence[float]]]:
        """Yield kernels that reach from one burst to others, and their noise levels."""
        for shape, scale in self._scales:
            if scale * mean_gap > _LONGEST_IN_BURSTS:
                yield {_base(shape, scale * mean_gap): 1.0}, self.noises
        for level, share, fast in product(self.level_of_bursts, self.shares, self.within_bursts):
            kernel = {_base(EQ, level * mean_gap): 1 - share, _base(*fast): share}
            yield kernel, self.few_noises

    def periodic(
        self, period: float, sharpest: float = math.inf
    ) -> Iterator[tuple[Kernel, Sequence[float]]]:
        """Yield the kernels with this period, not too sharp, and their noise levels."""
        for drift in self.damped:
            yield {(MATERN32, drift * period, period, 0.0): 1.0}, self.noises[:-1]
            yield {(MATERN12, 2 * drift * period, period, 0.0): 1.0}, self.noises[:-1]
        shapes = dict.fromkeys(min(sharpness, sharpest) for sharpness in self.sharpness)
        for sharpness, drift in product(shapes, self.drifts):
            season = (EQ, min(drift * period, ENDLESS), period, sharpness)
            levels = [(level, self.few_noises) for level in self.beside]
            for (shape, scale, share), noises in [*levels, (self.wandering, self.least_noises)]:
                yield {season: 1 - share, _base(shape, scale): share}, noises

    def on_weather(
        self, period: float, sharpest: float = math.inf
    ) -> Iterator[tuple[Kernel, Sequence[float]]]:
        """Yield exact seasons beside what changes from one observation to the next."""
        shapes = dict.fromkeys(min(sharpness, sharpest) for sharpness in self.sharpness)
        for sharpness, (shape, scale, share) in product(shapes, self.weather):
            season = (EQ, ENDLESS, period, sharpness)
            yield {season: 1 - share, _base(shape, scale): share}, self.far_noises

    def nested(
        self, first: float, second: float, sharpest: Sequence[float] = (math.inf, math.inf)
    ) -> Iterator[tuple[Kernel, Sequence[float]]]:
        """Yield kernels with two periods at once, such as a day's within a year's."""
        sharp = self.sharpness[-1]
        ways = [
            *product([(sharp, sharp)], self.drifts[1:], self.within, self.aside),
            *product(self.exact, [math.inf], self.within, [self.rough_aside]),
        ]
        for shapes, drift, share, (shape, scale, aside) in ways:
            ordered = shapes if first < second else reversed(shapes)
            seasons = [
                (EQ, min(drift * period, ENDLESS), period, min(sharpness, limit))
                for period, sharpness, limit in zip((first, second), ordered, sharpest, strict=True)
            ]
            rest = 1 - aside
            kernel = {seasons[0]: rest * (1 - share), seasons[1]: rest * share}
            yield {**kernel, _base(shape, scale): aside}, self.few_noises


@lru_cache
def _plain(catalogue: Catalogue, is_long: bool) -> list[tuple[Kernel, Sequence[float]]]:
    return list(catalogue.plain(is_long))


def _base(shape: int, length_scale: float) -> Base:
    return shape, length_scale, math.inf, 0.0


def assembled(
    kernels: Sequence[tuple[Kernel, Sequence[float]]],
    log_prior: Sequence[float],
    family: Sequence[int],
) -> Entries:
    """Collect kernels, each at its noise levels, with its log prior and family, into entries."""
    place: dict[Base, int] = defaultdict(count().__next__)
    cells = [
        (i, place[base], weight)
        for i, (kernel, _) in enumerate(kernels)
        for base, weight in kernel.items()
    ]
    # Many numbers one by one: not by torch.
    rows, columns, shares = (np.array(numbers) for numbers in zip(*cells, strict=True))
    weights = np.zeros((len(kernels), len(place)))
    weights[rows, columns] = shares
    of_level = np.repeat(np.arange(len(kernels)), [len(noises) for _, noises in kernels])
    noise = [level for _, noises in kernels for level in noises]
    return Entries(
        _bases(place),
        torch.from_numpy(weights),
        torch.from_numpy(of_level),
        torch.from_numpy(np.array(noise, dtype=float)),
        torch.from_numpy(np.array(log_prior, dtype=float)[of_level]),
        torch.from_numpy(np.array(family)[of_level]),
    )


def _bases(bases: Iterable[Base]) -> Bases:
    shape, *others = np.array(list(bases)).T.copy()
    return Bases(torch.from_numpy(shape.astype(int)), *map(torch.from_numpy, others))


def entries_for(
    catalogue: Catalogue,
    periods: Sequence[float],
    num_observations: int,
    sampling: Sampling | None = None,
    is_long: bool = False,
) -> Entries:
    """Return the dictionary of a series: a period is the best of many, for which it pays.

    Of few observations it pays more, as some period fits almost any ten numbers.
    """
    sharpest = [sampling.sharpest(period) if sampling else math.inf for period in periods]
    price = math.log(max(num_observations, 2)) * (1 + (_FEW / max(num_observations, 1)) ** 2)
    if is_long:  # stretches and what lies far apart see the same seasons, and count them twice
        price *= 2
    kernels = list(_plain(catalogue, is_long))
    log_prior, family = [0.0] * len(kernels), [0] * len(kernels)
    for number, period in enumerate(periods, 1):
        seasonal = list(catalogue.periodic(period, sharpest[number - 1]))
        if is_long:
            seasonal += catalogue.on_weather(period, sharpest[number - 1])
        kernels += seasonal
        log_prior += [-price] * len(seasonal)
        family += [number] * len(seasonal)
    # A third period is one of the others as its harmonic was seen: a day, where six were found.
    for i, j in combinations(range(len(periods)), 2):
        seasonal = list(catalogue.nested(periods[i], periods[j], (sharpest[i], sharpest[j])))
        kernels += seasonal
        log_prior += [-2 * price] * len(seasonal)
        family += [len(periods) + 1] * len(seasonal)
    if sampling and sampling.mean_gap > _BURSTS:
        reaching = list(catalogue.of_bursts(sampling.mean_gap))
        kernels += reaching
        log_prior += [0.0] * len(reaching)
        family += [max(family) + 1] * len(reaching)
    return assembled(kernels, log_prior, family)
