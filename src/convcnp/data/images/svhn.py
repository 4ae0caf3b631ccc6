"""SVHN: house numbers cut out of photographs (Netzer et al., 2011)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor

from convcnp.data.files import Upstream, data_file
from convcnp.data.images.source import ImageSet, ImageSource, held_back
from convcnp.errors import DataError
from convcnp.extras import import_extra

_UPSTREAM = "http://ufldl.stanford.edu/housenumbers/"
# What a file may be called, its whole first, and its hash.
_FILES = {
    "training": (
        ["train_32x32.mat", "train_32x32_first16000_recropped.mat"],
        "e26dedcc434d2e4c54c9b2d4a06d8373",
    ),
    "test": (["test_32x32.mat", "test_32x32_first5000.mat"], "eb5a983be6a315427106f1b164d9cef3"),
}


@dataclass(frozen=True)
class Svhn(ImageSource):
    """Colour images of 32 x 32 pixels, each with a digit in its centre."""

    def images(self) -> ImageSet:
        """Return the images of this part."""
        names, md5 = _FILES["test" if self.part == "test" else "training"]
        path = data_file("svhn", names, Upstream(_UPSTREAM + names[0], md5))
        images = read_mat(path)
        return images if self.part == "test" else held_back(images, self.part)


@lru_cache(maxsize=2)
def read_mat(path: Path) -> UInt8[Tensor, "images H W C"]:
    """Read the images `X` from one of SVHN's files in MATLAB's format."""
    scipy = import_extra("scipy.io", "images")
    try:
        pixels = scipy.loadmat(path)["X"]
    except Exception as error:  # a cut file makes scipy raise anything from TypeError to zlib.error
        raise DataError(
            f"{path} must be a MATLAB file with images X, but cannot be read ({error}); remove it "
            "and get it again."
        ) from error
    if pixels.dtype != np.uint8 or pixels.ndim != 4:
        raise DataError(
            f"{path} must hold images X as bytes (height, width, channels, images), got "
            f"{pixels.dtype} of shape {pixels.shape}; get the cropped digits, not the full images."
        )
    return torch.from_numpy(np.ascontiguousarray(pixels.transpose(3, 0, 1, 2)))
