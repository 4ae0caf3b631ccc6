"""ImageTask: a Task whose points are the pixels of images."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from convcnp.core.task import Task
from convcnp.errors import ShapeError

PIXELS_PER_UNIT = 16  # so that an image of 32 x 32 pixels spans [-1, 1] x [-1, 1]


class ImageTask(Task):
    """A batch of images with some pixels observed and all pixels asked for.

    A `Task` in which context and targets are all pixels, row by row, and the mask says which are
    observed. Inputs are (row, column) relative to the image's centre, the same distance apart in
    images of any size.

    Example:
        >>> pixels = torch.rand(2, 32, 32, 3)
        >>> task = ImageTask(pixels, torch.rand(2, 32, 32) < 0.3, pixels)
        >>> task.height, task.width, task.dim_x, task.dim_y
        (32, 32, 2, 3)
    """

    def __init__(
        self,
        observed: Tensor,  # (B, H, W, C), floating point; ignored where the mask is false
        context_mask: Tensor,  # (B, H, W) or (B, H, W, C), boolean
        images: Tensor | None = None,  # (B, H, W, C): what is to be predicted, where it is known
        target_mask: Tensor | None = None,  # as context_mask; all pixels if left out
    ) -> None:
        _check_images("observed", observed)
        self.height, self.width = observed.shape[1:3]
        x = pixel_inputs(self.height, self.width).to(observed).expand(len(observed), -1, -1)
        if images is not None and images.shape != observed.shape:
            raise ShapeError(
                f"images must have the shape of what is observed: expected "
                f"{tuple(observed.shape)}, got {tuple(images.shape)}; leave it out if unknown."
            )
        super().__init__(
            *(x, observed.flatten(1, 2), x, None if images is None else images.flatten(1, 2)),
            context_mask=_pixel_mask("context_mask", context_mask, observed),
            target_mask=None
            if target_mask is None
            else _pixel_mask("target_mask", target_mask, observed),
        )

    @classmethod
    def stack(cls, tasks: Sequence[Task]) -> Task:
        """Put images of one size into one batch; of several sizes, into a plain `Task`."""
        whole, first = Task.stack(tasks), tasks[0]
        if not isinstance(first, ImageTask) or any(
            (getattr(task, "height", 0), getattr(task, "width", 0)) != (first.height, first.width)
            for task in tasks
        ):
            return whole
        images = copy.copy(first)
        vars(images).update(vars(whole))
        return images

    def as_images(self, points: Shaped[Tensor, "B M C"]) -> Shaped[Tensor, "B H W C"]:
        """Arrange what belongs to the pixels, such as a predicted mean, as images."""
        return points.unflatten(1, (self.height, self.width))


def pixel_inputs(height: int, width: int) -> Float[Tensor, "points 2"]:
    """Return the (row, column) of every pixel relative to the centre, row by row."""
    rows, columns = (
        (torch.arange(length) - (length - 1) / 2) / PIXELS_PER_UNIT for length in (height, width)
    )
    return torch.cartesian_prod(rows, columns)


def _check_images(name: str, images: Tensor) -> None:
    if not isinstance(images, Tensor) or images.dim() != 4 or not images.is_floating_point():
        shown = tuple(images.shape) if isinstance(images, Tensor) else type(images).__name__
        raise ShapeError(
            f"{name} must be a floating-point tensor (images, height, width, channels), got "
            f"{shown}; divide bytes by 255, and add the dimensions that are missing."
        )


def _pixel_mask(name: str, mask: Tensor, images: Tensor) -> Tensor:
    """Return a mask of pixels as one of points and channels."""
    if isinstance(mask, Tensor) and mask.dim() == 3:
        mask = mask[..., None].expand(*mask.shape, images.shape[3])
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool or mask.shape != images.shape:
        shown = tuple(mask.shape) if isinstance(mask, Tensor) else type(mask).__name__
        raise ShapeError(
            f"{name} must be boolean, one entry per pixel, or per pixel and channel: expected "
            f"{tuple(images.shape[:3])} or {tuple(images.shape)}, got {shown}; write "
            f"{name}.bool() if it holds 0 and 1."
        )
    return mask.flatten(1, 2)
