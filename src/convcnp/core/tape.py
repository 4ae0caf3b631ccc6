"""A network along a line as one operation: while it is trained, it keeps a tape of its own.

For torch every layer, sum and joint of a network is an operation with a gradient, and calling them
takes longer than what they compute. So all of them are done at once, and so are their gradients:
every step of the network writes on a tape how its own are found, and the tape is read from its end.
A layer is one loop each way, products of matrices included, which numba compiles; `core.line` has
the same network for everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import Parameter

from convcnp.core import line_loops as loops
from convcnp.core.compiling import array, compiled, multiplies
from convcnp.core.grid import Field, Rim
from convcnp.core.line import Activation, Kernel, gelu, gelu_back
from convcnp.core.reading import AHEAD, Step
from convcnp.core.rows import Lengths, Rows, inside_of, rows_of


class _Channels:
    """Rows of a line and, on the way back, the gradient that they have received so far."""

    def __init__(self, rows: ndarray) -> None:
        self.rows = rows  # (R, C)
        self._grad: ndarray | None = None

    @property
    def channels(self) -> int:
        return self.rows.shape[1]

    def receive(self, grad: ndarray) -> None:
        """Add a gradient (R, C); it may be a part of a larger one, and is not written to."""
        self._grad = grad if self._grad is None else self._grad + grad

    def taken(self) -> ndarray:
        """Return the whole gradient, and be ready for another time."""
        grad, self._grad = self._grad, None
        return np.zeros_like(self.rows) if grad is None else grad


class _Found(dict[int, ndarray]):
    """Gradients of parameters, by identity."""

    def receive(self, parameter: Tensor, grad: ndarray) -> None:
        known = self.get(id(parameter))
        self[id(parameter)] = grad if known is None else known + grad


# How the gradients of a network's steps are found. A step holds the rows that it reads and makes,
# and never the tape: in a circle they would stay in memory until Python looks for circles, and
# every training step would begin with memory that no cache has.
_Tape = list[Callable[[_Found], None]]


@dataclass(frozen=True)
class TapedLine:
    """What `Line` is, on a tape: a field on one line of cells for each task, each of its length."""

    parts: tuple[_Channels, ...]  # side by side, not yet joined
    lengths: Lengths
    tape: _Tape

    @property
    def cells(self) -> int:
        """Cells of the longest task."""
        return max(self.lengths)

    def convolved(
        self,
        kernel: Kernel,
        activation: Activation | None = None,
        step: Step = "same",
        rim: Rim | None = None,
    ) -> TapedLine:
        """Convolve into as many cells, half as many of those within a rim, or twice as many."""
        ends = (0, 0) if rim is None else rim.columns
        rows = rows_of(step, kernel.size, self.lengths, ends)
        # Of rows of two cells the parts would lie in turns.
        line = self if rows.shape[1] == 1 else self._joined()
        layer = _Layer(line.parts, kernel, activation, rows)
        return self._next(layer.made, layer.back, rows.lengths)

    def plus(self, other: TapedLine) -> TapedLine:
        """Add a field on the same cells."""
        (own,), (further,) = self._joined().parts, other._joined().parts
        made = _Channels(own.rows + further.rows)

        def back(_: _Found) -> None:
            grad = made.taken()
            own.receive(grad)
            further.receive(grad)

        return self._next(made, back, self.lengths)

    def beside(self, other: TapedLine) -> TapedLine:
        """Put another field's channels behind one's own."""
        return TapedLine((*self.parts, *other.parts), self.lengths, self.tape)

    def without(self, rim: Rim) -> TapedLine:
        """Leave out the outermost cells."""
        (own,) = self._joined().parts
        inside = inside_of(self.lengths, rim.columns)
        made = _Channels(own.rows[inside])

        def back(_: _Found) -> None:
            grad = np.zeros_like(own.rows)
            grad[inside] = made.taken()
            own.receive(grad)

        return self._next(made, back, tuple(n - sum(rim.columns) for n in self.lengths))

    def _joined(self) -> TapedLine:
        """Return the same with all channels in one part."""
        parts = self.parts
        if len(parts) == 1:
            return self
        made = _Channels(np.concatenate([part.rows for part in parts], 1))
        return self._next(made, lambda _: _hand_on(parts, made.taken()), self.lengths)

    def _next(self, made: _Channels, back: Callable[[_Found], None], lengths: Lengths) -> TapedLine:
        self.tape.append(back)
        return TapedLine((made,), lengths, self.tape)


def _hand_on(parts: tuple[_Channels, ...], grad: ndarray) -> None:
    """Hand every part its channels of a gradient (R, C)."""
    first = 0
    for part in parts:
        part.receive(grad[:, first : first + part.channels])
        first += part.channels


class _Layer:
    """A convolution along a line, and how its gradients are found."""

    def __init__(
        self,
        given: tuple[_Channels, ...],
        kernel: Kernel,
        activation: Activation | None,
        read_rows: Rows,
    ) -> None:
        self.given, self.kernel, self.activation, self.rows = given, kernel, activation, read_rows
        rows, read, made = read_rows.shape
        weight, bias = kernel.arrays()
        outputs, inputs, _ = weight.shape
        wide, long = read * inputs, made * outputs  # numbers in a row read, and made
        self.parts = tuple(part.rows.reshape(-1, read * part.channels) for part in given)
        reads, meets = read_rows.reads, read_rows.meets
        matrix = np.empty((rows * wide, long), weight.dtype)
        self.matrix_back = np.empty((rows * long, wide), weight.dtype)
        self.found = np.empty((len(reads) // rows, long), weight.dtype)
        compiled(loops.lay_out)(weight, meets, made, matrix, self.matrix_back)
        is_cut = activation == "relu"
        compiled(loops.multiply)(self.parts, reads, matrix, bias, is_cut, self.found)
        found = self.found.reshape(-1, outputs)
        if activation == "gelu":
            found = array(gelu(torch.from_numpy(found)))
        self.made = _Channels(found)

    def back(self, found: _Found) -> None:
        """Find the gradients of what was read, of the weight and of the bias."""
        layer, weight, rows = self.kernel.layer, self.kernel.arrays()[0], self.rows
        of_weight = np.zeros_like(weight)
        is_cut = self.activation == "relu"
        of_rows, of_matrix, of_bias = compiled(loops.multiply_back)(
            *(self._grad(), self.found, is_cut, rows.reads, rows.read_by),
            *(self.matrix_back, self.parts),
        )
        compiled(loops.collect)(of_matrix, rows.meets, rows.shape[2], of_weight)
        found.receive(layer.weight, of_weight.reshape(layer.weight.shape))
        assert layer.bias is not None
        found.receive(layer.bias, of_bias.reshape(-1, len(weight)).sum(0).astype(weight.dtype))
        _hand_on(self.given, of_rows.reshape(-1, weight.shape[1]))

    def _grad(self) -> ndarray:
        """Return the gradient, that before GELU, in rows as they are made."""
        # Where it is a part of another, there are gaps between its rows.
        grad = np.ascontiguousarray(self.made.taken()).reshape(self.found.shape)
        if self.activation == "gelu":
            grad = array(gelu_back(torch.from_numpy(grad), torch.from_numpy(self.found)))
        return grad


Network = Callable[[TapedLine], TapedLine]


def takes(given: Field) -> bool:
    """Tell whether there are loops for it; numba takes seconds to compile them, once."""
    return (
        torch.is_grad_enabled()
        and given.values.dtype in (torch.float32, torch.float64)
        and not torch.compiler.is_compiling()
        and multiplies()
    )


def applied(
    network: Network,
    given: Field,
    parameters: Iterable[Parameter],
    beside: int = 0,
    lengths: Lengths | None = None,
) -> Field:
    """Apply a network along a line, as one operation of torch.

    Args:
        parameters: All that the network has.
        beside: Cells beyond either end of every task that the network sees as well, if it leaves
            as many cells as there were.
        lengths: Cells of every task that are computed, if not all; the others hold the constant.
    """
    lengths = lengths or (given.values.shape[1],) * len(given.values)
    arguments = (network, beside, lengths, *given, *parameters)
    return Field(*_Applied.apply(*arguments))  # type: ignore[no-untyped-call]


class _Applied(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - torch's
        network: Network,
        beside: int,
        lengths: Lengths,
        values: Float[Tensor, "B L C"],
        beyond: Float[Tensor, " C"],
        *parameters: Tensor,
    ) -> tuple[Float[Tensor, "B l D"], Float[Tensor, " D"]]:
        rows = np.tile(array(beyond), (AHEAD + sum(lengths) + 2 * beside * len(lengths), 1))
        for own, cells in zip(_own(rows, lengths, beside), array(values), strict=True):
            own[:] = cells[: len(own)]
        line = TapedLine((_Channels(rows),), tuple(n + 2 * beside for n in lengths), [])
        ctx.given, ctx.found, ctx.parameters = line, network(line), parameters
        ctx.lengths, ctx.beside, ctx.shape = lengths, beside, values.shape
        ctx.made = tuple(n - 2 * beside for n in ctx.found.lengths)
        made = np.concatenate([part.rows for part in ctx.found.parts], 1)
        cells = values.shape[1] + ctx.made[0] - lengths[0]
        found = np.tile(made[0], (len(lengths), cells, 1))
        for own, cells in zip(_own(made, ctx.made, beside), found, strict=True):
            cells[: len(own)] = own
        return torch.from_numpy(found), torch.from_numpy(made[0].copy())

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any,  # noqa: ANN401
        of_values: Float[Tensor, "B l D"],
        of_beyond: Float[Tensor, " D"],
    ) -> tuple[Tensor | None, ...]:
        given, found, beside = ctx.given, ctx.found, ctx.beside
        constant = array(of_beyond).copy()
        rows = np.zeros((AHEAD + sum(found.lengths), len(constant)), constant.dtype)
        for own, cells in zip(_own(rows, ctx.made, beside), array(of_values), strict=True):
            own[:] = cells[: len(own)]
            constant += cells[len(own) :].sum(0)
        rows[0] = constant
        _hand_on(found.parts, rows)
        of_parameters = _Found()
        for back in reversed(given.tape):
            back(of_parameters)
        grad = given.parts[0].taken()
        inside = np.zeros(ctx.shape, grad.dtype)
        for own, cells in zip(_own(grad, ctx.lengths, beside), inside, strict=True):
            cells[: len(own)] = own
            own[:] = 0  # the others were all made of the constant
        grads = (of_parameters.get(id(parameter)) for parameter in ctx.parameters)
        tensors = (
            None if each is None else torch.from_numpy(each)
            for each in (inside, grad.sum(0), *grads)
        )
        return None, None, None, *tensors


def _own(rows: ndarray, lengths: Lengths, beside: int) -> list[ndarray]:
    """Return the cells of every task, without those beside them."""
    ends = accumulate((n + 2 * beside for n in lengths), initial=AHEAD)
    next(ends)
    return [rows[end - beside - n : end - beside] for end, n in zip(ends, lengths, strict=True)]
