"""From many weighed Student-t distributions to a mixture of few Gaussians."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from convcnp.core.log_mixture import LogMixtureHead

_PLENTY = 40.0  # degrees of freedom from which on a Student-t is taken for a Gaussian
FEWEST = 3.0  # degrees of freedom: below, a Student-t has no variance
_REACH = 0.5  # in logarithms: what is allowed at least beyond the observed ones
_FARTHEST = 1.15  # and at most: half the logarithm of ten
_WIDEST = 1.5  # standard deviations of the observed logarithms
_SURPRISE_WIDTH = 2.0  # spreads of the series
_SURPRISE_ADDS = 0.1  # to the variance, at most; and at most so much probability
_BANDS = 4  # Gaussians that stand for all the distributions that weigh least


@dataclass(frozen=True)
class Components:
    """Gaussians of a mixture at every target, of the values or of logarithms.

    What was added to a value before its logarithm was taken is the shift, zero where none was.
    """

    weight: Float[Tensor, "c m"]
    location: Float[Tensor, "c m"]
    scale: Float[Tensor, "c m"]
    is_log: Bool[Tensor, " c"]
    shift: Float[Tensor, " c"]

    def __len__(self) -> int:
        return len(self.is_log)

    def moments(self) -> tuple[Float[Tensor, " m"], Float[Tensor, " m"]]:
        """Return the mean and the variance of the mixture at every target."""
        numbers, asked = self.packed().flatten(1)[None], torch.ones(1, self.weight.shape[1], 1)
        mixture = LogMixtureHead(len(self))(numbers, asked > 0)
        return mixture.mean[0, :, 0], mixture.variance[0, :, 0]

    def packed(self) -> Float[Tensor, "m 5 c"]:
        """Return log weights, locations, scales, kinds and shifts: what `LogMixtureHead` takes."""
        kind = torch.stack([self.is_log.to(self.scale), self.shift])[..., None]
        kind = kind.expand(-1, *self.scale.shape)
        numbers = torch.stack([self.weight.log(), self.location, self.scale])
        return torch.cat([numbers, kind]).permute(2, 0, 1)

    def __getitem__(self, chosen: slice | Tensor) -> Components:
        return Components(
            *(self.weight[chosen], self.location[chosen]),
            *(self.scale[chosen], self.is_log[chosen], self.shift[chosen]),
        )


def joined(parts: list[Components]) -> Components:
    """Put components side by side."""
    return Components(
        torch.cat([part.weight for part in parts]),
        torch.cat([part.location for part in parts]),
        torch.cat([part.scale for part in parts]),
        torch.cat([part.is_log for part in parts]),
        torch.cat([part.shift for part in parts]),
    )


@dataclass(frozen=True)
class Outliers:
    """When observations are outliers, and how far away they are."""

    times: tuple[float, ...]  # in gaps
    width: float  # root of the mean square, in spreads of the series

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.times)


NO_OUTLIERS = Outliers((), 0.0)


def as_gaussians(students: Components, freedom: float, most: int) -> Components:
    """Write Student-t distributions, the heaviest first, as at most so many Gaussians."""
    return at_nodes(condensed(students, most // len(student_nodes(freedom)[0])), freedom)


def at_nodes(students: Components, freedom: float) -> Components:
    """Write every Student-t distribution as one Gaussian or as three."""
    weights, factors = student_nodes(freedom)
    return joined(
        [
            replace(students, weight=students.weight * weight, scale=students.scale * factor)
            for weight, factor in zip(weights, factors, strict=True)
        ]
    )


def student_nodes(freedom: float) -> tuple[list[float], list[float]]:
    r"""Return weights and factors of the Gaussians that make up a Student-t of scale one.

    The logarithm of its random precision, :math:`\log \chi^2_\nu / \nu`, is nearly Gaussian, of
    mean :math:`\psi(\nu/2) - \log(\nu/2)` and variance :math:`\psi_1(\nu/2)`; three nodes of
    Gauss-Hermite quadrature stand for it. With plenty of data one Gaussian does.
    """
    if freedom >= _PLENTY:
        return [1.0], [(1 - 2 / freedom) ** -0.5]
    half = torch.tensor(max(freedom, FEWEST) / 2, dtype=torch.float64)
    centre = torch.digamma(half) - half.log()
    nodes = half.new_tensor([-(3**0.5), 0.0, 3**0.5]) * torch.polygamma(1, half).sqrt()
    return [1 / 6, 2 / 3, 1 / 6], torch.exp(-0.5 * (centre + nodes)).tolist()


def condensed(components: Components, most: int) -> Components:
    """Keep the heaviest, which come first; the others are merged, of every kind apart."""
    if len(components) <= most:
        return components
    kept = components[: most - _BANDS]
    rest = components[most - _BANDS :]
    kinds = torch.stack([rest.is_log.to(rest.shift), rest.shift], 1).unique(dim=0)
    alike = [rest[(rest.is_log == is_log) & (rest.shift == shift)] for is_log, shift in kinds]
    bands = [merged(some, max(_BANDS // len(alike), 1)) for some in alike]
    return joined([kept, *bands])


def merged(components: Components, bands: int) -> Components:
    """Merge components of like scale, at every target, into Gaussians of the same moments."""
    scale, order = components.scale.sort(dim=0, stable=True)
    weight, location = components.weight.gather(0, order), components.location.gather(0, order)
    middle = weight.cumsum(0) - weight / 2
    whole = weight.sum(0)
    band = (middle / torch.where(whole > 0, whole, 1) * bands).long().clamp(max=bands - 1)  # (c, m)

    def sums(values: Tensor) -> Tensor:
        return values.new_zeros(bands, values.shape[1]).scatter_add_(0, band, values)

    total = sums(weight)
    some = torch.where(total > 0, total, 1)
    centre = sums(weight * location) / some
    spread = scale**2 + (location - centre.gather(0, band)) ** 2
    variance = sums(weight * spread) / some
    variance = torch.where(total > 0, variance, 1)
    kind = components.is_log[:1].expand(bands), components.shift[:1].expand(bands)
    return Components(total, centre, variance.sqrt(), *kind)


def with_surprise(
    components: Components,
    share: float,
    spread: float,
    again: float = 0.0,
    outliers: Outliers = NO_OUTLIERS,
) -> Components:
    """Leave a share of the probability to what no entry foresees: an outlier, the first zero.

    It is a Gaussian several times as wide as the values of the series, and the last component. It
    lies where the others do, so that the mean is theirs: elsewhere, it would draw the mean out of a
    narrow band. Where they are so narrow that it would rule the deviation, its share is smaller.

    Args:
        spread: Of the series.
        again: A further share, as there were outliers, which may be as far away again.
        outliers: These.
    """
    mean, variance = components.moments()
    width = _SURPRISE_WIDTH * spread
    shares = largest_surprise(variance, width).clamp(max=share)[None]
    total = shares + again
    squared = shares * width**2 + again * (outliers.width * spread) ** 2
    squared = torch.where(total > 0, squared / total, width**2)
    of_values = components.is_log.new_zeros(1), components.shift.new_zeros(1)
    wide = Components(total, mean[None], squared.sqrt(), *of_values)
    return joined([replace(components, weight=(1 - total) * components.weight), wide])


def largest_surprise(variance: Tensor, width: Tensor | float) -> Tensor:
    """Return the share up to which what nobody foresees does not rule the deviation."""
    return (_SURPRISE_ADDS * variance / width**2).clamp(0, _SURPRISE_ADDS)


class LogLimits(NamedTuple):
    """What is believed of logarithms: where they lie, and how far they may deviate."""

    low: float
    high: float
    widest: float
    largest_mean: float  # of a value, as its logarithm

    @classmethod
    def of(cls, logarithms: Float[Tensor, " n"], spread: float, shift: float = 0.0) -> LogLimits:
        """Allow what is within reach of the observed ones, and no mean of ten times the largest.

        Values that were shifted before grow less than their logarithms say: of some three times.
        """
        low, high = float(logarithms.min()), float(logarithms.max())
        reach = _REACH if shift else min(max((high - low) / 2, _REACH), _FARTHEST)
        widest = max(_WIDEST * spread, _REACH)
        return cls(low - reach, high + reach, widest, high + 2 * reach)

    def near(self, location: Float[Tensor, ...]) -> Float[Tensor, ...]:
        """Return the nearest place that is believed."""
        return location.clamp(self.low, self.high)

    def deviation(self, location: Float[Tensor, ...]) -> Float[Tensor, ...]:
        r"""Return the largest deviation at such places: the mean is :math:`\exp(m + s^2 / 2)`."""
        return (2 * (self.largest_mean - location)).sqrt().clamp(max=self.widest)


def bounded(components: Components, limits: Mapping[float, LogLimits]) -> Components:
    """Keep components of logarithms within reach of the observed ones.

    Otherwise a line in logarithms, far from all observations, or the heavy tails of a few
    observations would make means that nobody believes, or that are no numbers.

    Args:
        limits: Of logarithms by their shift.
    """
    for shift, limit in limits.items():
        own = (components.is_log & (components.shift == shift))[:, None]
        near = limit.near(components.location)
        narrow = torch.minimum(components.scale, limit.deviation(near))
        components = replace(
            components,
            location=torch.where(own, near, components.location),
            scale=torch.where(own, narrow, components.scale),
        )
    return components
