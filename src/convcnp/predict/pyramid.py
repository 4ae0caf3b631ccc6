"""A photograph of half the size, and what it says of pixels that are far from all that is given."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int, Shaped, UInt8
from torch import Tensor
from torch.nn.functional import avg_pool2d, max_pool2d, pad

from convcnp.data.images.photo import Photo, as_numbers
from convcnp.models.grid_convcnp import GridConvCNP

_SHARE = 3  # of what a model sees to either side, one part in so many is bridged well
_WIDEST = 5  # pixels: beyond, holes of dead leaves are filled better from half the size
_EVERY = 4  # pixels from one that is taken from the smaller photograph to the next
_ROWS = 256  # of the smaller photograph that are computed at once


def bridged(model: GridConvCNP) -> int:
    """Return how far from all given pixels a model's answers hold by themselves, in pixels.

    Example:
        >>> bridged(GridConvCNP.small()), bridged(GridConvCNP.unet())
        (4, 5)
    """
    return max(2, min(model.radius_in_pixels // _SHARE, _WIDEST))


def halved(photo: Photo) -> Photo:
    """Return a photograph of half the size: means of the given pixels of two by two.

    A pixel is missing if all four are.

    Example:
        >>> halved(Photo(torch.ones(5, 4, 1), torch.zeros(5, 4, dtype=torch.bool))).shape
        (3, 2)
    """
    height, width = (-(-side // 2) for side in photo.shape)
    pixels = torch.empty(height, width, photo.stored.shape[-1], dtype=torch.uint8)
    missing = torch.empty(height, width, dtype=torch.bool)
    for top in range(0, height, _ROWS):
        rows, target = slice(2 * top, 2 * (top + _ROWS)), slice(top, top + _ROWS)
        given = (~photo.missing[rows])[..., None].float()
        share = _halved(given)
        mean = _halved(as_numbers(photo.stored[rows]) * given) / share.clamp(min=0.25)
        pixels[target] = (255 * mean).round().byte()
        missing[target] = share[..., 0] == 0
    return Photo(pixels, missing)


def _halved(pixels: Float[Tensor, "H W C"]) -> Float[Tensor, "h w C"]:
    """Return means of two by two pixels, with zeros after an odd row or column."""
    height, width = pixels.shape[:2]
    even = pad(pixels, (0, 0, 0, width % 2, 0, height % 2))
    return avg_pool2d(even.movedim(-1, 0), 2).movedim(0, -1)


def far_from_all(missing: Bool[Tensor, "H W"], reach: int) -> Bool[Tensor, "H W"]:
    """Say which pixels have none that is given within a square of so many to either side.

    Example:
        >>> far_from_all(torch.tensor([[False, True, True, True]]), 1).tolist()
        [[False, False, True, True]]
    """
    near = (~missing).float()[None]
    for window, around in (((2 * reach + 1, 1), (reach, 0)), ((1, 2 * reach + 1), (0, reach))):
        near = max_pool2d(near, window, stride=1, padding=around)
    return near[0] == 0


@dataclass(frozen=True)
class Support:
    """What the smaller photograph says of the pixels that are far from all that is given.

    Of these, one in every four by four is shown to the model as if it were given. What is not known
    of it is added to the model's variance.
    """

    far: Bool[Tensor, "h w"]
    pixels: UInt8[Tensor, "h w C"]
    doubt: Float[Tensor, "h w"]

    def shown(
        self, rows: Int[Tensor, "H 1"], columns: Int[Tensor, " W"]
    ) -> tuple[Bool[Tensor, "H W"], Float[Tensor, "H W C"]]:
        """Return which pixels of the larger photograph are shown to the model, and their values."""
        on_lattice = (rows % _EVERY == 1) & (columns % _EVERY == 1)
        return on_lattice & self.is_far(rows, columns), _between(self.pixels, rows, columns) / 255

    def is_far(self, rows: Int[Tensor, "H 1"], columns: Int[Tensor, " W"]) -> Bool[Tensor, "H W"]:
        """Say which pixels of the larger photograph are far from all that is given."""
        return self.far[rows // 2, columns // 2]

    def widened(
        self,
        stddev: Float[Tensor, "H W C"],
        rows: Int[Tensor, "H 1"],
        columns: Int[Tensor, " W"],
    ) -> Float[Tensor, "H W C"]:
        """Add to standard deviations what the smaller photograph does not know."""
        doubt = _between(self.doubt[..., None], rows, columns)
        return torch.where(
            self.is_far(rows, columns)[..., None], torch.hypot(stddev, doubt), stddev
        )


def _between(
    coarse: Shaped[Tensor, "h w C"], rows: Int[Tensor, "H 1"], columns: Int[Tensor, " W"]
) -> Float[Tensor, "H W C"]:
    """Interpolate linearly at pixels of twice the resolution."""
    height, width = coarse.shape[:2]
    found = torch.zeros(len(rows), len(columns), coarse.shape[-1])
    # A pixel lies a quarter from the middle of its own cell, towards the cell on its side.
    for near_row, row_weight in ((True, 0.75), (False, 0.25)):
        i = rows // 2 if near_row else (rows // 2 + 2 * (rows % 2) - 1).clamp(0, height - 1)
        for near_column, weight in ((True, 0.75), (False, 0.25)):
            j = columns // 2
            j = j if near_column else (j + 2 * (columns % 2) - 1).clamp(0, width - 1)
            found += row_weight * weight * coarse[i, j].float()
    return found
