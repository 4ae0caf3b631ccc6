"""Pictures of a page: decoded once, completed where pixels are missing."""

from __future__ import annotations

import base64
import binascii
import io
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from convcnp.app.limits import Limits
from convcnp.app.questions import PictureQuestion
from convcnp.app.uploads import warnings_heard
from convcnp.app.words import command
from convcnp.data.images.photo import Photo, decoded
from convcnp.errors import DataError, SettingError, ShapeError
from convcnp.extras import import_extra
from convcnp.predict.batches import Progress
from convcnp.predict.completion import Filled, all_but, as_bytes, fill
from convcnp.predict.predictor import Predictor

Part = Literal["given", "completed", "doubt"]


@dataclass(frozen=True)
class Picture:
    """A page's picture.

    Args:
        name: Of the file, for words only.
    """

    name: str
    photo: Photo

    def png(self) -> bytes:
        """Return its pixels, transparent where they are missing."""
        return _png(_with_alpha(self.photo))

    @classmethod
    def read(cls, content: bytes, name: str, limits: Limits) -> Picture:
        """Decode a picture; its size is known before its pixels are read."""
        try:
            return cls(name, Photo.of(decoded(io.BytesIO(content), limits.pixels)))
        except ValueError as error:
            raise DataError(
                f"Expected a whole picture such as PNG or JPEG, but {name} cannot be read "
                f"({error}); save it again, or choose another."
            ) from error


@dataclass(frozen=True)
class Completion:
    """A completed picture of a page, with what was said of it."""

    picture: Picture
    filled: Filled
    sentence: str
    warnings: list[str]

    def part(self, part: Part) -> bytes:
        """Return what was given, what came of it, or the doubt about it, as PNG."""
        if part == "given":
            return _png(_with_alpha(self.filled.photo))
        if part == "completed":
            return _png(self.filled.pixels)
        return _png(_warm(self.filled.doubt.float() / self.largest))

    @property
    def largest(self) -> float:
        """The largest standard deviation."""
        return max(self.filled.doubt.max().item(), 1e-6)


def complete(
    picture: Picture, question: PictureQuestion, predictor: Predictor, progress: Progress
) -> Completion:
    """Fill the missing pixels of a picture, as the command does."""
    photo = picture.photo
    if question.mask is not None:
        photo = photo.without(_mask(question.mask, photo.shape))
    if question.keep is not None:
        photo = photo.without(all_but(str(question.keep), photo.shape, question.seed))
    if not photo.missing.any():
        raise SettingError(
            f"Expected missing pixels, but all of {picture.name} are there; paint over some, or "
            "keep only a share of them."
        )
    with warnings_heard() as heard:
        filled = fill(predictor.model, photo, progress=progress)
    sentence = (
        f"Filled {photo.missing.float().mean():.1%} of {photo.shape[1]} x {photo.shape[0]} pixels "
        f"with {predictor.name}; standard deviation there "
        f"{filled.average_doubt:.3f} on average."
    )
    return Completion(picture, filled, sentence, heard)


def as_command(name: str, question: PictureQuestion, model: str) -> str:
    """Return the command that completes the same pixels.

    Example:
        >>> as_command("a.png", PictureQuestion(picture="x", keep=0.05), "mnist-eq")
        'convcnp complete a.png --keep 0.05 --seed 1 --model mnist-eq'
    """
    options: dict[str, Any] = {}
    if question.mask is not None:
        options["mask"] = "mask.png"
    if question.keep is not None:
        options |= {"keep": question.keep, "seed": question.seed}
    return command("complete", name, options | {"model": model})


def _mask(text: str, shape: tuple[int, int]) -> Bool[Tensor, "H W"]:
    """Read which pixels are missing: a bit each, row by row."""
    count = shape[0] * shape[1]
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ShapeError(
            f"mask must be bytes as base64, but is not ({error}); check it."
        ) from error
    if len(content) != -(-count // 8):
        raise ShapeError(
            f"mask must have a bit for each of {shape[1]} x {shape[0]} pixels, which takes "
            f"{-(-count // 8):,} bytes, got {len(content):,}; check it."
        )
    bits = np.unpackbits(np.frombuffer(content, dtype=np.uint8))[:count]
    return torch.from_numpy(bits.astype(bool)).view(shape)


def _with_alpha(photo: Photo) -> Shaped[Tensor, "H W 4"]:
    pixels = photo.stored if photo.stored.dtype == torch.uint8 else as_bytes(photo.stored)
    alpha = (~photo.missing).byte()[..., None] * 255
    return torch.cat([pixels.expand(*photo.shape, 3), alpha], -1)


def _warm(share: Float[Tensor, "H W"]) -> Shaped[Tensor, "H W 3"]:
    """Colour numbers between 0 and 1 from black by red to yellow."""
    return as_bytes(
        torch.stack([(2 * share).clamp(max=1), (2 * share - 0.7).clamp(0, 1), 0.15 * share], -1)
    )


def _png(pixels: Shaped[Tensor, "H W C"]) -> bytes:
    pillow = import_extra("PIL.Image", "images")
    content = io.BytesIO()
    array = (pixels[..., 0] if pixels.shape[-1] == 1 else pixels).contiguous().numpy()
    pillow.fromarray(array).save(content, "PNG", compress_level=1)
    return content.getvalue()
