"""What every model has in common: it maps a Task to a predictive distribution."""

from __future__ import annotations

from torch import nn

from convcnp.core.predictive import GaussianPredictive
from convcnp.core.task import Task
from convcnp.errors import ShapeError, check_positive


class Model(nn.Module):
    """A map from tasks with Dx inputs and Dy output channels to predictive distributions."""

    def __init__(self, dim_x: int, dim_y: int) -> None:
        super().__init__()
        check_positive("dim_x", dim_x)
        check_positive("dim_y", dim_y)
        self.dim_x, self.dim_y = dim_x, dim_y

    def check(self, task: Task) -> None:
        """Refuse a task whose dimensions are not the model's."""
        if (task.dim_x, task.dim_y) != (self.dim_x, self.dim_y):
            raise ShapeError(
                f"This model takes tasks with Dx = {self.dim_x} input dimension(s) and Dy = "
                f"{self.dim_y} output channel(s), got Dx = {task.dim_x} and Dy = {task.dim_y}; "
                "choose the columns to match, or a model built for them."
            )

    @property
    def num_parameters(self) -> int:
        """Number of trained numbers."""
        return sum(parameter.numel() for parameter in self.parameters())

    def __call__(self, task: Task, **options: object) -> GaussianPredictive:
        """Return the predictive distribution at the task's targets."""
        return super().__call__(task, **options)
