"""Images with some of their pixels observed (Section 5.4, Appendix D)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int, UInt8
from torch import Tensor

from convcnp.core.image_task import PIXELS_PER_UNIT, ImageTask
from convcnp.core.predictive import Predictive
from convcnp.core.task import Task
from convcnp.core.units import AsIs, Normaliser
from convcnp.data.images.augmentation import mirrored, recoloured, shifted, windows
from convcnp.data.source import Familiar, Part
from convcnp.errors import SettingError, check_not_negative, check_positive

_Source = TypeVar("_Source", bound="PixelSource")
_Set = TypeVar("_Set", bound="ImageSource")


@runtime_checkable
class ImageSet(Protocol):
    """Images of one size: a tensor, or files that are decoded when they are asked for."""

    def __len__(self) -> int: ...

    def __getitem__(self, indices: Int[Tensor, " n"], /) -> UInt8[Tensor, "n H W C"]: ...


@dataclass(frozen=True)
class PixelSource(ABC):
    """Images with randomly chosen pixels as context.

    Args:
        part: Which images: those to train on, to choose a model by, to judge it by, or all.
        min_context: The number of context pixels is drawn from this share of all pixels ...
        max_context: ... to this share.
        sizes: Draw that number for every image, or once for a batch.
    """

    options: ClassVar[tuple[str, ...]] = ("min_context", "max_context", "sizes")
    takes: ClassVar[Literal["images"]] = "images"
    normaliser: ClassVar[Normaliser] = AsIs()
    familiar: ClassVar[Familiar] = Familiar(
        (1 / PIXELS_PER_UNIT, 1 / PIXELS_PER_UNIT), largest=1.0, spacing=1 / PIXELS_PER_UNIT
    )

    part: Literal["all"] | Part = "training"
    min_context: float = 0.01
    max_context: float = 0.5
    sizes: Literal["batch", "task"] = "task"
    dim_x: int = 2
    dim_y: int = 3

    def __post_init__(self) -> None:
        if not 0 <= self.min_context <= self.max_context <= 1:
            raise SettingError(
                "Shares of pixels must satisfy 0 <= min_context <= max_context <= 1, got "
                f"{self.min_context} and {self.max_context}."
            )
        if self.sizes not in ("batch", "task"):
            raise SettingError(f"sizes must be 'batch' or 'task', got {self.sizes!r}; choose one.")

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of images of this part."""

    def draw(self, batch_size: int, generator: torch.Generator) -> Task:
        """Draw images with replacement, and the pixels of each that are observed."""
        return self.take(torch.randint(len(self), (batch_size,), generator=generator), generator)

    @abstractmethod
    def take(self, objects: Int[Tensor, " B"], generator: torch.Generator) -> Task:
        """Draw which pixels are observed of each of these images, given by their numbers."""

    def _context(
        self, pixels: Float[Tensor, "B H W C"], generator: torch.Generator
    ) -> Bool[Tensor, "B H W"]:
        """Draw how many pixels are observed, and which."""
        batch_size, height, width, _ = pixels.shape
        total = height * width
        least = math.ceil(self.min_context * total)
        most = max(least, int(self.max_context * total))
        groups = batch_size if self.sizes == "task" else 1
        counts = torch.randint(least, most + 1, (groups, 1), generator=generator)
        order = torch.rand(batch_size, total, generator=generator).argsort(1)
        mask = torch.zeros(batch_size, total, dtype=torch.bool)
        mask.scatter_(1, order, torch.arange(total) < counts.expand(batch_size, 1))
        return mask.unflatten(1, (height, width))

    def held_out(self: _Source, part: Part) -> _Source:
        """Return the source of the images of a part, with sizes drawn per image."""
        return replace(self, part=part, sizes="task")

    def ceiling(self, task: Task) -> Predictive | None:
        """Return the best possible prediction, where it is known: here it is not."""
        return None


