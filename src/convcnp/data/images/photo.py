"""One picture: its pixels, and which of them are missing."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from convcnp.errors import DataError
from convcnp.extras import import_extra

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True)
class Photo:
    """Pixels between 0 and 1, grey or in colour, and which of them are missing."""

    pixels: Float[Tensor, "H W C"]
    missing: Bool[Tensor, "H W"]

    @classmethod
    def read(cls, path: Path) -> Photo:
        """Read a picture file; transparent pixels are missing, and those that are no number."""
        return cls.of(read_picture(path))

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
        is_grey = image.mode in ("1", "L", "LA")
        if image.mode in ("1", "CMYK", "YCbCr", "LAB", "HSV"):  # cannot become transparent
            image = image.convert("L" if is_grey else "RGB")
        pixels = as_tensor(image.convert("LA" if is_grey else "RGBA")) / 255
        return cls(pixels[..., :-1], pixels[..., -1] < 0.5)

    def without(self, *missing: Bool[Tensor, "H W"]) -> Photo:
        """Return the photograph with more pixels missing."""
        return Photo(self.pixels, torch.stack([self.missing, *missing]).any(0))

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width in pixels."""
        return self.pixels.shape[0], self.pixels.shape[1]


def read_picture(path: Path) -> Image:
    """Read a picture file, upright."""
    try:
        return decoded(path)
    except FileNotFoundError as error:
        raise DataError(
            f"Expected a picture, but {path} does not exist; check the path."
        ) from error
    except ValueError as error:
        raise DataError(
            f"{path} must be a whole picture such as PNG or JPEG, but cannot be read ({error}); "
            "save it again, or choose another."
        ) from error


def decoded(file: Path | BytesIO) -> Image:
    """Decode a picture, upright; one that is not whole raises a ValueError that says why."""
    pillow: Any = import_extra("PIL.Image", "images")
    upright = import_extra("PIL.ImageOps", "images").exif_transpose
    limit, pillow.MAX_IMAGE_PIXELS = pillow.MAX_IMAGE_PIXELS, None  # a photograph may be large
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd metadata
            with pillow.open(file) as image:
                image.load()
                return upright(image)
    except FileNotFoundError:
        raise
    except pillow.UnidentifiedImageError as error:
        raise ValueError("it is no picture of a known kind") from error
    except Exception as error:  # a broken file makes pillow raise anything
        raise ValueError(str(error).rstrip(".") or type(error).__name__) from error
    finally:
        pillow.MAX_IMAGE_PIXELS = limit


def as_tensor(image: Image) -> Tensor:
    """Return a picture's numbers as they are stored."""
    return torch.from_numpy(np.array(image, dtype=np.float32))
