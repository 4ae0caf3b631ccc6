"""Points in the plane as the dictionary sees them: in distances between neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from convcnp.core.units import typical_gap
from convcnp.models.dictionary.kernels import Entries
from convcnp.models.dictionary.observations import Observations, standardised

_ALIKE = 5.0  # spread along one input over the other: below, both are taken to be of one kind
_MANY, _REGIONS = 512, 3  # beyond, points from several regions rank the entries


@dataclass(frozen=True)
class Points(Observations):
    r"""The observations of one set of points, at different places.

    Coordinates are :math:`(x - x_0) / u`, so that the median distance from a point to its nearest
    neighbour is one. Two inputs of one kind, such as kilometres, share a unit; others, such as
    kilometres and metres of depth, have one each. A third coordinate is height: of points on a
    sphere, above the plane that touches it in their middle.
    """

    x: Float[Tensor, "n d"]
    origin: Float[Tensor, " d"]
    unit: Float[Tensor, " d"]

    def places(self, x: Float[Tensor, "m d"]) -> Float[Tensor, "m d"]:
        """Express a user's points in these units."""
        return (x.double() - self.origin) / self.unit

    def stretches(self, points: int) -> list[Points]:
        """Return the points nearest to the middle, or to the middles of several regions."""
        if points >= self.num_points:
            return [self]
        regions = 1 if self.num_points <= _MANY else _REGIONS
        # Regions are strips along the longer side, of equally many points.
        along = int((self.x.amax(0) - self.x.amin(0)).argmax())
        strips = self.x[:, along].argsort(stable=True).tensor_split(regions)
        return [self.some(self._nearest(self.x[strip], points)) for strip in strips]

    def _nearest(self, x: Float[Tensor, "k d"], points: int) -> Int[Tensor, " points"]:
        """Return which points are nearest to the middle of some, in their order."""
        away = ((self.x - x.median(0).values) ** 2).sum(1)
        return away.argsort(stable=True)[:points].sort().values

    def lags(self, pairs: Int[Tensor, "2 p"]) -> tuple[Float[Tensor, "p d"], Int[Tensor, " p"]]:
        """Return the way from one point of every pair to the other."""
        return self.x[pairs[0]] - self.x[pairs[1]], torch.arange(pairs.shape[1])

    def across(self, entries: Entries, at: Float[Tensor, "m d"]) -> Float[Tensor, "k n m"]:
        """Return every kernel between the points and others."""
        return entries.kernels(self.x[:, None] - at)


def prepared_points(
    x: Float[Tensor, "n d"],
    y: Float[Tensor, " n"],
    variance: Float[Tensor, " n"] | None = None,
) -> Points:
    """Put points in order, average what shares a place, and standardise at least one observation.

    Args:
        variance: Known variance of every observation's error. Observations are then neither
            averaged nor seen as logarithms.
    """
    x, y = x.double(), y.double()
    origin = x.amin(0)
    places, place, count = torch.unique(x - origin, dim=0, return_inverse=True, return_counts=True)
    if variance is not None:
        order = place.argsort(stable=True)
        places, y, variance = (x - origin)[order], y[order], variance.double()[order]
        place, count = torch.arange(len(x)), torch.ones(len(x))
    unit = _unit(places)
    return Points(
        places / unit,
        *standardised(y, place, count.double(), variance),
        origin=origin,
        unit=unit,
    )


def _unit(x: Float[Tensor, "n d"]) -> Float[Tensor, " d"]:
    """Return what is one along every input."""
    spread = (x - x.mean(0)).square().mean(0).sqrt()[:2]
    unit = x.new_ones(x.shape[1])
    if x.shape[1] == 2 and 0 < spread.min() * _ALIKE < spread.max():
        unit = spread
    mask = torch.ones(1, len(x), 1, dtype=torch.bool)
    return unit * typical_gap((x / unit)[None], mask).flatten()
