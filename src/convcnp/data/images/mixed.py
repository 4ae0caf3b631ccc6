"""All image sets together, hidden in all ways: what one general model of images learns from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor
from torch.nn.functional import interpolate

from convcnp.core.image_task import ImageTask
from convcnp.data.images.augmentation import mirrored, recoloured
from convcnp.data.images.celeba import CelebA
from convcnp.data.images.dead_leaves import DeadLeaves
from convcnp.data.images.masks import scratches, some_pixels, within_boxes, words
from convcnp.data.images.mnist import Mnist
from convcnp.data.images.photo import LUMINANCE
from convcnp.data.images.source import ImageSet, ImageSource, PixelSource
from convcnp.data.images.svhn import Svhn
from convcnp.data.source import Part
from convcnp.errors import SettingError, check_positive

# Faces and leaves twice: they are nearest to photographs of other things.
_SETS: tuple[ImageSource, ...] = (
    CelebA(size=89),
    DeadLeaves(),
    Svhn(),
    CelebA(size=89),
    DeadLeaves(),
    Mnist(),
)
_BOTH = 0.2  # probability that pixels at random are hidden, too
_GREY = 0.2  # probability that an image in colour is made grey
_RECOLOURED = 0.2  # how strongly
_LEAST = 0.5  # side of what is cut out, as a share of the window's


@dataclass(frozen=True)
class MixedImages(PixelSource):
    """Squares of faces, house numbers, digits and dead leaves, with pixels hidden in all ways.

    A square of any size is cut from an image and scaled to the window; digits are given two
    colours. It is mirrored, recoloured and now and then made grey. Hidden are pixels at random,
    boxes, scratches or words, or pixels at random as well. The hidden pixels are the targets.

    Args:
        window: Pixels along both sides of a task.
    """

    options: ClassVar[tuple[str, ...]] = ("min_context", "max_context", "window")

    part: Part = "training"
    max_context: float = 0.95
    window: int = 48

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("window", self.window)
        if self.min_context == 0 or self.max_context == 1:
            raise SettingError(
                "Hidden pixels are what is learned, from some that are seen: min_context must be "
                f"above 0 and max_context below 1, got {self.min_context} and {self.max_context}."
            )

    @cached_property
    def sets(self) -> tuple[ImageSet, ...]:
        """The images of this part of every set; a set that comes twice is read once."""
        read = {one: replace(one, part=self.part).images() for one in _SETS}
        return tuple(read[one] for one in _SETS)

    def __len__(self) -> int:
        """Return a number of images that holds all of the largest set, and of the others as many.

        Those of smaller sets come again.
        """
        return len(self.sets) * max(map(len, self.sets))

    def take(self, objects: Int[Tensor, " B"], generator: Generator) -> ImageTask:
        """Draw a square of each of these images, and which of its pixels are hidden."""
        pixels = torch.cat([self._square(number, generator) for number in objects.tolist()])
        pixels = recoloured(mirrored(pixels, generator), _RECOLOURED, generator)
        is_grey = torch.rand(len(pixels), 1, 1, 1, generator=generator) < _GREY
        grey = (pixels * pixels.new_tensor(LUMINANCE)).sum(-1, keepdim=True)
        pixels = torch.where(is_grey, grey, pixels)
        hidden = self._hidden(len(pixels), generator)
        return ImageTask(pixels, ~hidden, pixels, hidden)

    def _square(self, number: int, generator: Generator) -> Float[Tensor, "1 P P 3"]:
        """Cut a square from an image, whose number also says of which set it is."""
        which = self.sets[number % len(self.sets)]
        index = torch.tensor([number // len(self.sets) % len(which)])
        image = which[index].movedim(-1, 1).float() / 255  # (1, C, H, W)
        unit = torch.rand(9, generator=generator).tolist()
        sides = image.shape[2:]
        least = min(*sides, int(_LEAST * self.window))
        side = least + int(unit[0] * (min(sides) - least + 1))
        top, left = (
            int(u * (length - side + 1)) for u, length in zip(unit[1:], sides, strict=False)
        )
        cut = image[..., top : top + side, left : left + side]
        scaled = interpolate(cut, (self.window, self.window), mode="bilinear", antialias=True)
        if scaled.shape[1] == 1:
            paper, ink = torch.tensor(unit[3:]).view(2, 1, 3, 1, 1)
            scaled = paper + scaled * (ink - paper)
        return scaled.movedim(1, -1)

    def _hidden(self, batch_size: int, generator: Generator) -> Bool[Tensor, "B P P"]:
        """Draw which pixels are hidden, in one of the ways for each image."""
        size = self.window
        shape, whole = (batch_size, size, size), torch.tensor([[0, size]] * 2)
        pixels = some_pixels(shape, self.min_context, self.max_context, generator)
        kind = torch.randint(5, (batch_size,), generator=generator)  # the last two: pixels
        hidden = torch.zeros(shape, dtype=torch.bool)
        boxes, lines, text = (kind == number for number in range(3))
        every = whole.expand(int(boxes.sum()), 2, 2)
        hidden[boxes] = within_boxes((size, size), every, generator)
        hidden[lines] = scratches(int(lines.sum()), size, generator)
        hidden[text] = words(int(text.sum()), size, generator)
        both = torch.rand(batch_size, generator=generator) < _BOTH
        return hidden | (((kind > 2) | both)[:, None, None] & pixels)
