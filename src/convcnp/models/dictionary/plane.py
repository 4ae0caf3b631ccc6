"""PlaneDictionary: the dictionary of Gaussian processes for points in the plane."""

from __future__ import annotations

from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from convcnp.core.task import Task
from convcnp.errors import SettingError
from convcnp.models.base import Model
from convcnp.models.dictionary.averaged import Answering, AveragedProcesses, known_variance
from convcnp.models.dictionary.components import Components
from convcnp.models.dictionary.evidence import Prior
from convcnp.models.dictionary.funnel import Funnel
from convcnp.models.dictionary.points import prepared_points
from convcnp.models.dictionary.regions import FittedPoints, fit_points
from convcnp.models.dictionary.stretched import PlaneCatalogue
from convcnp.models.dictionary.surfaces import drawn_surfaces
from convcnp.models.sphere import OnSphere

_ROUNDS = 4  # of finding the scale where errors are known


class PlaneDictionary(AveragedProcesses):
    r"""Some 1,000 Gaussian processes over the plane, averaged by their evidence.

    What `GaussianProcessDictionary` is for series. Kernels are in units of the typical distance to
    the nearest neighbour, the same in all directions or stretched along one of four; noise comes in
    levels; a constant, a plane and the overall scale are integrated out; where no value is
    negative, logarithms are weighed against the values. There are no rhythms.

    Up to 448 points a prediction is exact given the entries that the `Funnel` leaves; more points
    are predicted region by region, each from the points in and around it, in time and memory
    linear in their number.

    Args:
        dim_x: Two, or three for points on a sphere (see `OnSphere`), the third being height.
        catalogue: Which kernels there are.
        prior: Of every process's mean and scale.
        funnel: How many entries are looked at on how many points.
        num_components: Gaussians of the mixture at every target.
        surprise: Observations, beside the n that were made and two, that no entry foresees.

    Example:
        >>> import numpy as np
        >>> x = np.random.default_rng(0).uniform(0, 4, (60, 2))
        >>> task = Task.from_arrays(x, np.sin(x[:, 0]) + x[:, 1], [[2.0, 2.0]])
        >>> bool(abs(PlaneDictionary()(task).mean.item() - np.sin(2) - 2) < 0.1)
        True
    """

    def __init__(
        self,
        dim_x: int = 2,
        dim_y: int = 1,
        *,
        catalogue: PlaneCatalogue | None = None,
        prior: Prior | None = None,
        funnel: Funnel | None = None,
        num_components: int = 24,
        surprise: float = 0.02,
    ) -> None:
        super().__init__(
            dim_x,
            dim_y,
            prior=prior or Prior(),
            funnel=funnel or Funnel(first=64, second=160, kept_first=96, kept_second=8),
            num_components=num_components,
            surprise=surprise,
        )
        if dim_x not in (2, 3):
            raise SettingError(
                "A dictionary of the plane takes two inputs, or three of which the last is height, "
                f"got dim_x = {dim_x}; use a GaussianProcessDictionary for series."
            )
        self.entries = (catalogue or PlaneCatalogue()).entries(dim_x)

    @classmethod
    def standard(cls, dim_x: int = 2, dim_y: int = 1) -> PlaneDictionary:
        """Build the dictionary that ships: all that could be chosen is chosen."""
        return cls(dim_x, dim_y)

    def in_plane(self, longitude: int | None) -> Model:
        """Return itself, or the dictionary of the globe."""
        return self if longitude is None else plane_dictionary(self.dim_y, longitude)

    def answering(self, task: Task) -> Answering:
        """Return what predicts one channel of one task, of which something was observed."""

        def answer(index: int, channel: int, x: Tensor) -> Components:
            return self.components(self._fitted(task, index, channel), x)

        return answer

    def _fitted(self, task: Task, index: int, channel: int) -> FittedPoints:
        seen = task.context_mask[index, :, channel]
        return self.fit(
            task.x_context[index, seen],
            task.y_context[index, seen, channel],
            known_variance(task, index, channel),
        )

    @property
    def draws_surfaces(self) -> bool:
        """Its processes are joint distributions."""
        return True

    @torch.no_grad()
    def draw(
        self, task: Task, num_samples: int, generator: torch.Generator
    ) -> Float[Tensor, "S M Dy"]:
        """Draw from the processes themselves; without any observation, white noise."""
        channels = []
        for channel in range(task.dim_y):
            x = task.x_target[0].double()
            if task.context_mask[0, :, channel].any():
                fitted = self._fitted(task, 0, channel)
                channels.append(drawn_surfaces(fitted, x, num_samples, generator))
            else:
                shape = num_samples, len(x)
                channels.append(torch.randn(shape, dtype=x.dtype, generator=generator))
        return torch.stack(channels, -1)

    @torch.no_grad()
    def fit(
        self,
        x: Float[Tensor, "n Dx"],
        y: Float[Tensor, " n"],
        variance: Float[Tensor, " n"] | None = None,
    ) -> FittedPoints:
        """Weigh the entries by the observations of one set of points, at least one.

        Args:
            variance: Known variance of every observation's error, in squared units of y.
        """
        points = prepared_points(x, y, variance)
        fitted = fit_points(points, self.entries, self.funnel, self.prior)
        for _ in range(0 if variance is None else _ROUNDS):
            # Errors are known, but are told in units of the scale, which is found.
            known = replace(points, extra=points.extra / fitted.typical_variance)
            fitted = fit_points(known, self.entries, self.funnel, self.prior)
        return fitted

    @torch.no_grad()
    def components(self, fitted: FittedPoints, x: Float[Tensor, "m Dx"]) -> Components:
        """Predict a fitted set at any points, in the user's units."""
        return self.mixed(fitted.students(x), fitted.freedom, fitted.points)


def plane_dictionary(dim_y: int, longitude: int | None) -> Model:
    """Build the dictionary of the plane; or of the globe, where an input is a longitude."""
    if longitude is None:
        return PlaneDictionary(2, dim_y)
    return OnSphere(PlaneDictionary(3, dim_y), longitude)
