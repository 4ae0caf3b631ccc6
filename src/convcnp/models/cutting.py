"""Where a domain larger than memory is cut: tiles, and what around them can matter to each."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor

from convcnp.core.task import Task


def parts_of(
    task: Task, anchor: Float[Tensor, " Dx"], width: float, halo: float
) -> Iterator[tuple[Int[Tensor, " m"], Task]]:
    """Yield indices of the targets of each tile, and the part of the task that matters to them."""
    x_target, x_context = task.x_target[0].double(), task.x_context[0].double()
    tile = ((x_target - anchor) / width).floor()  # (M, Dx)
    _, tile_of = torch.unique(tile, dim=0, return_inverse=True)
    by_tile = torch.argsort(tile_of, stable=True)
    by_position = torch.argsort(x_context[:, 0])
    sorted_context = x_context[by_position]
    first_input = sorted_context[:, 0].contiguous()
    for targets in by_tile.split(torch.bincount(tile_of).tolist()):
        low = x_target[targets].amin(0) - halo
        high = x_target[targets].amax(0) + halo
        start, stop = torch.searchsorted(first_input, torch.stack([low[0], high[0]])).tolist()
        near = sorted_context[start:stop]
        inside = ((near >= low) & (near <= high)).all(-1)
        context = by_position[start:stop][inside]
        yield targets, _part(task, context, targets)


def _part(task: Task, context: Tensor, targets: Tensor) -> Task:
    near = task.of_context(lambda tensor: tensor[:, context])
    return near.of_targets(lambda tensor: tensor[:, targets])


def cut(
    start: int, width: int, radius: int, length: int, wraps: bool, multiple: int = 1
) -> tuple[Int[Tensor, " cut"], slice]:
    """Return the rows (or columns) that a tile is predicted from, and which of them it is.

    Args:
        multiple: The first of them is a multiple of this; on a ring, of one.
    """
    stop = min(start + width, length)
    if wraps and stop - start + 2 * radius < length:
        around = torch.arange(start - radius, stop + radius) % length
        return around, slice(radius, radius + stop - start)
    if wraps:
        return torch.arange(length), slice(start, stop)
    first = max(start - radius, 0) // multiple * multiple
    return torch.arange(first, min(stop + radius, length)), slice(start - first, stop - first)
