"""Pictures of predictions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from convcnp.predictive import GaussianPredictive
from convcnp.task import Task

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, GREEN, BLACK = "#2a6fbb", "#2e8b57", "#222222"


def draw_band(
    axes: Axes,
    x: Float[Tensor, " M"],
    predictive: GaussianPredictive,
    *,
    color: str = BLUE,
    label: str | None = None,
) -> None:
    """Draw the mean and two standard deviations of the first task and channel."""
    mean, stddev = (
        moment[0, :, 0].detach().cpu() for moment in (predictive.mean, predictive.stddev)
    )
    axes.plot(x, mean, color=color, linewidth=1.5, label=label)
    axes.fill_between(x, mean - 2 * stddev, mean + 2 * stddev, color=color, alpha=0.2, linewidth=0)


def draw_reference(axes: Axes, x: Float[Tensor, " M"], predictive: GaussianPredictive) -> None:
    """Draw the exact posterior as dashed lines: mean and two standard deviations."""
    mean, stddev = (moment[0, :, 0] for moment in (predictive.mean, predictive.stddev))
    for offset, label in ((0, "exact GP"), (-2, None), (2, None)):
        style = "--" if offset == 0 else ":"
        axes.plot(x, mean + offset * stddev, style, color=GREEN, linewidth=1.2, label=label)


def draw_context(axes: Axes, task: Task) -> None:
    """Draw the first task's observations."""
    seen = task.context_mask[0, :, 0]
    axes.plot(
        task.x_context[0, seen, 0],
        task.y_context[0, seen, 0],
        "o",
        color=BLACK,
        markersize=4,
        label="context",
    )


def new_figure(rows: int, columns: int, width: float = 4.0, height: float = 2.6) -> Figure:
    """Return a figure with a grid of axes, drawn without a screen."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    figure.subplots(rows, columns, squeeze=False, sharex="col")
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure as PNG, making its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def dense_targets(low: float, high: float, points: int = 601) -> Float[Tensor, "1 M 1"]:
    """Return evenly spaced inputs to draw a curve at."""
    return torch.linspace(low, high, points, dtype=torch.float64)[None, :, None]
