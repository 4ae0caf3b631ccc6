"""Maps of points in the plane: the mean, the uncertainty, and what was observed."""

from __future__ import annotations

import itertools
import warnings
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from convcnp.errors import ConvCNPWarning, SettingError
from convcnp.frames.points import PointsTable, map_targets
from convcnp.plots.drawing import Form, as_picture, new_figure
from convcnp.predict.answers import quantile_name
from convcnp.predict.points import PointsRequest

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh

UNCERTAINTY = "uncertainty (half the central 68 %)"
_SIDE = 80  # points along each side
_ALIKE = 3.0  # one side over the other: below, both are drawn to one scale
_CENTRAL = (0.16, 0.84)  # half the way between them is the deviation of a Gaussian
_PANELS = 3  # sets or channels, each a mean and a standard deviation


def draw_map(
    request: PointsRequest, answer: pd.DataFrame | None = None, form: Form = "png"
) -> bytes:
    """Draw the first sets and channels: a row each, the mean beside the uncertainty.

    That is half the width of the central 68 %, which a rare outlier does not widen.
    """
    table = request.table
    pairs = itertools.product(range(len(table.series)), range(len(table.columns.values)))
    panels = list(itertools.islice(pairs, _PANELS))
    if not panels:
        raise SettingError("A map needs at least one set of points, got none.")
    shown = request.at(map_targets(table, _SIDE, sorted({i for i, _ in panels})))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvCNPWarning)  # the answer came with them
        predicted = shown.answer(_CENTRAL)
    figure = new_figure(len(panels), 2, width=5.0, height=4.0)
    sides = zip(figure.axes[::2], figure.axes[1::2], strict=True)
    for (i, c), (left, right) in zip(panels, list(sides), strict=True):
        own = predicted.iloc[shown.targets.rows(i)]
        x = shown.targets.inputs.x[shown.targets.inputs.rows(i)].reshape(_SIDE, _SIDE, 2)
        value = table.columns.values[c]
        label = value if table.labels is None else f"{value}, {table.labels[i]}"
        low, high = (own[f"{value}_{quantile_name(level)}"].to_numpy() for level in _CENTRAL)
        surfaces = {"mean": own[f"{value}_mean"].to_numpy(), UNCERTAINTY: (high - low) / 2}
        for axes, (name, surface) in zip((left, right), surfaces.items(), strict=True):
            image = _draw_surface(axes, x, surface)
            figure.colorbar(image, ax=axes)
            _draw_points(axes, table, i, c, image if axes is left else None)
            axes.set_aspect(_aspect(table))
            # Names are a user's: dollars in them are no formula.
            axes.set_title(f"{label}: {name}", fontsize="small", parse_math=False)
            axes.set_xlabel(table.columns.inputs[0], parse_math=False)
            axes.set_ylabel(table.columns.inputs[1], parse_math=False)
    return as_picture(figure, form)


def _aspect(table: PointsTable) -> float | Literal["auto"]:
    """Return how much longer one unit is drawn upwards than sideways."""
    low, high = table.extent
    if table.longitude is not None:
        i = table.longitude
        middle = np.deg2rad((low[1 - i] + high[1 - i]) / 2)
        degree = max(float(np.cos(middle)), 0.1)  # of longitude, over one of latitude
        return 1 / degree if i == 0 else degree
    extent = high - low
    is_alike = extent.min() > 0 and extent.max() < _ALIKE * extent.min()
    return 1.0 if is_alike else "auto"


def _draw_surface(axes: Axes, x: np.ndarray, values: np.ndarray) -> QuadMesh:
    return axes.pcolormesh(x[..., 0], x[..., 1], values.reshape(_SIDE, _SIDE), shading="nearest")


def _draw_points(
    axes: Axes, table: PointsTable, i: int, channel: int, like: QuadMesh | None
) -> None:
    """Draw the observations of a set, coloured like the surface if there is one."""
    rows = table.series.rows(i)
    y = table.y[rows, channel]
    observed = ~np.isnan(y)
    east, north = table.around(table.series.x[rows][observed]).T
    if like is None:
        axes.scatter(east, north, s=3, color="white")
        return
    low, high = like.get_clim()
    axes.scatter(east, north, s=12, c=y[observed], vmin=low, vmax=high, edgecolors="white")
