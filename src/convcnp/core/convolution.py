"""Convolutions of a field that know what lies beyond its grid."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypedDict, TypeVar, Unpack

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from convcnp.core.grid import Padding, Rim
from convcnp.core.line import Activation, Kernel, Line, gelu_
from convcnp.core.reading import Step, doubling
from convcnp.core.tape import TapedLine
from convcnp.errors import SettingError, check_not_negative

_ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "gelu": functional.gelu,
}


class Image(NamedTuple):
    """A field on a plane, or on a row of it, and what it is far from data.

    What a `Line` does on a processor with one padding, it does with all and everywhere.
    """

    h: Float[Tensor, "B C H W"]
    beyond: Float[Tensor, " C"]

    def plus(self, other: Image) -> Image:
        """Add a field on the same cells, which without gradients may be needed nowhere else."""
        h = self.h + other.h if torch.is_grad_enabled() else other.h.add_(self.h)
        return Image(h, self.beyond + other.beyond)

    def beside(self, other: Image) -> Image:
        """Put another field's channels behind one's own."""
        h = torch.cat([self.h, _gathering(other.h)], 1)
        return Image(h, torch.cat([self.beyond, other.beyond]))

    def without(self, rim: Rim) -> Image:
        """Leave out the outermost cells."""
        (top, bottom), (left, right) = rim
        rows, columns = self.h.shape[2:]
        return Image(self.h[:, :, top : rows - bottom, left : columns - right], self.beyond)

    def around(self, rim: Rim) -> Float[Tensor, "B C P Q"]:
        """Return the field with a rim around it; its channels stay last in memory."""
        image = self.h.movedim(1, -1)
        for axis, ends in enumerate(rim, start=1):
            if any(ends):
                before, after = (
                    self.beyond.expand(*image.shape[:axis], n, *image.shape[axis + 1 :])
                    for n in ends
                )
                image = torch.cat([before, image, after], axis)
        return image.movedim(-1, 1)


AnyField = TypeVar("AnyField", Image, Line, TapedLine)


def _gathering(h: Float[Tensor, "B C H W"]) -> Float[Tensor, "B C H W"]:
    """Return the same field, whose gradient will lie together in memory.

    That of a concatenation's part has gaps. Torch takes the derivatives of activations one number
    at a time in rows of fewer than 32 between gaps, which is up to ten times as slow.
    """

    def together(grad: Tensor | None) -> Tensor | None:  # nothing, where nothing depends on it
        return grad if grad is None else grad.contiguous(memory_format=torch.channels_last)

    if h.requires_grad:
        h.register_hook(together)
    return h


class Pointwise(nn.Linear):
    """Map the channels of every cell, as `nn.Linear` does: of few channels in half of its time.

    Torch writes the bias to all cells before it multiplies, in rows as short as there are channels.

    Example:
        >>> Pointwise(2, 8)(torch.zeros(4, 100, 2)).shape
        torch.Size([4, 100, 8])
    """

    def __init__(self, channels_in: int, channels_out: int) -> None:
        super().__init__(channels_in, channels_out)
        self._kernel = Kernel(self, 1)

    def along(self, line: TapedLine) -> TapedLine:
        """Do the same along a line."""
        return line.convolved(self._kernel)

    def forward(self, h: Float[Tensor, "*G C"]) -> Float[Tensor, "*G D"]:
        """Return the new channels."""
        return (h @ self.weight.mT).add_(self.bias)


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
        self.dim, self.padding, self.activation = dim, padding, activation
        self.conv = nn.Conv2d(
            channels_in,
            channels_out,
            (1, kernel_size) if dim == 1 else kernel_size,
            (1, stride) if dim == 1 else stride,
            padding=(0, kernel_size // 2) if dim == 1 else kernel_size // 2,
            padding_mode="circular" if padding == "circular" else "zeros",
        )
        self._kernel = Kernel(self.conv, kernel_size)

    def forward(self, field: AnyField, step: Step = "same", rim: Rim | None = None) -> AnyField:
        """Return the new values, and their constant far from data.

        Args:
            step: What the stride says, or `doubled`: repeat every cell before.
            rim: Cells around the field to read as well.
        """
        if not isinstance(field, Image):
            return field.convolved(self._kernel, self.activation, step, rim)
        conv = self.conv  # a module looks up its parts anew each time, slowly
        weight, bias, reach = conv.weight, conv.bias, conv.kernel_size[1] // 2
        assert bias is not None
        h, beyond = field.h if rim is None else field.around(rim), field.beyond
        response = torch.addmv(bias, weight.sum((2, 3)), beyond)
        convolved = self._doubled if step == "doubled" else self._convolved
        if self.padding != "unobserved":
            h = convolved(h, bias)
        elif self.dim == 1 and not torch.is_grad_enabled():
            # Only cells at the ends feel what lies beyond: the others need not be read for it.
            stride = conv.stride[1]
            wide = stride * (2 * reach + 1) + h.shape[3] % stride  # its end lies as the field's
            nothing = beyond.view(-1, 1, 1).expand(1, -1, 1, wide)
            lacking = response.view(-1, 1, 1) - convolved(nothing, bias)
            h = _at_ends_plus(convolved(h, bias), lacking, reach)
        else:
            # Adding the negative: the gradient of a subtraction would negate a whole field.
            h = convolved(h + (-beyond).view(-1, 1, 1), response)
        if self.activation is None:
            return Image(h, response)
        return Image(_activated(h, self.activation), _ACTIVATIONS[self.activation](response))

    def within(self, h: Float[Tensor, "B C H W"]) -> Float[Tensor, "B D P Q"]:
        """Return the new values of the cells around which there are as many as the kernel reads."""
        conv = self.conv
        h = functional.conv2d(h, conv.weight, conv.bias, stride=conv.stride)
        return h if self.activation is None else _activated(h, self.activation)

    def _convolved(
        self, h: Float[Tensor, "B C H W"], bias: Float[Tensor, " D"]
    ) -> Float[Tensor, "B D P Q"]:
        conv = self.conv
        if self.padding == "circular":
            return conv(h)
        return functional.conv2d(h, conv.weight, bias, stride=conv.stride, padding=conv.padding)

    def _doubled(
        self, h: Float[Tensor, "B C H W"], bias: Float[Tensor, " D"]
    ) -> Float[Tensor, "B D P Q"]:
        """Repeat every cell and convolve; along a line by one convolution into pairs of cells."""
        if self.dim == 2 or self.padding == "circular":
            h = functional.interpolate(h, scale_factor=(self.dim, 2), mode="nearest")
            return self._convolved(h, bias)
        weight = doubling(self.conv.weight)
        h = functional.conv2d(h, weight, bias.repeat(2), padding=(0, weight.shape[3] // 2))
        pairs = h.movedim(1, -1)  # (B, 1, W, 2 D)
        return pairs.reshape(*pairs.shape[:2], -1, len(bias)).movedim(-1, 1)


def _at_ends_plus(
    h: Float[Tensor, "B D 1 W"], further: Float[Tensor, "1 D 1 V"], cells: int
) -> Float[Tensor, "B D 1 W"]:
    """Add the outermost cells of a line to those of every other, in place."""
    wide, many = h.shape[3], min(cells, h.shape[3])
    h[..., :many] += further[..., :many]
    h[..., wide - many :] += further[..., further.shape[3] - many :]
    return h


def _activated(h: Float[Tensor, "B D H W"], activation: Activation) -> Float[Tensor, "B D H W"]:
    """Apply an activation to what is needed nowhere else, in place if a derivative allows it."""
    if activation == "relu":
        return h.relu_()
    image = h.movedim(1, -1)  # as it lies in memory: GELU is twice as quick there
    gelu = functional.gelu if torch.is_grad_enabled() else gelu_
    return gelu(image).movedim(-1, 1)


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

    def forward(self, field: AnyField) -> AnyField:
        """Apply the blocks one after the other."""
        for layer in self.layers:
            field = field.plus(layer(field))
        return field
