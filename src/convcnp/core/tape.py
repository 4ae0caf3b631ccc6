"""A network along a line as one operation: while it is trained, it keeps a tape of its own.

For torch every layer, sum and joint of a network is an operation with a gradient, and calling them
takes longer than what they compute. So all of them are done at once, and so are their gradients:
every step of the network writes on a tape how its own are found, and the tape is read from its end.
Between products of matrices there are loops, which numba compiles; `core.line` has the same
network for everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import Parameter

from convcnp.core import line_loops as loops
from convcnp.core.compiling import array, compiled, numba
from convcnp.core.grid import Field, Rim
from convcnp.core.line import Activation, Kernel, gelu, gelu_back
from convcnp.core.reading import AHEAD, Reading, Step, inside_of, reading_of


class _Rows:
    """Rows of a line and, on the way back, the gradient that they have received so far."""

    def __init__(self, rows: Float[Tensor, "R C"]) -> None:
        self.rows = rows
        self._grad: Float[Tensor, "R C"] | None = None

    @property
    def channels(self) -> int:
        return self.rows.shape[1]

    def receive(self, grad: Float[Tensor, "R C"]) -> None:
        """Add a gradient; it may be a part of a larger one, and is not written to."""
        self._grad = grad if self._grad is None else self._grad + grad

    def taken(self) -> Float[Tensor, "R C"]:
        """Return the whole gradient, and be ready for another time."""
        grad, self._grad = self._grad, None
        return torch.zeros_like(self.rows) if grad is None else grad


@dataclass
class _Tape:
    """How the gradients of a network's steps are found, and those of parameters by identity."""

    steps: list[Callable[[], None]] = field(default_factory=list)
    of_parameters: dict[int, Tensor] = field(default_factory=dict)

    def receive(self, parameter: Tensor, grad: Tensor) -> None:
        known = self.of_parameters.get(id(parameter))
        self.of_parameters[id(parameter)] = grad if known is None else known + grad


@dataclass(frozen=True)
class TapedLine:
    """What `Line` is, on a tape: a field on one line of cells for each task."""

    parts: tuple[_Rows, ...]  # channels side by side, not yet joined
    batch: int
    cells: int
    tape: _Tape

    def convolved(
        self,
        kernel: Kernel,
        activation: Activation | None = None,
        step: Step = "same",
        rim: Rim | None = None,
    ) -> TapedLine:
        """Convolve into as many cells, half as many of those within a rim, or twice as many."""
        ends = (0, 0) if rim is None else rim.columns
        dtype = self.parts[0].rows.dtype
        reading = reading_of(step, kernel.size, self.batch, self.cells, ends, dtype)
        # Of rows of two cells the parts would lie in turns.
        line = self if reading.shape[1] == 1 else self._joined()
        layer = _Layer(line, kernel, activation, reading)
        return self._next(layer.made, layer.back, reading.cells)

    def plus(self, other: TapedLine) -> TapedLine:
        """Add a field on the same cells."""
        (own,), (further,) = self._joined().parts, other._joined().parts
        made = _Rows(own.rows + further.rows)

        def back() -> None:
            grad = made.taken()
            own.receive(grad)
            further.receive(grad)

        return self._next(made, back, self.cells)

    def beside(self, other: TapedLine) -> TapedLine:
        """Put another field's channels behind one's own."""
        return TapedLine((*self.parts, *other.parts), self.batch, self.cells, self.tape)

    def without(self, rim: Rim) -> TapedLine:
        """Leave out the outermost cells."""
        (own,) = self._joined().parts
        inside = inside_of(self.batch, self.cells, rim.columns)
        made = _Rows(own.rows.index_select(0, inside))

        def back() -> None:
            own.receive(torch.zeros_like(own.rows).index_copy_(0, inside, made.taken()))

        return self._next(made, back, self.cells - sum(rim.columns))

    def receive(self, grad: Float[Tensor, "R C"]) -> None:
        """Hand every part its channels of a gradient."""
        first = 0
        for part in self.parts:
            part.receive(grad[:, first : first + part.channels])
            first += part.channels

    def _joined(self) -> TapedLine:
        """Return the same with all channels in one part."""
        if len(self.parts) == 1:
            return self
        made = _Rows(torch.cat([part.rows for part in self.parts], 1))
        return self._next(made, lambda: self.receive(made.taken()), self.cells)

    def _next(self, made: _Rows, back: Callable[[], None], cells: int) -> TapedLine:
        self.tape.steps.append(back)
        return TapedLine((made,), self.batch, cells, self.tape)


