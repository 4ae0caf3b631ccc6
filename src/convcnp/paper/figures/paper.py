"""All of the paper's figures, by name."""

from __future__ import annotations

from pathlib import Path

from convcnp.errors import ResultError
from convcnp.paper.figures import functions, images, real_series, series
from convcnp.paper.figures.shelf import Shelf
from convcnp.plots.drawing import save_figure

FIGURES = {**functions.FIGURES, **series.FIGURES, **images.FIGURES, **real_series.FIGURES}


def draw_paper_figure(name: str, shelf: Shelf, out: Path, seed: int) -> Path:
    """Draw a figure of the paper into a folder; rows whose models are not trained are left out."""
    if name not in FIGURES:
        raise ResultError(
            f"Expected the name of a figure, one of {', '.join(FIGURES)}, got {name!r}; choose one."
        )
    path = out / f"{name}.png"
    save_figure(FIGURES[name](name, shelf, seed), path)
    return path
