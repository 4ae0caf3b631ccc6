"""One series as the dictionary sees it: times in gaps, values around zero, of spread one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from convcnp.core.units import typical_gap
from convcnp.models.dictionary.catalogue import Sampling
from convcnp.models.dictionary.components import Components, LogLimits
from convcnp.models.dictionary.kernels import Entries

_FINEST = 31  # a lattice may be this many times finer than its smallest gap: days among months
_ON_LATTICE = 1e-6  # of a step
_LONG, _REGIONS = 1024, 4  # beyond, stretches from up to four regions rank the entries
_RUNS = 3  # of contiguous points, that together stand for a series
SEEN = 576  # points at most that one model sees: a longer series has windows
_NARROW = 1.02  # largest over smallest value: below, the logarithm is a straight line
_WIDE = 3.0  # likewise: below, a logarithm with a shift is next to one without
_ENOUGH = 8  # observations: of fewer a shift would tell too much
_SHIFTS = 0.1, 0.7  # shares of the mean: nearly a logarithm, and about a root

_GOLDEN = (5**0.5 - 1) / 2

_Own = TypeVar("_Own", bound="Observations")
_Values = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]  # z to shift


@dataclass(frozen=True)
class Observations(ABC):
    r"""What was observed, at different places, as the dictionary sees it.

    Values come in one or more forms :math:`r`, as they are and, where none is negative, as
    logarithms, of themselves where all are positive and of themselves and a shift; each form is
    standardised, :math:`z = (y - a_r) / s_r`. Observations at one place
    are averaged: `count` says how many, `scatter` is the sum of squares around their averages.
    """

    x: Float[Tensor, "n ..."]
    z: Float[Tensor, "r n"]
    count: Float[Tensor, " n"]
    extra: Float[Tensor, " n"]  # known variance of each observation, in units of the spread
    scatter: Float[Tensor, "r n"]
    log_volume: Float[Tensor, "r n"]  # log |dz / dy|, summed over a place's observations
    level: Float[Tensor, " r"]
    scale: Float[Tensor, " r"]
    shift: Float[Tensor, " r"]  # added to values before their logarithms are taken

    @property
    def num_points(self) -> int:
        """Number of different places: times of a series."""
        return len(self.x)

    @property
    def is_log(self) -> Bool[Tensor, " r"]:
        """Which forms are logarithms: all but the values as they are, which come first."""
        return torch.arange(len(self.shift)) > 0

    @property
    def has_logarithms(self) -> bool:
        """Whether the logarithms of the values themselves are among the forms."""
        return bool((self.is_log & (self.shift == 0)).any())

    @property
    def limits(self) -> dict[float, LogLimits]:
        """Return what is believed of logarithms, by their shift."""
        return {
            shift: LogLimits.of(level + scale * z, float(scale), shift)
            for is_log, shift, level, scale, z in zip(
                self.is_log, self.shift.tolist(), self.level, self.scale, self.z, strict=True
            )
            if is_log
        }

    def some(self: _Own, chosen: slice | Int[Tensor, " k"]) -> _Own:
        """Return some of the places, in the units of the whole."""
        return replace(
            self,
            x=self.x[chosen],
            z=self.z[:, chosen],
            count=self.count[chosen],
            extra=self.extra[chosen],
            scatter=self.scatter[:, chosen],
            log_volume=self.log_volume[:, chosen],
        )

    def rounded(self: _Own, jitter: float) -> _Own:
        """Return the observations in single precision, seen from the first, with some noise."""
        return replace(
            self,
            x=(self.x - self.x[:1]).float(),  # before rounding: they may lie far from zero
            z=self.z.float(),
            count=self.count.float(),
            extra=self.extra.float() + jitter,
            scatter=self.scatter.float(),
        )

    def students(
        self,
        form: Int[Tensor, " c"],
        weight: Float[Tensor, " c"],
        mean: Float[Tensor, "c m"],
        scale: Float[Tensor, "c m"],
    ) -> Components:
        """Return weighed predictions of these forms in the user's units."""
        return Components(
            weight[:, None].expand_as(mean),
            self.level[form, None] + self.scale[form, None] * mean,
            self.scale[form, None] * scale,
            *(self.is_log[form], self.shift[form]),
        )

    @abstractmethod
    def stretches(self: _Own, points: int) -> list[_Own]:
        """Return near places from the middle, of many places from several regions."""

    @property
    def is_in_parts(self) -> bool:
        """Whether there are so many places that no model sees all of them at once."""
        return False

    def spread(self: _Own, points: int) -> list[_Own]:
        """Return places that tell of the whole, near ones among them."""
        return self.stretches(points)

    @abstractmethod
    def lags(self, pairs: Int[Tensor, "2 p"]) -> tuple[Float[Tensor, "l ..."], Int[Tensor, " p"]]:
        """Return lags between places, and which of them every pair has."""

    @abstractmethod
    def across(self, entries: Entries, at: Float[Tensor, "m ..."]) -> Float[Tensor, "k n m"]:
        """Return every kernel between the places and others.

        Every other place is looked at on its own, so that those beside it change nothing.
        """


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
        return Sampling(self.x.numpy())

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
        are runs from every other region, and stretches from those between.
        """
        if self.num_points < _LONG:
            return [self._runs(points)]
        pairs = zip(self.stretches(points), self.stretches(SEEN), strict=True)
        return [far._runs(points) if i % 2 else near for i, (near, far) in enumerate(pairs)]

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
) -> Series:
    """Sort, average what shares a time, and standardise at least one observation.

    Args:
        variance: Known variance of every observation's error. Observations are then neither
            averaged nor seen as logarithms.
    """
    x, order = x.double().sort(stable=True)
    gap = float(typical_gap(x[None, :, None], torch.ones(1, len(x), 1, dtype=torch.bool)))
    away, y = x - x[0], y.double()[order]
    variance = None if variance is None else variance.double()[order]
    times, place, count = torch.unique_consecutive(away, return_inverse=True, return_counts=True)
    if variance is not None:
        times, place, count = away, torch.arange(len(x)), torch.ones(len(x))
    times = times / gap
    return Series(
        times,
        *standardised(y, place, count.double(), variance),
        origin=float(x[0]),
        gap=gap,
        step=_lattice(times),
    )


def standardised(
    y: Float[Tensor, " n"],
    place: Int[Tensor, " n"],
    count: Float[Tensor, " k"],
    variance: Float[Tensor, " n"] | None = None,
) -> _Values:
    """Standardise values, and average those at one place: the fields z to shift.

    Args:
        variance: Known variance of every observation, one at every place.
    """
    shift = y.new_tensor(_shifts(y) if variance is None else [])
    forms = torch.cat([y[None], (y + shift[:, None]).log()])
    level, scale = _level_and_scale(forms)
    z = (forms - level[:, None]) / scale[:, None]
    log_volume = -scale.log()[:, None].expand_as(z).clone()
    log_volume[1:] += _log_slope(y, shift[:, None])
    extra = torch.zeros_like(count) if variance is None else variance / scale[0] ** 2

    def sums(values: Tensor) -> Tensor:
        return values.new_zeros(len(values), len(count)).index_add_(1, place, values)

    mean = sums(z) / count
    scatter = sums((z - mean[:, place]) ** 2)
    shift = torch.cat([shift.new_zeros(1), shift])
    return mean, count, extra, scatter, sums(log_volume), level, scale, shift


def _shifts(y: Float[Tensor, " n"]) -> list[float]:
    """Return what is added to values before their logarithms are taken, in one form or more."""
    low, high = float(y.min()), float(y.max())
    shifts = [0.0] if low > 0 and high > _NARROW * low else []
    if low >= 0 and high > _WIDE * low and len(y) >= _ENOUGH:
        shifts += [share * float(y.mean()) for share in _SHIFTS]
    return shifts


def _log_slope(y: Float[Tensor, " n"], shift: Float[Tensor, "r 1"]) -> Float[Tensor, "r n"]:
    """Return the logarithm of how fast logarithms grow with values.

    On average over what a value stands for, if all are rounded: from it to the next. A slope at
    zero itself would pay for every zero, where there are only zeros and ones.
    """
    apart = y.sort().values.diff()
    cell = apart[apart > 0].amin() if (apart > 0).any() else y.new_tensor(1.0)
    return (torch.log1p(cell / (y + shift)) / cell).log()


def _level_and_scale(forms: Float[Tensor, "r n"]) -> tuple[Tensor, Tensor]:
    level = forms.mean(1)
    away = forms - level[:, None]
    largest = away.abs().amax(1)
    # Relative to the largest, squares of tiny and huge values stay numbers.
    relative = away / torch.where(largest > 0, largest, 1)[:, None]
    scale = largest * (relative**2).sum(1).sqrt() / max(forms.shape[1] - 1, 1) ** 0.5
    # As `PerSeries` has it: equal values, the more often seen, the less likely to differ.
    size = torch.where(level == 0, 1.0, level.abs())
    return level, torch.where(scale <= 1e-14 * size, size / forms.shape[1], scale)


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
    return sorted({int(i * _GOLDEN % 1 * places) for i in range(count)})
