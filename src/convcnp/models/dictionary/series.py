"""One series as the dictionary sees it: times in gaps, values around zero, of spread one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from convcnp.core.units import typical_gap

_FINEST = 31  # a lattice may be this many times finer than its smallest gap: days among months
_ON_LATTICE = 1e-6  # of a step
_NARROW = 1.02  # largest over smallest value: below, the logarithm is a straight line


@dataclass(frozen=True)
class Series:
    r"""The observations of one series, at different times in increasing order.

    Times are :math:`(x - x_0) / g` with the typical gap :math:`g`. Values come in one or two
    forms :math:`r`, as they are and, where all are positive, as logarithms; each form is
    standardised, :math:`z = (y - a_r) / s_r`. Observations at one time are averaged: `count` says
    how many, `scatter` is the sum of squares around their averages.
    """

    x: Float[Tensor, " n"]
    z: Float[Tensor, "r n"]
    count: Float[Tensor, " n"]
    extra: Float[Tensor, " n"]  # known variance of each observation, in units of the spread
    scatter: Float[Tensor, "r n"]
    log_volume: Float[Tensor, "r n"]  # log |dz / dy|, summed over a time's observations
    level: Float[Tensor, " r"]
    scale: Float[Tensor, " r"]
    origin: float
    gap: float
    step: float | None  # of the lattice in gaps, if all times lie on one

    @property
    def num_times(self) -> int:
        """Number of different times."""
        return len(self.x)

    @property
    def span(self) -> float:
        """Return the time from the first to the last observation, in gaps."""
        return float(self.x[-1] - self.x[0])

    @property
    def ticks(self) -> Int[Tensor, " n"]:
        """Return the times as multiples of the lattice's step."""
        assert self.step is not None
        return (self.x / self.step).round().long()

    @property
    def logarithms(self) -> Float[Tensor, " n"] | None:
        """Return the logarithms of the values, averaged where they share a time."""
        return self.level[1] + self.scale[1] * self.z[1] if len(self.z) > 1 else None

    def times(self, x: Float[Tensor, " m"]) -> Float[Tensor, " m"]:
        """Express a user's times in gaps."""
        return (x.double() - self.origin) / self.gap

    def part(self, start: int, stop: int) -> Series:
        """Return a stretch of the series, in the units of the whole."""
        stretch = slice(start, stop)
        if start <= 0 and stop >= self.num_times:
            return self
        return replace(
            self,
            x=self.x[stretch],
            z=self.z[:, stretch],
            count=self.count[stretch],
            extra=self.extra[stretch],
            scatter=self.scatter[:, stretch],
            log_volume=self.log_volume[:, stretch],
        )


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
    y = y.double()[order]
    forms = torch.stack([y, y.log()] if variance is None and _is_positive(y) else [y])
    level, scale = _level_and_scale(forms)
    z = (forms - level[:, None]) / scale[:, None]
    log_volume = -scale.log()[:, None].expand_as(z).clone()
    log_volume[1:] -= forms[1:]
    away = x - x[0]
    gap = float(typical_gap(x[None, :, None], torch.ones(1, len(x), 1, dtype=torch.bool)))
    extra = y.new_zeros(len(y)) if variance is None else variance.double()[order] / scale[0] ** 2
    count, scatter = torch.ones_like(x), torch.zeros_like(z)
    if variance is None:
        away, z, count, scatter, log_volume = _averaged(away, z, log_volume)
        extra = extra[: len(away)]
    times = away / gap
    return Series(
        *(times, z, count, extra, scatter, log_volume, level, scale),
        origin=float(x[0]),
        gap=gap,
        step=_lattice(times),
    )


def _is_positive(y: Tensor) -> bool:
    return bool(y.min() > 0 and y.max() > _NARROW * y.min())


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


def _averaged(x: Tensor, z: Tensor, log_volume: Tensor) -> tuple[Tensor, ...]:
    times, place, count = torch.unique_consecutive(x, return_inverse=True, return_counts=True)

    def sums(values: Tensor) -> Tensor:
        return values.new_zeros(len(values), len(times)).index_add_(1, place, values)

    mean = sums(z) / count
    scatter = sums((z - mean[:, place]) ** 2)
    return times, mean, count.double(), scatter, sums(log_volume)


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
