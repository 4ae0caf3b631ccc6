"""Maps of points in the plane: the mean, the standard deviation, and what was observed."""

from __future__ import annotations

import itertools
import warnings
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from convcnp.errors import ConvCNPWarning, SettingError
from convcnp.frames.points import PointsTable, map_targets
from convcnp.plots.drawing import as_png, new_figure
from convcnp.predict.request import PointsRequest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh

_SIDE = 80  # points along each side
_PANELS = 3  # sets or channels, each a mean and a standard deviation


def draw_map(request: PointsRequest, answer: pd.DataFrame | None = None) -> bytes:
    """Draw the first sets and channels: a row each, the mean beside the standard deviation."""
    table = request.table
    pairs = itertools.product(range(len(table.series)), range(len(table.columns.values)))
    panels = list(itertools.islice(pairs, _PANELS))
    if not panels:
        raise SettingError("A map needs at least one set of points, got none.")
    shown = request.at(map_targets(table, _SIDE, sorted({i for i, _ in panels})))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvCNPWarning)  # the answer came with them
        predicted = shown.answer()
    figure = new_figure(len(panels), 2, width=5.0, height=4.0)
    sides = zip(figure.axes[::2], figure.axes[1::2], strict=True)
    for (i, c), (left, right) in zip(panels, list(sides), strict=True):
        own = predicted.iloc[shown.targets.rows(i)]
        x = shown.targets.inputs.x[shown.targets.inputs.rows(i)].reshape(_SIDE, _SIDE, 2)
        value = table.columns.values[c]
        label = value if table.labels is None else f"{value}, {table.labels[i]}"
        for axes, kind, name in ((left, "mean", "mean"), (right, "std", "standard deviation")):
            image = _draw_surface(axes, x, own[f"{value}_{kind}"].to_numpy())
            figure.colorbar(image, ax=axes)
            _draw_points(axes, table, i, c, image if kind == "mean" else None)
            axes.set_title(f"{label}: {name}", fontsize="small")
            axes.set_xlabel(table.columns.inputs[0])
            axes.set_ylabel(table.columns.inputs[1])
    return as_png(figure)


def _draw_surface(axes: Axes, x: np.ndarray, values: np.ndarray) -> QuadMesh:
    return axes.pcolormesh(x[..., 0], x[..., 1], values.reshape(_SIDE, _SIDE), shading="nearest")


def _draw_points(
    axes: Axes, table: PointsTable, i: int, channel: int, like: QuadMesh | None
) -> None:
    """Draw the observations of a set, coloured like the surface if there is one."""
    rows = table.series.rows(i)
    y = table.y[rows, channel]
    observed = ~np.isnan(y)
    east, north = table.series.x[rows][observed].T
    if like is None:
        axes.scatter(east, north, s=3, color="white")
        return
    low, high = like.get_clim()
    axes.scatter(east, north, s=12, c=y[observed], vmin=low, vmax=high, edgecolors="white")
