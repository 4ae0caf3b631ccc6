"""Points on the globe: longitudes that wrap, and degrees that shrink towards the poles."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from convcnp.core.task import Task
from convcnp.models.base import Model

_BALANCED = 1e-6  # of the radius: points all around the globe have no middle


class OnSphere(Model):
    r"""A model of points in space, asked about longitudes and latitudes in degrees.

    Points are put on a sphere of radius one, and described by how far east, north and up they are
    of the middle of the observations: distances are straight through the globe, those near each
    other in all directions alike. 359° is next to 1°, and 180° is -180°.

    Args:
        model: Takes tasks with three inputs: east, north, up.
        longitude: Which input is the longitude; the other is the latitude.

    Example:
        >>> from convcnp.models.dictionary.plane import PlaneDictionary
        >>> model = OnSphere(PlaneDictionary(dim_x=3))
        >>> stations = [[178.0, -18.0], [179.5, -17.0], [-179.0, -16.0], [-178.0, -19.0]]
        >>> task = Task.from_arrays(stations, [1.0, 2.0, 3.0, 2.0], [[180.0, -17.5], [-180, -17.5]])
        >>> one, other = model(task).mean[0, :, 0].tolist()
        >>> abs(one - other) < 1e-9
        True
    """

    def __init__(self, model: Model, longitude: int = 0) -> None:
        super().__init__(2, model.dim_y, model.to_predictive)
        self.model, self.longitude = model, longitude

    @property
    def dtype(self) -> torch.dtype:
        """The precision of the predictions, which is the model's."""
        return self.model.dtype

    @property
    def knows_errors(self) -> bool:
        """Whether the model tells values from errors of their measurement."""
        return self.model.knows_errors

    @property
    def draws_surfaces(self) -> bool:
        """Whether the model does."""
        return self.model.draws_surfaces

    def raw(self, task: Task) -> Float[Tensor, "B M P"]:
        """Return what the model decodes for the points in space."""
        return self.model.raw(self._in_space(task))

    def draw(
        self, task: Task, num_samples: int, generator: torch.Generator
    ) -> Float[Tensor, "S M Dy"] | None:
        """Draw what the model does for the points in space."""
        return self.model.draw(self._in_space(task), num_samples, generator)

    def _in_space(self, task: Task) -> Task:
        context, target = (in_space(x, self.longitude) for x in (task.x_context, task.x_target))
        axes = _axes(context, task.context_mask.any(2))  # (B, 3, 3)
        return Task(
            *(context @ axes, task.y_context, target @ axes, task.y_target),
            context_mask=task.context_mask,
            target_mask=task.target_mask,
            context_error=task.context_error,
        )


def in_space(degrees: Float[Tensor, "*S 2"], longitude: int = 0) -> Float[Tensor, "*S 3"]:
    """Return points in degrees on a sphere of radius one, in float64.

    Args:
        longitude: Which of the two is the longitude; the other is the latitude.
    """
    angles = torch.deg2rad(degrees.double())
    east, north = angles[..., longitude], angles[..., 1 - longitude]
    level = north.cos()
    return torch.stack([level * east.cos(), level * east.sin(), north.sin()], -1)


def _axes(points: Float[Tensor, "B N 3"], seen: Bool[Tensor, "B N"]) -> Float[Tensor, "B 3 3"]:
    """Return the directions east, north and up in the middle of what was seen, as columns."""
    middle = (points * seen[..., None]).sum(1) / seen.sum(1, keepdim=True).clamp(min=1)
    length = torch.linalg.vector_norm(middle, dim=1, keepdim=True)
    first, pole = torch.eye(3).to(points)[[0, 2]]
    up = torch.where(length > _BALANCED, middle / length, first)
    east = torch.linalg.cross(pole.expand_as(up), up)
    length = torch.linalg.vector_norm(east, dim=1, keepdim=True)
    # At a pole every direction is one of longitude: any will do.
    second = torch.linalg.cross(first.expand_as(up), up)
    east = torch.where(length > _BALANCED, east, second)
    east = torch.nn.functional.normalize(east, dim=1)
    return torch.stack([east, torch.linalg.cross(up, east), up], -1)
