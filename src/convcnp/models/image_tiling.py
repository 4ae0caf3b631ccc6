"""Prediction of images larger than memory, in tiles that give the numbers of one piece."""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Int
from torch import Tensor

from convcnp.core.image_task import ImageTask
from convcnp.core.predictive import GaussianPredictive
from convcnp.errors import check_positive
from convcnp.models.grid_convcnp import GridConvCNP


@torch.no_grad()
def predict_image_in_tiles(
    model: GridConvCNP,
    task: ImageTask,
    *,
    pixels_per_tile: int = 2**16,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> GaussianPredictive:
    """Predict images tile by tile, each from the pixels that can matter to it.

    What lies beyond the receptive radius of a tile cannot be seen from it, and so the edge that a
    cut makes there cannot be seen either.

    Args:
        pixels_per_tile: Size of the cut that one tile may be predicted from; exceeded where tiles
            would be thinner than a quarter of the receptive radius.
        progress: Called after every tile with the number of pixels done and asked for.
    """
    model.check(task)
    check_positive("pixels_per_tile", pixels_per_tile)
    radius = model.receptive_radius
    width = max(int(pixels_per_tile**0.5) - 2 * radius, radius // 4, 1)
    observed, mask = task.as_images(task.y_context), task.as_images(task.context_mask)
    mean, stddev = (torch.zeros_like(observed, dtype=model.dtype) for _ in range(2))
    wraps, done = model.cnn.padding == "circular", 0
    for i in range(task.batch_size):
        for top in range(0, task.height, width):
            rows, inner_rows = _cut(top, width, radius, task.height, wraps)
            for left in range(0, task.width, width):
                columns, inner_columns = _cut(left, width, radius, task.width, wraps)
                part = (slice(i, i + 1), rows[:, None], columns)
                moments = model.on_pixels(observed[part], mask[part])
                tile = (i, slice(top, top + width), slice(left, left + width))
                for whole, moment in zip((mean, stddev), moments, strict=True):
                    whole[tile] = moment[0, inner_rows, inner_columns]
                done += mean[tile][..., 0].numel()
                progress(done, task.batch_size * task.height * task.width)
    return GaussianPredictive(mean.flatten(1, 2), stddev.flatten(1, 2), task.target_mask)


def _cut(
    start: int, width: int, radius: int, length: int, wraps: bool
) -> tuple[Int[Tensor, " cut"], slice]:
    """Return the rows (or columns) that a tile is predicted from, and which of them it is."""
    stop = min(start + width, length)
    if wraps and stop - start + 2 * radius < length:
        around = torch.arange(start - radius, stop + radius) % length
        return around, slice(radius, radius + stop - start)
    if wraps:
        return torch.arange(length), slice(start, stop)
    first = max(start - radius, 0)
    return torch.arange(first, min(stop + radius, length)), slice(start - first, stop - first)
