"""Pictures of predictions, and the paper's figures."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from convcnp.baselines import kaggle_gp
from convcnp.data import lynx_hare
from convcnp.data.gp import GPSource
from convcnp.data.lotka_volterra import (
    CHANNELS,
    UNIT,
    LotkaVolterraSource,
    Run,
    numpy_generator,
)
from convcnp.data.plasticc import BANDS, PlasticcSource
from convcnp.data.source import FunctionSource, seeded
from convcnp.errors import ResultError, import_extra
from convcnp.experiment import SOURCES
from convcnp.grid import ranges
from convcnp.models.base import Model
from convcnp.predictive import GaussianPredictive
from convcnp.task import Task
from convcnp.zoo import is_shipped, load

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, GREEN, ORANGE, BLACK = "#2a6fbb", "#2e8b57", "#c8681c", "#222222"


def draw_band(
    axes: Axes,
    x: Float[Tensor, " M"],
    predictive: GaussianPredictive,
    *,
    channel: int = 0,
    color: str = BLUE,
    label: str | None = None,
) -> None:
    """Draw the mean and two standard deviations of the first task."""
    mean, stddev = (
        moment[0, :, channel].detach().cpu() for moment in (predictive.mean, predictive.stddev)
    )
    axes.plot(x, mean, color=color, linewidth=1.5, label=label)
    axes.fill_between(x, mean - 2 * stddev, mean + 2 * stddev, color=color, alpha=0.2, linewidth=0)


def draw_reference(
    axes: Axes,
    x: Float[Tensor, " M"],
    predictive: GaussianPredictive,
    *,
    channel: int = 0,
    label: str = "exact GP",
) -> None:
    """Draw another's prediction as dashed lines: mean and two standard deviations."""
    mean, stddev = (moment[0, :, channel] for moment in (predictive.mean, predictive.stddev))
    for offset in (0, -2, 2):
        style, shown = ("--", label) if offset == 0 else (":", None)
        axes.plot(x, mean + offset * stddev, style, color=GREEN, linewidth=1.2, label=shown)


def draw_context(axes: Axes, task: Task, *, channel: int = 0, color: str = BLACK) -> None:
    """Draw the first task's observations."""
    seen = task.context_mask[0, :, channel]
    x, y = task.x_context[0, seen, 0], task.y_context[0, seen, channel]
    axes.plot(x, y, "o", color=color, markersize=4, label="context")


def draw_targets(axes: Axes, task: Task, *, channel: int = 0, color: str = BLACK) -> None:
    """Draw what the first task asks for, where it is known, as open circles."""
    assert task.y_target is not None
    asked = task.target_mask[0, :, channel]
    x, y = task.x_target[0, asked, 0], task.y_target[0, asked, channel]
    axes.plot(x, y, "o", color=color, markersize=4, fillstyle="none", label="target")


def new_figure(rows: int, columns: int, width: float = 4.0, height: float = 2.6) -> Figure:
    """Return a figure with a grid of axes, drawn without a screen."""
    figure_type = import_extra("matplotlib.figure", "plot").Figure
    figure: Figure = figure_type(figsize=(width * columns, height * rows), layout="constrained")
    figure.subplots(rows, columns, squeeze=False, sharex="col")
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure as PNG, making its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def as_png(figure: Figure) -> bytes:
    """Return a figure as the content of a PNG file."""
    content = io.BytesIO()
    figure.savefig(content, dpi=150, format="png")
    return content.getvalue()


def dense_targets(low: float, high: float, points: int = 601) -> Float[Tensor, "1 M 1"]:
    """Return evenly spaced inputs to draw a curve at."""
    return torch.linspace(low, high, points, dtype=torch.float64)[None, :, None]


@dataclass(frozen=True)
class Scene:
    """Where a function is observed and where it is predicted; training saw [-2, 2] only."""

    title: str
    observed: float  # context lies in [-observed, observed]
    shown: float  # predictions are drawn in [-shown, shown]


WITHIN = Scene("within the training range", 2.0, 2.0)
WITHOUT_DATA = Scene("beyond it, without data", 2.0, 4.0)
WITH_DATA = Scene("beyond it, with data", 4.0, 4.0)


