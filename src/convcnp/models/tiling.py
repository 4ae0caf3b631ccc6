"""Prediction on domains larger than memory, in tiles that give the numbers of one piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor

from convcnp.core.grid import ranges
from convcnp.core.image_task import ImageTask
from convcnp.core.predictive import GaussianPredictive
from convcnp.core.task import Task
from convcnp.errors import SettingError, check_positive
from convcnp.models.convcnp import ConvCNP
from convcnp.models.grid_convcnp import GridConvCNP
from convcnp.models.image_tiling import predict_image_in_tiles


@torch.no_grad()
def predict_in_tiles(
    model: ConvCNP | GridConvCNP,
    task: Task,
    *,
    cells_per_tile: int = 2**16,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> GaussianPredictive:
    """Predict targets tile by tile, each from the observations that can matter to it.

    A prediction depends on what lies within the model's receptive radius and on the phase of the
    grid, and on nothing else. So a tile is the model's ordinary prediction for a part of the
    targets, on a grid anchored where the whole task's grid would be; of an image, a part of it.

    Args:
        cells_per_tile: Size of the grid that one tile may have, its overlap with others included;
            exceeded where tiles would be thinner than a quarter of the overlap.
        progress: Called after every tile with the number of targets done and asked for.
    """
    model.check(task)
    if isinstance(model, GridConvCNP):
        assert isinstance(task, ImageTask)
        return predict_image_in_tiles(
            model, task, pixels_per_tile=cells_per_tile, progress=progress
        )
    check_positive("cells_per_tile", cells_per_tile)
    if model.margin is not None:
        raise SettingError(
            "Tiles give the numbers of one piece only with the exact margin, got margin = "
            f"{model.margin}; set margin to None."
        )
    was_training = model.training
    model.eval()
    try:
        mean, stddev = (torch.zeros_like(task.target_mask, dtype=torch.float64) for _ in range(2))
        anchors, done = ranges(task)[0][0], 0
        for i in range(task.batch_size):
            for targets, part in _tiles(
                task[i : i + 1], anchors[i], *_sizes(model, cells_per_tile)
            ):
                predictive = model(part, anchor=anchors[i : i + 1])
                mean[i, targets] = predictive.mean[0].to(mean)
                stddev[i, targets] = predictive.stddev[0].to(mean)
                done += len(targets)
                progress(done, task.batch_size * task.x_target.shape[1])
    finally:
        model.train(was_training)
    dtype = model.embedding.weight.dtype
    return GaussianPredictive(mean.to(dtype), stddev.to(dtype), task.target_mask)


def _sizes(model: ConvCNP, cells_per_tile: int) -> tuple[float, float]:
    """Return the width of a tile's targets, and how far around them context is needed."""
    halo = model.receptive_radius
    # Beyond the targets of a tile its grid has to cover what the context up to the halo needs, and
    # is rounded up to a multiple of cells at either end.
    beyond = model.grid_margin.end(torch.tensor(halo), torch.tensor(0.0)).item()
    overlap = beyond + model.cnn.multiple * model.spacing
    width = int(cells_per_tile ** (1 / model.dim_x)) * model.spacing - 2 * overlap
    return max(width, halo / 2), halo


def _tiles(
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
        yield (
            targets,
            Task(
                task.x_context[:, context],
                task.y_context[:, context],
                task.x_target[:, targets],
                context_mask=task.context_mask[:, context],
                target_mask=task.target_mask[:, targets],
            ),
        )
