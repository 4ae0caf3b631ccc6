"""The paper's figures of images (Section 5.4, Appendix D)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from convcnp.core.image_task import ImageTask
from convcnp.data.files import data_file
from convcnp.data.images.photo import Photo
from convcnp.data.images.source import ImageSource
from convcnp.data.source import seeded
from convcnp.errors import ResultError
from convcnp.models.base import Model
from convcnp.models.grid_convcnp import GridConvCNP
from convcnp.paper.figures.shelf import Shelf
from convcnp.plots.drawing import blank_figure, new_figure, show_image
from convcnp.predict.completion import all_but, complete
from convcnp.training.catalogue import SOURCES
from convcnp.training.evaluation import fixed_tasks, log_likelihoods, mean_and_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MODELS = {"convcnp": "ConvCNP", "convcnpxl": "ConvCNPXL", "attncnp": "AttnCNP"}
DATA = ("mnist", "svhn", "celeba32", "celeba64", "zsmm")
# How cells of one model end, the deepest first.
DEPTHS = ("-ultimate", "-utmost", "-furthest", "-longest", "-longer", "-long", "")
PERCENTILES = (5, 25, 50, 75, 95)
HISTOGRAM_IMAGES = 300
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)  # of the pixels that are observed
CURVE_IMAGES = 100


def context_masks(
    height: int, width: int, generator: torch.Generator
) -> dict[str, Bool[Tensor, "H W"]]:
    """Return the contexts of the paper's figure: ever more pixels, then two halves."""
    total = height * width
    order = torch.randperm(total, generator=generator)
    counts = {"3 pixels": 3} | {
        f"{percent} %": max(1, round(total * percent / 100))
        for percent in (1, 5, 10, 20, 30, 50, 100)
    }
    masks = {}
    for title, count in counts.items():
        mask = torch.zeros(total, dtype=torch.bool)
        mask[order[:count]] = True
        masks[title] = mask.view(height, width)
    rows, columns = torch.arange(height)[:, None], torch.arange(width)
    masks["left half"] = (columns < width // 2).expand(height, width)
    masks["top half"] = (rows < height // 2).expand(height, width)
    return masks


def _contexts(name: str, shelf: Shelf, seed: int) -> Figure:
    """Draw one test image as predicted from ever larger contexts: the paper's Figure 5."""
    data = name.removeprefix("images-")
    models, generator = _models(shelf, data), seeded(seed)
    images = _source(data).held_out("test").images()
    pixels = images[torch.randint(len(images), (1,), generator=generator)].float() / 255
    masks = context_masks(pixels.shape[1], pixels.shape[2], generator)
    pixels = pixels.expand(len(masks), -1, -1, -1)
    task = ImageTask(pixels, torch.stack(list(masks.values())))
    means = {MODELS[row]: _mean(model, task) for row, model in models.items()}
    figure = new_figure(1 + len(means), len(masks), width=1.2, height=1.3)
    panels = iter(figure.axes)
    for title, image, mask in zip(masks, pixels, masks.values(), strict=True):
        axes = next(panels)
        show_image(axes, image, ~mask)
        axes.set_title(title, fontsize="small")
    for label, mean in means.items():
        for i, image in enumerate(mean):
            axes = next(panels)
            show_image(axes, image)
            if i == 0:
                axes.set_title(label, fontsize="small", loc="left")
    return figure


def _histogram(name: str, shelf: Shelf, seed: int) -> Figure:
    """Draw the log-likelihoods of test images, and images at percentiles of the first model's."""
    data = name.removeprefix("histogram-")
    models = _models(shelf, data)
    source = _source(data).held_out("test")
    tasks = list(fixed_tasks(source, HISTOGRAM_IMAGES, seed))
    scores = {row: log_likelihoods(model, iter(tasks)) for row, model in models.items()}
    chosen = at_percentiles(next(iter(scores.values())))
    examples = [tasks[i // len(tasks[0])][i % len(tasks[0])] for i in chosen]

    height = 1.5 * (1 + len(models))
    figure = blank_figure(8.0, 2.5 + height)
    above, below = figure.subfigures(2, 1, height_ratios=[2.5, height])  # type: ignore[misc]
    axes = above.subplots()
    for row, values in scores.items():
        axes.hist(values.numpy(), bins=40, alpha=0.5, density=True, label=MODELS[row])
    axes.set_xlabel("log-likelihood per pixel")
    axes.legend(frameon=False)
    panels = below.subplots(1 + len(models), len(chosen), squeeze=False)
    for column, (percent, task) in enumerate(zip(PERCENTILES, examples, strict=True)):
        assert isinstance(task, ImageTask)
        missing = ~task.as_images(task.context_mask)[0, ..., 0]
        show_image(panels[0, column], task.as_images(task.y_context)[0], missing)
        panels[0, column].set_title(f"{percent} %", fontsize="small")
        for axes, (row, model) in zip(panels[1:, column], models.items(), strict=True):
            show_image(axes, _mean(model, task)[0])
            if column == 0:
                axes.set_title(MODELS[row], fontsize="small", loc="left")
    return figure


def _shares(name: str, shelf: Shelf, seed: int) -> Figure:
    """Draw the log-likelihood of test images against the share of their pixels observed."""
    data = name.removeprefix("shares-")
    source = _source(data).held_out("test")
    figure = new_figure(1, 1, width=5.0, height=3.2)
    axes = figure.axes[0]
    for row, model in _models(shelf, data).items():
        curve = []
        for share in SHARES:
            some = replace(source, min_context=share, max_context=share)
            scores = log_likelihoods(model, fixed_tasks(some, CURVE_IMAGES, seed))
            curve.append(mean_and_error(scores))
        means, errors = zip(*curve, strict=True)
        percents = [100 * share for share in SHARES]
        axes.errorbar(percents, means, errors, marker="o", capsize=2, label=MODELS[row])
    axes.set_xscale("log")
    axes.set_xticks(percents, [f"{percent:g}" for percent in percents])
    axes.minorticks_off()
    axes.set_xlabel("observed pixels in %")
    axes.set_ylabel("log-likelihood per pixel")
    axes.legend(frameon=False)
    return figure


def at_percentiles(scores: Float[Tensor, " images"]) -> list[int]:
    """Return the numbers of the images whose scores lie at the percentiles, the worst first."""
    ranked = scores.argsort()
    return [int(ranked[(len(ranked) - 1) * percent // 100]) for percent in PERCENTILES]


def _filters(name: str, shelf: Shelf, seed: int) -> Figure:
    """Draw the first filters that were learned, of the first channel."""
    models = {
        f"{label}, {data}": model
        for label, table, row in (
            ("ConvCNPXL", "table3", "convcnpxl"),
            ("ConvCNP", "table3", "convcnp"),
            ("ConvCNP EQ", "table6", "eq"),
        )
        for data in DATA
        if (model := _deepest(shelf, table, f"{data}-{row}"))
    }
    if not models:
        raise ResultError("Expected trained models of images, but there are none; train them.")
    figure = new_figure(math.ceil(len(models) / len(DATA)), len(DATA), width=1.6, height=1.7)
    for axes in figure.axes:
        axes.set_axis_off()
    kernels = {label: _first_filter(model) for label, model in models.items()}
    widest = max(len(kernel) for kernel in kernels.values()) / 2
    for axes, (label, kernel) in zip(figure.axes, kernels.items(), strict=False):
        half = len(kernel) / 2
        axes.imshow(kernel.numpy(), cmap="gray", extent=(-half, half, -half, half))
        axes.set(xlim=(-widest, widest), ylim=(-widest, widest))  # one scale for all
        axes.set_title(label, fontsize="x-small")
    return figure


def _first_filter(model: Model) -> Float[Tensor, "K K"]:
    assert isinstance(model, GridConvCNP)
    return model.encoder.kernel[0, 0].detach()


def _deepest(shelf: Shelf, table: str, cell: str, depths: Iterable[str] = DEPTHS) -> Model | None:
    """Return the model of a cell that was trained longest, of those that are there."""
    cells = [cell + depth for depth in depths]
    return next((shelf.load(table, each).model for each in cells if shelf.has(table, each)), None)


def _photo(name: str, shelf: Shelf, seed: int) -> Figure:
    """Draw a large photograph completed from 5 and 20 % of its pixels."""
    found = {
        "all image sets": _deepest(shelf, "general", "general-images-convcnp"),
        "celeba64": _deepest(shelf, "table3", "celeba64-convcnpxl"),
        "celeba32": _deepest(shelf, "table3", "celeba32-convcnp"),
    }
    models = {label: model for label, model in found.items() if model is not None}
    if not models:
        raise ResultError(
            "Expected a trained model of photographs, such as celeba32-convcnp, but there is none; "
            "train one first."
        )
    names = ["ellen_selfie_oscars.jpeg", "astronaut.png"]
    photo = Photo.read(data_file("photo", names, "where you keep photographs"))
    height, width = photo.shape
    figure = new_figure(2, 1 + len(models), width=4.0, height=4.0 * height / width + 0.3)
    panels = iter(figure.axes)
    for share in ("5%", "20%"):
        given = photo.without(all_but(share, photo.shape, seed))
        axes = next(panels)
        show_image(axes, given.pixels, given.missing)
        axes.set_title(f"{share} of the pixels")
        for label, model in models.items():
            axes = next(panels)
            show_image(axes, complete(model, given).pixels)
            axes.set_title(f"completed by a model of {label}")
    return figure


def _receptive_field(name: str, shelf: Shelf, seed: int) -> Figure:
    """Draw the log-likelihood on ZSMM against the receptive field, by padding."""
    curves: dict[str, list[tuple[int, float, float]]] = {}
    for path in sorted((shelf.results / "receptive-field").glob("*.json")):
        padding, _, size = path.stem.rpartition("-")
        result = json.loads(path.read_text())
        point = (int(size), result["log_likelihood"], result["standard_error"])
        curves.setdefault(padding, []).append(point)
    if not curves:
        raise ResultError(
            f"Expected results in {shelf.results / 'receptive-field'}, but there are none; run the "
            "experiments of that name."
        )
    figure = new_figure(1, 1, width=5.0, height=3.2)
    axes = figure.axes[0]
    for padding, points in curves.items():
        sizes, scores, errors = zip(*sorted(points), strict=True)
        axes.errorbar(sizes, scores, errors, marker="o", capsize=2, label=padding)
    axes.set_xlabel("receptive field in pixels")
    axes.set_ylabel("log-likelihood per pixel")
    axes.legend(frameon=False)
    return figure


def _source(data: str) -> ImageSource:
    source = SOURCES[data]
    assert isinstance(source, ImageSource)
    return source


def _models(shelf: Shelf, data: str) -> dict[str, Model]:
    """Return the trained models of a data set, by the name of their row.

    Where some were trained longer, those alone: they are not to be compared with beginners.
    """
    longer = {row: _deepest(shelf, "table3", f"{data}-{row}", DEPTHS[:-1]) for row in MODELS}
    found = {row: model for row, model in longer.items() if model is not None}
    if found:
        return found
    rows = shelf.known("table3", MODELS, f"{data}-{{row}}")
    return {row: shelf.load("table3", f"{data}-{row}").model for row in rows}


@torch.inference_mode()
def _mean(model: Model, task: ImageTask) -> Float[Tensor, "B H W C"]:
    return task.as_images(model(task).mean)


FIGURES: dict[str, Callable[[str, Shelf, int], Figure]] = {
    **{f"images-{data}": _contexts for data in DATA},
    **{f"histogram-{data}": _histogram for data in DATA},
    **{f"shares-{data}": _shares for data in DATA},
    "filters": _filters,
    "photo": _photo,
    "receptive-field": _receptive_field,
}
