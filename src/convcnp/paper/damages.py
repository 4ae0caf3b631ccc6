"""Ways in which pixels of a photograph get lost: at random, in boxes, by scratches and by text."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from convcnp.extras import import_extra
from convcnp.predict.completion import all_but

Shape = tuple[int, int]  # height and width

_BOXES = 4
_BOX = (1 / 12, 1 / 6)  # sides, as shares of the photograph's shorter side
_SCRATCHES, _JOINTS = 6, 5
_TEXT = "The quick brown fox jumps over the lazy dog. "
_LETTERS = 12  # of them, one above the other, fill the height


class Damage(NamedTuple):
    """A way of losing pixels, and what it is called in tables."""

    label: str
    draw: Callable[[Shape, int], Bool[Tensor, "H W"]]  # from a shape and a seed


def _kept(shape: Shape, seed: int, *, share: str) -> Bool[Tensor, "H W"]:
    return all_but(share, shape, seed)


def _drawn(shape: Shape, draw: Callable[[Any], None]) -> Bool[Tensor, "H W"]:
    """Return the pixels that were drawn on."""
    image = import_extra("PIL.Image", "images").new("L", (shape[1], shape[0]))
    draw(import_extra("PIL.ImageDraw", "images").Draw(image))
    return torch.from_numpy(np.array(image) > 127)


def boxes(shape: Shape, seed: int) -> Bool[Tensor, "H W"]:
    """Lose four boxes anywhere, of a twelfth to a sixth of the shorter side.

    Example:
        >>> 0 < boxes((60, 90), 0).float().mean().item() < 0.12
        True
    """
    random, missing = np.random.default_rng(seed), torch.zeros(shape, dtype=torch.bool)
    for _ in range(_BOXES):
        sides = (min(shape) * random.uniform(*_BOX, 2)).round().astype(int)
        top, left = (
            int(random.integers(1, n - side)) for n, side in zip(shape, sides, strict=True)
        )
        missing[top : top + int(sides[0]), left : left + int(sides[1])] = True
    return missing


def scratches(shape: Shape, seed: int) -> Bool[Tensor, "H W"]:
    """Lose six bent lines of one to three pixels, from one side to the other.

    Example:
        >>> scratches((60, 90), 0).any(0).float().mean().item()
        1.0
    """
    random, (height, width) = np.random.default_rng(seed), shape

    def draw(pen: Any) -> None:  # noqa: ANN401 - Pillow's
        for number in range(_SCRATCHES):
            along = np.linspace(-1, width if number % 2 else height, _JOINTS)
            length = height if number % 2 else width
            across = length * (random.uniform(0, 1) + random.normal(0, 0.06, _JOINTS).cumsum())
            joints = (
                zip(along, across, strict=True) if number % 2 else zip(across, along, strict=True)
            )
            pen.line([(x, y) for x, y in joints], fill=255, width=1 + number % 3)

    return _drawn(shape, draw)


def text(shape: Shape, seed: int) -> Bool[Tensor, "H W"]:
    """Lose what every other line of a written page covers.

    Example:
        >>> 0.02 < text((120, 160), 0).float().mean().item() < 0.3
        True
    """
    size = max(shape[0] / _LETTERS, 8)
    font = import_extra("PIL.ImageFont", "images").load_default(size)
    start = seed % len(_TEXT)

    def draw(pen: Any) -> None:  # noqa: ANN401 - Pillow's
        for line in range(1, _LETTERS - 1, 2):
            words = (_TEXT * 9)[start + 7 * line :]
            pen.text((0, line * shape[0] / _LETTERS), words, fill=255, font=font)

    return _drawn(shape, draw)


DAMAGES = {
    "keep5": Damage("5 % of the pixels left", partial(_kept, share="5%")),
    "keep20": Damage("20 % of the pixels left", partial(_kept, share="20%")),
    "boxes": Damage("Boxes", boxes),
    "scratches": Damage("Scratches", scratches),
    "text": Damage("Text", text),
}
