"""Settings of the network of a model of series or points, chosen from the tasks it will see."""

from __future__ import annotations

import math

import numpy as np
import torch

from convcnp.core.cnn import UNet
from convcnp.core.filters import REACH
from convcnp.core.task import Task
from convcnp.data.source import seeded
from convcnp.data.table import TableSource
from convcnp.errors import SettingError, check_positive
from convcnp.models.convcnp import ConvCNP
from convcnp.training.experiment import Experiment
from convcnp.training.own.choices import Choices

MODEL, MEASURED = "convcnp-ours", "convcnp-measured"  # without errors of measurement, and with
_SAMPLED = 128  # tasks that choices are made from
_CHANNELS = (16, 24, 32, 48, 48, 64, 64)  # of the U-Net, from fine to coarse
_BLOCKS = {1: 1, 2: 0}
_MOST_HALVINGS = {1: 7, 2: 4}
_FEW_CELLS = 64.0  # taken for a model without a grid


def network_choices(source: TableSource, choices: Choices) -> None:
    """Choose the grid's density, how far the network sees, margins and the sigma floor."""
    name = choices.choose("model.name", MEASURED if source.errors else MODEL)
    if source.errors and name != MEASURED:
        choices.say(f"The model {name!r} makes no use of standard errors; {MEASURED!r} does.")
    if not name.startswith("convcnp"):
        choices.say(f"The model is {name!r}, as given, with its own settings.")
        return
    dim = source.dim_x
    finest, cells = _density(source)
    density = choices.choose(
        "model.points_per_unit",
        cells,
        f"The grid has {cells:g} cells per unit: a quarter of the gaps are below {finest:.2g}."
        if dim == 1
        else f"The grid has {cells:g} cells per unit.",
    )
    check_positive("model.points_per_unit", density)
    choices.choose("model.training_margin", 3.0)
    floor, why = _sigma_floor(source)
    choices.choose("model.sigma_floor", floor, f"No standard deviation is below {floor:g} {why}.")
    if name not in (MODEL, MEASURED):
        return
    blocks = choices.choose("model.blocks", _BLOCKS[dim])
    filters = choices.choose("model.filters", 0) if name == MODEL else 0
    task = source.draw(_SAMPLED, seeded(2))
    extent = float(np.median(_extents(task)))
    levels = _levels(extent * density / 2, blocks, _MOST_HALVINGS[dim])
    sees = (_radius(levels, blocks) + filters * REACH) / density
    down = choices.choose(
        "model.down",
        list(_CHANNELS[:levels]),
        f"The network halves the grid {levels} times and sees {sees:.0f} units to either side, as "
        f"tasks are some {extent:.0f} units wide.",
    )
    if not down:
        raise SettingError(
            "model.down must have the channels of at least one halving of the grid, got []; write "
            "model.down=[16, 24]."
        )
    choices.choose("model.up", [*reversed(down[:-1]), down[0]])


def _density(source: TableSource) -> tuple[float, float]:
    """Return the gap that a quarter of all gaps are below, in units, and cells per unit."""
    if source.dim_x == 2:
        return 1.0, 2.0
    steps = np.diff(source.own.x[:, 0]) / source.gap[0]
    steps = steps[(np.diff(source.own.owners) == 0) & (steps > 0)]
    finest = float(np.quantile(steps, 0.25)) if len(steps) else 1.0
    return finest, float(np.clip(round(2 / max(finest, 1e-9)), 3, 8))


def _sigma_floor(source: TableSource) -> tuple[float, str]:
    """Return the smallest standard deviation worth telling: that of rounding, if there is some."""
    floors = []
    for y, scale in zip(source.own.y.T, source.scale, strict=True):
        steps = np.diff(np.unique(y[~np.isnan(y)]))
        step = steps.min() if len(steps) else 0.0
        floors.append(step / math.sqrt(12) / scale)
    floor = float(np.clip(min(floors), 1e-3, 0.1))
    is_rounded = floor > 1e-3
    return float(f"{floor:.2g}"), "spreads: values are rounded" if is_rounded else "spreads"


def _extents(task: Task) -> np.ndarray:
    """Return how wide tasks are, along their longest side."""
    known = (task.context_mask | task.target_mask).any(2, keepdim=True)
    x = torch.where(task.context_mask.any(2, keepdim=True), task.x_context, task.x_target)
    low = torch.where(known, x, torch.inf).amin(1)
    high = torch.where(known, x, -torch.inf).amax(1)
    return (high - low).amax(1).numpy()


def _radius(levels: int, blocks: int) -> int:
    """Return the receptive radius of a U-Net with so many halvings, in cells."""
    channels = (1,) * levels
    return UNet(1, 1, channels, channels, blocks=blocks).receptive_radius


def _levels(cells: float, blocks: int, most: int) -> int:
    """Return the halvings with which a network sees so many cells to either side."""
    enough = (n for n in range(2, most) if _radius(n, blocks) >= cells)
    return next(enough, most)


def grid_cells(experiment: Experiment, source: TableSource) -> float:
    """Return the cells of a task's grid; one that is too large is refused, before any work."""
    model = experiment.build_model().train()
    if not isinstance(model, ConvCNP):
        return _FEW_CELLS
    return math.prod(model.covering_grid(source.draw(8, seeded(3))).shape)