def draw_paper_figure(name: str, out: Path, seed: int) -> Path:
    """Draw a figure of the paper with shipped models; rows whose models do not ship are left out.

    `figure2` and `appendix-eq` to `appendix-sawtooth` show synthetic functions, `figure3` and
    `figure3-attncnp` predators and prey, `light-curves` six objects in six bands.
    """
    if name not in FIGURES:
        raise ResultError(
            f"Expected the name of a figure, one of {', '.join(FIGURES)}, got {name!r}; choose one."
        )
    figure = FIGURES[name](name, seed)
    _draw_legend(figure)
    save_figure(figure, out / f"{name}.png")
    return out / f"{name}.png"


def _draw_legend(figure: Figure) -> None:
    """Name each kind of line and mark once, below all panels."""
    handles: dict[str, Artist] = {}
    for axes in figure.axes:
        handles |= {
            label: mark for mark, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
    marks, labels = list(handles.values()), list(handles)
    figure.legend(marks, labels, loc="outside lower center", ncols=len(labels), frameon=False)


def _shipped(figure: str, rows: Sequence[str], *needed: str) -> list[str]:
    """Return the rows whose models ship, named by patterns such as `eq-{row}`."""
    shipped = [row for row in rows if all(is_shipped(name.format(row=row)) for name in needed)]
    if not shipped:
        raise ResultError(
            f"Expected trained models for {figure}, but none ship yet; train them first."
        )
    return shipped


def _functions(name: str, seed: int) -> Figure:
    """Draw Figure 2, or a figure of Appendix C.2: a row per model, a column per scene."""
    if name == "figure2":
        rows = ["attncnp", "convcnpxl"]
        columns = [(p, s) for p in ("matern", "sawtooth") for s in (WITHOUT_DATA, WITH_DATA)]
    else:
        rows = ["convcnp", "convcnpxl", "convcnp-ours", "attncnp", "cnp"]
        process = name.removeprefix("appendix-")
        columns = [(process, scene) for scene in (WITHIN, WITHOUT_DATA, WITH_DATA)]
    rows = _shipped(name, rows, *(f"{process}-{{row}}" for process, _ in columns))
    figure = new_figure(len(rows), len(columns))
    for axes, (row, (process, scene)) in zip(figure.axes, product(rows, columns), strict=True):
        _draw_panel(axes, f"{process}-{row}", _FUNCTIONS[process], scene, seed)
        axes.set_title(f"{process}, {row}: {scene.title}", fontsize="small")
    return figure


def _draw_panel(axes: Axes, model: str, source: FunctionSource, scene: Scene, seed: int) -> None:
    if isinstance(source, GPSource):
        source = replace(source, jitter=1e-7)  # many points close together
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
    _limit(axes, y)


PREY, PREDATORS = BLUE, ORANGE


def _predators_and_prey(name: str, seed: int) -> Figure:
    """Draw two simulations and the lynx-hare series: a row per model."""
    models = {
        "figure3": ["convcnp", "broad-convcnp", "broad-convcnpxl"],
        "figure3-attncnp": ["attncnp"],
    }
    rows = _shipped(name, models[name], "lotka-volterra-{row}")
    figure = new_figure(len(rows), 4)
    for row, start in zip(rows, range(0, 4 * len(rows), 4), strict=True):
        predictor = load(f"lotka-volterra-{row}")
        source = predictor.experiment.source()
        assert isinstance(source, LotkaVolterraSource)
        rng = numpy_generator(seeded(seed))
        *simulated, gap, future = figure.axes[start : start + 4]
        for axes, run in zip(simulated, source.kept_runs(rng), strict=False):
            _draw_simulation(axes, predictor.model, run, rng)
            axes.set_title(f"{row}: simulation", fontsize="small")
        _draw_gap(gap, predictor.model)
        gap.set_title(f"{row}: hare and lynx, years hidden", fontsize="small")
        _draw_forecast(future, predictor.model)
        future.set_title(f"{row}: forecast", fontsize="small")
        simulated[0].set_ylabel("hundred thousands")
    return figure


def _draw_simulation(axes: Axes, model: Model, run: Run, rng: np.random.Generator) -> None:
    times = run.end * rng.random(40)
    x_context, y_context = (torch.from_numpy(v)[None] for v in (times[:, None], run.at(times)))
    x = dense_targets(0, run.end)
    task = Task(x_context, y_context / UNIT, x)
    truth = run.at(x[0, :, 0].numpy()) / UNIT
    for channel, color in enumerate((PREY, PREDATORS)):
        axes.plot(x[0, :, 0], truth[:, channel], color=color, linewidth=0.6)
    _draw_populations(axes, model, task)


def _draw_gap(axes: Axes, model: Model) -> None:
    """Draw the lynx-hare series with hidden years."""
    hidden = lynx_hare.hidden()
    x = dense_targets(0, lynx_hare.LAST_YEAR - lynx_hare.FIRST_YEAR)
    _draw_populations(axes, model, Task(hidden.x_context, hidden.y_context, x))
    for channel, color in enumerate((PREY, PREDATORS)):
        draw_targets(axes, hidden, channel=channel, color=color)
    axes.set_xlabel(f"years since {lynx_hare.FIRST_YEAR}")


def _draw_forecast(axes: Axes, model: Model) -> None:
    """Draw the end of the whole series, and as many years beyond it as were hidden."""
    end = lynx_hare.LAST_YEAR - lynx_hare.FIRST_YEAR
    x = dense_targets(end - 2 * lynx_hare.LENGTH, end + lynx_hare.LENGTH)
    _draw_populations(axes, model, lynx_hare.asked_at(x[0, :, 0] + lynx_hare.FIRST_YEAR))
    axes.set_xlim(x.min().item(), x.max().item())
    axes.set_xlabel(f"years since {lynx_hare.FIRST_YEAR}")


@torch.no_grad()
def _draw_populations(axes: Axes, model: Model, task: Task) -> None:
    predictive = model(task)
    for channel, (name, color) in enumerate(zip(CHANNELS, (PREY, PREDATORS), strict=True)):
        label = f"{name}: mean, 2 sd"
        x = task.x_target[0, :, 0]
        draw_band(axes, x, predictive, channel=channel, color=color, label=label)
        draw_context(axes, task, channel=channel, color=color)
    axes.set_ylim(0, 1.5 * task.y_context.max().item())


@torch.no_grad()
def _light_curves(name: str, seed: int) -> Figure:
    """Draw six test objects, one per row, in six bands, by the ConvCNP and by the Kaggle GP."""
    _shipped(name, ["convcnpxl"], "plasticc-{row}")
    predictor = load("plasticc-convcnpxl")
    source = predictor.experiment.source().held_out("test")
    assert isinstance(source, PlasticcSource)
    figure = new_figure(6, len(BANDS), width=2.4, height=1.7)
    tasks, errors = (
        replace(source, quantity=quantity).draw(6, seeded(seed)) for quantity in ("flux", "error")
    )
    for i, start in enumerate(range(0, 6 * len(BANDS), len(BANDS))):
        panels = figure.axes[start : start + len(BANDS)]
        _draw_light_curve(panels, predictor.model, tasks[i], errors[i])
    for axes, band in zip(figure.axes, BANDS, strict=False):
        axes.set_title(band, fontsize="small")
    return figure


def _draw_light_curve(panels: Sequence[Axes], model: Model, task: Task, errors: Task) -> None:
    assert task.y_target is not None
    (low, high), (first, last) = ranges(task)
    x = dense_targets(torch.minimum(low, first).item(), torch.maximum(high, last).item(), 201)
    dense = Task(task.x_context, task.y_context, x, context_mask=task.context_mask)
    ours, theirs = model(dense), kaggle_gp.predict(dense, errors)
    for channel, axes in enumerate(panels):
        draw_band(axes, x[0, :, 0], ours, channel=channel, label="ConvCNP: mean, 2 sd")
        draw_reference(axes, x[0, :, 0], theirs, channel=channel, label="Kaggle GP: mean, 2 sd")
        draw_targets(axes, task, channel=channel)
        draw_context(axes, task, channel=channel)
        observed = [
            y[0, mask[0, :, channel], channel]
            for y, mask in (
                (task.y_context, task.context_mask),
                (task.y_target, task.target_mask),
            )
        ]
        _limit(axes, torch.cat(observed))


def _limit(axes: Axes, y: Tensor) -> None:
    """Show the values given, with room above and below."""
    if y.numel():
        low, high = y.min().item(), y.max().item()
        room = 0.6 * (high - low) or 1.0
        axes.set_ylim(low - room, high + room)


_FUNCTIONS = {name: s for name, s in SOURCES.items() if isinstance(s, FunctionSource)}

FIGURES: dict[str, Callable[[str, int], Figure]] = {
    "figure2": _functions,
    **{f"appendix-{process}": _functions for process in _FUNCTIONS},
    "figure3": _predators_and_prey,
    "figure3-attncnp": _predators_and_prey,
    "light-curves": _light_curves,
}
