"""Pictures of a completed photograph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from jaxtyping import Shaped
from torch import Tensor

from convcnp.data.images.photo import Photo, as_numbers
from convcnp.extras import import_extra
from convcnp.plots.drawing import as_png, new_figure, show_image
from convcnp.predict.completion import Completion, Filled, as_bytes
from convcnp.storage import Content, write_together, writing

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL.Image import Image

_MOST_ALONG_A_SIDE = 1000  # pixels that a figure shows: a panel has half as many of its own


def write_completion(completion: Completion | Filled, folder: Path, name: str) -> list[Path]:
    """Write the completed picture, one of the standard deviation, and a figure of both.

    In the picture of the standard deviation white is the largest.
    """
    paths = [folder / f"{name}-{kind}.png" for kind in ("completed", "stddev", "figure")]
    largest = max(completion.doubt.max().item(), 1e-6)
    contents: tuple[Content, ...] = (
        lambda file: _picture(completion.pixels).save(file, "PNG"),
        lambda file: _picture(as_bytes(completion.doubt[..., None], largest)).save(file, "PNG"),
        as_png(draw_completion(completion), dpi=110),
    )
    with writing(folder):
        write_together(dict(zip(paths, contents, strict=True)))
    return paths


def draw_completion(completion: Completion | Filled) -> Figure:
    """Draw what was given, what came of it, and the standard deviation, side by side."""
    completion = _thinned(completion)
    height, width = completion.photo.shape
    figure = new_figure(1, 3, width=4.0, height=min(max(4.0 * height / width, 1.0), 12.0) + 0.4)
    titles = ("given", "completed", "standard deviation")
    for axes, title in zip(figure.axes, titles, strict=True):
        axes.set_title(title)
    given, completed, doubt = figure.axes[:3]
    show_image(given, completion.photo.pixels, completion.photo.missing)
    show_image(completed, as_numbers(completion.pixels))
    doubt.set_axis_off()
    shown = doubt.imshow(completion.doubt.float().numpy(), cmap="magma", vmin=0)
    figure.colorbar(shown, ax=doubt, shrink=0.8)
    return figure


def _thinned(completion: Completion | Filled) -> Completion | Filled:
    """Leave out pixels that are too many for a figure, and for what draws it."""
    step = -(-max(completion.photo.shape) // _MOST_ALONG_A_SIDE)
    if step == 1:
        return completion
    parts = (completion.photo.stored, completion.photo.missing, completion.pixels, completion.doubt)
    stored, missing, pixels, doubt = (part[::step, ::step] for part in parts)
    return Filled(Photo(stored, missing), as_bytes(as_numbers(pixels)), doubt)


def _picture(pixels: Shaped[Tensor, "H W C"]) -> Image:
    pillow = import_extra("PIL.Image", "images")
    scaled = as_bytes(pixels) if pixels.is_floating_point() else pixels
    return pillow.fromarray((scaled[..., 0] if scaled.shape[-1] == 1 else scaled).numpy())
