"""Pictures of predictions, and the paper's figures of synthetic tasks."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from convcnp.data.gp import GPSource
from convcnp.data.source import FunctionSource, seeded
from convcnp.errors import ResultError, import_extra
from convcnp.experiment import SOURCES
from convcnp.predictive import GaussianPredictive
from convcnp.task import Task
from convcnp.zoo import is_shipped, load

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


def blank_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches, drawn without a screen."""
    figure: Figure = import_extra("matplotlib.figure", "plot").Figure(
        figsize=(width, height), layout="constrained"
    )
    return figure


def new_figure(rows: int, columns: int, width: float = 4.0, height: float = 2.6) -> Figure:
    """Return a figure with a grid of axes, each of this width and height in inches."""
    figure = blank_figure(width * columns, height * rows)
    figure.subplots(rows, columns, squeeze=False, sharex="col")
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def show_image(
    axes: Axes, pixels: Float[Tensor, "H W C"], missing: Bool[Tensor, "H W"] | None = None
) -> None:
    """Show an image with values between 0 and 1; missing pixels are blue, or black in colour."""
    rgb = pixels.clamp(0, 1).expand(*pixels.shape[:2], 3).clone()
    if missing is not None:
        rgb[missing] = rgb.new_tensor([0.0, 0.0, 1.0 if pixels.shape[-1] == 1 else 0.0])
    axes.imshow(rgb.numpy(), interpolation="nearest")
    axes.set_axis_off()


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure as PNG, making its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def dense_targets(low: float, high: float, points: int = 601) -> Float[Tensor, "1 M 1"]:
    """Return evenly spaced inputs to draw a curve at."""
    return torch.linspace(low, high, points, dtype=torch.float64)[None, :, None]


@dataclasses.dataclass(frozen=True)
class Scene:
    """Where a function is observed and where it is predicted; training saw [-2, 2] only."""

    title: str
    observed: float  # context lies in [-observed, observed]
    shown: float  # predictions are drawn in [-shown, shown]


WITHIN = Scene("within the training range", 2.0, 2.0)
WITHOUT_DATA = Scene("beyond it, without data", 2.0, 4.0)
WITH_DATA = Scene("beyond it, with data", 4.0, 4.0)


def paper_figures() -> list[str]:
    """Return the names of the figures of synthetic tasks."""
    return ["figure2", *(f"appendix-{process}" for process in _processes())]


def _processes() -> dict[str, FunctionSource]:
    return {name: s for name, s in SOURCES.items() if isinstance(s, FunctionSource)}


def check_figure(name: str, known: Iterable[str]) -> None:
    """Refuse a name that is no figure's."""
    if name not in known:
        raise ResultError(
            f"Expected the name of a figure, one of {', '.join(known)}, got {name!r}; choose one."
        )


def draw_paper_figure(name: str, out: Path, seed: int) -> Path:
    """Draw Figure 2 (`figure2`) or a figure of Appendix C.2 (`appendix-eq`) with shipped models.

    A row whose models do not ship is left out.
    """
    check_figure(name, paper_figures())
    sources = _processes()
    if name == "figure2":
        rows = ["attncnp", "convcnpxl"]
        columns = [(p, s) for p in ("matern", "sawtooth") for s in (WITHOUT_DATA, WITH_DATA)]
    else:
        rows = ["convcnp", "convcnpxl", "attncnp", "cnp"]
        process = name.removeprefix("appendix-")
        columns = [(process, scene) for scene in (WITHIN, WITHOUT_DATA, WITH_DATA)]
    rows = [row for row in rows if all(is_shipped(f"{process}-{row}") for process, _ in columns)]
    if not rows:
        raise ResultError(
            f"Expected trained models for {name}, but none ship yet; train them first."
        )
    figure = new_figure(len(rows), len(columns))
    panels = iter(figure.axes)
    for row in rows:
        for process, scene in columns:
            axes = next(panels)
            _draw_panel(axes, f"{process}-{row}", sources[process], scene, seed)
            axes.set_title(f"{process}, {row}: {scene.title}", fontsize="small")
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    save_figure(figure, out / f"{name}.png")
    return out / f"{name}.png"


def _draw_panel(axes: Axes, model: str, source: FunctionSource, scene: Scene, seed: int) -> None:
    if isinstance(source, GPSource):
        source = dataclasses.replace(source, jitter=1e-7)  # many points close together
    generator = seeded(seed)
    count = int(8 * scene.observed) * (2 if source.max_points > 50 else 1)
    unit = torch.rand(1, count, 1, dtype=torch.float64, generator=generator)
    x_context = scene.observed * (2 * unit - 1)
    x = dense_targets(-scene.shown, scene.shown, points=401)
    y = source.values(torch.cat([x_context, x], 1), generator).float()
    task = Task(x_context, y[:, :count], x, y[:, count:])
    with torch.no_grad():
        draw_band(axes, x[0, :, 0], load(model).model(task), label="mean, 2 sd")
    exact = source.ceiling(task)
    if exact is not None:
        draw_reference(axes, x[0, :, 0], exact)
    axes.plot(x[0, :, 0], y[0, count:, 0], color=BLACK, linewidth=0.6, label="true function")
    draw_context(axes, task)
    for edge in (-2.0, 2.0):
        if scene.shown > edge > -scene.shown:
            axes.axvline(edge, color="#999999", linewidth=0.8, linestyle="--")
    low, high = y.min().item(), y.max().item()
    axes.set_ylim(low - 0.6 * (high - low), high + 0.6 * (high - low))
