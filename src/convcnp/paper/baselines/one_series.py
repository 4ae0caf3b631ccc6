"""The observations of a task that holds a single series."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from convcnp.core.task import Task
from convcnp.errors import ShapeError


def one_series(task: Task) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the observed times and values, without what the mask hides.

    Example:
        >>> one_series(Task.from_arrays([0.0, 1.0, 2.0], [5.0, float("nan"), 7.0], [1.0]))
        (array([0., 2.]), array([5., 7.]))
    """
    if (task.batch_size, task.dim_x, task.dim_y) != (1, 1, 1):
        raise ShapeError(
            "A method that fits every series anew takes one series with one channel at a time: "
            f"expected (B, Dx, Dy) = (1, 1, 1), got {(task.batch_size, task.dim_x, task.dim_y)}; "
            "split the batch."
        )
    seen = task.context_mask[0, :, 0]
    x, y = task.x_context[0, :, 0][seen], task.y_context[0, :, 0][seen]
    return x.double().numpy(), y.double().numpy()
