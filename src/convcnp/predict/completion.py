"""Completion of a photograph: fill its missing pixels, and say where not to trust them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from convcnp.core.image_task import ImageTask
from convcnp.data.images.photo import Photo
from convcnp.errors import DataError, SettingError, ShapeError
from convcnp.models.base import Model
from convcnp.models.grid_convcnp import GridConvCNP
from convcnp.models.tiling import predict_in_tiles

DEFAULT_MODEL = "celeba32-convcnp-long"  # the shipped model that suits photographs best


@dataclass(frozen=True)
class Completion:
    """A photograph, and what a model makes of its missing pixels."""

    photo: Photo
    mean: Float[Tensor, "H W C"]
    stddev: Float[Tensor, "H W C"]

    @property
    def pixels(self) -> Float[Tensor, "H W C"]:
        """What was given, and the mean where pixels were missing."""
        missing = self.photo.missing[..., None]
        return torch.where(missing, self.mean.clamp(0, 1), self.photo.pixels)

    @property
    def doubt(self) -> Float[Tensor, "H W"]:
        """The standard deviation, averaged over channels; zero where a pixel was given."""
        return torch.where(self.photo.missing, self.stddev.mean(-1), 0)


def complete(
    model: Model,
    photo: Photo,
    *,
    pixels_per_tile: int = 2**18,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Completion:
    """Predict the missing pixels of a photograph of any size.

    A model of grey images completes the channels of a colour photograph one by one; one of colour
    images sees a grey photograph as colour, and its channels are averaged.
    """
    if not isinstance(model, GridConvCNP):
        raise ShapeError(
            f"Completing a photograph needs a model of images, got a {type(model).__name__}; "
            "`convcnp models` lists those that ship."
        )
    pixels, seen = photo.pixels, ~photo.missing
    channels = pixels.shape[-1]
    if model.dim_y == 1:
        observed = pixels.movedim(-1, 0)[..., None]  # (channels, H, W, 1)
    else:
        observed = pixels.expand(*photo.shape, model.dim_y)[None]
    task = ImageTask(observed, seen.expand(len(observed), -1, -1))
    predictive = predict_in_tiles(model, task, cells_per_tile=pixels_per_tile, progress=progress)
    mean, stddev = (task.as_images(m) for m in (predictive.mean, predictive.stddev))
    if model.dim_y == 1:
        return Completion(photo, mean[..., 0].movedim(0, -1), stddev[..., 0].movedim(0, -1))
    if channels == 1:
        mean, stddev = mean.mean(-1, keepdim=True), stddev.mean(-1, keepdim=True)
    return Completion(photo, mean[0], stddev[0])


def read_mask(path: Path, shape: tuple[int, int]) -> Bool[Tensor, "H W"]:
    """Read which pixels are missing from a picture of the same size: bright and opaque ones."""
    picture = Photo.read(path)
    brightest = picture.pixels.amax(-1)  # of the channels
    mask = (brightest > 0.5) & ~picture.missing
    if mask.shape != shape:
        raise ShapeError(
            f"A mask must have the size of the photograph: expected {shape[1]} x {shape[0]} "
            f"pixels, got {mask.shape[1]} x {mask.shape[0]} in {path}; scale it."
        )
    if not mask.any():
        raise DataError(
            f"A mask must be bright where pixels are missing, but the brightest pixel of {path} "
            f"has {brightest.max():.0%} of white; paint them white."
        )
    return mask


def all_but(keep: str, shape: tuple[int, int], seed: int) -> Bool[Tensor, "H W"]:
    """Say that all pixels are missing but a share such as `5%` or `0.05`, drawn at random."""
    match = re.fullmatch(r"([0-9.]+)\s*(%?)", keep.strip())
    try:
        share = float(match[1]) / (100 if match[2] else 1) if match else -1.0
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise SettingError(
            f"--keep must be a share of the pixels between 0% and 100%, got {keep!r}; write 5%."
        )
    total = shape[0] * shape[1]
    order = torch.randperm(total, generator=torch.Generator().manual_seed(seed))
    missing = torch.ones(total, dtype=torch.bool)
    missing[order[: round(share * total)]] = False
    return missing.view(shape)


def within(box: str, shape: tuple[int, int]) -> Bool[Tensor, "H W"]:
    """Say that the pixels of a box `left,top,width,height` are missing."""
    numbers = re.fullmatch(r"(\d+),(\d+),(\d+),(\d+)", box.replace(" ", ""))
    left, top, width, height = map(int, numbers.groups()) if numbers else (0, 0, 0, 0)
    if not (width and height) or left + width > shape[1] or top + height > shape[0]:
        raise SettingError(
            "--box must be left,top,width,height in pixels, within a photograph of "
            f"{shape[1]} x {shape[0]}, got {box!r}; write --box 10,20,64,48."
        )
    missing = torch.zeros(shape, dtype=torch.bool)
    missing[top : top + height, left : left + width] = True
    return missing
