"""The paper's figures of real series: predators and prey, and light curves (Sections 5.2, 5.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from convcnp.core.grid import ranges
from convcnp.core.predictive import Predictive
from convcnp.core.task import Task
from convcnp.data import lynx_hare
from convcnp.data.fur_counts import FurCounts
from convcnp.data.lotka_volterra import (
    CHANNELS,
    UNIT,
    LotkaVolterraSource,
    Run,
    numpy_generator,
)
from convcnp.data.plasticc import BANDS, PlasticcSource
from convcnp.data.source import seeded
from convcnp.models.base import Model
from convcnp.paper.baselines import kaggle_gp
from convcnp.paper.figures.shelf import Shelf
from convcnp.paper.scores import Predict, in_units_of, predict_fluxes
from convcnp.plots.drawing import (
    BLUE,
    ORANGE,
    dense_targets,
    draw_band,
    draw_context,
    draw_legend,
    draw_reference,
    draw_targets,
    limit_to,
    new_figure,
)
from convcnp.predict.predictor import Predictor

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PREY, PREDATORS = BLUE, ORANGE


def _predators_and_prey(name: str, shelf: Shelf, seed: int) -> Figure:
    """Draw two simulations and the lynx-hare series: a row per model."""
    models = {
        "figure3": [
            *("lotka-volterra-convcnp", "lotka-volterra-broad-convcnp"),
            *("lotka-volterra-broad-convcnpxl", "lotka-volterra-broad-dictionary"),
            "fur-counts-convcnp-ours",
        ],
        "figure3-attncnp": ["lotka-volterra-attncnp"],
    }
    rows = shelf.known("figure3", models[name], "{row}")
    figure = new_figure(len(rows), 4)
    for row, start in zip(rows, range(0, 4 * len(rows), 4), strict=True):
        predictor, label = shelf.load("figure3", row), row.removeprefix("lotka-volterra-")
        *simulated, gap, future = figure.axes[start : start + 4]
        predict = _draw_simulations(simulated, predictor, numpy_generator(seeded(seed)))
        for axes in simulated:
            axes.set_title(f"{label}: simulation", fontsize="small")
        _draw_gap(gap, predict)
        gap.set_title(f"{label}: hare and lynx, years hidden", fontsize="small")
        _draw_forecast(future, predict)
        future.set_title(f"{label}: forecast", fontsize="small")
        is_counted = isinstance(predictor.source, FurCounts)
        simulated[0].set_ylabel("multiples of the mean" if is_counted else "hundred thousands")
    draw_legend(figure)
    return figure


def _draw_simulations(
    panels: Sequence[Axes], predictor: Predictor, rng: np.random.Generator
) -> Predict:
    """Draw simulations of a model's own, and return how it predicts populations."""
    source, model = predictor.source, predictor.model
    if isinstance(source, LotkaVolterraSource):
        for axes, run in zip(panels, source.kept_runs(rng), strict=False):
            at, end = _in_units(run), run.end
            _draw_simulation(axes, model, at, end * rng.random(40), dense_targets(0, end))
        return model
    assert isinstance(source, FurCounts)

    def predict(task: Task) -> Predictive:
        return in_units_of(source, model, task)

    years = torch.arange(91.0, dtype=torch.float64)[None, :, None]
    for axes, counts in zip(panels, source.counts(len(panels), rng), strict=True):
        seen = np.sort(rng.permutation(91)[:40]).astype(np.float64)
        _draw_simulation(axes, predict, _yearly(counts), seen, years)
    return predict


def _in_units(run: Run) -> Callable[[np.ndarray], np.ndarray]:
    return lambda times: run.at(times) / UNIT


