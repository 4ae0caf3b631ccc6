"""Convolutions of a field that know what lies beyond its grid."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypedDict, Unpack

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from convcnp.core.grid import Padding
from convcnp.errors import SettingError, check_not_negative

Activation = Literal["relu", "gelu"]

# For a convolution's output, which is needed nowhere else and may be changed in place, and for the
# constant beyond the grid, which may not.
_ACTIVATIONS: dict[Activation, tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]] = {
    "relu": (torch.relu_, torch.relu),
    "gelu": (functional.gelu, functional.gelu),
}


class LayerOptions(TypedDict):
    """What all convolutions of a network have in common."""

    kernel_size: int
    padding: Padding
    activation: Activation


class Convolution(nn.Module):
    r"""Convolve a field, with a choice of what lies beyond the grid.

    An activation, if one is named, follows.

    `unobserved` continues every channel with the constant :math:`c` that it has far from all data:
    :math:`w * (h - c)` with zeros beyond the grid, plus the response of :math:`w` to :math:`c`. The
    result is that of the infinite domain, and the edge cannot be seen.

    Args:
        dim: Input dimensions, 1 or 2. One dimension is an image of height one, because torch's 2-D
            convolutions read channel-last memory as it is, and are the quicker for it.
        stride: Keep every `stride`-th cell, beginning with the first.
    """

    def __init__(
        self,
        dim: int,
        channels_in: int,
        channels_out: int,
        *,
        kernel_size: int,
        padding: Padding,
        stride: int = 1,
        activation: Activation | None = None,
    ) -> None:
        super().__init__()
        if activation not in (None, *_ACTIVATIONS):
            raise SettingError(
                f"activation must be 'relu' or 'gelu', got {activation!r}; choose one."
            )
        check_layer(dim, kernel_size, padding, channels_in, channels_out)
        self.padding, self.activation = padding, activation
        self.conv = nn.Conv2d(
            channels_in,
            channels_out,
            (1, kernel_size) if dim == 1 else kernel_size,
            (1, stride) if dim == 1 else stride,
            padding=(0, kernel_size // 2) if dim == 1 else kernel_size // 2,
            padding_mode="circular" if padding == "circular" else "zeros",
        )

    def forward(
        self, h: Float[Tensor, "B C H W"], beyond: Float[Tensor, " C"]
    ) -> tuple[Float[Tensor, "B D P Q"], Float[Tensor, " D"]]:
        """Return the new values, channel first, and their constant far from data."""
        conv = self.conv  # a module looks up its parts anew each time, slowly
        weight, bias = conv.weight, conv.bias
        assert bias is not None
        response = torch.addmv(bias, weight.sum((2, 3)), beyond)
        if self.padding == "unobserved":
            # Adding the negative: the gradient of a subtraction would negate a whole field.
            h = functional.conv2d(
                h + (-beyond).view(-1, 1, 1),
                weight,
                response,
                stride=conv.stride,
                padding=conv.padding,
            )
        else:
            h = conv(h)
        if self.activation is None:
            return h, response
        on_field, on_constant = _ACTIVATIONS[self.activation]
        return on_field(h), on_constant(response)


def check_layer(dim: int, kernel_size: int, padding: Padding, *channels: int) -> None:
    """Refuse a layer that cannot be."""
    if dim not in (1, 2):
        raise SettingError(f"dim must be 1 or 2, got {dim}; other grids have no convolutions here.")
    check_kernel(kernel_size, padding)
    if min(channels) < 1:
        shown = " and ".join(map(str, channels))
        raise SettingError(f"channels must be positive, got {shown}; use at least 1.")


def check_kernel(kernel_size: int, padding: Padding) -> None:
    """Refuse a kernel without a centre, and a padding that does not exist."""
    if padding not in ("unobserved", "zeros", "circular"):
        raise SettingError(
            f"padding must be 'unobserved', 'zeros' or 'circular', got {padding!r}; choose one."
        )
    if kernel_size < 1 or kernel_size % 2 == 0:
        raise SettingError(
            f"kernel_size must be odd and positive, got {kernel_size}; an even kernel has no "
            "centre."
        )


def wrapped(image: Float[Tensor, "B H W C"], rows: int, columns: int) -> Float[Tensor, "B P Q C"]:
    """Continue an image by so many rows and columns on either side, as if it were a ring."""
    while rows or columns:
        # Torch goes around a ring once at most. Three rounds of a ring are a ring again.
        down, right = min(rows, image.shape[1]), min(columns, image.shape[2])
        around = (0, 0, right, right, down, down)  # as a volume, whose channels stay last in memory
        image = functional.pad(image[None], around, mode="circular")[0]
        rows, columns = rows - down, columns - right
    return image


class ResidualBlocks(nn.Module):
    """Convolutions that each add to what they read: `h + activation(conv(h))`."""

    def __init__(
        self, blocks: int, dim: int, channels: int, **options: Unpack[LayerOptions]
    ) -> None:
        super().__init__()
        check_not_negative("blocks", blocks)
        self.layers = nn.ModuleList(
            Convolution(dim, channels, channels, **options) for _ in range(blocks)
        )

    def forward(
        self, h: Float[Tensor, "B C H W"], beyond: Float[Tensor, " C"]
    ) -> tuple[Float[Tensor, "B C H W"], Float[Tensor, " C"]]:
        """Apply the blocks one after the other."""
        for layer in self.layers:
            change, change_beyond = layer(h, beyond)
            h, beyond = h + change, beyond + change_beyond
        return h, beyond
