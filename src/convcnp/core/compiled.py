"""Set convolutions along a line by compiled loops: what training does thousands of times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor
from torch.autograd.function import once_differentiable

from convcnp.core import loops
from convcnp.core.compiling import array, compiled, numba
from convcnp.core.grid import Field, Grid
from convcnp.core.window import EPSILON


def takes(x: Float[Tensor, "B K Dx"], log_length_scale: Float[Tensor, ""]) -> bool:
    """Tell whether there are loops for it: on a processor, along a line, where inputs are data.

    They take two seconds to compile on a new machine, and are for what is done again and again.
    """
    return (
        x.shape[2] == 1
        and x.device.type == "cpu"
        and log_length_scale.dtype in (torch.float32, torch.float64)
        and torch.is_grad_enabled()
        and not x.requires_grad
        and not torch.compiler.is_compiling()
        and numba() is not None
    )


@dataclass(frozen=True)
class _Reached:
    """The cells that points reach: the first, where the point is from there, and the weights."""

    first: ndarray  # (B, K)
    position: ndarray  # (B, K)
    weights: ndarray  # (B, K, R)
    decay: float  # the squared spacing in length scales

    @classmethod
    def by(cls, x: Tensor, grid: Grid, log_length_scale: Tensor, reach: int) -> _Reached:
        decay = (grid.spacing * math.exp(-log_length_scale.item())) ** 2
        first, position = np.empty(x.shape[:2], np.int64), np.empty(x.shape[:2])
        weights = np.empty((*x.shape[:2], 2 * reach), array(log_length_scale).dtype)
        inputs, origin = array(x.double().contiguous())[..., 0], array(grid.origin)[:, 0]
        found = (first, position, weights)
        compiled(loops.reached)(inputs, origin, grid.spacing, decay, grid.shape[0], *found)
        return cls(first, position, weights, decay)

    def of_length_scale(self, total: float, like: Tensor) -> Tensor:
        """Return the gradient of its logarithm, given the sum of weighted squared distances."""
        return like.new_tensor(total * self.decay)


def spread(
    log_length_scale: Float[Tensor, ""],
    x: Float[Tensor, "B N 1"],
    amounts: Float[Tensor, "B N C"],
    grid: Grid,
    reach: int,
    *,
    densities: int,
) -> Float[Tensor, "B G C"]:
    """Sum amounts over points on every cell, as `window.spread` does."""
    reached = _Reached.by(x, grid, log_length_scale, reach)
    arguments = (log_length_scale, amounts, reached, grid.shape[0], densities)
    return _Spread.apply(*arguments)  # type: ignore[no-untyped-call]


def gather(
    log_length_scale: Float[Tensor, ""],
    x: Float[Tensor, "B M 1"],
    field: Field,
    grid: Grid,
    reach: int,
) -> Float[Tensor, "B M C"]:
    """Sum a field around points, as `window.gather` does."""
    reached = _Reached.by(x, grid, log_length_scale, reach)
    return _Gather.apply(log_length_scale, *field, reached)  # type: ignore[no-untyped-call]


class _Spread(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - torch's
        log_length_scale: Tensor,
        amounts: Float[Tensor, "B N C"],
        reached: _Reached,
        cells: int,
        densities: int,
    ) -> Float[Tensor, "B G C"]:
        amounts = amounts.contiguous()
        h = amounts.new_zeros(len(amounts), cells, amounts.shape[2])
        given = array(amounts)
        compiled(loops.spread)(reached.first, reached.weights, given, densities, EPSILON, array(h))
        ctx.save_for_backward(amounts, h)
        ctx.reached, ctx.densities = reached, densities
        return h

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Float[Tensor, "B G C"]) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        amounts, h = ctx.saved_tensors
        reached: _Reached = ctx.reached
        of_amounts, of_sums = torch.zeros_like(amounts), torch.empty_like(h)
        given = map(array, (h, grad.contiguous()))
        compiled(loops.sums_back)(*given, ctx.densities, EPSILON, array(of_sums))
        total = compiled(loops.spread_back)(
            *(reached.first, reached.position, reached.weights),
            *map(array, (amounts, of_sums, of_amounts)),
        )
        return reached.of_length_scale(total, h), of_amounts, None, None, None


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - torch's
        log_length_scale: Tensor,
        values: Float[Tensor, "B G C"],
        beyond: Float[Tensor, " C"],
        reached: _Reached,
    ) -> Float[Tensor, "B M C"]:
        values = values.contiguous()
        found = values.new_zeros(*reached.first.shape, len(beyond))
        compiled(loops.gather)(reached.first, reached.weights, *map(array, (values, beyond, found)))
        ctx.save_for_backward(values, beyond)
        ctx.reached = reached
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Float[Tensor, "B M C"]) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        values, beyond = ctx.saved_tensors
        reached: _Reached = ctx.reached
        of_values, of_beyond = torch.zeros_like(values), torch.zeros_like(beyond)
        total = compiled(loops.gather_back)(
            *(reached.first, reached.position, reached.weights),
            *map(array, (values, beyond, grad.contiguous(), of_values, of_beyond)),
        )
        return reached.of_length_scale(total, values), of_values, of_beyond, None
