"""Light curves of the PLAsTiCC data set in six bands (Section 5.2, Appendix C.3)."""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import one_hot

from convcnp.core.task import Task
from convcnp.core.units import AsIs, Fixed, Normaliser, OwnSize
from convcnp.data.files import Arrays, cached, data_file
from convcnp.data.source import Familiar, Part
from convcnp.data.splits import split
from convcnp.errors import DataError, check_positive

BANDS = ("u", "g", "r", "i", "z", "y")
# The appendix's table of normalising values: (value - MEAN) / SCALE.
TIME_MEAN, TIME_SCALE = 5.94e4, 8.74e2  # days
FLUX_MEAN = torch.tensor([1.26, -0.13, 3.73, 5.53, 6.43, 6.27], dtype=torch.float64)
FLUX_SCALE = torch.tensor([163.0, 384.0, 341.0, 285.0, 269.0, 293.0], dtype=torch.float64)

UNITS: dict[str, Normaliser] = {
    "paper": Fixed(
        gap=(TIME_SCALE,),
        level=tuple(FLUX_MEAN.tolist()),
        scale=tuple(FLUX_SCALE.tolist()),
        origin=(TIME_MEAN,),
    ),
    "object": OwnSize(gap=(TIME_SCALE,), typical=30.0, origin=(TIME_MEAN,)),
    "none": AsIs(),
}

_NAMES = [
    f"{name}.csv{ending}"
    for name in ("plasticc_train_lightcurves", "training_set")
    for ending in ("", ".gz")
]
_HOME = "https://zenodo.org/records/2539456 or the Kaggle competition PLAsTiCC-2018"
_COLUMNS = {
    "object_id": np.int64,
    "mjd": np.float64,
    "passband": np.int64,
    "flux": np.float64,
    "flux_err": np.float64,
}


class LightCurves(NamedTuple):
    """Observations of many objects, one object after the other."""

    ids: Int[Tensor, " objects"]
    start: Int[Tensor, " objects"]  # where each object's observations begin
    size: Int[Tensor, " objects"]
    days: Float[Tensor, " rows"]
    band: Int[Tensor, " rows"]
    flux: Float[Tensor, " rows"]
    error: Float[Tensor, " rows"]

    def of(self, chosen: Bool[Tensor, " objects"]) -> LightCurves:
        """Return some of the objects."""
        return self._replace(ids=self.ids[chosen], start=self.start[chosen], size=self.size[chosen])


def read(path: Path) -> Arrays:
    """Read a table of light curves in CSV, compressed or not, and sort it by object and time."""
    try:
        table = pd.read_csv(path, usecols=list(_COLUMNS), dtype=_COLUMNS)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise _broken(path, (str(error) or type(error).__name__).splitlines()[0]) from error
    if table.empty:
        raise _broken(path, "it has no rows")
    if unknown := set(table["passband"]) - set(range(len(BANDS))):
        raise _broken(path, f"it has the passband {min(unknown)}")
    if not np.isfinite(table).all(axis=None):
        raise _broken(path, "it has an observation without time, flux or error")
    table = table.sort_values(["object_id", "mjd"], kind="stable")
    return {name: table[name].to_numpy(copy=True) for name in _COLUMNS}


def _broken(path: Path, reason: str) -> DataError:
    return DataError(
        f"{path} must be a whole table of light curves with the columns {', '.join(_COLUMNS)} and "
        f"passbands 0 to 5, but {reason}; get it again from {_HOME}."
    )


@lru_cache(maxsize=2)
def load(path: Path) -> LightCurves:
    """Return all light curves of a file, read once and kept in the cache."""
    rows = {name: torch.from_numpy(values) for name, values in cached(path, read).items()}
    ids, size = rows["object_id"].unique_consecutive(return_counts=True)
    observations = (rows[name] for name in ("mjd", "passband", "flux", "flux_err"))
    return LightCurves(ids, size.cumsum(0) - size, size, *observations)


def part_of(object_id: int) -> Part:
    """Tell which part an object belongs to: 80, 5 and 15 % of them, by a hash of the id."""
    digest = hashlib.sha256(str(object_id).encode()).digest()
    percentile = int.from_bytes(digest[:8], "big") % 100
    return "training" if percentile < 80 else "validation" if percentile < 85 else "test"


