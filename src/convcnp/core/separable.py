"""Depthwise separable convolutions, with a quick gradient on a CPU."""

from __future__ import annotations

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import conv2d, linear, pad

from convcnp.core.convolution import check_layer, wrapped
from convcnp.core.grid import Padding
from convcnp.core.products import product
from convcnp.errors import check_positive

_QUICK_WIDTH = 3  # the widest depthwise kernel whose weight gradient oneDNN has quick code for


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
        far = linear(response, mixing[:, :, 0, 0], shift)
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


def separable(
    h: Float[Tensor, "B C H W"],
    level: Float[Tensor, " C"],
    kernel: Float[Tensor, "C 1 I J"],
    response: Float[Tensor, " C"],
    mixing: Float[Tensor, "D C 1 1"],
    bias: Float[Tensor, " D"],
    *,
    padding: tuple[int, int],
) -> Float[Tensor, "B D P Q"]:
    """Convolve `relu(h) - level` channel by channel, add `response`, and mix the channels.

    Rows and columns of zeros lie around. The numbers are those of torch's operations one after the
    other, and without a gradient, on another device or in mixed precision it is these that run.
    Their gradients take most of a training step on a CPU, and have a quicker way here (decision
    22).
    """
    arguments = (h, level, kernel, response, mixing, bias, padding)
    is_mixed = torch.is_autocast_enabled("cpu")
    if h.device.type == "cpu" and h.requires_grad and torch.is_grad_enabled() and not is_mixed:
        return _Separable.apply(*arguments)  # type: ignore[no-untyped-call]
    return _forward(*arguments)[-1]


def _forward(
    h: Tensor,
    level: Tensor,
    kernel: Tensor,
    response: Tensor,
    mixing: Tensor,
    bias: Tensor,
    padding: tuple[int, int],
) -> tuple[Tensor, Tensor, Tensor]:
    """Return what the activation, the kernels and the mixing make of the input."""
    active = torch.relu(h)
    around = active - level[:, None, None]
    convolved = conv2d(around, kernel, response, padding=padding, groups=len(kernel))
    if torch.is_grad_enabled() or torch.is_autocast_enabled("cpu"):
        return active, convolved, conv2d(convolved, mixing, bias)
    mixed = product(_cells(convolved), mixing[..., 0, 0].mT, bias)
    return active, convolved, _image(mixed, convolved)


class _Separable(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Tensor:  # noqa: ANN401 - those of `_forward`
        active, convolved, out = _forward(*arguments)
        _, level, kernel, _, mixing, _, padding = arguments
        ctx.save_for_backward(active, convolved, level, kernel, mixing)
        ctx.padding = padding
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        active, convolved, level, kernel, mixing = ctx.saved_tensors
        # Two products of matrices; torch's gradient of a convolution over one cell is slower.
        rows = _cells(grad)
        grad_mixing = product(rows.mT, _cells(convolved))[..., None, None]
        grad = _image(product(rows, mixing[..., 0, 0]), grad)
        grad_kernel, grad_response = _kernel_gradient(active, level, grad, kernel, ctx.padding)
        around = [size - 1 - p for size, p in zip(kernel.shape[2:], ctx.padding, strict=True)]
        grad_h = conv2d(grad, kernel.flip(2, 3), padding=around, groups=len(kernel))
        grad_level = -grad_h.sum((0, 2, 3))
        torch.ops.aten.threshold_backward(grad_h, active, 0, grad_input=grad_h)
        return grad_h, grad_level, grad_kernel, grad_response, grad_mixing, rows.sum(0), None


def _cells(h: Float[Tensor, "B C H W"]) -> Float[Tensor, "N C"]:
    """Return a matrix with a row per cell; without a copy, if the channels are last in memory."""
    return h.movedim(1, -1).flatten(0, 2)


def _image(cells: Float[Tensor, "N D"], like: Float[Tensor, "B C H W"]) -> Float[Tensor, "B D H W"]:
    """Return the image of a matrix with a row per cell, channels last in memory."""
    batch, _, height, width = like.shape
    return cells.view(batch, height, width, -1).movedim(-1, 1)


def _kernel_gradient(
    active: Float[Tensor, "B C H W"],
    level: Float[Tensor, " C"],
    grad: Float[Tensor, "B C P Q"],
    kernel: Float[Tensor, "C 1 I J"],
    padding: tuple[int, int],
) -> tuple[Float[Tensor, "C 1 I J"], Float[Tensor, " C"]]:
    """Return the gradients of the kernels, a strip of columns at a time, and of the response.

    For kernels wider than three cells torch computes all C x C products of channels in blocks, and
    keeps their diagonal. A strip of three columns takes the quick way.
    """
    size, gradient = kernel.shape[-1], torch.empty_like(kernel)
    if size <= _QUICK_WIDTH:
        return _torch_gradient(active - level[:, None, None], grad, kernel, padding)
    assert 2 * padding[1] <= size, "rows share their zeros, which must not reach past a neighbour"
    memory, shape = _within_zeros(active, level, padding, slack=size)
    channels, row = shape[-1], shape[-2] * shape[-1]
    # As many columns as a strip has outputs; beyond the true ones the gradient is zero.
    beyond = shape[2] - _QUICK_WIDTH + 1 - grad.shape[3]
    grad = pad(grad, (0, beyond)) if beyond else grad  # padding by nothing would copy
    for start in [*range(0, size - _QUICK_WIDTH, _QUICK_WIDTH), size - _QUICK_WIDTH]:
        columns = slice(start, start + _QUICK_WIDTH)
        # The image moved left by `start` cells is the same memory read from a later address. What
        # enters a row on its right comes from the next row, and meets a gradient of zero.
        moved = memory.as_strided(
            (shape[0], channels, *shape[1:3]), (shape[1] * row, 1, row, channels), start * channels
        )
        strip, grad_response = _torch_gradient(moved, grad, kernel[..., columns], (0, 0))
        gradient[..., columns] = strip
    return gradient, grad_response


def _torch_gradient(
    h: Float[Tensor, "B C H W"],
    grad: Float[Tensor, "B C P Q"],
    kernel: Float[Tensor, "C 1 I J"],
    padding: tuple[int, int],
) -> tuple[Float[Tensor, "C 1 I J"], Float[Tensor, " C"]]:
    """Return torch's gradients of a depthwise convolution's kernels and bias."""
    channels = len(kernel)
    _, *gradients = torch.ops.aten.convolution_backward(
        *(grad, h, kernel, [channels]),
        *([1, 1], padding, [1, 1], False, [0, 0], channels, [False, True, True]),
    )
    return gradients[0], gradients[1]


def _within_zeros(
    active: Float[Tensor, "B C H W"],
    level: Float[Tensor, " C"],
    padding: tuple[int, int],
    slack: int,
) -> tuple[Float[Tensor, " memory"], tuple[int, int, int, int]]:
    """Write what was convolved channel last, with zeros around it, and some cells after its end.

    The zeros on the right of a row are those on the left of the next.
    """
    batch, channels, height, width = active.shape
    rows, columns = padding
    shape = (batch, height + 2 * rows, width + columns, channels)
    memory = active.new_empty((math.prod(shape[:3]) + slack) * channels)
    memory[-slack * channels :] = 0
    image = memory[: -slack * channels].view(shape)
    image[:, :rows] = 0
    image[:, rows + height :] = 0
    image[:, :, :columns] = 0
    torch.sub(active.movedim(1, -1), level, out=image[:, rows : rows + height, columns:])
    return memory, shape
