"""One picture: its pixels, and which of them are missing."""

from __future__ import annotations

import contextlib
import struct
import warnings
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from convcnp.errors import DataError
from convcnp.extras import import_extra

if TYPE_CHECKING:
    from PIL.Image import Image


LUMINANCE = (0.299, 0.587, 0.114)  # what red, green and blue add to the brightness
MOST_PIXELS = 200_000_000  # of a picture that is decoded, unless more are asked for

_ROWS = 256  # of a picture that are converted at once
# What is decoded. Pillow knows more kinds, of which one runs another program (Ghostscript).
_KINDS = ("PNG", "JPEG", "MPO", "BMP", "DIB", "GIF", "TIFF", "WEBP", "PPM", "JPEG2000")


@dataclass(frozen=True)
class Photo:
    """Pixels between 0 and 1, grey or in colour, and which of them are missing.

    Args:
        stored: The pixels, or bytes of which 255 means 1: a quarter of the memory.
    """

    stored: Shaped[Tensor, "H W C"]
    missing: Bool[Tensor, "H W"]

    @classmethod
    def read(cls, path: Path, most_pixels: int = MOST_PIXELS) -> Photo:
        """Read a picture file; transparent pixels are missing, and those that are no number."""
        return cls.of(read_picture(path, most_pixels))

    @classmethod
    def of(cls, image: Image) -> Photo:
        """Take the pixels of a decoded picture; transparent ones are missing."""
        if image.mode.startswith("I"):  # 16 bits, which pillow would cut off at 255
            pixels = as_tensor(image)[..., None] / 65535
            return cls(pixels.clamp(0, 1), torch.zeros(pixels.shape[:2], dtype=torch.bool))
        if image.mode == "F":  # numbers between 0 and 1, or and 255; NaN where nothing is known
            pixels = as_tensor(image)
            missing = ~pixels.isfinite()
            pixels = pixels.masked_fill(missing, 0)
            pixels = (pixels / (255 if pixels.max() > 1 else 1)).clamp(0, 1)
            return cls(pixels[..., None], missing)
        plain = "L" if image.mode in ("1", "L", "LA") else "RGB"
        if not image.has_transparency_data:
            pixels = as_bytes(image, plain)
            return cls(pixels, torch.zeros(pixels.shape[:2], dtype=torch.bool))
        pixels = as_bytes(image, f"{plain}A")
        return cls(pixels[..., :-1].clone(), pixels[..., -1] < 128)

    @property
    def pixels(self) -> Float[Tensor, "H W C"]:
        """All pixels as numbers."""
        return as_numbers(self.stored)

    def without(self, *missing: Bool[Tensor, "H W"]) -> Photo:
        """Return the photograph with more pixels missing."""
        either = self.missing.clone()
        for other in missing:
            either |= other
        return Photo(self.stored, either)

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width in pixels."""
        return self.stored.shape[0], self.stored.shape[1]


def read_picture(path: Path, most_pixels: int = MOST_PIXELS) -> Image:
    """Read a picture file, upright."""
    try:
        with path.open("rb") as file:
            return decoded(file, most_pixels)
    except FileNotFoundError as error:
        raise DataError(
            f"Expected a picture, but {path} does not exist; check the path."
        ) from error
    except (ValueError, IsADirectoryError) as error:
        raise DataError(
            f"{path} must be a whole picture such as PNG or JPEG, but cannot be read ({error}); "
            "save it again, or choose another."
        ) from error


def decoded(file: BufferedIOBase, most_pixels: int = MOST_PIXELS) -> Image:
    """Decode a picture, upright; one that is not whole raises a ValueError that says why.

    Its size is read before its pixels: a small file can claim more than any memory holds.
    """
    pillow: Any = import_extra("PIL.Image", "images")
    upright = import_extra("PIL.ImageOps", "images").exif_transpose
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd metadata
            with _opened(pillow, file) as image:
                _check_size(image.width, image.height, most_pixels)
                image.load()
                upright(image, in_place=True)
                return image
    except pillow.UnidentifiedImageError as error:
        raise ValueError("it is no picture of a known kind") from error
    except MemoryError as error:
        raise ValueError("it does not fit into memory") from error
    except Exception as error:  # a broken file makes pillow raise anything
        raise ValueError(str(error).rstrip(".") or type(error).__name__) from error


def _opened(pillow: Any, file: BufferedIOBase) -> Image:  # noqa: ANN401 - a module
    """Read what a picture says of itself, as `PIL.Image.open` does.

    That has a limit of pixels, too, but one for the whole process, which is not ours to change.
    """
    pillow.init()
    beginning = file.read(16)
    for kind in _KINDS:
        factory, accepts = pillow.OPEN.get(kind, (None, None))
        if factory is None or (accepts is not None and accepts(beginning) is not True):
            continue
        file.seek(0)
        with contextlib.suppress(SyntaxError, IndexError, TypeError, struct.error):
            image: Image = factory(file, "")
            return image
    raise pillow.UnidentifiedImageError


def _check_size(width: int, height: int, most_pixels: int) -> None:
    if width * height > most_pixels:
        raise ValueError(
            f"it has {width:,} x {height:,} pixels, and at most {most_pixels:,} are decoded"
        )


def as_tensor(image: Image) -> Tensor:
    """Return a picture's numbers as they are stored."""
    return torch.from_numpy(np.array(image, dtype=np.float32))


def as_bytes(image: Image, mode: str) -> Tensor:
    """Return the pixels (H, W, C) of a picture in a mode of bytes.

    Some rows at a time: pillow copies what it converts, and NumPy copies it twice more.
    """
    width, height = image.size
    pixels = torch.empty(height, width, len(mode), dtype=torch.uint8)
    for rows, top in zip(pixels.split(_ROWS), range(0, height, _ROWS), strict=True):
        part = image.crop((0, top, width, top + len(rows))).convert(mode)
        rows[:] = torch.from_numpy(np.array(part)).view(rows.shape)
    return pixels


def as_numbers(pixels: Tensor) -> Tensor:
    """Return pixels between 0 and 1, of these or of bytes."""
    return pixels if pixels.is_floating_point() else pixels / 255
