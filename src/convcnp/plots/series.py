"""Pictures of a user's series: what was observed, and what was predicted."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from convcnp.errors import ConvCNPWarning
from convcnp.frames.series import SeriesTable
from convcnp.plots.drawing import BLACK, BLUE, ORANGE, as_png, new_figure
from convcnp.predict.predictor import QUANTILES, Predictor, quantile_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PANELS = 6
_POINTS = 600  # of a curve


def draw_series(predictor: Predictor, table: SeriesTable, answer: pd.DataFrame) -> bytes:
    """Draw the first series and value columns as PNG: observations, the mean, the 90 % band."""
    columns, axis = table.columns, table.axis
    panels = _panels(table)
    figure = new_figure(len(panels), 1, width=9.0, height=2.8)
    bands: dict[int, pd.DataFrame] = {}
    for axes, (i, value) in zip(figure.axes, panels, strict=True):
        label = None if table.labels is None else table.labels[i]
        own = answer if label is None else answer[answer[columns.group] == label]
        rows = slice(table.series.starts[i], table.series.starts[i + 1])
        times, y = axis.times(table.series.x[rows]), table.y[rows]
        if i not in bands:
            observed = pd.DataFrame(dict(zip(columns.values, y.T, strict=True)))
            observed.insert(0, columns.time, times)
            curve = _curve(table.series.x[rows], axis.numbers(own[columns.time]))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvCNPWarning)  # the answer came with them
                bands[i] = predictor.predict(
                    observed, axis.times(curve), time=columns.time, value=columns.values, group=""
                )
        _draw_panel(axes, times, y[:, columns.values.index(value)], bands[i], columns.time, value)
        _draw_samples(axes, axis.numbers(own[columns.time]), own, columns.time, value)
        axes.set_ylabel(value if label is None else f"{value}, {label}")
    figure.axes[0].legend(loc="best", frameon=False, fontsize="small")
    return as_png(figure)


def _panels(table: SeriesTable) -> list[tuple[int, str]]:
    """Return the first series, by number, and their value columns that have observations."""
    row, channel = np.nonzero(~np.isnan(table.y))
    values = table.columns.values
    panels = np.unique(table.series.owners[row] * len(values) + channel)[:_PANELS]
    return [(int(panel) // len(values), values[int(panel) % len(values)]) for panel in panels]


def _draw_panel(
    axes: Axes,
    times: pd.Index,
    y: np.ndarray,
    band: pd.DataFrame,
    time: str,
    value: str,
) -> None:
    low, high = (band[f"{value}_{quantile_name(level)}"] for level in QUANTILES)
    axes.fill_between(band[time], low, high, color=BLUE, alpha=0.2, linewidth=0)
    mean = band[f"{value}_mean"]
    axes.plot(band[time], mean, color=BLUE, linewidth=1.2, label="mean and 90 % band")
    axes.plot(times, y, "o", color=BLACK, markersize=2.5, label="observed")


def _draw_samples(axes: Axes, x: np.ndarray, answer: pd.DataFrame, time: str, value: str) -> None:
    """Draw sampled curves, each gap's on its own: nothing was asked for in between."""
    names = [name for name in answer.columns if str(name).startswith(f"{value}_sample")]
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
