"""What was observed, as the dictionary sees it: values around zero, in one or more forms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TypeVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from convcnp.models.dictionary.components import Components, LogLimits
from convcnp.models.dictionary.kernels import Entries

_NARROW = 1.02  # largest over smallest value: below, the logarithm is a straight line
_WIDE = 3.0  # likewise: below, a logarithm with a shift is next to one without
_ENOUGH = 8  # observations: of fewer a shift would tell too much
_SHIFTS = 0.1, 0.7  # shares of the mean: nearly a logarithm, and about a root

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

    def far_apart(self: _Own, points: int) -> list[_Own]:
        """Return places from all over, where no model sees all of them at once."""
        return []

    @abstractmethod
    def lags(self, pairs: Int[Tensor, "2 p"]) -> tuple[Float[Tensor, "l ..."], Int[Tensor, " p"]]:
        """Return lags between places, and which of them every pair has."""

    @abstractmethod
    def across(self, entries: Entries, at: Float[Tensor, "m ..."]) -> Float[Tensor, "k n m"]:
        """Return every kernel between the places and others.

        Every other place is looked at on its own, so that those beside it change nothing.
        """


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
