"""A figure for every shipped model: what it makes of a task of its own kind."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from convcnp.app.examples import example
from convcnp.app.limits import Limits
from convcnp.app.uploads import read_upload, warnings_heard
from convcnp.core.image_task import ImageTask
from convcnp.core.task import Task
from convcnp.data.functions import FunctionSource
from convcnp.data.images.photo import Photo
from convcnp.data.source import seeded
from convcnp.plots.completion import draw_completion
from convcnp.plots.drawing import (
    as_png,
    dense_targets,
    draw_band,
    draw_context,
    draw_reference,
    new_figure,
)
from convcnp.plots.series import draw_series
from convcnp.predict.completion import Completion, all_but
from convcnp.predict.predictor import Predictor
from convcnp.predict.request import SeriesRequest
from convcnp.predict.user_units import InUserUnits

_SIDE = 32  # pixels of the picture that models of images complete


def figure(predictor: Predictor) -> bytes:
    """Draw a model's prediction as PNG.

    A model of functions is shown one of its own source, and others the series and the picture that
    all of their kind are shown: made up, so that no data set is needed.
    """
    with warnings_heard():
        if predictor.source.takes == "images":
            return _of_images(predictor)
        if isinstance(predictor.source, FunctionSource):
            return _of_functions(predictor, predictor.source)
        return _of_series(predictor)


def _of_functions(predictor: Predictor, source: FunctionSource) -> bytes:
    generator = seeded(3)
    unit = torch.rand(1, 12, 1, dtype=torch.float64, generator=generator)
    x = source.low + (source.high - source.low) * unit
    y = source.values(x, generator).float()
    places = dense_targets(source.low - 1, source.high + 1)
    task = Task(x, y, places)
    drawing = new_figure(1, 1, width=6.0, height=2.6)
    (axes,) = drawing.axes
    draw_band(axes, places[0, :, 0], InUserUnits(predictor.model, source)(task))
    if (exact := source.ceiling(task)) is not None:
        draw_reference(axes, places[0, :, 0], exact)
    draw_context(axes, task)
    return as_png(drawing, dpi=100)


def _of_series(predictor: Predictor) -> bytes:
    """Draw the example of one column; lynx and hare for two; made-up light curves for more."""
    channels = predictor.model.dim_y
    if channels > 2:
        request = predictor.request(_light_curves(predictor))
    else:
        name = "tide" if channels == 1 else "lynx-and-hare"
        request = predictor.request(read_upload(example(name), name, Limits()))
    assert isinstance(request, SeriesRequest)
    return draw_series(request, request.answer())[0]


def _light_curves(predictor: Predictor) -> tuple[np.ndarray, np.ndarray]:
    """Make up an object that brightens and fades, seen now and then in each of its bands."""
    generator = np.random.default_rng(4)
    days = np.sort(generator.uniform(0, 300, 120))
    bands = np.arange(predictor.model.dim_y)
    rise = np.where(days < 120, np.exp((days - 120) / 12), np.exp((120 - days) / 45))
    flux = 200 * rise[:, None] * np.exp(-((bands - 2.5) ** 2) / 8)
    flux = flux + 5 * generator.standard_normal(flux.shape)
    flux[generator.uniform(size=flux.shape) > 1 / len(bands)] = np.nan
    return days, flux


def _of_images(predictor: Predictor) -> bytes:
    picture = _picture(predictor.model.dim_y)
    photo = Photo(picture, all_but("0.2", (_SIDE, _SIDE), 1))
    with torch.inference_mode():
        found = predictor.model(ImageTask(picture[None], ~photo.missing[None]))
        mean, stddev = (part[0].view(picture.shape) for part in (found.mean, found.stddev))
        return as_png(draw_completion(Completion(photo, mean, stddev)), dpi=60)


def _picture(channels: int) -> Float[Tensor, "H W C"]:
    """Draw strokes like a digit's in grey, and a landscape in colour."""
    place = torch.linspace(-1, 1, _SIDE)
    y, x = torch.meshgrid(place, place, indexing="ij")
    if channels == 1:
        ring = ((x**2 + (1.6 * y + 0.7) ** 2).sqrt() - 0.45).abs() < 0.13
        stem = ((x - 0.45).abs() < 0.12) & (y > -0.45) & (y < 0.75)
        return (ring | stem).float()[..., None]
    hills = y > 0.25 + 0.2 * torch.sin(4 * x)
    sun = ((x - 0.4) ** 2 + (y + 0.45) ** 2).sqrt() < 0.28
    sky = torch.stack([0.45 + 0.2 * y, 0.6 + 0.15 * y, 0.9 - 0.1 * y], -1)
    sky = torch.where(sun[..., None], torch.tensor([1.0, 0.85, 0.4]), sky)
    return torch.where(hills[..., None], torch.tensor([0.25, 0.5, 0.25]), sky).clamp(0, 1)
