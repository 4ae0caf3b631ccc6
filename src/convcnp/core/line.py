"""Convolutions along a line as a few products of matrices, with gradients of their own.

A line holds the cells of all tasks of a batch, one row of channels for each. Ahead of them stand
two cells of what the field is far from data, which is read wherever a layer looks beyond a grid,
and two of nothing, which no layer reads: their gradient is zero, and gradients read them beyond a
grid. So all that a layer needs is found by one index, and the constant is a cell like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from convcnp.core.grid import Ends, Field, Rim

Activation = Literal["relu", "gelu"]
Step = Literal["same", "halved", "doubled"]  # cells that a layer makes of those that it reads

AHEAD = 4  # cells before those of the tasks
KEPT_CELLS = 2**14  # of lines whose indices are kept: those of larger ones would fill the memory
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
        prepare = _reading if self._is_small else _reading.__wrapped__
        reading = prepare(step, kernel.size, self.batch, self.cells, ends, self.rows.dtype)
        if torch.is_grad_enabled():
            arguments = (self.rows, kernel.conv.weight, kernel.conv.bias, activation, reading)
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
        prepare = _inside if self._is_small else _inside.__wrapped__
        inside = prepare(self.batch, self.cells, rim.columns)
        return Line(self.rows.index_select(0, inside), self.batch, self.cells - sum(rim.columns))

    @property
    def _is_small(self) -> bool:
        return self.batch * self.cells <= KEPT_CELLS


@dataclass(frozen=True, eq=False)
class _Reading:
    """Which rows a layer reads to make a row, and which rows it makes of one.

    A row is one cell or two. Three rows of two hold all that a kernel of five cells needs for two
    cells, and few large rows are quicker to find and to multiply than many small ones.
    """

    reads: Int[Tensor, " N"]  # numbers of rows, as many for every row that is made
    read_from: int  # rows
    chosen: Float[Tensor, "K krm"]  # by cell of the kernel and by cells: whether they meet
    shape: tuple[int, int, int]  # rows read for a row, cells in each, and cells in a row made
    cells: int  # that are made for each task

    @cached_property
    def read_by(self) -> Int[Tensor, " M"]:
        """Numbers of rows, as many for every row that is read: those that are made of it."""
        reads = self.reads.view(-1, self.shape[0])
        nothing = AHEAD // self.shape[2] - 1
        read_by = reads.new_full((self.read_from, self.shape[0]), nothing)
        maker, which = torch.nonzero(reads, as_tuple=True)
        read_by[reads[maker, which], which] = maker
        return read_by.flatten()

    @cached_property
    def beyond(self) -> Float[Tensor, "k n"]:
        """One where a row is made of what is far from data, by which of the rows that it reads."""
        return (self.reads.view(-1, self.shape[0]) == 0).T.to(self.chosen).contiguous()

    def product(
        self, rows: Float[Tensor, "R C"], matrix: Float[Tensor, "kc d"], bias: Float[Tensor, " d"]
    ) -> Float[Tensor, "S D"]:
        """Multiply all that is read for a row by a matrix, and add a bias."""
        wide, outputs = matrix.shape
        near = rows.view(-1, wide // self.shape[0]).index_select(0, self.reads)
        found = torch.addmm(bias, near.view(-1, wide), matrix)
        return found.view(-1, outputs // self.shape[2])

    def matrix(self, weight: Float[Tensor, "D C 1 K"]) -> Float[Tensor, "kc d"]:
        """Return the weights between the channels of all cells of rows."""
        rows, read, made = self.shape
        outputs, inputs = weight.shape[:2]
        found = torch.mm(self.chosen.T, weight.permute(3, 1, 0, 2).reshape(-1, inputs * outputs))
        found = found.view(rows * read, made, inputs, outputs).transpose(1, 2)
        return found.reshape(-1, made * outputs)

    def weight(self, matrix: Float[Tensor, "c kd"], outputs: int) -> Float[Tensor, "D C 1 K"]:
        """Return the gradient of the weights, given that of the matrix with its rows inside."""
        rows, read, made = self.shape
        found = matrix.view(read, -1, rows, made, outputs).permute(2, 0, 3, 1, 4)
        inputs = found.shape[3]
        found = torch.mm(self.chosen, found.reshape(-1, inputs * outputs))
        return found.view(-1, inputs, outputs, 1).permute(2, 1, 3, 0)


@lru_cache(maxsize=1024)  # of the sizes that are trained on or predicted again and again
def _reading(
    step: Step, kernel_size: int, batch: int, cells: int, ends: Ends, dtype: torch.dtype
) -> _Reading:
    """Prepare a layer for all fields of a size."""
    unit = 1 if step == "same" and cells % 2 else 2
    half = -(-(kernel_size // 2) // unit)  # rows to either side
    read, made = (1 if step == "doubled" else unit), (1 if step == "halved" else unit)
    first, many = 0, cells // read
    if step == "halved":
        first, many = -ends[0] // 2, (cells + sum(ends)) // 2
    place = first + torch.arange(many)[:, None] + torch.arange(-half, half + 1)
    begin = (AHEAD + cells * torch.arange(batch)[:, None, None]) // read
    is_inside = (place >= 0) & (place < cells // read)
    reads = torch.where(is_inside, begin + place, 0).flatten(0, 1)
    reads = torch.cat([reads.new_zeros(AHEAD // made, reads.shape[1]), reads])
    return _Reading(
        reads.flatten(),
        read_from=(AHEAD + batch * cells) // read,
        chosen=_chosen(step, kernel_size, unit, half).to(dtype),
        shape=(reads.shape[1], read, made),
        cells=many * made,
    )


def _chosen(step: Step, kernel_size: int, unit: int, half: int) -> Float[Tensor, "K kcd"]:
    """Tell which of a kernel's cells lies between a cell of a row that is read and one made."""
    cell, row, read, made = torch.meshgrid(
        *map(torch.arange, (kernel_size, 2 * half + 1, unit, unit)), indexing="ij"
    )
    chosen = (cell - kernel_size // 2 == unit * (row - half) + read - made).float()
    if step == "halved":
        chosen = chosen[..., :1]
    if step == "doubled":
        chosen = chosen.sum(2)  # a cell that is repeated is both of a row's
    return chosen.flatten(1)


def doubling(weight: Float[Tensor, "D C 1 K"]) -> Float[Tensor, "2*D C 1 k"]:
    """Return the weights that make two cells of one, as repeating it and convolving does.

    Cells are read as they are, and fewer of them: three in place of five.
    """
    outputs, inputs, _, size = weight.shape
    half = -(-(size // 2) // 2)
    chosen = _chosen("doubled", size, 2, half).to(weight)
    found = (weight.reshape(-1, size) @ chosen).view(outputs, inputs, -1, 2)
    return found.permute(3, 0, 1, 2).reshape(2 * outputs, inputs, 1, -1)


@lru_cache(maxsize=256)  # likewise
def _inside(batch: int, cells: int, ends: Ends) -> Int[Tensor, " N"]:
    """Return the rows that stay without the ends of each task."""
    rows = torch.arange(AHEAD + batch * cells)
    before, after = ends
    of_tasks = rows[AHEAD:].view(batch, cells)[:, before : cells - after]
    return torch.cat([rows[:AHEAD], of_tasks.flatten()])


class Kernel:
    """The weights of a layer, and their matrix, which is kept for as long as they do not change."""

    def __init__(self, conv: nn.Conv2d) -> None:
        self.conv, self.size = conv, conv.kernel_size[1]
        self._kept: dict[tuple[int, int, int], tuple[object, Tensor, Tensor]] = {}

    def matrix(self, reading: _Reading) -> tuple[Float[Tensor, "kc d"], Float[Tensor, " d"]]:
        """Return the matrix and the bias of rows, without a gradient."""
        weight, bias = self.conv.weight, self.conv.bias
        assert bias is not None
        if weight.is_inference():  # made where torch does not count changes
            return reading.matrix(weight), bias.repeat(reading.shape[2])
        state = (weight._version, weight.data_ptr(), bias._version, bias.data_ptr())
        found = self._kept.get(reading.shape)
        if found is None or found[0] != state:
            found = (state, reading.matrix(weight), bias.repeat(reading.shape[2]))
            self._kept[reading.shape] = found
        return found[1:]


def _numbers(function: Callable[..., Tensor], *arguments: Tensor) -> Tensor:
    """Apply a function of numbers, seen as transposed if they are few: then oneDNN is not asked."""
    if arguments[0].numel() >= FEW_NUMBERS:
        return function(*arguments)
    return function(*(argument.mT for argument in arguments)).mT


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
    return _numbers(functional.gelu, h) if is_kept else gelu_(h)


class _Convolved(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - torch's
        values: Float[Tensor, "R C"],
        weight: Float[Tensor, "D C 1 K"],
        bias: Float[Tensor, " D"],
        activation: Activation | None,
        reading: _Reading,
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
            grad = _numbers(torch.ops.aten.gelu_backward.default, grad, found)
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
