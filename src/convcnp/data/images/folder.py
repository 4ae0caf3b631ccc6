"""A user's own images: a folder or zip file, of any sizes, grey or in colour."""

from __future__ import annotations

import hashlib
import io
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, UInt8
from torch import Generator, Tensor

from convcnp.core.image_task import ImageTask
from convcnp.data.images.files import content, image_names
from convcnp.data.images.masks import within_boxes
from convcnp.data.images.photo import LUMINANCE, Photo, decoded
from convcnp.data.images.source import PixelSource
from convcnp.data.source import seeded
from convcnp.data.splits import PARTS, parts_by_name
from convcnp.errors import ConvCNPWarning, DataError, SettingError

if TYPE_CHECKING:
    from PIL.Image import Image

FEWEST = 3  # images: one of each part
_KEPT_BYTES = 2**31  # of all images; of a large set of large ones only parts are kept
_SMALLEST_PART = 128  # pixels along each side
MOST = _KEPT_BYTES // (3 * _SMALLEST_PART**2)  # images
_GREY = 8 / 255  # between channels: grey pixels differ by less, after compression
_FEW = 1e-3  # of the pixels: an image with fewer that are not grey has no colour

# --- Reading --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pictures:
    """Images in memory, as bytes, with one channel where they have no colour."""

    names: tuple[str, ...]
    sizes: tuple[tuple[int, int], ...]  # height and width in the files
    pixels: tuple[UInt8[Tensor, "_ _ _"], ...]  # (H, W, C)
    missing: tuple[Bool[Tensor, "_ _"] | None, ...]  # (H, W); nothing where all are there
    digest: str  # fingerprint of all files

    @property
    def in_colour(self) -> int:
        """The number of images in colour."""
        return sum(image.shape[2] == 3 for image in self.pixels)


def read_images(path: Path) -> Pictures:
    """Read all images, once as long as their files stay the same."""
    if not path.exists():
        raise DataError(
            f"Expected a folder or zip file of images, but {path} does not exist; check the path, "
            "or put it back."
        )
    return _read(path.resolve(), _state(path))


def _state(path: Path) -> tuple[tuple[str, int, int], ...]:
    """Return what changes when files do."""
    files = [path / name for name in image_names(path)] if path.is_dir() else [path]
    found = ((str(file), file.stat()) for file in files)
    return tuple((name, state.st_size, state.st_mtime_ns) for name, state in found)


@lru_cache(maxsize=1)
def _read(path: Path, state: object) -> Pictures:
    names = _some(image_names(path))
    side = kept_side(len(names))
    hashed = hashlib.blake2b(digest_size=8)
    sizes, kept, missing, broken = [], [], [], []
    for i, (name, data) in enumerate(_contents(path, names)):
        for part in (name.encode(errors="surrogateescape"), data):
            hashed.update(len(part).to_bytes(8) + part)
        try:
            image = decoded(io.BytesIO(data))
            photo = Photo.of(_part(image, side, i))
        except ValueError as error:
            broken.append(f"{name} ({error})")
            continue
        sizes.append((image.height, image.width))
        kept.append((255 * _coloured(photo.pixels)).round().byte())
        missing.append(photo.missing if photo.missing.any() else None)
    if broken:
        raise DataError(
            f"Expected whole images, but {len(broken):,} of {len(names):,} in {path} cannot be "
            f"read: {listed(broken)}; remove them, or get them again."
        )
    return Pictures(tuple(names), tuple(sizes), tuple(kept), tuple(missing), hashed.hexdigest())


def _some(names: Sequence[str]) -> Sequence[str]:
    """Choose at random, the same every time, among more images than can be kept."""
    if len(names) <= MOST:
        return names
    warnings.warn(
        f"Of {len(names):,} images {MOST:,} are used, drawn at random: not all fit into memory.",
        ConvCNPWarning,
        stacklevel=4,
    )
    chosen = torch.randperm(len(names), generator=seeded(0))[:MOST]
    return [names[i] for i in chosen.sort().values.tolist()]


def listed(names: Sequence[str], shown: int = 3) -> str:
    """Name the first of many."""
    more = f" and {len(names) - shown:,} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more


