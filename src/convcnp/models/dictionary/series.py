"""One series as the dictionary sees it: at different times in gaps, in increasing order."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Float, Int
from torch import Tensor

from convcnp.models.dictionary.catalogue import Sampling
from convcnp.models.dictionary.kernels import Entries
from convcnp.models.dictionary.observations import Observations, standardised

_FINEST = 31  # a lattice may be this many times finer than its smallest gap: days among months
_ON_LATTICE = 1e-6  # of a step
_LONG, _REGIONS = 1024, 4  # beyond, stretches from up to four regions rank the entries
_FARTHEST = 2**20  # gaps: times so far apart are told to a tenth of a gap in single precision
_OF_MOST, _MOST = 1 / 16, 0.75  # of a gap that most are shorter than
_RUNS = 3  # of contiguous points, that together stand for a series
SEEN = 576  # points at most that one model sees: a longer series has windows
_GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True)
class Series(Observations):
    r"""The observations of one series, at different times in increasing order.

    Times are :math:`(x - x_0) / g` with the typical gap :math:`g`.
    """

    x: Float[Tensor, " n"]
    origin: float
    gap: float
    step: float | None  # of the lattice in gaps, if all times lie on one

    @property
    def fingerprint(self) -> bytes:
        """All that the weights of entries depend on: not the level, nor the scale."""
        volume = self.log_volume - self.log_volume[:1]  # of one form against the other
        parts = [self.x, self.z, self.count, self.extra, self.scatter, volume]
        return torch.cat([part.flatten() for part in parts]).numpy().tobytes()

    @property
    def span(self) -> float:
        """Return the time from the first to the last observation, in gaps."""
        return float(self.x[-1] - self.x[0])

    @cached_property
    def sampling(self) -> Sampling:
        """Return what the times tell of seasons."""
        return Sampling(self.x.numpy(), SEEN if self.is_in_parts else math.inf)

    @property
    def ticks(self) -> Int[Tensor, " n"]:
        """Return the times as multiples of the lattice's step."""
        assert self.step is not None
        return (self.x / self.step).round().long()

    def times(self, x: Float[Tensor, " m"]) -> Float[Tensor, " m"]:
        """Express a user's times in gaps."""
        return (x.double() - self.origin) / self.gap

    def part(self, start: int, stop: int) -> Series:
        """Return a stretch of the series, in the units of the whole."""
        if start <= 0 and stop >= self.num_points:
            return self
        return self.some(slice(start, stop))

    def stretches(self, points: int) -> list[Series]:
        """Return contiguous points from the middle, of a long series from several places."""
        regions = min(1 + self.num_points // _LONG, _REGIONS)
        length = self.num_points / regions
        starts = [max(int((i + 0.5) * length - points / 2), 0) for i in range(regions)]
        return [self.part(start, start + points) for start in starts]

    @property
    def is_in_parts(self) -> bool:
        """Whether the series is longer than its windows."""
        return self.num_points > SEEN

    def spread(self, points: int) -> list[Series]:
        """Return short runs of points from all over the series, to be seen together.

        A period shows in how far apart runs agree, roughness within them. Of a long series there
        are runs from every other region, stretches from those between, and points from all over.
        """
        far = self.far_apart(points)
        if self.num_points < _LONG:
            return [self._runs(points), *far]
        pairs = zip(self.stretches(points), self.stretches(SEEN), strict=True)
        return [seen._runs(points) if i % 2 else near for i, (near, seen) in enumerate(pairs)] + far

    def far_apart(self, points: int) -> list[Series]:
        """Return points from all over a long series: stretches do not tell how far it goes."""
        if not self.is_in_parts or self.span > _FARTHEST:
            return []
        some = self.some(torch.tensor(scattered(points, self.num_points)))
        # Where there are more lags up to the longest than pairs, they are not looked up.
        is_short = self.step is not None and self.span < points**2 / 2 * self.step
        return [some if is_short else replace(some, step=None)]

    def _runs(self, points: int) -> Series:
        if self.num_points <= points:
            return self
        first = torch.linspace(0, self.num_points - points // _RUNS, _RUNS).long()
        return self.some((first[:, None] + torch.arange(points // _RUNS)).flatten().unique())

    def lags(self, pairs: Int[Tensor, "2 p"]) -> tuple[Float[Tensor, " l"], Int[Tensor, " p"]]:
        """Return lags between times, and which of them every pair has.

        On a lattice there are few, and each kernel is evaluated once for each.
        """
        if self.step is None:
            away = (self.x[pairs[0]] - self.x[pairs[1]]).abs()
            return away, torch.arange(len(away))
        lag = (self.ticks[pairs[0]] - self.ticks[pairs[1]]).abs()
        return self._multiples(lag), lag

    def across(self, entries: Entries, at: Float[Tensor, " m"]) -> Float[Tensor, "k n m"]:
        """Return every kernel between the times of the series and others."""
        if self.step is None:
            return entries.kernels((self.x[:, None] - at).abs())
        ticks = (at / self.step).round()
        on_lattice = (at / self.step - ticks).abs() < _ON_LATTICE
        # A time far away would need a table as long as its distance.
        on_lattice &= (ticks - self.ticks[0]).abs() <= 2 * (self.ticks[-1] - self.ticks[0])
        lag = self.ticks[:, None] - ticks.long()
        if on_lattice.all():
            return self._looked_up(entries, lag)
        if not on_lattice.any():
            return entries.kernels((self.x[:, None] - at).abs())
        values = at.new_empty(len(entries.weights), self.num_points, len(at))
        values[:, :, on_lattice] = self._looked_up(entries, lag[:, on_lattice])
        values[:, :, ~on_lattice] = entries.kernels((self.x[:, None] - at[~on_lattice]).abs())
        return values

    def _looked_up(self, entries: Entries, lag: Int[Tensor, ...]) -> Float[Tensor, "k ..."]:
        lag = lag.abs()
        table = entries.kernels(self._multiples(lag))
        return table.index_select(1, lag.flatten()).unflatten(1, lag.shape)

    def _multiples(self, lag: Int[Tensor, ...]) -> Float[Tensor, " l"]:
        """Return the multiples of the lattice's step up to the longest lag."""
        assert self.step is not None
        longest = int(lag.max()) if lag.numel() else 0
        return torch.arange(longest + 1).to(self.x) * self.step


def prepared(
    x: Float[Tensor, " n"],
    y: Float[Tensor, " n"],
    variance: Float[Tensor, " n"] | None = None,
    are_averaged: bool = True,
) -> Series:
    """Sort, average what shares a time, and standardise at least one observation.

    Args:
        variance: Known variance of every observation's error. Observations are then neither
            averaged nor seen as logarithms.
        are_averaged: Whether they are, where no errors are known.
    """
    x, order = x.double().sort(stable=True)
    away, y = x - x[0], y.double()[order]
    gap = _gap(away)
    variance = None if variance is None else variance.double()[order]
    times, place, count = torch.unique_consecutive(away, return_inverse=True, return_counts=True)
    if variance is not None or not are_averaged:
        times, place, count = away, torch.arange(len(x)), torch.ones(len(x))
    times = times / gap
    return Series(
        times,
        *standardised(y, place, count.double(), variance),
        origin=float(x[0]),
        gap=gap,
        step=_lattice(times),
    )


def _gap(away: Float[Tensor, " n"]) -> float:
    """Return the typical gap between different times: the median, and not much less than most.

    Of pairs of times it is not what lies between the two. In bursts it is, but single precision
    has to tell it beside the whole span.
    """
    gaps = away.diff()
    gaps = gaps[gaps > 0]
    if not len(gaps):
        return 1.0
    most = float(gaps.kthvalue(1 + int(_MOST * (len(gaps) - 1))).values)
    least = max(_OF_MOST * most, float(away[-1]) / _FARTHEST)
    return max(float(gaps.median()), least)


def _lattice(x: Float[Tensor, " n"]) -> float | None:
    """Return the step of the coarsest lattice that holds all times, if there is one."""
    if len(x) < 2:
        return None
    finest = x.diff().min() / torch.arange(1, _FINEST + 1).to(x)  # (F,)
    cells = (x[-1] / finest).round()
    steps = x[-1] / cells
    ticks = x / steps[:, None]  # (F, n)
    fits = (ticks - ticks.round()).abs().amax(1) < _ON_LATTICE
    # A table longer than the matrix that it fills saves nothing.
    fits &= cells <= 32 * len(x)
    return float(steps[fits.nonzero()[0, 0]]) if fits.any() else None


def scattered(count: int, places: int) -> list[int]:
    """Return so many of the places, evenly spread, but not so evenly that a season keeps step."""
    found: set[int] = set()
    for i in itertools.count():
        if len(found) == min(count, places):
            break
        found.add(int(i * _GOLDEN % 1 * places))
    return sorted(found)