def _yearly(counts: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    return lambda years: counts[years.astype(np.int64)]


def _draw_simulation(
    axes: Axes,
    predict: Predict,
    at: Callable[[np.ndarray], np.ndarray],
    times: np.ndarray,
    x: Float[Tensor, "1 M 1"],
) -> None:
    """Draw populations that are known everywhere, given at some times, predicted at others."""
    x_context, y_context = (torch.from_numpy(v)[None] for v in (times[:, None], at(times)))
    task = Task(x_context, y_context, x)
    truth = at(x[0, :, 0].numpy())
    for channel, color in enumerate((PREY, PREDATORS)):
        axes.plot(x[0, :, 0], truth[:, channel], color=color, linewidth=0.6)
    _draw_populations(axes, predict, task)


def _draw_gap(axes: Axes, predict: Predict) -> None:
    """Draw the lynx-hare series with hidden years."""
    hidden = lynx_hare.hidden()
    x = dense_targets(0, lynx_hare.LAST_YEAR - lynx_hare.FIRST_YEAR)
    _draw_populations(axes, predict, Task(hidden.x_context, hidden.y_context, x))
    for channel, color in enumerate((PREY, PREDATORS)):
        draw_targets(axes, hidden, channel=channel, color=color)
    axes.set_xlabel(f"years since {lynx_hare.FIRST_YEAR}")


def _draw_forecast(axes: Axes, predict: Predict) -> None:
    """Draw the end of the whole series, and as many years beyond it as were hidden."""
    end = lynx_hare.LAST_YEAR - lynx_hare.FIRST_YEAR
    x = dense_targets(end - 2 * lynx_hare.LENGTH, end + lynx_hare.LENGTH)
    _draw_populations(axes, predict, lynx_hare.asked_at(x[0, :, 0] + lynx_hare.FIRST_YEAR))
    axes.set_xlim(x.min().item(), x.max().item())
    axes.set_xlabel(f"years since {lynx_hare.FIRST_YEAR}")


@torch.no_grad()
def _draw_populations(axes: Axes, predict: Predict, task: Task) -> None:
    predictive = predict(task)
    for channel, (name, color) in enumerate(zip(CHANNELS, (PREY, PREDATORS), strict=True)):
        label = f"{name}: mean, 2 sd"
        x = task.x_target[0, :, 0]
        draw_band(axes, x, predictive, channel=channel, color=color, label=label)
        draw_context(axes, task, channel=channel, color=color)
    axes.set_ylim(0, 1.5 * task.y_context.max().item())


@torch.no_grad()
def _light_curves(name: str, shelf: Shelf, seed: int) -> Figure:
    """Draw six test objects, one per row, in six bands, by the ConvCNP and by the Kaggle GP."""
    row = shelf.known("table2", ["convcnp-ours", "convcnpxl"], "plasticc-{row}")[0]
    predictor = shelf.load("table2", f"plasticc-{row}")
    source = predictor.experiment.source().held_out("test")
    assert isinstance(source, PlasticcSource)
    figure = new_figure(6, len(BANDS), width=2.4, height=1.7)
    tasks = replace(source, units="none", errors=True).draw(6, seeded(seed))
    for i, start in enumerate(range(0, 6 * len(BANDS), len(BANDS))):
        panels = figure.axes[start : start + len(BANDS)]
        _draw_light_curve(panels, predictor.model, source, tasks[i])
    for axes, band in zip(figure.axes, BANDS, strict=False):
        axes.set_title(band, fontsize="small")
    draw_legend(figure)
    return figure


def _draw_light_curve(
    panels: Sequence[Axes], model: Model, source: PlasticcSource, task: Task
) -> None:
    assert task.y_target is not None
    (low, high), (first, last) = ranges(task)
    x = dense_targets(torch.minimum(low, first).item(), torch.maximum(high, last).item(), 401)
    dense = Task(
        task.x_context,
        task.y_context,
        x,
        context_mask=task.context_mask,
        context_error=task.context_error,
    )
    ours, theirs = predict_fluxes(model, source, dense), kaggle_gp.predict(dense)
    for channel, axes in enumerate(panels):
        label = "ConvCNP: median, central 95 %"
        draw_band(axes, x[0, :, 0], ours, channel=channel, label=label, by="median")
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
        limit_to(axes, torch.cat(observed))


FIGURES: dict[str, Callable[[str, Shelf, int], Figure]] = {
    "figure3": _predators_and_prey,
    "figure3-attncnp": _predators_and_prey,
    "light-curves": _light_curves,
}
