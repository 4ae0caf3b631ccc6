"""A ConvCNP that knows how precise every observation is."""

from __future__ import annotations

from typing import Any

from jaxtyping import Float
from torch import Tensor

from convcnp.core.cnn import CNN
from convcnp.core.convolution import Pointwise
from convcnp.core.grid import Grid
from convcnp.core.heads import GaussianHead, Head
from convcnp.core.precision import ExpandedHead, Precision, compressed
from convcnp.core.task import Task
from convcnp.models.convcnp import ConvCNP


class MeasuredConvCNP(ConvCNP):
    """Predict the values behind measurements whose standard errors are known.

    Observations count in density and mean by what they are worth, as far as is learned
    (`Precision`), and the network sees how large errors are around every cell. Predictions are of
    values; with the errors of the targets they become those of measurements.

    Args:
        compress: Show the network hyperbolic arcsines of the outputs, and undo that in what it
            says (`ExpandedHead`): for outputs whose sizes differ by orders of magnitude.
        settings: Those of `ConvCNP`.

    Example:
        >>> task = Task.from_arrays(
        ...     [0.0, 1.0], [1.0, 3.0], [0.5], context_error=[0.1, 0.5], target_error=[0.2]
        ... )
        >>> MeasuredConvCNP.small(points_per_unit=16)(task).stddev.item() > 0.2
        True
    """

    def __init__(
        self,
        cnn: CNN,
        dim_y: int = 1,
        *,
        head: Head | None = None,
        compress: bool = False,
        **settings: Any,
    ) -> None:
        head = head or GaussianHead()
        super().__init__(cnn, dim_y, head=ExpandedHead(head) if compress else head, **settings)
        self.precision, self.compress = Precision(dim_y), compress
        self.embedding = Pointwise((2 + self.encoder.powers) * dim_y, cnn.channels_in)

    def encoded(self, task: Task, grid: Grid) -> Float[Tensor, "B *G C"]:
        """Return the context, and the size of its errors, as a function on the grid."""
        y, error = task.y_context.to(self.embedding.weight.dtype), task.context_error
        if self.compress:
            y, error = compressed(y, None if error is None else error.to(y))
        weight, level = self.precision(error, task.context_mask)
        return self.encoder(task.x_context, y, task.context_mask, grid, weight=weight, beside=level)

    @property
    def knows_errors(self) -> bool:
        """It tells values from errors of their measurement."""
        return True