class _Layer:
    """A convolution along a line, and how its gradients are found."""

    def __init__(
        self, line: TapedLine, kernel: Kernel, activation: Activation | None, reading: Reading
    ) -> None:
        self.line, self.activation, self.reading = line, activation, reading
        conv = kernel.conv  # a module looks up its parts anew each time, slowly
        assert conv.bias is not None
        self.weight, self.bias = conv.weight, conv.bias
        outputs, inputs = self.weight.shape[:2]
        rows, read, made = reading.shape
        self.wide, self.long = read * inputs, made * outputs  # numbers in a row read, and made
        self._lay_out()
        near = self.weight.new_empty(len(reading.reads), self.wide)
        first = 0
        for part in line.parts:
            whole = array(part.rows).reshape(-1, read * part.channels)
            compiled(loops.read)(whole, reading.indices[0], first, array(near))
            first += part.channels
        found = torch.mm(near.view(-1, rows * self.wide), self.matrix).view(-1, outputs)
        compiled(loops.activate)(array(found), array(self.bias), activation == "relu")
        self.found = found
        self.made = _Rows(gelu(found) if activation == "gelu" else found)

    def _lay_out(self) -> None:
        rows, _, made = self.reading.shape
        self.matrix = self.weight.new_empty(rows * self.wide, self.long)
        self.matrix_back = self.weight.new_empty(rows * self.long, self.wide)
        kernel, meets = array(self.weight)[:, :, 0], self.reading.indices[2]
        compiled(loops.lay_out)(kernel, meets, made, array(self.matrix), array(self.matrix_back))

    def back(self) -> None:
        """Find the gradients of what was read, of the weight and of the bias."""
        tape, (rows, read, made) = self.line.tape, self.reading.shape
        given = self._given(self.made.taken(), tape)
        reads, read_by, meets = self.reading.indices
        near = given.new_empty(len(read_by), self.long)
        compiled(loops.read_back)(array(given).reshape(-1, self.long), reads, read_by, array(near))
        near = near.view(-1, rows * self.long)
        # Parts are multiplied one by one: to join them would take longer.
        of_matrix = [torch.mm(p.rows.view(-1, read * p.channels).T, near) for p in self.line.parts]
        of_weight = torch.zeros_like(self.weight)
        first = 0
        for part, found in zip(self.line.parts, of_matrix, strict=True):
            some = array(of_weight)[:, first : first + part.channels, 0]
            compiled(loops.collect)(array(found), meets, made, some)
            first += part.channels
        tape.receive(self.weight, of_weight)
        self.line.receive(torch.mm(near, self.matrix_back).view(-1, first))

    def _given(self, grad: Float[Tensor, "S D"], tape: _Tape) -> Float[Tensor, "S D"]:
        """Return the gradient before the activation, and leave that of the bias."""
        if self.activation == "relu":
            given, of_bias = torch.empty_like(self.found), torch.empty_like(self.bias)
            compiled(loops.cut)(*map(array, (grad, self.found, given, of_bias)))
        else:
            # Derivatives are several times as slow where rows have gaps between them.
            given = grad.contiguous()
            given = gelu_back(given, self.found) if self.activation == "gelu" else given
            of_bias = given.sum(0)
        tape.receive(self.bias, of_bias)
        return given


Network = Callable[[TapedLine], TapedLine]


def takes(given: Field) -> bool:
    """Tell whether there are loops for it; numba takes seconds to compile them, once."""
    return (
        torch.is_grad_enabled()
        and given.values.dtype in (torch.float32, torch.float64)
        and not torch.compiler.is_compiling()
        and numba() is not None
    )


def applied(network: Network, given: Field, parameters: Iterable[Parameter]) -> Field:
    """Apply a network along a line, as one operation of torch.

    Args:
        parameters: All that the network has.
    """
    return Field(*_Applied.apply(network, *given, *parameters))  # type: ignore[no-untyped-call]


class _Applied(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - torch's
        network: Network,
        values: Float[Tensor, "B L C"],
        beyond: Float[Tensor, " C"],
        *parameters: Tensor,
    ) -> tuple[Float[Tensor, "B l D"], Float[Tensor, " D"]]:
        batch, cells = values.shape[:2]
        rows = torch.cat([beyond.expand(AHEAD, -1), values.flatten(0, 1)])
        ctx.given = TapedLine((_Rows(rows),), batch, cells, _Tape())
        ctx.found = network(ctx.given)
        ctx.parameters = parameters
        made = [part.rows for part in ctx.found.parts]
        of_cells = torch.cat([rows[AHEAD:] for rows in made], 1)
        return of_cells.unflatten(0, (batch, -1)), torch.cat([rows[0] for rows in made])

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any,  # noqa: ANN401
        of_values: Float[Tensor, "B l D"],
        of_beyond: Float[Tensor, " D"],
    ) -> tuple[Tensor | None, ...]:
        given: TapedLine = ctx.given
        ahead = of_beyond.new_zeros(AHEAD, len(of_beyond))
        ahead[0] = of_beyond
        ctx.found.receive(torch.cat([ahead, of_values.flatten(0, 1)]))
        for back in reversed(given.tape.steps):
            back()
        grad = given.parts[0].taken()
        inside = grad[AHEAD:].unflatten(0, (given.batch, given.cells))
        of_parameters = given.tape.of_parameters
        return (
            None,
            inside,
            grad[:AHEAD].sum(0),
            *(of_parameters.pop(id(parameter), None) for parameter in ctx.parameters),
        )
