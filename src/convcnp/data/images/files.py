"""Image files in folders and zip files."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int, UInt8
from torch import Tensor

from convcnp.data.images.photo import decoded
from convcnp.data.images.source import ImageSet
from convcnp.errors import DataError
from convcnp.extras import import_extra

_ENDINGS = (".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".webp")
_KEPT_BYTES = 2**31  # decoded images are kept up to this size of the whole set


@lru_cache(maxsize=2)
def image_files(path: Path, size: int | None, channels: int) -> ImageFiles:
    """List the images of a folder or zip file; they are decoded when they are asked for."""
    return ImageFiles(path, image_names(path), size, channels)


def image_names(path: Path) -> list[str]:
    """Return the names of the images in a folder, its subfolders or a zip file, in order."""
    names = sorted(name for name in _names(path) if _is_image(name))
    if not names:
        raise DataError(
            f"Expected images in {path}, but there are none that end in "
            f"{', '.join(_ENDINGS)}; check the path."
        )
    return names


def _is_image(name: str) -> bool:
    # Macs put a hidden companion of the same ending beside every image that they copy or pack.
    is_hidden = any(part.startswith((".", "__MACOSX")) for part in Path(name).parts)
    return name.lower().endswith(_ENDINGS) and not is_hidden


def holds_images(path: Path) -> bool:
    """Tell a folder or zip file, which hold images, from a table."""
    return path.is_dir() or path.suffix.lower() == ".zip"


def _names(path: Path) -> list[str]:
    if path.is_dir():
        return [str(file.relative_to(path)) for file in path.rglob("*") if file.is_file()]
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.namelist()
    except (OSError, zipfile.BadZipFile) as error:
        raise DataError(
            f"{path} must be a folder or a whole zip file of images, but cannot be read "
            f"({error}); remove it and get it again."
        ) from error


def content(path: Path, archive: zipfile.ZipFile | None, name: str) -> bytes:
    """Read one file of a folder, or of its zip file."""
    try:
        return (path / name).read_bytes() if archive is None else archive.read(name)
    except (OSError, EOFError, RuntimeError, zlib.error, zipfile.BadZipFile) as error:
        raise DataError(
            f"Expected to read {name} in {path}, but it failed ({error}); check its permissions, "
            "get the file again, or pack it without a password."
        ) from error


class ImageFiles:
    """Images of one size in files, decoded when they are first asked for, and then kept."""

    def __init__(self, path: Path, names: Sequence[str], size: int | None, channels: int) -> None:
        self.path, self.names = path, names
        self.size, self.mode = size, "RGB" if channels == 3 else "L"
        self._archive = None if path.is_dir() else zipfile.ZipFile(path)
        first = self._decoded(names[0])
        is_small = first.numel() * len(names) <= _KEPT_BYTES
        self._kept = first.new_empty(len(names) if is_small else 0, *first.shape)
        self._is_kept = torch.zeros(len(self._kept), dtype=torch.bool)
        self._shape = first.shape

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, indices: Int[Tensor, " n"], /) -> UInt8[Tensor, "n H W C"]:
        """Return images by their numbers."""
        if not len(self._kept):
            return torch.stack([self._checked(self.names[i]) for i in indices.tolist()])
        for i in indices[~self._is_kept[indices]].tolist():
            self._kept[i] = self._checked(self.names[i])
            self._is_kept[i] = True
        return self._kept[indices]

    def between(self, start: int, end: int) -> ImageSet:
        """Return the images from one number to another."""
        return _Between(self, start, end)

    def _checked(self, name: str) -> UInt8[Tensor, "H W C"]:
        pixels = self._decoded(name)
        if pixels.shape != self._shape:
            raise DataError(
                f"The images in {self.path} must have one size, got {tuple(self._shape[:2])} for "
                f"{self.names[0]} and {tuple(pixels.shape[:2])} for {name}; scale them with "
                "data.size."
            )
        return pixels

    def _decoded(self, name: str) -> UInt8[Tensor, "H W C"]:
        lanczos = import_extra("PIL.Image", "images").Resampling.LANCZOS
        try:
            image = decoded(io.BytesIO(content(self.path, self._archive, name)))
        except ValueError as error:
            raise DataError(
                f"{name} in {self.path} must be a whole image, but cannot be read ({error}); "
                "remove it or get it again."
            ) from error
        image = image.convert(self.mode)
        if self.size is not None:
            image = image.resize((self.size, self.size), lanczos)
        pixels = np.array(image)
        return torch.from_numpy(pixels.reshape(*pixels.shape[:2], -1))


@dataclass(frozen=True)
class _Between:
    files: ImageFiles
    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start

    def __getitem__(self, indices: Int[Tensor, " n"], /) -> UInt8[Tensor, "n H W C"]:
        return self.files[indices + self.start]
