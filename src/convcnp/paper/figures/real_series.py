"""A page of real series, a block missing in each: would a person believe it?"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from convcnp.core.task import Task
from convcnp.data.source import seeded
from convcnp.paper.comparison import METHODS, Method, set_up
from convcnp.paper.figures.shelf import Shelf
from convcnp.paper.measured_series import Array, RealSeries
from convcnp.paper.real_series import SERIES, check_known, real_series
from convcnp.paper.removals import removed_in_the_middle
from convcnp.plots.drawing import (
    blank_figure,
    draw_band,
    draw_context,
    draw_legend,
    draw_targets,
    limit_to,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROWS, COLUMNS = 5, 4
_FEWEST_POINTS = 30  # a block of the shorter series is two points
_WIDTH, _HEIGHT = 4.4, 2.4  # of a panel, in inches
_AROUND = 1.5  # blocks shown on either side of the missing one
_CURVE = 201  # points, where a series has no rows of its own


def _page(name: str, shelf: Shelf, seed: int) -> Figure:
    """Draw a panel per series: what a method sees, its band, and what was removed."""
    check_known("method", [shelf.method], METHODS)
    method = METHODS[shelf.method].build()
    figure = blank_figure(_WIDTH * COLUMNS, _HEIGHT * ROWS)
    panels = figure.subplots(ROWS, COLUMNS).flat
    long = (found for key in SERIES if (found := real_series(key)).num_points >= _FEWEST_POINTS)
    for axes, series in zip(panels, long, strict=False):
        _draw_series(axes, method, series, removed_in_the_middle(series.num_points, seeded(seed)))
    figure.suptitle(f"{METHODS[shelf.method].label}: a block of 12 % missing in each series")
    draw_legend(figure)
    return figure


@torch.no_grad()
def _draw_series(axes: Axes, method: Method, series: RealSeries, removed: Tensor) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(f"{series.name}, {series.unit}", fontsize="small")
    axes.tick_params(labelsize="small")
    times = window(series, removed)
    task, ready = series.without(removed), set_up(method, series, removed)
    if ready is None:
        axes.text(0.02, 0.02, "not run: times on no lattice", transform=axes.transAxes)
    else:
        asked = Task(task.x_context, task.y_context, torch.from_numpy(times)[None, :, None])
        draw_band(axes, asked.x_target[0, :, 0], ready(asked), label="mean, central 95 %")
    draw_context(axes, task)
    draw_targets(axes, task)
    axes.set_xlim(times[0], times[-1])
    shown = (series.times >= times[0]) & (series.times <= times[-1])
    limit_to(axes, torch.from_numpy(series.values[shown]))


def window(series: RealSeries, removed: Tensor) -> Array:
    """Return the times to draw: the missing block and what stands around it.

    They are the rows of the series where it has rows, since some methods know no other times.
    """
    block = np.flatnonzero(removed.numpy())
    around = round(_AROUND * len(block))
    first = series.times[max(block[0] - around, 0)]
    last = series.times[min(block[-1] + around, series.num_points - 1)]
    if series.step is None:
        return np.linspace(first, last, _CURVE)
    return np.asarray(first + series.step * np.arange(round((last - first) / series.step) + 1))


FIGURES: dict[str, Callable[[str, Shelf, int], Figure]] = {"real-series": _page}
