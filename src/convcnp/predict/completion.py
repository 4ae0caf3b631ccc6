"""Completion of a photograph: fill its missing pixels, and say where not to trust them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Bool, Float, UInt8
from torch import Tensor

from convcnp.data.images.photo import MOST_PIXELS, Photo, as_numbers
from convcnp.errors import ConvCNPWarning, DataError, SettingError, ShapeError, check_positive
from convcnp.models.base import Model
from convcnp.models.grid_convcnp import GridConvCNP, Window
from convcnp.models.tiling import Progress, evaluating
from convcnp.predict.pyramid import Support, bridged, far_from_all, halved
from convcnp.predict.zoo import is_shipped

_MODELS = ("general-images-convcnp", "celeba32-convcnp-longer")  # for photographs, the best first
_ROWS = 256  # of a picture that are turned to bytes at once


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


@dataclass(frozen=True)
class Filled:
    """A photograph with its missing pixels filled: as little as files of it need."""

    photo: Photo
    pixels: UInt8[Tensor, "H W C"]
    doubt: Float[Tensor, "H W"]  # the standard deviation as of a `Completion`, in two bytes

    @property
    def average_doubt(self) -> float:
        """The standard deviation of the pixels that were missing, on average."""
        return self.doubt[self.photo.missing].mean(dtype=torch.float32).item()


def default_model() -> str:
    """Return the name of the shipped model that suits photographs best."""
    return next(name for name in _MODELS if is_shipped(name))


def complete(
    model: Model,
    photo: Photo,
    *,
    pixels_per_tile: int = 2**18,
    progress: Progress = lambda done, total: None,
) -> Completion:
    """Predict the missing pixels of a photograph of any size.

    A model of grey images completes the channels of a colour photograph one by one; one of colour
    images sees a grey photograph as colour, and its channels are averaged. Pixels that are farther
    from all given ones than a model bridges continue what it makes of the photograph at half the
    size, or half of that; a warning says so.

    Example:
        >>> from convcnp import GridConvCNP
        >>> pixels = torch.rand(12, 16, 3)
        >>> photo = Photo(pixels, torch.rand(12, 16) < 0.5)  # the pixels, and which are missing
        >>> complete(GridConvCNP.small(dim_y=3), photo).mean.shape  # untrained here
        torch.Size([12, 16, 3])
    """
    model = _of_images(model)
    support = _support(model, photo, pixels_per_tile)
    mean = torch.empty(photo.stored.shape)
    found = Completion(photo, mean, torch.empty_like(mean))
    wanted = torch.ones_like(photo.missing)
    for tile, part in _completed_tiles(model, photo, support, wanted, pixels_per_tile, progress):
        found.mean[tile], found.stddev[tile] = part.mean, part.stddev
    return found


def fill(
    model: Model,
    photo: Photo,
    *,
    pixels_per_tile: int = 2**18,
    progress: Progress = lambda done, total: None,
) -> Filled:
    """Fill the missing pixels of a photograph, keeping no more than bytes of all its pixels.

    Tiles in which nothing is missing are not predicted.

    Args:
        pixels_per_tile: Its overlap with others included.
    """
    model = _of_images(model)
    support = _support(model, photo, pixels_per_tile)
    return _filled(model, photo, support, photo.missing, pixels_per_tile, progress)


def _filled(
    model: GridConvCNP,
    photo: Photo,
    support: Support | None,
    wanted: Bool[Tensor, "H W"],
    pixels_per_tile: int,
    progress: Progress = lambda done, total: None,
) -> Filled:
    is_bytes = photo.stored.dtype == torch.uint8
    pixels = photo.stored.clone() if is_bytes else as_bytes(photo.stored)
    found = Filled(photo, pixels, torch.zeros(photo.shape, dtype=torch.float16))
    for tile, part in _completed_tiles(model, photo, support, wanted, pixels_per_tile, progress):
        missing = part.photo.missing
        found.pixels[tile][missing] = as_bytes(part.pixels)[missing]
        found.doubt[tile] = part.doubt
    return found


def _of_images(model: Model) -> GridConvCNP:
    if not isinstance(model, GridConvCNP):
        raise ShapeError(
            f"Completing a photograph needs a model of images, got a {type(model).__name__}; "
            "`convcnp models` lists those that ship."
        )
    return model


def _support(
    model: GridConvCNP, photo: Photo, pixels_per_tile: int, *, warn: bool = True
) -> Support | None:
    """Complete the photograph at half the size, if there are pixels that need it.

    Coarse to fine: a hole that is too wide to be bridged is half as wide there.
    """
    check_positive("pixels_per_tile", pixels_per_tile)
    reach = bridged(model)
    if photo.missing.all() or min(photo.shape) <= 1:
        return None
    smaller = halved(photo)
    far = far_from_all(smaller.missing, reach // 2)
    if not far.any():
        return None
    if warn:
        # Not sums, which would widen every byte to eight.
        share = far.count_nonzero() / smaller.missing.count_nonzero()
        warnings.warn(
            f"About {share:.0%} of the missing pixels are farther than "
            f"{reach} pixels from every given one, more than this model bridges; they continue "
            "what is around them at a coarser scale, without detail.",
            ConvCNPWarning,
            stacklevel=3,
        )
    support = _support(model, smaller, pixels_per_tile, warn=False)
    # A pixel is taken from those beside it as well.
    found = _filled(model, smaller, support, ~far_from_all(~far, 1), pixels_per_tile)
    return Support(far, found.pixels, found.doubt)


def _completed_tiles(
    model: GridConvCNP,
    photo: Photo,
    support: Support | None,
    wanted: Bool[Tensor, "H W"],
    pixels_per_tile: int,
    progress: Progress,
) -> Iterator[tuple[tuple[slice, slice], Completion]]:
    """Yield where each tile is in which a pixel is wanted, and its completion."""
    done, total = 0, wanted.numel()
    with evaluating(model):
        for window in model.windows(*photo.shape, pixels_per_tile):
            if wanted[window.tile].any():
                yield window.tile, _completed(model, photo, support, window)
            done += wanted[window.tile].numel()
            progress(done, total)


@torch.no_grad()
def _completed(
    model: GridConvCNP, photo: Photo, support: Support | None, window: Window
) -> Completion:
    inner = Photo(photo.stored[window.tile], photo.missing[window.tile])
    pixels, seen = as_numbers(photo.stored[window.around]), ~photo.missing[window.around]
    if support is None:
        return Completion(inner, *_predicted(model, window, pixels, seen))
    shown, values = support.shown(*window.around)
    pixels = torch.where(shown[..., None], values, pixels)
    mean, stddev = _predicted(model, window, pixels, seen | shown)
    rows, columns = window.around[0][window.inner[0]], window.around[1][window.inner[1]]
    return Completion(inner, mean, support.widened(stddev, rows, columns))


def _predicted(
    model: GridConvCNP, window: Window, pixels: Float[Tensor, "h w C"], seen: Bool[Tensor, "h w"]
) -> tuple[Float[Tensor, "H W C"], Float[Tensor, "H W C"]]:
    """Return means and standard deviations of the pixels of a tile."""
    if model.dim_y == 1:
        observed = pixels.movedim(-1, 0)[..., None]  # (channels, h, w, 1)
    else:
        observed = pixels.expand(*seen.shape, model.dim_y)[None]
    mask = seen[None, ..., None].expand(observed.shape)
    raw = model.on_pixels(observed * mask, mask)[:, *window.inner]
    everywhere = torch.ones(*raw.shape[:-1], model.dim_y, dtype=torch.bool)
    predictive = model.to_predictive(raw.flatten(1, 2), everywhere.flatten(1, 2))
    mean, stddev = (m.view(everywhere.shape) for m in (predictive.mean, predictive.stddev))
    if model.dim_y == 1:
        return mean[..., 0].movedim(0, -1), stddev[..., 0].movedim(0, -1)
    if pixels.shape[-1] == 1:
        mean, stddev = mean.mean(-1, keepdim=True), stddev.mean(-1, keepdim=True)
    return mean[0], stddev[0]


def as_bytes(pixels: Float[Tensor, "*H C"], white: float = 1.0) -> UInt8[Tensor, "*H C"]:
    """Return pixels between 0 and white as bytes.

    Some rows at a time: floats are four times larger, and every step makes others.
    """
    found = torch.empty(pixels.shape, dtype=torch.uint8)
    for rows, floats in zip(found.split(_ROWS), pixels.split(_ROWS), strict=True):
        rows[:] = (255 * (floats.float() / white)).round().byte()
    return found


def read_mask(
    path: Path, shape: tuple[int, int], most_pixels: int = MOST_PIXELS
) -> Bool[Tensor, "H W"]:
    """Read which pixels are missing from a picture of the same size: bright and opaque ones."""
    picture = Photo.read(path, most_pixels)
    brightest = picture.stored.amax(-1)  # of the channels
    white = 1.0 if brightest.is_floating_point() else 255
    mask = (brightest > white / 2) & ~picture.missing
    if mask.shape != shape:
        raise ShapeError(
            f"A mask must have the size of the photograph: expected {shape[1]} x {shape[0]} "
            f"pixels, got {mask.shape[1]} x {mask.shape[0]} in {path}; scale it."
        )
    if not mask.any():
        raise DataError(
            f"A mask must be bright where pixels are missing, but the brightest pixel of {path} "
            f"has {brightest.max() / white:.0%} of white; paint them white."
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
            f"keep= must be a share of the pixels between 0% and 100%, got {keep!r}; write 5%."
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
            "box= must be left,top,width,height in pixels, within a photograph of "
            f"{shape[1]} x {shape[0]}, got {box!r}; write 10,20,64,48."
        )
    missing = torch.zeros(shape, dtype=torch.bool)
    missing[top : top + height, left : left + width] = True
    return missing
