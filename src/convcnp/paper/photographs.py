"""Photographs that lost pixels, filled by models and by what else people use, side by side."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from convcnp.core.predictive import coverage_key
from convcnp.data.images.photo import Photo
from convcnp.errors import ConvCNPWarning
from convcnp.extras import import_extra
from convcnp.paper.comparison import origin
from convcnp.paper.damages import DAMAGES
from convcnp.paper.further_series import packaged_file
from convcnp.paper.real_series import check_known
from convcnp.predict.completion import complete
from convcnp.predict.pyramid import halved
from convcnp.predict.zoo import load
from convcnp.storage import write_atomically, writing
from convcnp.training.run import read_result

EXTRA = "photographs"
PHOTOS = {
    "astronaut": "astronaut.png",
    "camera": "camera.png",
    "cat": "chelsea.png",
    "coffee": "coffee.png",
}  # files of scikit-image; all but the second in colour
_NORMAL_90 = 1.6448536269514722  # deviations to either side of the mean that hold 90 %
_RADIUS = 3  # pixels around each that OpenCV looks at, as in its tutorial

Report = Callable[[str, str, dict[str, dict[str, Any]]], None]


class Answer(NamedTuple):
    """A filled photograph, and the standard deviation of every pixel, if a method has one."""

    pixels: Float[Tensor, "H W C"]
    stddev: Float[Tensor, "H W C"] | None = None


Filler = Callable[[Photo], Answer]


class NamedFiller(NamedTuple):
    """A method's heading in tables, and how to set it up."""

    label: str
    build: Callable[[], Filler]


def _shipped(name: str) -> Filler:
    model = load(name).model

    def fill(photo: Photo) -> Answer:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvCNPWarning)  # of wide holes: that is the question
            found = complete(model, photo)
        return Answer(found.pixels, found.stddev)

    return fill


def _biharmonic(photo: Photo) -> Answer:
    inpaint = import_extra("skimage.restoration", EXTRA).inpaint_biharmonic
    missing = photo.missing.numpy()
    pixels = np.where(missing[..., None], 0.0, photo.pixels.numpy())
    filled = inpaint(pixels, missing, channel_axis=-1)
    return Answer(torch.from_numpy(filled).float().clamp(0, 1))


def _opencv(method: str) -> Filler:
    def fill(photo: Photo) -> Answer:
        cv2 = import_extra("cv2", EXTRA)
        pixels = (255 * photo.pixels).round().byte().numpy()
        filled = cv2.inpaint(
            np.ascontiguousarray(pixels.squeeze()),
            photo.missing.byte().numpy(),
            _RADIUS,
            getattr(cv2, method),
        )
        return Answer(torch.from_numpy(filled).view(photo.stored.shape) / 255)

    return fill


METHODS = {
    "general": NamedFiller("General model", lambda: _shipped("general-images-convcnp")),
    "faces": NamedFiller("ConvCNP of CelebA32", lambda: _shipped("celeba32-convcnp-long")),
    "biharmonic": NamedFiller("Biharmonic (scikit-image)", lambda: _biharmonic),
    "telea": NamedFiller("Telea (OpenCV)", lambda: _opencv("INPAINT_TELEA")),
    "navier-stokes": NamedFiller("Navier-Stokes (OpenCV)", lambda: _opencv("INPAINT_NS")),
}


def photograph(name: str) -> Photo:
    """Return a photograph of scikit-image's at half its size.

    Example:
        >>> photograph("cat").shape
        (150, 226)
    """
    return halved(Photo.read(packaged_file("scikit-image", f"data/{PHOTOS[name]}", EXTRA)))


def damaged(name: str, damage: str) -> Photo:
    """Return a photograph that lost pixels, the same every time, and others than the next."""
    photo, seed = photograph(name), list(PHOTOS).index(name)
    return photo.without(DAMAGES[damage].draw(photo.shape, seed))


def score(method: Filler, photo: Photo) -> dict[str, float]:
    """Fill a photograph whose missing pixels are known all the same, and return the scores of them.

    Seconds are those of the processor: what an idle machine would take.
    """
    blank = torch.where(photo.missing[..., None], 0, photo.stored)
    start = time.process_time()
    answer = method(Photo(blank, photo.missing))
    seconds = time.process_time() - start
    missing, error = photo.missing, answer.pixels - photo.pixels
    _, similar = import_extra("skimage.metrics", EXTRA).structural_similarity(
        *(pixels.numpy() for pixels in (photo.pixels, answer.pixels)),
        channel_axis=-1,
        data_range=1.0,
        full=True,
    )
    found = {
        "missing": missing.double().mean().item(),
        "psnr": -10 * (error[missing] ** 2).double().mean().log10().item(),
        "ssim": float(similar[missing.numpy()].mean()),
        "seconds": seconds,
    }
    if answer.stddev is not None:
        inside = error[missing].abs() <= _NORMAL_90 * answer.stddev[missing]
        found[coverage_key(0.9)] = inside.double().mean().item()
    return found


def compare_photographs(
    photos: Sequence[str],
    methods: Sequence[str],
    out: Path,
    damages: Sequence[str] = tuple(DAMAGES),
    report: Report = lambda photo, method, scores: None,
) -> list[Path]:
    """Score methods on photographs, and merge their results into one file per photograph.

    What other methods scored before stays. A file is written after every method.

    Args:
        report: Called after every method on every photograph, with both names and the scores.
    """
    check_known("photos", photos, PHOTOS)
    check_known("methods", methods, METHODS)
    check_known("damages", damages, DAMAGES)
    ready = {name: METHODS[name].build() for name in methods}
    where = origin(("numpy", "scipy", "scikit-image", "opencv-python-headless"))
    for name in photos:
        for method, fill in ready.items():
            found = {damage: score(fill, damaged(name, damage)) for damage in damages}
            _merge(out / f"{name}.json", method, found, where)
            report(name, method, found)
    return [out / f"{name}.json" for name in photos]


def _merge(
    path: Path, method: str, scores: dict[str, dict[str, float]], where: dict[str, Any]
) -> None:
    """Write scores of one method into a photograph's file, and leave all others alone."""
    known = read_result(path, "methods")["methods"] if path.exists() else {}
    joined = known.get(method, {}).get("scores", {}) | scores
    known[method] = {
        "scores": {name: joined[name] for name in DAMAGES if name in joined},
        "origin": where,
    }
    content = {
        "name": f"{path.parent.name}/{path.stem}",
        "source": f"scikit-image, {PHOTOS[path.stem]}, at half its size",
        "methods": {name: known[name] for name in METHODS if name in known},
    }
    with writing(path.parent):
        write_atomically(path, (json.dumps(content, indent=2) + "\n").encode())