@dataclass(frozen=True)
class PlasticcSource:
    """Objects drawn from the data set; random observations are context, the others targets.

    Args:
        part: Which objects: those to train on, to choose a model by, or to judge it by.
        max_flux: Objects with a larger normalised flux are neither trained on nor chosen by; all
            of them judge.
        units: Those of the paper; multiples of each object's own size; or none, which leaves days
            and fluxes as they are.
        errors: Whether tasks hold the errors of the measurements.
    """

    # Paper: its normalising values are far below the standard deviations of this set, which a few
    # objects with fluxes up to 15,000 dominate. So it cannot have trained on those, and a Gaussian
    # likelihood learns little else from a batch with one of them.
    options: ClassVar[tuple[str, ...]] = ("max_flux", "units", "errors")
    takes: ClassVar[Literal["tables"]] = "tables"
    familiar: ClassVar[Familiar] = Familiar((0.0003, 0.5), largest=30.0, spacing=0.007)

    part: Part = "training"
    max_flux: float | None = 30.0
    units: Literal["paper", "object", "none"] = "paper"
    errors: bool = False
    dim_x: int = 1
    dim_y: int = len(BANDS)

    def __post_init__(self) -> None:
        check_positive("max_flux", 1.0 if self.max_flux is None else self.max_flux)

    @property
    def normaliser(self) -> Normaliser:
        """How days and fluxes get into the units of tasks."""
        return UNITS[self.units]

    def curves(self) -> LightCurves:
        """Return the objects of this part, read when they are first asked for."""
        return _part(data_file("plasticc", _NAMES, _HOME), self.part, self.max_flux)

    def __len__(self) -> int:
        return len(self.curves().ids)

    def draw(self, batch_size: int, generator: torch.Generator) -> Task:
        """Draw objects with replacement."""
        return self.take(torch.randint(len(self), (batch_size,), generator=generator), generator)

    def take(self, objects: Int[Tensor, " B"], generator: torch.Generator) -> Task:
        """Draw the order of each object's observations, and how many of them are context.

        Every observation is a point of its own with one band observed, because no two are taken at
        the same time.
        """
        curves = self.curves()
        size = curves.size[objects]  # (B,)
        present = torch.arange(int(size.max())) < size[:, None]  # (B, K)
        # Ordering random numbers is a permutation; those that stand for nothing come last.
        order = torch.rand(present.shape, generator=generator).masked_fill(~present, 2).argsort(1)
        row = torch.where(present, curves.start[objects, None] + order, 0)
        observed = one_hot(curves.band[row], len(BANDS)).bool() & present[..., None]
        # At least one of each, as far as there are so many.
        unit = torch.rand(len(objects), dtype=torch.float64, generator=generator)
        num_context = (1 + (unit * (size - 1)).long()).clamp(max=size - 1)
        days, flux, error = (
            values[row, None].double() for values in (curves.days, curves.flux, curves.error)
        )
        shape = observed.shape
        task = split(
            days,
            flux.expand(shape),
            num_context,
            observed,
            error.expand(shape) if self.errors else None,
        )
        return self.normaliser.units(task).to_model(task)

    def held_out(self, part: Part) -> PlasticcSource:
        """Return the source of the objects of a part."""
        return replace(self, part=part, max_flux=None if part == "test" else self.max_flux)

    def ceiling(self, task: Task) -> None:
        """Return the best possible prediction, where it is known: here it is not."""


@lru_cache(maxsize=8)
def _part(path: Path, part: str, max_flux: float | None) -> LightCurves:
    curves = load(path)
    chosen = torch.tensor([part_of(name) == part for name in curves.ids.tolist()])
    if max_flux is not None:
        flux = (curves.flux - FLUX_MEAN[curves.band]) / FLUX_SCALE[curves.band]
        largest = torch.segment_reduce(flux.abs(), "max", lengths=curves.size)
        chosen &= largest <= max_flux
    if not chosen.any():
        raise DataError(
            f"{path} must have objects for every part, but has none for {part}; use a file of a "
            "hundred objects or more."
        )
    return curves.of(chosen)
