"""Predictions of the chosen entries: of a short series at once, of a long one by windows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from convcnp.models.dictionary.bordered import Bordered, Frame
from convcnp.models.dictionary.components import NO_OUTLIERS, Components, Outliers
from convcnp.models.dictionary.evidence import (
    Factored,
    Lines,
    Prior,
    Summary,
    Variants,
    factored,
    pooled,
    posterior,
    summarised,
)
from convcnp.models.dictionary.funnel import Chosen, Funnel, chosen
from convcnp.models.dictionary.kernels import Entries
from convcnp.models.dictionary.seasons import apart
from convcnp.models.dictionary.series import SEEN, Series, scattered
from convcnp.models.dictionary.volatility import CALM, Places, Volatility

_MARGINS = 160, 320, 640  # points that it sees on either side, if those before were too few
_JUMP = 0.02  # deviations by which windows may disagree at a seam
_SEAMS, _PLACES = 3, 5  # looked at, at most, and times at each
_CORE = SEEN - 2 * _MARGINS[0]  # points of a window
_BLEND = 32  # points before and after a seam over which two windows blend
_WEIGHING = 8  # stretches at most, from which the weights of the longest series come
_TELLING = 32  # and what their seasons are
_Part = TypeVar("_Part")
LONGEST = 4608  # observations, up to which each is left out in turn: of more it would take too long


@dataclass(frozen=True)
class Window:
    """A stretch of the series that predicts on its own, and where its say begins and ends."""

    start: int
    stop: int
    rise: tuple[float, float] | None  # times between which it takes over from the one before
    fall: tuple[float, float] | None  # and hands over to the next

    def share(self, at: Float[Tensor, " m"]) -> Float[Tensor, " m"]:
        """Return how much of the prediction at every time is this window's."""
        share = torch.ones_like(at)
        if self.rise is not None:
            share = share * _risen(at, *self.rise)
        if self.fall is not None:
            share = share * (1 - _risen(at, *self.fall))
        return share

    def targets(self, ordered: Float[Tensor, " m"]) -> slice:
        """Return which of the sorted times it has a say at."""
        first = 0 if self.rise is None else int(torch.searchsorted(ordered, self.rise[0]))
        last = len(ordered) if self.fall is None else int(torch.searchsorted(ordered, self.fall[1]))
        return slice(first, last)


def _risen(at: Float[Tensor, " m"], start: float, end: float) -> Float[Tensor, " m"]:
    """Return how far along from start to end times are; many observations may share a time."""
    if start == end:
        return (at >= start).to(at)
    return ((at - start) / (end - start)).clamp(0, 1)


def windows(x: Float[Tensor, " n"], margin: int = _MARGINS[0]) -> list[Window]:
    """Cut a series into windows that overlap, one if it is short; at seams they blend."""
    if len(x) <= SEEN:
        return [Window(0, len(x), None, None)]
    cores = round(len(x) / _CORE)
    edges = [round(i * len(x) / cores) for i in range(cores + 1)]
    seams = [(float(x[edge - _BLEND]), float(x[edge + _BLEND])) for edge in edges[1:-1]]
    return [
        Window(max(start - margin, 0), min(stop + margin, len(x)), rise, fall)
        for start, stop, rise, fall in zip(
            edges[:-1], edges[1:], [None, *seams], [*seams, None], strict=True
        )
    ]


class LeftOut(NamedTuple):
    """How far each observation is from what the others say, and the deviation of that.

    By the heaviest variant, in spreads of its form; no numbers where it was not found.
    """

    away: Float[Tensor, " n"]
    deviation: Float[Tensor, " n"]