def _contents(path: Path, names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    with ExitStack() as stack:
        archive = None if path.is_dir() else stack.enter_context(zipfile.ZipFile(path))
        for name in names:
            yield name, content(path, archive, name)


def kept_side(images: int) -> int:
    """Return how many pixels are kept along each side of an image, if there are so many images."""
    return max(_SMALLEST_PART, int((_KEPT_BYTES / 3 / images) ** 0.5))


def _part(image: Image, side: int, number: int) -> Image:
    """Cut out a part that is small enough to be kept, somewhere."""
    unit = torch.rand(2, generator=seeded(0, number)).tolist()
    width, height = min(image.width, side), min(image.height, side)
    left, top = int(unit[0] * (image.width - width)), int(unit[1] * (image.height - height))
    return image.crop((left, top, left + width, top + height))


def _coloured(pixels: Float[Tensor, "H W C"]) -> Float[Tensor, "H W D"]:
    """Return one channel where the three are all but equal."""
    differ = pixels.amax(2) - pixels.amin(2) > _GREY
    return pixels if differ.float().mean() > _FEW else _in_channels(pixels, 1)


def _in_channels(pixels: Float[Tensor, "*B H W C"], channels: int) -> Float[Tensor, "*B H W D"]:
    """Show grey images as colour, or colour images as grey."""
    if channels == 1 and pixels.shape[-1] == 3:
        return (pixels * pixels.new_tensor(LUMINANCE)).sum(-1, keepdim=True)
    return pixels.expand(*pixels.shape[:-1], channels)


# --- The source -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class ImageFolder(PixelSource):
    """Windows of a user's own images, with pixels hidden at random or in boxes.

    The hidden pixels are the targets. Where an image is smaller than the window, or transparent,
    nothing is observed and nothing asked for. A tenth of the images chooses the model and a tenth
    judges it, by a hash of their names. All are read when the first task is drawn.

    Args:
        path: The folder (with its subfolders) or zip file.
        digest: Fingerprint of the files, so that a run cannot go on with others.
        window: Height and width of a task in pixels; larger images are cut at random.
        boxes: Share of the tasks in which boxes are hidden, and all else is observed; in the others
            pixels are observed at random.
        dim_y: 3 learns images in colour, 1 in grey.
    """

    options: ClassVar[tuple[str, ...]] = (
        *PixelSource.options,
        *("path", "digest", "window", "boxes", "dim_y"),
    )

    path: str = ""
    digest: str = ""
    window: tuple[int, int] = (48, 48)
    boxes: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.window) < 1:
            raise SettingError(
                f"window must be a height and a width of at least one pixel, got {self.window}."
            )
        if not 0 <= self.boxes <= 1:
            raise SettingError(f"boxes must be a share between 0 and 1, got {self.boxes}.")
        if self.min_context == 1 and self.boxes < 1:
            raise SettingError(
                "Hidden pixels are what is learned, but with min_context = 1 and boxes = "
                f"{self.boxes} some tasks have none; make min_context smaller, or boxes 1."
            )
        if self.dim_y not in (1, 3):
            raise SettingError(f"dim_y must be 1 for grey or 3 for colour, got {self.dim_y}.")

    @property
    def values(self) -> tuple[str, ...]:
        """The names of the channels."""
        return ("grey",) if self.dim_y == 1 else ("red", "green", "blue")

    @cached_property
    def pictures(self) -> Pictures:
        """All images, of every part."""
        if not self.path:
            raise DataError(
                "Expected a folder or zip file of images, got no path; name it, as data.path in an "
                "experiment file."
            )
        found = read_images(Path(self.path))
        if self.digest and self.digest != found.digest:
            raise DataError(
                f"Expected the images in {self.path} as they were when training began, but they "
                "have changed; restore them, or train anew in another directory."
            )
        return found

    @cached_property
    def own(self) -> Int[np.ndarray, " images"]:
        """The numbers of the images of this part."""
        names = self.pictures.names
        if self.part == "all":
            return np.arange(len(names))
        if len(names) < FEWEST:
            raise DataError(
                f"Expected at least {FEWEST} images in {self.path}, one each to train on, to "
                f"choose a model by and to judge it by, got {len(names)}; gather more."
            )
        return np.flatnonzero(parts_by_name(names) == PARTS.index(self.part))

    def __len__(self) -> int:
        return len(self.own)

    def take(self, objects: Int[Tensor, " B"], generator: Generator) -> ImageTask:
        """Draw a window of each of these images, and which of its pixels are hidden."""
        pixels, there, image = self._windows(self.own[objects.numpy()], generator)
        hidden = ~self._context(pixels, generator)
        in_boxes = torch.rand(len(objects), 1, 1, generator=generator) < self.boxes
        hidden = torch.where(in_boxes, within_boxes(self.window, image, generator), hidden)
        return ImageTask(pixels, there & ~hidden, pixels, there & hidden)

    def _windows(
        self, chosen: Int[np.ndarray, " B"], generator: Generator
    ) -> tuple[Float[Tensor, "B H W C"], Bool[Tensor, "B H W"], Int[Tensor, "B 2 2"]]:
        """Cut a window of each image; return which pixels are there, and the image's ends.

        The ends are the first row and column that the image has in the window, and those after its
        last. An image smaller than the window stands in its middle.
        """
        pixels = torch.zeros(len(chosen), *self.window, self.dim_y)
        there = torch.zeros(len(chosen), *self.window, dtype=torch.bool)
        ends = torch.zeros(len(chosen), 2, 2, dtype=torch.long)
        unit = torch.rand(len(chosen), 2, generator=generator).tolist()
        for i, number in enumerate(chosen.tolist()):
            image, missing = self.pictures.pixels[number], self.pictures.missing[number]
            cuts = []
            for axis, (length, u) in enumerate(zip(self.window, unit[i], strict=True)):
                size = min(length, image.shape[axis])
                first = int(u * (image.shape[axis] - size + 1))
                start = (length - size) // 2
                ends[i, axis] = torch.tensor([start, start + size])
                cuts.append((slice(first, first + size), slice(start, start + size)))
            cut, place = zip(*cuts, strict=True)
            pixels[i][place] = _in_channels(image[cut].float() / 255, self.dim_y)
            there[i][place] = True if missing is None else ~missing[cut]
        return pixels, there, ends
