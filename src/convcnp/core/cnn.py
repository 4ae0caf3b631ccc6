"""Convolutional networks from a field on a grid to a field on the same grid."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal, TypedDict, Unpack

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from convcnp.core.grid import Field, Padding
from convcnp.core.separable import separable
from convcnp.errors import SettingError, check_not_negative, check_positive

Activation = Literal["relu", "gelu"]

# For a convolution's output, which is needed nowhere else and may be changed in place, and for the
# constant beyond the grid, which may not.
_ACTIVATIONS: dict[Activation, tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]] = {
    "relu": (torch.relu_, torch.relu),
    "gelu": (functional.gelu, functional.gelu),
}


class _LayerOptions(TypedDict):
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
        assert self.conv.bias is not None
        response = self.conv.weight.sum((2, 3)) @ beyond + self.conv.bias
        if self.padding == "unobserved":
            # Adding the negative: the gradient of a subtraction would negate a whole field.
            h = self.conv._conv_forward(h + (-beyond)[:, None, None], self.conv.weight, response)
        else:
            h = self.conv(h)
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


class CNN(nn.Module, ABC):
    """A network between fields; subclasses define `layers_forward`."""

    channels_in: int
    channels_out: int
    multiple: int  # the grid's length must be a multiple of this many cells
    receptive_radius: int  # cells on either side that an output depends on, at most

    def __init__(self, dim: int, padding: Padding) -> None:
        super().__init__()
        self.dim, self.padding = dim, padding

    def forward(self, field: Field) -> Field:
        """Map a field to a field on the same grid."""
        image = field.values if self.dim == 2 else field.values[:, None]
        h, beyond = self.layers_forward(image.movedim(-1, 1), field.beyond)
        image = h.movedim(1, -1)
        return Field(image if self.dim == 2 else image[:, 0], beyond)

    @abstractmethod
    def layers_forward(
        self, h: Float[Tensor, "B C H W"], beyond: Float[Tensor, " C"]
    ) -> tuple[Float[Tensor, "B D H W"], Float[Tensor, " D"]]:
        """Apply the layers to channel-first values and to the constant beyond the grid."""


class SimpleCNN(CNN):
    """Convolutions of stride one with ReLU after each (Appendix C.1, "ConvCNP").

    Args:
        channels: Channels of the input and of every layer's output.
    """

    # Paper: the text lists [16, 32, 16, 2] channels, which cannot give its 6,537 parameters; 8
    # channels and a pointwise map to the outputs do. That map is linear, so the last layer has a
    # ReLU as well.
    def __init__(
        self,
        dim: int = 1,
        channels: Sequence[int] = (8, 16, 32, 16, 8),
        *,
        kernel_size: int = 5,
        padding: Padding = "unobserved",
    ) -> None:
        super().__init__(dim, padding)
        if len(channels) < 2:
            raise SettingError(
                "channels must list those of the input and of at least one layer, got "
                f"{tuple(channels)}; (8, 16, 32, 16, 8) are the paper's."
            )
        self.channels_in, self.channels_out = channels[0], channels[-1]
        self.multiple = 1
        self.receptive_radius = kernel_size // 2 * (len(channels) - 1)
        self.layers = nn.ModuleList(
            Convolution(
                dim, fan_in, fan_out, kernel_size=kernel_size, padding=padding, activation="relu"
            )
            for fan_in, fan_out in pairwise(channels)
        )

    def layers_forward(
        self, h: Float[Tensor, "B C H W"], beyond: Float[Tensor, " C"]
    ) -> tuple[Float[Tensor, "B D H W"], Float[Tensor, " D"]]:
        """Apply the layers one after the other."""
        for layer in self.layers:
            h, beyond = layer(h, beyond)
        return h, beyond


class ResidualBlocks(nn.Module):
    """Convolutions that each add to what they read: `h + activation(conv(h))`."""

    def __init__(
        self, blocks: int, dim: int, channels: int, **options: Unpack[_LayerOptions]
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


class UNet(CNN):
    """Halve the resolution layer by layer and double it again, with skips (App. C.1, "ConvCNPXL").

    Layer :math:`L_{n+1-i}` reads the concatenation of its predecessor and :math:`L_i`, and the
    input itself is concatenated to the output.

    Args:
        channels_in: Channels of the input.
        down: Channels of the layers that halve the resolution.
        up: Channels of the layers that double it; as many as `down`.
        blocks: Residual convolutions after each of these layers; the paper has none.
        activation: Follows every convolution; the paper's is `relu`.
    """

    # Paper: transposed convolutions double the resolution. They answer a constant with a periodic
    # pattern, so that no constant continues them beyond the grid. Repeating every cell and
    # convolving has the same number of parameters and keeps constants constant.
    def __init__(
        self,
        dim: int = 1,
        channels_in: int = 8,
        down: Sequence[int] = (8, 16, 16, 32, 32, 64),
        up: Sequence[int] = (32, 32, 16, 16, 8, 8),
        *,
        blocks: int = 0,
        kernel_size: int = 5,
        padding: Padding = "unobserved",
        activation: Activation = "relu",
    ) -> None:
        super().__init__(dim, padding)
        if not down or len(down) != len(up):
            raise SettingError(
                f"down and up must have the same number of layers, at least one, got {len(down)} "
                f"and {len(up)}; every halving needs a doubling."
            )
        self.channels_in, self.channels_out = channels_in, channels_in + up[-1]
        self.multiple = 2 ** len(down)
        # A layer at stride s looks s * (kernel_size // 2) cells to either side, once down and once
        # up; reading a repeated cell is up to s cells more. Blocks on the way down have stride 2 s.
        reach = kernel_size // 2
        self.receptive_radius = (self.multiple - 1) * (2 * reach + 1 + 3 * blocks * reach)
        options = _LayerOptions(kernel_size=kernel_size, padding=padding, activation=activation)
        into_down = (channels_in, *down[:-1])
        into_up = (down[-1], *(a + b for a, b in zip(up[:-1], reversed(down[:-1]), strict=True)))
        self.down = nn.ModuleList(
            Convolution(dim, fan_in, fan_out, **options, stride=2)
            for fan_in, fan_out in zip(into_down, down, strict=True)
        )
        self.up = nn.ModuleList(
            Convolution(dim, fan_in, fan_out, **options)
            for fan_in, fan_out in zip(into_up, up, strict=True)
        )
        self.down_blocks, self.up_blocks = (
            nn.ModuleList(ResidualBlocks(blocks, dim, channels, **options) for channels in path)
            for path in (down, up)
        )

    def layers_forward(
        self, h: Float[Tensor, "B C H W"], beyond: Float[Tensor, " C"]
    ) -> tuple[Float[Tensor, "B D H W"], Float[Tensor, " D"]]:
        """Go down, then up again past the skips."""
        skips = []
        for layer, blocks in zip(self.down, self.down_blocks, strict=True):
            skips.append((h, beyond))
            h, beyond = blocks(*layer(h, beyond))
        for layer, blocks in zip(self.up, self.up_blocks, strict=True):
            h, beyond = blocks(*layer(self._repeated(h), beyond))
            skip, skip_beyond = skips.pop()
            h, beyond = torch.cat([skip, h], 1), torch.cat([skip_beyond, beyond])
        return h, beyond

    def _repeated(self, h: Float[Tensor, "B C H W"]) -> Float[Tensor, "B C P Q"]:
        return functional.interpolate(
            h, scale_factor=(1 if self.dim == 1 else 2, 2), mode="nearest"
        )


class SeparableConvolution(nn.Module):
    """Take a ReLU, convolve every channel with a kernel of its own, and mix the channels.

    Dimensions, and what lies beyond the grid, are those of `Convolution`.
    """

    # Paper: says "convolutional layers with ReLU activations", not where these stand. With the ReLU
    # first, nothing stands in the way of what residual blocks hand on.
    def __init__(self, dim: int, channels: int, *, kernel_size: int, padding: Padding) -> None:
        super().__init__()
        check_layer(dim, kernel_size, padding, channels)
        self.padding = padding
        size = (1, kernel_size) if dim == 1 else (kernel_size, kernel_size)
        self.reach = (size[0] // 2, size[1] // 2)
        self.depthwise = nn.Conv2d(channels, channels, size, groups=channels)
        self.pointwise = nn.Conv2d(channels, channels, 1)

    def forward(
        self, h: Float[Tensor, "B C H W"], beyond: Float[Tensor, " C"]
    ) -> tuple[Float[Tensor, "B C H W"], Float[Tensor, " C"]]:
        """Return the convolved values, channel first, and their constant far from data."""
        kernel, bias = self.depthwise.weight, self.depthwise.bias
        mixing, shift = self.pointwise.weight, self.pointwise.bias
        assert bias is not None
        assert shift is not None
        beyond = torch.relu(beyond)
        response = kernel.sum((1, 2, 3)) * beyond + bias
        far = functional.linear(response, mixing[:, :, 0, 0], shift)
        if self.padding == "unobserved":
            return separable(h, beyond, kernel, response, mixing, shift, padding=self.reach), far
        zeros = self.reach
        if self.padding == "circular":
            h, zeros = wrapped(h.movedim(1, -1), *self.reach).movedim(-1, 1), (0, 0)
        level = torch.zeros_like(beyond)
        return separable(h, level, kernel, bias, mixing, shift, padding=zeros), far


class SeparableBlock(nn.Module):
    """Add to a field what separable convolutions make of it: `h + conv(relu(h))` with one layer."""

    def __init__(
        self, layers: int, dim: int, channels: int, *, kernel_size: int, padding: Padding
    ) -> None:
        super().__init__()
        check_positive("layers", layers)
        self.layers = nn.ModuleList(
            SeparableConvolution(dim, channels, kernel_size=kernel_size, padding=padding)
            for _ in range(layers)
        )

    def forward(
        self, h: Float[Tensor, "B C H W"], beyond: Float[Tensor, " C"]
    ) -> tuple[Float[Tensor, "B C H W"], Float[Tensor, " C"]]:
        """Apply the layers one after the other, and add what they read."""
        change, change_beyond = h, beyond
        for layer in self.layers:
            change, change_beyond = layer(change, change_beyond)
        return h + change, beyond + change_beyond


class ResNet(CNN):
    """Residual blocks of separable convolutions, at one resolution (Appendix D.1, for images).

    Args:
        channels: Channels of the input, of every layer and of the output.
        blocks: Residual blocks.
        layers: Separable convolutions in each block.
    """

    def __init__(
        self,
        dim: int = 2,
        channels: int = 128,
        *,
        blocks: int = 4,
        layers: int = 1,
        kernel_size: int = 5,
        padding: Padding = "unobserved",
    ) -> None:
        super().__init__(dim, padding)
        check_not_negative("blocks", blocks)
        self.channels_in = self.channels_out = channels
        self.multiple = 1
        self.receptive_radius = kernel_size // 2 * blocks * layers
        self.blocks = nn.ModuleList(
            SeparableBlock(layers, dim, channels, kernel_size=kernel_size, padding=padding)
            for _ in range(blocks)
        )

    def layers_forward(
        self, h: Float[Tensor, "B C H W"], beyond: Float[Tensor, " C"]
    ) -> tuple[Float[Tensor, "B D H W"], Float[Tensor, " D"]]:
        """Apply the blocks one after the other."""
        for block in self.blocks:
            h, beyond = block(h, beyond)
        return h, beyond
