"""MNIST, and the multi-digit images that models of single digits are tested on (Appendix D.2)."""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor
from torch.nn.functional import interpolate, pad

from convcnp.data.files import Upstream, data_file
from convcnp.data.images.source import ImageSet, ImageSource, held_back
from convcnp.data.source import seeded
from convcnp.errors import DataError, check_positive

_UPSTREAM = "https://ossci-datasets.s3.amazonaws.com/mnist/"
_FILES = {
    "training": ("train-images-idx3-ubyte", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
    "test": ("t10k-images-idx3-ubyte", "9fb629c4189551a2d022fa330f9573f3"),
}
_PAIRS = 10_000


@dataclass(frozen=True)
class Mnist(ImageSource):
    """Handwritten digits (LeCun et al., 1998).

    Args:
        size: Pixels along each side; the digits come with 28, and are scaled.
    """

    # Paper: 32 x 32 by its remark on memory.
    options: ClassVar[tuple[str, ...]] = (*ImageSource.options, "size")

    size: int = 32
    dim_y: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("size", self.size)

    def images(self) -> ImageSet:
        """Return the digits of this part."""
        images = _scaled_digits(_digits_file(self.part), self.size)
        return images if self.part == "test" else held_back(images, self.part)


@dataclass(frozen=True)
class Zsmm(ImageSource):
    """Zero-shot multi-MNIST: learn from one digit in the middle, be tested on two anywhere.

    Digits stand on black, 56 x 56 pixels, in the size they come in. In the test images two digits'
    squares of 28 x 28 lie anywhere that they do not overlap.
    """

    dim_y: int = 1

    def images(self) -> ImageSet:
        """Return the images of this part; those of the test are the same in every run."""
        path = _digits_file(self.part)
        return _pairs(path) if self.part == "test" else held_back(_centred(path), self.part)


def _digits_file(part: str) -> Path:
    name, md5 = _FILES["test" if part == "test" else "training"]
    return data_file("mnist", [f"{name}.gz", name], Upstream(f"{_UPSTREAM}{name}.gz", md5))


@lru_cache(maxsize=4)
def _scaled_digits(path: Path, size: int) -> UInt8[Tensor, "digits H W 1"]:
    digits = read_idx(path)[..., None]  # (digits, 28, 28, 1)
    if size == digits.shape[1]:
        return digits
    scaled = torch.empty(len(digits), size, size, 1, dtype=torch.uint8)
    for some, target in zip(digits.split(1000), scaled.split(1000), strict=True):
        target[:, None, ..., 0] = (
            interpolate(some[:, None, ..., 0].float(), (size, size), mode="bilinear").round().byte()
        )
    return scaled


@lru_cache(maxsize=1)
def _centred(path: Path) -> UInt8[Tensor, "digits H W 1"]:
    digits = read_idx(path)
    margin = digits.shape[1] // 2
    return pad(digits, [margin] * 4)[..., None]


@lru_cache(maxsize=1)
def _pairs(path: Path) -> UInt8[Tensor, "pairs H W 1"]:
    """Place pairs of digits: side by side or one above the other, each moved along the other axis.

    There is no other way for two squares not to overlap in one of twice their size.
    """
    digits, generator = read_idx(path), seeded(0)
    side = digits.shape[1]
    chosen = torch.randint(len(digits), (_PAIRS, 2), generator=generator)
    moves = torch.randint(side + 1, (_PAIRS, 2), generator=generator)
    is_above = (torch.rand(_PAIRS, generator=generator) < 0.5).tolist()
    canvas = torch.zeros(_PAIRS, 2 * side, 2 * side, dtype=torch.uint8)
    for image, pair, along, above in zip(
        canvas, digits[chosen], moves.tolist(), is_above, strict=True
    ):
        for digit, across, move in zip(pair, (0, side), along, strict=True):
            row, column = (across, move) if above else (move, across)
            image[row : row + side, column : column + side] = digit
    return canvas[..., None]


def read_idx(path: Path) -> UInt8[Tensor, "images H W"]:
    """Read images from a file in MNIST's format, compressed or not."""
    try:
        content = path.read_bytes()
        content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
        magic, *shape = struct.unpack(">IIII", content[:16])
    except (OSError, EOFError, zlib.error, struct.error) as error:
        raise _broken(path, str(error) or type(error).__name__) from error
    if magic != 0x803:
        raise _broken(path, f"it begins with {content[:4].hex()} instead of 00000803")
    if len(content) != 16 + math.prod(shape):
        raise _broken(path, f"it has {len(content):,} bytes instead of {16 + math.prod(shape):,}")
    pixels = np.frombuffer(bytearray(content[16:]), dtype=np.uint8)
    return torch.from_numpy(pixels.reshape(shape))


def _broken(path: Path, reason: str) -> DataError:
    return DataError(
        f"{path} must be a whole file of images in IDX format, but {reason}; remove it and get it "
        "again."
    )
