"""Settings of a model of images, chosen from a user's folder."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from convcnp.data.images.folder import ImageFolder, Pictures, kept_side, listed, read_images
from convcnp.errors import DataError, SettingError
from convcnp.frames.columns import Columns
from convcnp.models.grid_convcnp import GridConvCNP
from convcnp.training.experiment import Experiment
from convcnp.training.own.choices import Choices, Plan, Say, Wanted, training_choices

_FEWEST_IMAGES = 5
_PARAMETERS = {"values": "value", "errors": "error"}  # by which columns are named
_SMALLEST = 4  # pixels along a side
_WHOLE = 64  # pixels along the sides of images that are seen whole, at most
_WINDOW = 48  # pixels along the sides of what is seen of larger ones
_MOST_PIXELS = 2**18  # of a window: larger ones would not fit in memory
_KERNELS = (5, 7, 9, 11)  # pixels across the network's filters
_CHANNELS = 64
_SIGMA_FLOOR = 0.01  # of the range from black to white
_LEARNING_RATE = 2e-3  # deep networks at one resolution bear less than U-Nets
_MOST_TASKS = 4  # in a step
_SHARES = {"min_context": 0.01, "max_context": 0.5}
_BOXES = 0.5  # of the tasks
_MODEL = "grid-convcnp"


def plan_images(path: Path, wanted: Wanted, say: Say = lambda text: None) -> Plan:
    """Choose every setting that is not given from the images, and say why in a sentence each."""
    refuse_columns(wanted.columns)
    choices = Choices(wanted.settings, say)
    choices.check("image-folder", _MODEL)
    pictures = read_images(path)
    _check_pictures(path, pictures)
    _data_choices(path, pictures, choices)
    _model_choices(choices)
    source = Experiment.parse(choices.content).source()
    assert isinstance(source, ImageFolder)
    cells = math.prod(source.window)
    if cells > _MOST_PIXELS:
        raise SettingError(
            f"data.window must have at most {_MOST_PIXELS:,} pixels, got "
            f"{_in_pixels(source.window)}; a model of smaller windows completes any size as well."
        )
    return training_choices(
        choices, source, cells, wanted.minutes, learning_rate=_LEARNING_RATE, most=_MOST_TASKS
    )


def refuse_columns(columns: Columns) -> None:
    """Refuse names of columns, which images do not have."""
    if columns.given:
        options = " and ".join(f"{_PARAMETERS.get(role, role)}=" for role in columns.given)
        raise SettingError(
            f"Images have no columns to name, but {options} names one; leave it out, or give a "
            "table."
        )


def _check_pictures(path: Path, pictures: Pictures) -> None:
    """Refuse images with nothing to learn from."""
    small = [
        f"{name} ({width} x {height})"
        for name, (height, width) in zip(pictures.names, pictures.sizes, strict=True)
        if min(height, width) < _SMALLEST
    ]
    if small:
        raise DataError(
            f"Expected images of at least {_SMALLEST} pixels along each side, got "
            f"{listed(small)} in {path}; remove them."
        )
    if len(pictures.names) < _FEWEST_IMAGES:
        raise DataError(
            f"Expected at least {_FEWEST_IMAGES} images, some of which are held out, got "
            f"{len(pictures.names)} in {path}; gather more, or cut a large one into parts."
        )
    if all((image == image[0, 0]).all() for image in pictures.pixels):
        raise DataError(
            f"Expected images that show something, but each of the {len(pictures.names):,} in "
            f"{path} is of one shade; check how they were written."
        )


def _data_choices(path: Path, pictures: Pictures, choices: Choices) -> None:
    """Choose windows, channels and which pixels are hidden."""
    given = choices.content["data"]
    settings = {"name": "image-folder", "path": str(path.resolve()), "digest": pictures.digest}
    given.update({key: value for key, value in settings.items() if key not in given})
    total, in_colour = len(pictures.names), pictures.in_colour
    sizes = np.array(pictures.sizes)
    low, high = sizes.min(0).tolist(), sizes.max(0).tolist()
    found = _in_pixels(high) if low == high else f"{_in_pixels(low)} to {_in_pixels(high)}"
    choices.say(
        f"Learning from {total:,} images of {found} pixels: a tenth chooses the best weights, a "
        "tenth judges them."
    )
    side = kept_side(total)
    if max(high) > side:
        choices.say(f"Of images larger than {_in_pixels((side, side))} a random part is kept.")
    is_whole = max(high) <= _WHOLE
    window = high if is_whole else [min(length, _WINDOW) for length in high]
    choices.choose(
        "data.window",
        window,
        "A task is a whole image."
        if is_whole
        else f"A task is a window of {_in_pixels(window)} pixels, cut out at random; the model "
        "completes images of any size.",
    )
    choices.choose(
        "data.dim_y",
        3 if in_colour else 1,
        f"Images are learned in colour, as {in_colour:,} of {total:,} have some."
        if in_colour
        else "Images are learned in grey, as none has any colour.",
    )
    low_share, high_share = (choices.choose(f"data.{key}", value) for key, value in _SHARES.items())
    boxes = choices.choose("data.boxes", _BOXES)
    choices.say(
        f"In {boxes:.0%} of the tasks boxes are hidden; in the others all but {low_share:.0%} to "
        f"{high_share:.0%} of the pixels, at random."
    )


def _in_pixels(size: Sequence[int]) -> str:
    height, width = size
    return f"{width} x {height}"


def _model_choices(choices: Choices) -> None:
    """Choose how far the network sees, its width and the sigma floor."""
    name = choices.choose("model.name", _MODEL)
    if not name.startswith("grid-convcnp"):
        choices.say(f"The model is {name!r}, as given, with its own settings.")
        return
    choices.choose(
        "model.sigma_floor",
        _SIGMA_FLOOR,
        f"No standard deviation is below {_SIGMA_FLOOR:g} of the range from black to white.",
    )
    if name != _MODEL:
        return
    channels = choices.choose("model.channels", _CHANNELS)
    longest = max(choices.content["data"]["window"])
    radii = {size: _radius(choices, size) for size in _KERNELS}
    size = next((size for size, radius in radii.items() if 2 * radius >= longest), _KERNELS[-1])
    choices.choose(
        "model.kernel_size",
        size,
        f"The network has {channels} channels and filters of {size} x {size} pixels, and sees "
        f"{radii[size]} pixels to either side.",
    )


def _radius(choices: Choices, kernel_size: int) -> int:
    """Return how many pixels to either side a network with such filters sees."""
    settings = {**choices.content["model"], "kernel_size": kernel_size}
    model = Experiment.parse({**choices.content, "model": settings}).build_model()
    assert isinstance(model, GridConvCNP)
    return model.radius_in_pixels
