"""What every model has in common: it maps a Task to a predictive distribution."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from convcnp.core.heads import Head
from convcnp.core.predictive import Predictive
from convcnp.core.task import Task
from convcnp.errors import SettingError, ShapeError, check_positive


class Tile(NamedTuple):
    """Some targets of one task of a batch, and what a model decodes for them."""

    task: int
    targets: Int[Tensor, " m"]
    raw: Float[Tensor, "m P"]


class Rhythm(NamedTuple):
    """A season that a model found in a series."""

    period: float  # in input units
    share: float  # of the observations' variance that it explains


class Restlessness(NamedTuple):
    """That a series varies more here than there."""

    along: Literal["phases", "times", "values"]
    period: float  # of phases, in input units
    ratio: float  # of deviations, where they are largest and where they are smallest


class Findings(NamedTuple):
    """What a model found in one series, for people to read."""

    rhythms: list[Rhythm]  # the strongest first
    outliers: list[float]  # inputs of observations that nothing explains
    restlessness: Restlessness | None = None


class Model(nn.Module):
    """A map from tasks with Dx inputs and Dy output channels to predictive distributions.

    A new model is a subclass with one method, `raw`. Those whose predictions depend on what is near
    also say how near, on how large a grid, and how a task is cut into tiles.

    Args:
        head: Makes the distribution of the raw numbers at a target.
    """

    def __init__(self, dim_x: int, dim_y: int, head: Head) -> None:
        super().__init__()
        check_positive("dim_x", dim_x)
        check_positive("dim_y", dim_y)
        self.dim_x, self.dim_y = dim_x, dim_y
        self.to_predictive = head

    @abstractmethod
    def raw(self, task: Task) -> Float[Tensor, "B M P"]:
        """Return the numbers at every target that the head makes a distribution of."""

    def forward(self, task: Task, **options: Any) -> Predictive:
        """Return the predictive distribution at the targets; options are those of `raw`.

        A model that knows errors predicts values, and so measurements with the targets' errors.
        """
        self.check(task)
        return self.of_measurements(self.raw(task, **options), task)

    def of_measurements(self, raw: Float[Tensor, "B M P"], task: Task) -> Predictive:
        """Return the distribution that these numbers stand for, with the errors of the targets."""
        of_values = self.to_predictive(raw, task.target_mask)
        if task.target_error is None or not self.knows_errors:
            return of_values
        return of_values.affine(0.0, 1.0, task.target_error)

    def check(self, task: Task) -> None:
        """Refuse a task whose dimensions are not the model's."""
        if (task.dim_x, task.dim_y) != (self.dim_x, self.dim_y):
            raise ShapeError(
                f"This model takes tasks with Dx = {self.dim_x} input dimension(s) and Dy = "
                f"{self.dim_y} output channel(s), got Dx = {task.dim_x} and Dy = {task.dim_y}; "
                "choose the columns to match, or a model built for them."
            )

    @property
    def dtype(self) -> torch.dtype:
        """The precision of the weights, and so of the predictions."""
        return next(self.parameters()).dtype

    @property
    def knows_errors(self) -> bool:
        """Whether it tells values from errors of their measurement: by default, it does not.

        Such a model ignores errors, and predicts what would be measured.
        """
        return False

    @property
    def weighs_logarithms(self) -> bool:
        """Whether it sees by itself what comes near zero: by default, it does not.

        To such a model nobody need show positive outputs otherwise than they are.
        """
        return False

    @property
    def receptive_radius(self) -> float:
        """How far away an observation can matter, in input units: by default, at any distance."""
        return float("inf")

    def cells(self, task: Task) -> Float[Tensor, " B"]:
        """Return how many cells of a grid each task needs by itself: by default, none."""
        return task.x_target.new_zeros(task.batch_size)

    def tiles(self, task: Task, cells_per_tile: int) -> Iterator[Tile]:
        """Predict a task tile by tile, each from the observations that can matter to it."""
        raise SettingError(
            f"Only a model that looks no farther than its receptive radius predicts in tiles, got "
            f"a {type(self).__name__}; predict fewer targets at once."
        )

    def draw(
        self, task: Task, num_samples: int, generator: torch.Generator
    ) -> Float[Tensor, "S M Dy"] | None:
        """Draw the outputs of one task's targets jointly, where a model knows how: by default, not.

        Nothing comes back either where a task is too large for it.
        """
        return None

    @property
    def draws_surfaces(self) -> bool:
        """Whether it draws the outputs of any points in the plane jointly: by default, not."""
        return False

    def findings(self, task: Task) -> list[list[Findings]] | None:
        """Return what was found in every task and channel: seasons, and what fits nothing.

        None says that the model does not look for any.
        """
        return None

    def in_plane(self, longitude: int | None) -> Model | None:
        """Return the model that answers for points in the plane, if one does without training.

        Args:
            longitude: Which of the two inputs is a longitude in degrees, the other then being a
                latitude; none where they are coordinates of a plane.
        """
        return None

    @property
    def num_parameters(self) -> int:
        """Number of trained numbers."""
        return sum(parameter.numel() for parameter in self.parameters())

    def __call__(self, task: Task, **options: object) -> Predictive:
        """Return the predictive distribution at the task's targets."""
        return super().__call__(task, **options)
