"""A picture of how far to trust a model: predicted probabilities beside observed shares."""

from __future__ import annotations

import numpy as np

from convcnp.plots.drawing import BLUE, Form, as_picture, new_figure
from convcnp.predict.calibration import Calibration

_CURVE = np.linspace(0.01, 0.99, 99)  # levels


def draw_calibration(found: dict[str, Calibration], form: Form = "png") -> bytes:
    """Draw how often values fall below each predicted quantile, beside how often they should."""
    figure = new_figure(1, len(found), width=3.6, height=3.9)
    for axes, (name, calibration) in zip(figure.axes, found.items(), strict=True):
        axes.plot([0, 1], [0, 1], color="#999999", linewidth=0.8, linestyle="--")
        axes.plot(_CURVE, calibration.below_level(_CURVE), color=BLUE, linewidth=1.5)
        axes.set_xlabel("predicted probability")
        axes.set_ylabel("share of values below")
        axes.set_title(
            f"{name}: {calibration.verdict.split(':')[0]}", fontsize="small", parse_math=False
        )
        axes.set_aspect("equal")
    return as_picture(figure, form)
