"""Maps of points in the plane: the mean, the standard deviation, and what was observed."""

from __future__ import annotations

import itertools

import numpy as np

from convcnp.errors import SettingError
from convcnp.plots.drawing import as_png, new_figure
from convcnp.predict.points import PointsTable
from convcnp.predict.predictor import Predictor

_SIDE = 80  # points along each side
_PANELS = 3  # sets or channels, each a mean and a standard deviation


def draw_map(predictor: Predictor, table: PointsTable) -> bytes:
    """Draw the first sets and channels: a row each, the mean beside the standard deviation."""
    layout = table.layout
    pairs = itertools.product(range(table.num_sets), range(len(layout.values)))
    panels = list(itertools.islice(pairs, _PANELS))
    if not panels:
        raise SettingError("A map needs at least one set of points, got none.")
    asked = table.map(_SIDE, sorted({i for i, _ in panels}))
    mean, stddev = predictor.predict_points(table, asked)
    figure = new_figure(len(panels), 2, width=5.0, height=4.0)
    for row, (i, c) in enumerate(panels):
        own = asked.owners == i
        x = asked.x[own].reshape(_SIDE, _SIDE, 2)
        seen = slice(table.starts[i], table.starts[i + 1])
        label = "" if table.labels is None else f", {table.labels[i]}"
        for axes, values, name in zip(
            figure.axes[2 * row : 2 * row + 2],
            (mean[own, c], stddev[own, c]),
            ("mean", "standard deviation"),
            strict=True,
        ):
            image = axes.pcolormesh(
                x[..., 0], x[..., 1], values.reshape(_SIDE, _SIDE), shading="nearest"
            )
            figure.colorbar(image, ax=axes)
            observed = ~np.isnan(table.y[seen, c])
            east, north = table.x[seen][observed].T
            if name == "mean":
                low, high = image.get_clim()
                value = table.y[seen, c][observed]
                axes.scatter(east, north, s=12, c=value, vmin=low, vmax=high, edgecolors="white")
            else:
                axes.scatter(east, north, s=3, color="white")
            axes.set_title(f"{layout.values[c]}{label}: {name}", fontsize="small")
            axes.set_xlabel(layout.inputs[0])
            axes.set_ylabel(layout.inputs[1])
    return as_png(figure)
