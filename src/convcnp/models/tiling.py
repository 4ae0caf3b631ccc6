"""Predictions that do not fit into memory at once: the one policy of passes and tiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float
from torch import Tensor

from convcnp.core.predictive import Predictive
from convcnp.core.task import Task
from convcnp.errors import check_positive
from convcnp.models.base import Model

CELLS_PER_PASS = 2**17  # of the grids of all tasks that are predicted at once
CELLS_PER_TILE = 2**16  # of the grid of one tile, its overlap with others included

Progress = Callable[[int, int], None]  # called with the targets done and asked for


@torch.no_grad()
def predict_in_tiles(
    model: Model,
    task: Task,
    *,
    cells_per_tile: int = CELLS_PER_TILE,
    progress: Progress = lambda done, total: None,
) -> Predictive:
    """Predict targets tile by tile, each from the observations that can matter to it.

    The numbers are those of one piece on the exact margin, also where a model has another.

    Args:
        cells_per_tile: Size of the grid that one tile may have, its overlap with others included;
            exceeded where tiles would be thinner than a quarter of the overlap.
        progress: Called after every tile with the number of targets done and asked for.

    Example:
        >>> from convcnp.models.convcnp import ConvCNP
        >>> x = torch.linspace(0, 99, 100)[None, :, None]
        >>> model, task = ConvCNP.small(points_per_unit=4).eval(), Task(x, x.sin(), x + 0.5)
        >>> tiled = predict_in_tiles(model, task, cells_per_tile=200)
        >>> torch.allclose(tiled.mean, model(task).mean, atol=1e-5)
        True
    """
    model.check(task)
    check_positive("cells_per_tile", cells_per_tile)
    raw = _raw_in_tiles(model, task, cells_per_tile, progress)
    return model.of_measurements(raw, task)


@torch.no_grad()
def raw_in_passes(
    model: Model,
    task: Task,
    *,
    cells_per_pass: int = CELLS_PER_PASS,
    progress: Progress = lambda done, total: None,
) -> Float[Tensor, "B M P"]:
    """Return what a model decodes for tasks of any number and size, in bounded memory.

    Tasks with small grids share a forward pass, as many as fit; one whose grid alone does not fit
    is predicted in tiles.
    """
    model.check(task)
    cells, raw = model.cells(task), None
    order = torch.argsort(cells, stable=True)
    while len(order):
        fits = cells[order] * torch.arange(1, len(order) + 1) <= cells_per_pass
        part, order = order.split([(n := max(1, int(fits.sum()))), len(order) - n])
        if cells[part].max() <= cells_per_pass:
            found = model.raw(task[part])
        else:
            found = _raw_in_tiles(model, task[part], CELLS_PER_TILE, progress)
        if raw is None:
            raw = found.new_empty(task.batch_size, *found.shape[1:])
        raw[part] = found
    assert raw is not None
    return raw


def _raw_in_tiles(
    model: Model, task: Task, cells_per_tile: int, progress: Progress
) -> Float[Tensor, "B M P"]:
    shape, done = task.target_mask.shape[:2], 0
    width = model.to_predictive.channels(task.dim_y)
    raw = torch.zeros(*shape, width, dtype=model.dtype, device=task.x_target.device)
    with evaluating(model):
        for tile in model.tiles(task, cells_per_tile):
            raw[tile.task, tile.targets] = tile.raw
            done += len(tile.targets)
            progress(done, shape[0] * shape[1])
    return raw


@contextmanager
def evaluating(model: Model) -> Iterator[None]:
    """Predict as one does after training, whatever the model was doing."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)
