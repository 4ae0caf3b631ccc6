"""Pictures of a completed photograph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from jaxtyping import Float
from torch import Tensor

from convcnp.extras import import_extra
from convcnp.plots.drawing import new_figure, save_figure, show_image
from convcnp.predict.completion import Completion
from convcnp.storage import writing

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL.Image import Image


def write_completion(completion: Completion, folder: Path, name: str) -> list[Path]:
    """Write the completed picture, one of the standard deviation, and a figure of both.

    In the picture of the standard deviation white is the largest.
    """
    paths = [folder / f"{name}-{kind}.png" for kind in ("completed", "stddev", "figure")]
    scaled = completion.doubt / completion.doubt.max().clamp(min=1e-6)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        _picture(completion.pixels).save(paths[0])
        _picture(scaled[..., None]).save(paths[1])
        save_figure(draw_completion(completion), paths[2])
    return paths


def draw_completion(completion: Completion) -> Figure:
    """Draw what was given, what came of it, and the standard deviation, side by side."""
    height, width = completion.photo.shape
    figure = new_figure(1, 3, width=4.0, height=min(max(4.0 * height / width, 1.0), 12.0) + 0.4)
    titles = ("given", "completed", "standard deviation")
    for axes, title in zip(figure.axes, titles, strict=True):
        axes.set_title(title)
    given, completed, doubt = figure.axes[:3]
    show_image(given, completion.photo.pixels, completion.photo.missing)
    show_image(completed, completion.pixels)
    doubt.set_axis_off()
    shown = doubt.imshow(completion.doubt.numpy(), cmap="magma", vmin=0)
    figure.colorbar(shown, ax=doubt, shrink=0.8)
    return figure


def _picture(pixels: Float[Tensor, "H W C"]) -> Image:
    pillow = import_extra("PIL.Image", "images")
    scaled = (255 * pixels).round().byte()
    return pillow.fromarray((scaled[..., 0] if scaled.shape[-1] == 1 else scaled).numpy())
