"""Which pixels of an image are hidden: boxes, scratches, words, and pixels at random."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor

_MOST_BOXES = 3
_BOXES = (0.1, 0.6)  # sides, as shares of the image's
_JOINTS = 4  # of a scratch
_SCRATCHES = 3
_ROWS, _LETTERS, _STROKES = 3, 6, 3  # of a text, of a row and of a letter, at most


def some_pixels(
    shape: tuple[int, int, int], least: float, most: float, generator: Generator
) -> Bool[Tensor, "B H W"]:
    """Hide all but a share of the pixels of each image, few and many equally often.

    Args:
        shape: Images, height and width.
        least: The smallest share that is seen, above zero.
        most: The largest.

    Example:
        >>> hidden = some_pixels((1, 100, 100), 0.05, 0.05, Generator().manual_seed(0))
        >>> round(1 - hidden.float().mean().item(), 2)
        0.05
    """
    unit = torch.rand(shape[0], 1, 1, generator=generator)
    return torch.rand(shape, generator=generator) >= least * (most / least) ** unit


def within_boxes(
    window: tuple[int, int], image: Int[Tensor, "B 2 2"], generator: Generator
) -> Bool[Tensor, "B H W"]:
    """Draw one to three boxes within each image, each of at least a pixel.

    Args:
        window: Height and width.
        image: Where each image begins and ends in its window, along rows and columns.
    """
    first, last = image.unbind(2)  # (B, 2)
    count = torch.randint(1, _MOST_BOXES + 1, (len(image), 1, 1), generator=generator)
    hidden = torch.zeros(len(image), *window, dtype=torch.bool)
    for number in range(_MOST_BOXES):
        unit = torch.rand(2, len(image), 2, generator=generator)
        centre = first + unit[0] * (last - first)
        low, high = _BOXES
        half = (0.5 * low * (high / low) ** unit[1] * (last - first)).clamp(min=0.5)
        rows, columns = (
            (torch.arange(length) + 0.5 - centre[:, axis, None]).abs() <= half[:, axis, None]
            for axis, length in enumerate(window)
        )  # (B, H), (B, W)
        hidden |= rows[:, :, None] & columns[:, None, :] & (number < count)
    return hidden


def scratches(batch_size: int, size: int, generator: Generator) -> Bool[Tensor, "B H W"]:
    """Draw scratches: bent lines, one to four pixels thick, anywhere in a square.

    Example:
        >>> scratches(2, 32, Generator().manual_seed(0)).shape
        torch.Size([2, 32, 32])
    """
    unit = torch.rand(batch_size, _SCRATCHES, _JOINTS, 2, generator=generator)
    # Each line wanders around the way from its first joint to its last.
    along = torch.linspace(0, 1, _JOINTS)[:, None]
    straight = unit[:, :, :1] + along * (unit[:, :, -1:] - unit[:, :, :1])
    joints = size * (straight + 0.3 * (unit - straight) * (along * (1 - along)).sqrt())
    thickness = 1 + 3 * torch.rand(batch_size, _SCRATCHES, 1, generator=generator)
    count = torch.randint(1, _SCRATCHES + 1, (batch_size, 1, 1), generator=generator)
    drawn = torch.arange(_SCRATCHES)[:, None] < count  # (B, scratches, 1)
    thickness = (thickness * drawn).expand(-1, -1, _JOINTS - 1)
    return strokes(
        size,
        joints[:, :, :-1].flatten(1, 2),
        joints[:, :, 1:].flatten(1, 2),
        thickness.flatten(1, 2),
    )


def words(batch_size: int, size: int, generator: Generator) -> Bool[Tensor, "B H W"]:
    """Draw something like text: rows of letters that are a few short strokes each, in a square.

    Example:
        >>> 0 < words(1, 32, Generator().manual_seed(0)).float().mean().item() < 0.7
        True
    """
    letter = 6 + 14 * torch.rand(batch_size, 1, 1, 1, 1, generator=generator)  # pixels high
    corner = size * torch.rand(batch_size, 1, 1, 1, 2, generator=generator) - letter
    rows = torch.arange(_ROWS)[:, None, None] * 1.4
    columns = torch.arange(_LETTERS)[:, None] * 0.8
    at = torch.stack(torch.broadcast_tensors(rows, columns), -1)  # (rows, letters, 1, 2)
    unit = torch.rand(batch_size, 2, _ROWS, _LETTERS, _STROKES, 2, generator=generator)
    # Strokes of a letter go between the points of a lattice of three by three.
    ends = ((3 * unit).floor() / 2) * torch.tensor([1.0, 0.6])
    first, last = (corner + letter * (at + ends[:, i]) for i in (0, 1))
    thickness = letter.view(-1, 1) * (0.12 + 0.1 * torch.rand(batch_size, 1, generator=generator))
    count = _ROWS * _LETTERS * _STROKES
    return strokes(
        size, first.flatten(1, 3), last.flatten(1, 3), thickness.clamp(min=1).expand(-1, count)
    )


def strokes(
    size: int,
    first: Float[Tensor, "B K 2"],
    last: Float[Tensor, "B K 2"],
    thickness: Float[Tensor, "B K"],
) -> Bool[Tensor, "B H W"]:
    """Draw straight strokes into a square: pixels whose centres lie within half the thickness.

    Example:
        >>> ends = torch.tensor([[[1.0, 0.0]]]), torch.tensor([[[1.0, 3.0]]])
        >>> strokes(3, *ends, torch.tensor([[1.0]])).int().tolist()
        [[[1, 1, 1], [1, 1, 1], [0, 0, 0]]]
    """
    rows = (torch.arange(size) + 0.5)[:, None]  # (H, 1)
    columns = rows.T
    hidden = torch.zeros(len(first), size, size, dtype=torch.bool)
    for k in range(first.shape[1]):
        top, left = first[:, k].view(-1, 2, 1, 1).unbind(1)  # (B, 1, 1)
        down, right = (last - first)[:, k].view(-1, 2, 1, 1).unbind(1)
        squared = (down**2 + right**2).clamp(min=1e-6)
        # How far along the stroke its nearest point is, and how far away that is.
        share = ((rows - top) * down + (columns - left) * right) / squared  # (B, H, W)
        share = share.clamp(0, 1)
        away = (rows - top - share * down) ** 2 + (columns - left - share * right) ** 2
        reach = thickness[:, k, None, None] / 2
        hidden |= (away <= reach**2) & (reach > 0)
    return hidden