@dataclass(frozen=True)
class Fitted:
    """The entries that explain a series, their weights, and their scales.

    Of a long series, exact seasons are part of the mean, which is the same in all windows; `beside`
    is what is left of the entries then, and windows tell on their own.
    """

    series: Series
    entries: Entries
    beside: Entries
    frame: Frame
    prior: Prior
    weighed: Chosen
    variance: Float[Tensor, " c"]  # squared scale of each chosen variant
    freedom: float  # degrees of freedom of the Student-t that each predicts
    lines: Lines  # the mean of every entry, in the whole series' frame
    whole: Factored | None  # of a short series
    evidence: float  # logarithm, of all entries together
    windows: list[Window]
    levels: tuple[Fitted, ...] = ()  # at several scales, where errors are told
    outliers: Outliers = NO_OUTLIERS
    volatility: Volatility = CALM

    def predict(self, at: Float[Tensor, " m"]) -> tuple[Float[Tensor, "c m"], Float[Tensor, "c m"]]:
        """Return every chosen pair's mean and scale for new observations, at times in gaps."""
        mean, scale, restless = self._foreseen(at)
        return mean, scale * restless

    def _foreseen(self, at: Float[Tensor, " m"]) -> tuple[Tensor, Tensor, Float[Tensor, " m"]]:
        """Return means, scales as if no time were restless, and how restless each is."""
        ordered, order = at.sort()
        mean = at.new_zeros(len(self.weighed.weight), len(at))
        scale = torch.zeros_like(mean)
        for window in self.windows:
            own = window.targets(ordered)
            if own.start < own.stop:
                found = self.alone(window, ordered[own])
                share = window.share(ordered[own])
                mean[:, order[own]] += share * found[0]
                scale[:, order[own]] += share * found[1]
        return mean, scale, self.volatility(Places(at, mean[0]))

    @property
    def observations(self) -> Series:
        """What the entries explain."""
        return self.series

    @property
    def typical_variance(self) -> float:
        """The squared scale of the process, on average over what was chosen."""
        return float((self.weighed.weight * self.variance).sum())

    def students(self, x: Float[Tensor, " m"]) -> Components:
        """Return the Student-t that each chosen pair predicts, in the user's units."""
        return self.students_and_noise(x)[0]

    def students_and_noise(self, x: Float[Tensor, " m"]) -> tuple[Components, Float[Tensor, "c m"]]:
        """Return the Student-t of each, and the deviation of noise, which is part of it."""
        at, weight, variants = self.series.times(x), self.weighed.weight, self.weighed.variants
        mean, scale, restless = self._foreseen(at)
        deviation = (self.entries.noise[variants.entry] * self.variance).sqrt()
        deviation = (self.series.scale[variants.form] * deviation)[:, None]
        students = self.series.students(variants.form, weight, mean, scale * restless)
        return students, deviation * restless

    @cached_property
    def left_out(self) -> LeftOut:
        r"""Leave out every observation in turn: of a long series, those of some windows.

        With :math:`C = K + \Sigma` it is :math:`[C^{-1} z]_i / [C^{-1}]_{ii}` away, of deviation
        :math:`s [C^{-1}]_{ii}^{-1/2}`, beside the line of the mean.
        """
        found = LeftOut(*self.series.x.new_full((2, self.series.num_points), torch.nan))
        only, best = self._only(self.weighed.variants[torch.tensor([0])])
        every = self.windows
        for window in every if self.series.num_points <= LONGEST else _spread(every, _WEIGHING):
            part = self.series.part(window.start, window.stop)
            factors = only.factored(part)
            factor = factors.factor[best.entry[0]]
            left = factors.left(best).mT  # (n, 1)
            residual = torch.linalg.solve_triangular(factor.mT, left, upper=True)[:, 0]
            precision = torch.cholesky_inverse(factor).diagonal()
            own = torch.arange(window.start, window.stop)[window.share(part.x) >= 0.5]
            found.away[own] = (residual / precision)[own - window.start]
            found.deviation[own] = (self.variance[0] / precision).sqrt()[own - window.start]
        return found

    def finished(self, known: list[Window] | None = None) -> Fitted:
        """Return what predicts: of a long series the entries that are used, in wide windows.

        Args:
            known: Windows that agree, where they were looked for before.
        """
        if self.whole is not None:
            return self
        found = _with_used(self)
        return replace(found, windows=known) if known else found._with_windows_that_agree()

    def seen_as(self, series: Series) -> Fitted:
        """Return the same of a series that differs in level and scale alone."""
        # In other units of the values, densities are others.
        volume = float((series.log_volume[0] - self.series.log_volume[0]).sum())
        return replace(
            self,
            series=replace(series, extra=self.series.extra),
            evidence=self.evidence + volume,
            levels=tuple(each.seen_as(series) for each in self.levels),
        )

    def _with_windows_that_agree(self) -> Fitted:
        """Widen windows until they agree where they meet, or are as wide as can be afforded."""
        for margin in _MARGINS:
            found = replace(self, windows=windows(self.series.x, margin))
            if found._jump() < _JUMP:
                break
        return found

    def _jump(self) -> float:
        """Return how far windows disagree at some seams, at most, in deviations."""
        pairs = list(pairwise(self.windows))
        some = pairs[:: -(-len(pairs) // _SEAMS) or 1]
        return max((self._apart(*pair) for pair in some), default=0.0)

    def _apart(self, before: Window, after: Window) -> float:
        assert before.fall is not None
        at = torch.linspace(*before.fall, _PLACES, dtype=torch.float64)
        weight = self.weighed.weight
        means, deviations = zip(*(self.alone(each, at) for each in (before, after)), strict=True)
        jump = weight @ (means[1] - means[0])
        return float((jump.abs() / (weight @ deviations[0])).max())

    def factored(self, part: Series) -> Factored:
        """Return the factors of a stretch, which has the mean of the whole series."""
        return self.whole or factored(self.beside, part, self.frame, self.prior, self.lines)

    def some(self, entries: Int[Tensor, " k"]) -> Fitted:
        """Return the fitted series with the numbers of some entries alone."""
        return replace(
            self,
            entries=self.entries[entries],
            beside=self.beside[entries],
            frame=self.frame.some(entries),
            lines=Lines(self.lines.precision[entries], self.lines.estimate[entries]),
        )

    def _only(self, best: Variants) -> tuple[Fitted, Variants]:
        """Leave out all entries but the best, if every window would factorise them again."""
        if self.whole is not None:
            return self, best
        return self.some(best.entry), replace(best, entry=torch.zeros_like(best.entry))

    def alone(
        self, window: Window, at: Float[Tensor, " m"]
    ) -> tuple[Float[Tensor, "c m"], Float[Tensor, "c m"]]:
        """Return every chosen pair's mean and scale by what one window sees."""
        part = self.series.part(window.start, window.stop)
        found = self.factored(part)
        variants = self.weighed.variants
        mean, variance = posterior(found, self.beside, part, self.frame, at, variants)
        return mean, (variance * self.variance[:, None]).sqrt()


def fit(series: Series, entries: Entries, funnel: Funnel, prior: Prior) -> Fitted:
    """Choose and weigh entries by their evidence on the series."""
    found = funnel(entries, series, Frame.of(series), prior, series.sampling)
    return weigh(series, found, prior).finished()


def weigh(series: Series, entries: Entries, prior: Prior) -> Fitted:
    """Weigh all of some entries by their evidence on the series."""
    beside, frame, whole = entries, Frame.of(series), None
    if series.is_in_parts:
        beside, seasons = apart(entries)
        frame = replace(frame, seasons=seasons)
        # An outlier is found by its evidence, which must not be left out.
        most = _WEIGHING if series.num_points > LONGEST else series.num_points
        summary = _pooled(most, beside, series, frame)
    else:
        whole = factored(beside, series, frame, prior)
        summary = whole.summary
    score = summary.log_evidence(prior) + entries.log_prior[:, None, None]
    weighed = chosen(score)
    variants = weighed.variants
    return Fitted(
        *(series, entries, beside, frame, prior, weighed),
        summary.variance(prior)[variants.entry, variants.form, variants.trend],
        2 * prior.freedom + summary.freedom,
        summary.lines(prior),
        whole,
        float(score.flatten().logsumexp(0)),
        windows(series.x),
    )


def _spread(every: list[_Part], most: int) -> list[_Part]:
    """Return some of the parts, from all over the series."""
    return every if len(every) <= most else [every[i] for i in scattered(most, len(every))]


def _pooled(most: int, entries: Entries, series: Series, frame: Frame) -> Summary:
    """Add up what so many stretches say, and observations that lie far apart.

    What both see counts no more than once: together they tell as much as all there is.
    """
    far = [summarised(entries, Bordered.of(part, frame)) for part in series.far_apart(SEEN)]
    every = chained(most, entries, series, frame) + far
    seen = 1 + sum(each.freedom for each in every)
    return pooled(every, share=min(1.0, float(series.count.sum()) / seen))


def chained(most: int, entries: Entries, series: Series, frame: Frame) -> list[Summary]:
    """Return what so many stretches say, each given the observations just before it."""
    stretches = math.ceil(series.num_points / (SEEN - _MARGINS[0]))
    edges = [round(i * series.num_points / stretches) for i in range(stretches + 1)]
    summaries = []
    for start, stop in _spread(list(pairwise(edges)), most):
        before = min(start, _MARGINS[0])
        part = series.part(start - before, stop)
        summaries.append(summarised(entries, Bordered.of(part, frame, given=before)))
    return summaries


def _with_used(fitted: Fitted) -> Fitted:
    """Leave out the entries that no chosen pair needs: windows need not factorise them.

    What is left of seasons is told by more of the windows than could weigh all entries.
    """
    variants = fitted.weighed.variants
    used, entry = variants.entry.unique(return_inverse=True)
    weighed = replace(fitted.weighed, variants=replace(variants, entry=entry))
    found = replace(fitted.some(used), weighed=weighed)
    if found.frame.seasons is None:
        return found
    summary = _pooled(_TELLING, found.beside, found.series, found.frame)
    return replace(found, lines=summary.lines(found.prior))
