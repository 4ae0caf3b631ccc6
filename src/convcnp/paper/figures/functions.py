"""The paper's figures of synthetic functions (Figure 2, Appendix C.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import torch

from convcnp.core.task import Task
from convcnp.data.functions import FunctionSource
from convcnp.data.source import seeded
from convcnp.models.base import Model
from convcnp.paper.figures.shelf import Shelf
from convcnp.plots.drawing import (
    BLACK,
    dense_targets,
    draw_band,
    draw_context,
    draw_legend,
    draw_reference,
    limit_to,
    new_figure,
)
from convcnp.training.catalogue import SOURCES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Scene:
    """Where a function is observed and where it is predicted; training saw [-2, 2] only."""

    title: str
    observed: float  # context lies in [-observed, observed]
    shown: float  # predictions are drawn in [-shown, shown]


# Of Table 1, by their names in experiment files.
PROCESSES = ("eq", "matern", "weakly-periodic", "weakly-periodic-printed", "sawtooth")

WITHIN = Scene("within the training range", 2.0, 2.0)
WITHOUT_DATA = Scene("beyond it, without data", 2.0, 4.0)
WITH_DATA = Scene("beyond it, with data", 4.0, 4.0)


def _functions(name: str, shelf: Shelf, seed: int) -> Figure:
    """Draw Figure 2, or a figure of Appendix C.2: a row per model, a column per scene."""
    if name == "figure2":
        rows = ["attncnp", "convcnpxl"]
        columns = [(p, s) for p in ("matern", "sawtooth") for s in (WITHOUT_DATA, WITH_DATA)]
    else:
        rows = ["convcnp", "convcnpxl", "convcnp-ours", "attncnp", "cnp"]
        process = name.removeprefix("appendix-")
        columns = [(process, scene) for scene in (WITHIN, WITHOUT_DATA, WITH_DATA)]
    rows = shelf.known("table1", rows, *(f"{process}-{{row}}" for process, _ in columns))
    figure = new_figure(len(rows), len(columns))
    for axes, (row, (process, scene)) in zip(figure.axes, product(rows, columns), strict=True):
        model = shelf.load("table1", f"{process}-{row}").model
        _draw_panel(axes, model, _process(process), scene, seed)
        axes.set_title(f"{process}, {row}: {scene.title}", fontsize="small")
    draw_legend(figure)
    return figure


def _process(name: str) -> FunctionSource:
    source = SOURCES[name]
    assert isinstance(source, FunctionSource)
    return source


def _draw_panel(axes: Axes, model: Model, source: FunctionSource, scene: Scene, seed: int) -> None:
    source = source.for_curves()
    generator = seeded(seed)
    count = int(8 * scene.observed) * (2 if source.max_points > 50 else 1)
    unit = torch.rand(1, count, 1, dtype=torch.float64, generator=generator)
    x_context = scene.observed * (2 * unit - 1)
    x = dense_targets(-scene.shown, scene.shown, points=401)
    y = source.values(torch.cat([x_context, x], 1), generator).float()
    task = Task(x_context, y[:, :count], x, y[:, count:])
    with torch.no_grad():
        draw_band(axes, x[0, :, 0], model(task), label="mean, 2 sd")
    exact = source.ceiling(task)
    if exact is not None:
        draw_reference(axes, x[0, :, 0], exact)
    axes.plot(x[0, :, 0], y[0, count:, 0], color=BLACK, linewidth=0.6, label="true function")
    draw_context(axes, task)
    for edge in (-2.0, 2.0):
        if scene.shown > edge > -scene.shown:
            axes.axvline(edge, color="#999999", linewidth=0.8, linestyle="--")
    limit_to(axes, y)


FIGURES: dict[str, Callable[[str, Shelf, int], Figure]] = {
    "figure2": _functions,
    **{f"appendix-{process}": _functions for process in PROCESSES},
}