@dataclass(frozen=True)
class ImageSource(PixelSource):
    """Images of one size, drawn from a set, with all their pixels as targets.

    A new set is a subclass with one method, `images`.

    Args:
        window: Pixels along both sides of a square that is cut at random from every image to train
            on; if left out, images are whole. Models are chosen and judged by whole images.
        whole_share: Probability of a training batch to be whole images all the same.
        mirror: Mirror half of the images to train on, left to right.
        shift: Move images to train on by up to so many pixels.
        recolour: Change brightness, contrast and colours of images to train on by up to this share.
        targets: Pixels to predict of images to train on, drawn once for a batch; all if left out.
            For models of points, to which every target costs time.
    """

    options: ClassVar[tuple[str, ...]] = (
        *PixelSource.options,
        *("window", "whole_share", "mirror", "shift", "recolour", "targets"),
    )

    part: Part = "training"
    window: int | None = None
    whole_share: float = 0.0
    mirror: bool = False
    shift: int = 0
    recolour: float = 0.0
    targets: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.window is not None:
            check_positive("window", self.window)
        if not 0 <= self.whole_share <= 1:
            raise SettingError(
                f"whole_share must be a probability, from 0 to 1, got {self.whole_share}; leave it "
                "out if unsure."
            )
        check_not_negative("shift", self.shift)
        if self.targets is not None:
            check_positive("targets", self.targets)
        if not 0 <= self.recolour <= 1:
            raise SettingError(
                f"recolour must be a share, from 0 to 1, got {self.recolour}; 0.1 changes colours "
                "lightly."
            )

    @abstractmethod
    def images(self) -> ImageSet:
        """Return the images of this part, read when they are first asked for."""

    def held_out(self: _Set, part: Part) -> _Set:
        """Return the source of the images of a part, whole and as they are."""
        as_they_are = replace(super().held_out(part), mirror=False, shift=0, recolour=0.0)
        return replace(as_they_are, window=None, targets=None)

    def __len__(self) -> int:
        return len(self.images())

    def take(self, objects: Int[Tensor, " B"], generator: torch.Generator) -> Task:
        """Draw which pixels are observed of each of these images, given by their numbers."""
        pixels = self._augmented(self.images()[objects].float() / 255, generator)
        if self.window is not None and not self._stays_whole(generator):
            pixels = windows(pixels, (self.window, self.window), generator)
        task = ImageTask(pixels, self._context(pixels, generator), pixels)
        return task if self.targets is None else _at_some(task, self.targets, generator)

    def _augmented(
        self, pixels: Float[Tensor, "B H W C"], generator: torch.Generator
    ) -> Float[Tensor, "B H W C"]:
        """Change images as the settings say; without any, nothing is drawn."""
        if self.mirror:
            pixels = mirrored(pixels, generator)
        if self.shift:
            pixels = shifted(pixels, self.shift, generator)
        return recoloured(pixels, self.recolour, generator) if self.recolour else pixels

    def _stays_whole(self, generator: torch.Generator) -> bool:
        # Nothing is drawn where nothing is to be decided: batches of windows alone stay as they
        # were before there was a share.
        if self.whole_share == 0:
            return False
        return bool(torch.rand((), generator=generator) < self.whole_share)


def _at_some(task: ImageTask, count: int, generator: torch.Generator) -> Task:
    """Ask for some of the pixels only, the same of all images."""
    assert task.y_target is not None
    chosen = torch.randperm(task.x_target.shape[1], generator=generator)[:count]
    return Task(
        task.x_context,
        task.y_context,
        task.x_target[:, chosen],
        task.y_target[:, chosen],
        context_mask=task.context_mask,
    )


def held_back(images: UInt8[Tensor, "images H W C"], part: str) -> UInt8[Tensor, "some H W C"]:
    """Return the last twelfth of a training set, to choose a model by, or else all before it."""
    split = len(images) - len(images) // 12
    return images[split:] if part == "validation" else images[:split]
