"""Convolutions along a line as a few products of matrices, with gradients of their own.

A line holds the cells of all tasks of a batch, one row of channels for each. Ahead of them stand
two cells of what the field is far from data, which is read wherever a layer looks beyond a grid,
and two of nothing, which no layer reads: their gradient is zero, and gradients read them beyond a
grid. So all that a layer needs is found by one index, and the constant is a cell like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from convcnp.core.compiling import array
from convcnp.core.grid import Field, Rim
from convcnp.core.reading import AHEAD, Reading, Step, inside_of, reading_of

Activation = Literal["relu", "gelu"]

MOST_CELLS = 20_000  # of lines that are predicted: what is read for more would leave the cache
FEW_NUMBERS = 2**14  # for GELU: oneDNN, which is quicker for more, first takes 10 us to prepare


class Line(NamedTuple):
    """A field on one line of cells for each task, and what it is far from data.

    Example:
        >>> line = Line.of(Field(torch.zeros(2, 10, 3), beyond=torch.ones(3)))
        >>> line.rows.shape, line.cells, line.field().beyond.tolist()
        (torch.Size([24, 3]), 10, [1.0, 1.0, 1.0])
    """

    rows: Float[Tensor, "R C"]
    batch: int
    cells: int  # of each task

    @classmethod
    def of(cls, field: Field) -> Line:
        """Write a field on a line."""
        rows: Tensor = _Written.apply(*field)  # type: ignore[no-untyped-call]
        return cls(rows, *field.values.shape[:2])

    @staticmethod
    def takes(field: Field) -> bool:
        """Tell whether products are the better way: a GPU has its own, and so has autocast."""
        values, beyond = field
        is_small = torch.is_grad_enabled() or values.shape[:2].numel() < MOST_CELLS
        return is_small and values.device.type == "cpu" and values.dtype == beyond.dtype

    def field(self) -> Field:
        """Return the values of each task, and the constant beyond them."""
        return Field(*_Read.apply(self.rows, self.batch))  # type: ignore[no-untyped-call]

    def convolved(
        self,
        kernel: Kernel,
        activation: Activation | None = None,
        step: Step = "same",
        rim: Rim | None = None,
    ) -> Line:
        """Convolve into as many cells, half as many of those within a rim, or twice as many."""
        ends = (0, 0) if rim is None else rim.columns
        reading = reading_of(step, kernel.size, self.batch, self.cells, ends, self.rows.dtype)
        if torch.is_grad_enabled():
            arguments = (self.rows, kernel.layer.weight, kernel.layer.bias, activation, reading)
            rows: Tensor = _Convolved.apply(*arguments)  # type: ignore[no-untyped-call]
        else:
            found = reading.product(self.rows, *kernel.matrix(reading))
            rows = _activated(found, activation, is_kept=False)
        return Line(rows, self.batch, reading.cells)

    def plus(self, other: Line) -> Line:
        """Add a field on the same cells, which without gradients may be needed nowhere else."""
        own, further = self.rows, other.rows
        rows = own + further if torch.is_grad_enabled() else further.add_(own)
        return Line(rows, self.batch, self.cells)

    def beside(self, other: Line) -> Line:
        """Put another field's channels behind one's own."""
        return self._replace(rows=torch.cat([self.rows, other.rows], 1))

    def without(self, rim: Rim) -> Line:
        """Leave out the outermost cells."""
        inside = inside_of(self.batch, self.cells, rim.columns)
        return Line(self.rows.index_select(0, inside), self.batch, self.cells - sum(rim.columns))


class Kernel:
    """The weights of a layer, and their matrix, which is kept for as long as they do not change."""

    def __init__(self, layer: nn.Conv2d | nn.Linear, size: int) -> None:
        self.layer, self.size = layer, size
        self._kept: dict[tuple[int, int, int], tuple[object, Tensor, Tensor]] = {}
        self._arrays: tuple[ndarray, ndarray] | None = None

    def arrays(self) -> tuple[ndarray, ndarray]:
        """Return the weights (D, C, K) and the bias (D,) as loops take them: the same memory."""
        weight, bias = self.layer.weight, self.layer.bias
        assert bias is not None
        # By where they lie: those of a copy of a network are copies too.
        if self._arrays is None or [*map(_address, self._arrays)] != [
            weight.data_ptr(),
            bias.data_ptr(),
        ]:
            of_cells = array(weight)[:, :, 0 if weight.ndim == 4 else None]
            self._arrays = of_cells, array(bias)
        return self._arrays

    def matrix(self, reading: Reading) -> tuple[Float[Tensor, "kc d"], Float[Tensor, " d"]]:
        """Return the matrix and the bias of rows, without a gradient."""
        weight, bias = self.layer.weight, self.layer.bias
        assert bias is not None
        if weight.is_inference():  # made where torch does not count changes
            return reading.matrix(weight), bias.repeat(reading.shape[2])
        state = (weight._version, weight.data_ptr(), bias._version, bias.data_ptr())
        found = self._kept.get(reading.shape)
        if found is None or found[0] != state:
            found = (state, reading.matrix(weight), bias.repeat(reading.shape[2]))
            self._kept[reading.shape] = found
        return found[1:]


def _address(numbers: ndarray) -> int:
    address: int = numbers.__array_interface__["data"][0]
    return address


def _numbers(function: Callable[..., Tensor], *arguments: Tensor) -> Tensor:
    """Apply a function of numbers, seen as transposed if they are few: then oneDNN is not asked."""
    if arguments[0].numel() >= FEW_NUMBERS:
        return function(*arguments)
    return function(*(argument.mT for argument in arguments)).mT


def gelu(h: Float[Tensor, "S D"]) -> Float[Tensor, "S D"]:
    """Take GELU, and keep what it is taken of."""
    return _numbers(functional.gelu, h)


def gelu_back(grad: Float[Tensor, "S D"], h: Float[Tensor, "S D"]) -> Float[Tensor, "S D"]:
    """Return the gradient of what GELU was taken of."""
    return _numbers(torch.ops.aten.gelu_backward.default, grad, h)


def gelu_(h: Float[Tensor, "*S D"]) -> Float[Tensor, "*S D"]:
    """Take GELU in place, where no derivative is needed."""
    return _numbers(torch.ops.aten.gelu_.default, h)


def _activated(
    h: Float[Tensor, "S D"], activation: Activation | None, *, is_kept: bool
) -> Float[Tensor, "S D"]:
    """Apply an activation, in place where what it is applied to need not be kept."""
    if activation is None:
        return h
    if activation == "relu":
        return h.relu_()  # its derivative can be told from what comes out
    return gelu(h) if is_kept else gelu_(h)


class _Convolved(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - torch's
        values: Float[Tensor, "R C"],
        weight: Float[Tensor, "D C 1 K"],
        bias: Float[Tensor, " D"],
        activation: Activation | None,
        reading: Reading,
    ) -> Float[Tensor, "S D"]:
        matrix = reading.matrix(weight)
        found = reading.product(values, matrix, bias.repeat(reading.shape[2]))
        ctx.save_for_backward(values, matrix, found)
        ctx.activation, ctx.reading = activation, reading
        return _activated(found, activation, is_kept=True)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Float[Tensor, "S D"]) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        values, matrix, found = ctx.saved_tensors
        reading, channels = ctx.reading, grad.shape[1]
        # Derivatives of activations are several times as slow where rows have gaps between them.
        grad = grad.contiguous()
        if ctx.activation == "relu":
            grad = torch.ops.aten.threshold_backward.default(grad, found, 0)
        if ctx.activation == "gelu":
            grad = gelu_back(grad, found)
        rows, made = reading.shape[0], matrix.shape[1]
        wide = matrix.shape[0] // rows
        given = grad.view(-1, made)
        near = given.index_select(0, reading.read_by).view(-1, rows * made)
        near[0] = torch.mm(reading.beyond, given).view(-1)
        of_weight = reading.weight(torch.mm(values.view(-1, wide).T, near), channels)
        of_values = None
        if ctx.needs_input_grad[0]:
            back = matrix.view(rows, wide, made).transpose(1, 2).reshape(-1, wide)
            of_values = torch.mm(near, back).view(values.shape)
        return of_values, of_weight, grad.sum(0), None, None


class _Written(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401
        values: Float[Tensor, "B L C"],
        beyond: Float[Tensor, " C"],
    ) -> Float[Tensor, "R C"]:
        ctx.shape = values.shape
        return torch.cat([beyond.expand(AHEAD, -1), values.flatten(0, 1)])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Float[Tensor, "R C"]) -> tuple[Tensor, Tensor]:  # noqa: ANN401
        return grad[AHEAD:].view(ctx.shape), grad[:AHEAD].sum(0)


class _Read(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401
        rows: Float[Tensor, "R C"],
        batch: int,
    ) -> tuple[Float[Tensor, "B L C"], Float[Tensor, " C"]]:
        return rows[AHEAD:].clone().unflatten(0, (batch, -1)), rows[0].clone()

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any,  # noqa: ANN401
        of_values: Float[Tensor, "B L C"],
        of_beyond: Float[Tensor, " C"],
    ) -> tuple[Tensor, None]:
        ahead = of_beyond.new_zeros(AHEAD, *of_beyond.shape)
        ahead[0] = of_beyond
        return torch.cat([ahead, of_values.flatten(0, 1)]), None
