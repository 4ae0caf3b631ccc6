"""Pictures of a user's series: what was observed, and what was predicted."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from convcnp.errors import ConvCNPWarning
from convcnp.frames.series import Ragged, SeriesTable
from convcnp.frames.targets import Targets
from convcnp.plots.drawing import BLACK, BLUE, ORANGE, as_png, new_figure
from convcnp.predict.answers import QUANTILES, quantile_name
from convcnp.predict.request import Request, SeriesRequest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PANELS = 6
_POINTS = 600  # of a curve


def draw_series(request: SeriesRequest, answer: pd.DataFrame) -> bytes:
    """Draw the first series and value columns as PNG: observations, the mean, the 90 % band.

    Args:
        answer: What was predicted for the request; samples in it are drawn as well.
    """
    table, time = request.table, request.table.time
    panels = _panels(table)
    figure = new_figure(len(panels), 1, width=9.0, height=2.8)
    shown = _with_curves(request, sorted({i for i, _ in panels}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvCNPWarning)  # the answer came with them
        bands = shown.answer(QUANTILES)
    for axes, (i, value) in zip(figure.axes, panels, strict=True):
        rows = table.series.rows(i)
        y = table.y[rows, table.columns.values.index(value)]
        times = table.axis.times(table.series.x[rows])
        _draw_band(axes, bands.iloc[shown.targets.rows(i)], time, value)
        axes.plot(times, y, "o", color=BLACK, markersize=2.5, label="observed")
        asked = request.targets.inputs.x[request.targets.inputs.rows(i)]
        _draw_samples(axes, asked, answer.iloc[request.targets.rows(i)], time, value)
        axes.set_ylabel(value if table.labels is None else f"{value}, {table.labels[i]}")
    figure.axes[0].legend(loc="best", frameon=False, fontsize="small")
    return as_png(figure)


def _with_curves(request: SeriesRequest, chosen: list[int]) -> Request:
    """Ask for times fine enough for smooth curves, of these series."""
    table, asked = request.table, request.targets.inputs
    curves = {
        i: _curve(table.series.x[table.series.rows(i)], asked.x[asked.rows(i)]) for i in chosen
    }
    lengths = [len(curves.get(i, ())) for i in range(len(table.series))]
    x = np.concatenate([curves[i] for i in chosen])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return request.at(Targets(Ragged(x, starts), "the times of curves"))


def _panels(table: SeriesTable) -> list[tuple[int, str]]:
    """Return the first series, by number, and their value columns that have observations."""
    row, channel = np.nonzero(~np.isnan(table.y))
    values = table.columns.values
    panels = np.unique(table.series.owners[row] * len(values) + channel)[:_PANELS]
    return [(int(panel) // len(values), values[int(panel) % len(values)]) for panel in panels]


def _draw_band(axes: Axes, band: pd.DataFrame, time: str, value: str) -> None:
    low, high = (band[f"{value}_{quantile_name(level)}"] for level in QUANTILES)
    axes.fill_between(band[time], low, high, color=BLUE, alpha=0.2, linewidth=0)
    mean = band[f"{value}_mean"]
    axes.plot(band[time], mean, color=BLUE, linewidth=1.2, label="mean and 90 % band")


def _draw_samples(axes: Axes, x: np.ndarray, answer: pd.DataFrame, time: str, value: str) -> None:
    """Draw sampled curves, each gap's on its own: nothing was asked for in between."""
    names = [name for name in answer.columns if str(name).startswith(f"{value}_sample")]
    order = np.argsort(x, kind="stable")
    x, answer = x[order], answer.iloc[order]
    step = np.diff(x)
    ends = np.flatnonzero(step > 3 * (np.median(step) if len(step) else 0.0)) + 1
    for rows in np.split(np.arange(len(x)), ends):
        for name in names:
            part = answer.iloc[rows]
            axes.plot(part[time], part[name], color=ORANGE, linewidth=0.6, alpha=0.7)


def _curve(x: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Return times fine enough for a smooth curve through what was observed and asked."""
    ends = np.concatenate([x, asked])
    grid = np.linspace(ends.min(), ends.max(), _POINTS)
    return np.unique(np.concatenate([grid, asked if len(asked) < _POINTS else []]))
