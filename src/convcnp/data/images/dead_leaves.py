"""Dead leaves: images of shapes that lie on each other, with the statistics of photographs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Int, UInt8
from torch import Generator, Tensor
from torch.nn.functional import avg_pool2d

from convcnp.data.images.source import ImageSet, ImageSource
from convcnp.data.source import seeded
from convcnp.data.splits import PARTS
from convcnp.errors import check_positive

_NUMBER = {"training": 20_000, "validation": 2_000, "test": 2_000}  # of images
_LEAVES = 120  # of an image
_SMALLEST = (1.5, 8.0)  # radius of an image's smallest leaves, in pixels


@dataclass(frozen=True)
class DeadLeaves(ImageSource):
    """Leaves of all sizes that hide each other, each with its colour, shading and texture.

    Sharp edges between smooth parts, alike at every scale: what photographs of anything have in
    common (Lee, Mumford and Huang, 2001). They need no file.

    Args:
        size: Pixels along each side.

    Example:
        >>> DeadLeaves(size=16).draw(2, Generator().manual_seed(0)).width
        16
    """

    options: ClassVar[tuple[str, ...]] = (*ImageSource.options, "size")

    size: int = 64

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("size", self.size)

    def images(self) -> ImageSet:
        """Return the images of this part, each drawn when it is asked for."""
        return _Drawn(PARTS.index(self.part), _NUMBER[self.part], self.size)


@dataclass(frozen=True)
class _Drawn:
    part: int
    number: int
    size: int

    def __len__(self) -> int:
        return self.number

    def __getitem__(self, indices: Int[Tensor, " n"], /) -> UInt8[Tensor, "n H W 3"]:
        drawn = [_image(self.size, seeded(self.part, i)) for i in indices.tolist()]
        return (255 * torch.stack(drawn)).round().byte()


def _image(size: int, generator: Generator) -> Float[Tensor, "H W 3"]:
    """Draw one image: which leaf is seen at every pixel, and what it looks like there."""

    def unit(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=generator)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator)

    rows = (torch.arange(size) + 0.5)[:, None]  # (H, 1)
    columns = rows.T
    top = _topmost(size, rows, columns, unit(6, _LEAVES), unit(1))  # (H, W)
    leaves = _LEAVES + 1  # the last is the ground
    # Leaves differ in brightness more than in colour.
    middle, spread = 0.2 + 0.6 * unit(1), 0.05 + 0.2 * unit(1)
    colour = middle + spread * (normal(leaves, 1) + 0.4 * normal(leaves, 3))
    down, right = 0.4 / size * normal(2, leaves)
    across, along, phase = 2 * math.pi * torch.cat([0.12 * normal(2, leaves), unit(1, leaves)])
    height = 0.15 * unit(leaves) ** 4
    shade = down[top] * (rows - size / 2) + right[top] * (columns - size / 2)
    texture = height[top] * torch.sin(across[top] * rows + along[top] * columns + phase[top])
    image = colour[top] + (shade + texture)[..., None] + 0.02 * unit(1) * normal(size, size, 3)
    return _softened(image, unit(1)).clamp(0, 1)


def _topmost(
    size: int,
    rows: Float[Tensor, "H 1"],
    columns: Float[Tensor, "1 W"],
    unit: Float[Tensor, "6 leaves"],
    scale: Float[Tensor, " 1"],
) -> Int[Tensor, "H W"]:
    """Return the number of the leaf that is seen at every pixel; the first lies on top."""
    radius, shape, angle = _radii(size, unit[0], scale), 0.3 + 0.7 * unit[1], math.pi * unit[2]
    down, right = size * unit[3:5, :, None, None]  # the centre
    cos, sin = ((f(angle) / radius)[:, None, None] for f in (torch.cos, torch.sin))
    # Along the leaf's sides, as shares of its half lengths: (leaves, H, W).
    first = cos * (rows - down) - sin * (columns - right)
    second = (sin * (rows - down) + cos * (columns - right)) / shape[:, None, None]
    is_square = (unit[5] < 0.3)[:, None, None]
    away = torch.where(is_square, torch.maximum(first.abs(), second.abs()), first**2 + second**2)
    order = torch.arange(_LEAVES, 0, -1)[:, None, None]
    return _LEAVES - ((away <= 1) * order).amax(0)


def _radii(
    size: int, unit: Float[Tensor, " leaves"], scale: Float[Tensor, " 1"]
) -> Float[Tensor, " leaves"]:
    """Draw radii with a density of 1 / r^3, for which images look alike at every scale."""
    low, high = _SMALLEST
    smallest = low * (high / low) ** scale
    largest = max(size / 2, 2 * high)
    return (smallest**-2 + unit * (largest**-2 - smallest**-2)) ** -0.5


def _softened(image: Float[Tensor, "H W C"], share: Float[Tensor, " 1"]) -> Float[Tensor, "H W C"]:
    """Mix an image with the means over three by three pixels, as a lens does."""
    near = avg_pool2d(image.movedim(-1, 0)[None], 3, 1, 1, count_include_pad=False)
    return (1 - share) * image + share * near[0].movedim(0, -1)
