"""Changes of images that leave them what they are: to train on, never to judge by."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Generator, Tensor
from torch.nn.functional import pad


def mirrored(pixels: Float[Tensor, "B H W C"], generator: Generator) -> Float[Tensor, "B H W C"]:
    """Mirror half of the images, left to right.

    Example:
        >>> image = torch.arange(3.0).view(1, 1, 3, 1).expand(4, -1, -1, -1)
        >>> mirrored(image, Generator().manual_seed(0))[:, 0, 0, 0].tolist()
        [2.0, 0.0, 2.0, 2.0]
    """
    chosen = torch.rand(len(pixels), 1, 1, 1, generator=generator) < 0.5
    return torch.where(chosen, pixels.flip(2), pixels)


def shifted(
    pixels: Float[Tensor, "B H W C"], most: int, generator: Generator
) -> Float[Tensor, "B H W C"]:
    """Move every image by at most so many pixels along each side; its edge is continued.

    Example:
        >>> image = torch.arange(3.0).view(1, 1, 3, 1)
        >>> shifted(image, 1, Generator().manual_seed(1)).flatten().tolist()
        [1.0, 2.0, 2.0]
    """
    height, width = pixels.shape[1:3]
    wide = pad(pixels.movedim(-1, 1), [most] * 4, mode="replicate").movedim(1, -1)
    return windows(wide, (height, width), generator)


def recoloured(
    pixels: Float[Tensor, "B H W C"], strength: float, generator: Generator
) -> Float[Tensor, "B H W C"]:
    """Change brightness and contrast of every image, and each of its channels half as much.

    Example:
        >>> image = torch.full((1, 1, 1, 3), 0.5)
        >>> (recoloured(image, 0.1, Generator().manual_seed(0)) - 0.5).abs().max().item() < 0.2
        True
    """
    batch, channels = len(pixels), pixels.shape[-1]
    unit = torch.rand(2, batch, 1, 1, channels + 1, generator=generator) * 2 - 1
    contrast, brightness = strength * (unit[..., :1] + unit[..., 1:] / 2)
    return (0.5 + (pixels - 0.5) * (1 + contrast) + brightness / 2).clamp(0, 1)


def windows(
    pixels: Float[Tensor, "B H W C"], size: tuple[int, int], generator: Generator
) -> Float[Tensor, "B P Q C"]:
    """Cut a window of a size at random from every image."""
    starts = [
        torch.randint(max(side - length, 0) + 1, (len(pixels),), generator=generator).tolist()
        for side, length in zip(pixels.shape[1:3], size, strict=True)
    ]
    height, width = size
    cut = [
        image[i : i + height, j : j + width] for image, i, j in zip(pixels, *starts, strict=True)
    ]
    return torch.stack(cut)
