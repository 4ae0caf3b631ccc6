"""Pictures of a user's series: what was observed, and what was predicted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from convcnp.figures import BLACK, BLUE, new_figure, write_picture
from convcnp.frames import Columns, SeriesTable
from convcnp.predictor import QUANTILES, Predictor, quantile_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ORANGE = "#c46a1b"
_PANELS = 6
_POINTS = 600  # of a curve


def draw_series(predictor: Predictor, table: SeriesTable, answer: pd.DataFrame, path: Path) -> None:
    """Draw the first series and value columns: observations, the mean and the 90 % band."""
    columns, axis = table.columns, table.axis
    labels = [None] if table.labels is None else list(table.labels[:_PANELS])
    panels = [(i, value) for i in range(len(labels)) for value in columns.values][:_PANELS]
    figure = new_figure(len(panels), 1, width=9.0, height=2.8)
    bands: dict[int, pd.DataFrame] = {}
    for axes, (i, value) in zip(figure.axes, panels, strict=True):
        own = answer if labels[i] is None else answer[answer[columns.group] == labels[i]]
        rows = slice(table.series.starts[i], table.series.starts[i + 1])
        times, y = axis.times(table.series.x[rows]), table.y[rows]
        if i not in bands:
            observed = pd.DataFrame(dict(zip(columns.values, y.T, strict=True)))
            observed.insert(0, columns.time, times)
            curve = _curve(table.series.x[rows], axis.numbers(own[columns.time]))
            bands[i] = predictor.predict(
                observed, axis.times(curve), time=columns.time, value=columns.values
            )
        _draw_panel(axes, times, y[:, columns.values.index(value)], bands[i], own, columns, value)
        axes.set_ylabel(value if labels[i] is None else f"{value}, {labels[i]}")
    figure.axes[0].legend(loc="best", frameon=False, fontsize="small")
    write_picture(figure, path)


def _draw_panel(
    axes: Axes,
    times: pd.Index,
    y: np.ndarray,
    band: pd.DataFrame,
    answer: pd.DataFrame,
    columns: Columns,
    value: str,
) -> None:
    low, high = (band[f"{value}_{quantile_name(level)}"] for level in QUANTILES)
    axes.fill_between(band[columns.time], low, high, color=BLUE, alpha=0.2, linewidth=0)
    mean = band[f"{value}_mean"]
    axes.plot(band[columns.time], mean, color=BLUE, linewidth=1.2, label="mean and 90 % band")
    for name in answer.columns:
        if str(name).startswith(f"{value}_sample"):
            axes.plot(answer[columns.time], answer[name], color=ORANGE, linewidth=0.6, alpha=0.7)
    axes.plot(times, y, "o", color=BLACK, markersize=2.5, label="observed")


def _curve(x: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Return times fine enough for a smooth curve through what was observed and asked."""
    ends = np.concatenate([x, asked])
    grid = np.linspace(ends.min(), ends.max(), _POINTS)
    return np.unique(np.concatenate([grid, asked if len(asked) < _POINTS else []]))
