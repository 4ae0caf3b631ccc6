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
from torch.nn.functional import interpolate

from convcnp.data.files import Upstream, data_file
from convcnp.data.images import Images, ImageSource
from convcnp.errors import DataError, check_positive

_UPSTREAM = "https://ossci-datasets.s3.amazonaws.com/mnist/"
_FILES = {
    "train-images-idx3-ubyte": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "t10k-images-idx3-ubyte": "9fb629c4189551a2d022fa330f9573f3",
}
_VALIDATION = 5000  # the last digits of the training file choose a model


@dataclass(frozen=True)
class Mnist(ImageSource):
    """Handwritten digits (LeCun et al., 1998).

    Args:
        size: Pixels along each side; the digits come with 28, and are scaled.
    """

    # Paper: 32 x 32 by its remark on memory.
    options: ClassVar[tuple[str, ...]] = (*ImageSource.options, "size")
    dim_y: ClassVar[int] = 1

    size: int = 32

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("size", self.size)

    def images(self) -> Images:
        """Return the digits of this part."""
        if self.part == "test":
            return _scaled_digits(_digits_file("t10k-images-idx3-ubyte"), self.size)
        digits = _scaled_digits(_digits_file("train-images-idx3-ubyte"), self.size)
        return digits[-_VALIDATION:] if self.part == "validation" else digits[:-_VALIDATION]


def _digits_file(name: str) -> Path:
    upstream = Upstream(f"{_UPSTREAM}{name}.gz", _FILES[name])
    return data_file("mnist", [f"{name}.gz", name], upstream)


@lru_cache(maxsize=4)
def _scaled_digits(path: Path, size: int) -> Images:
    digits = read_idx(path)[..., None]  # (digits, 28, 28, 1)
    if size == digits.shape[1]:
        return digits
    scaled = torch.empty(len(digits), size, size, 1, dtype=torch.uint8)
    for some, target in zip(digits.split(1000), scaled.split(1000), strict=True):
        target[:, None, ..., 0] = (
            interpolate(some[:, None, ..., 0].float(), (size, size), mode="bilinear").round().byte()
        )
    return scaled


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
