"""Depthwise convolution with a quick gradient on a CPU."""

from __future__ import annotations

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import conv2d, pad

_QUICK_WIDTH = 3  # the widest depthwise kernel whose weight gradient oneDNN has quick code for


def depthwise(
    h: Float[Tensor, "B C H W"],
    weight: Float[Tensor, "C 1 I J"],
    bias: Float[Tensor, " C"],
    *,
    padding: tuple[int, int],
) -> Float[Tensor, "B C P Q"]:
    """Convolve every channel with a kernel of its own, with rows and columns of zeros around.

    The numbers are those of `conv2d`. Training on a CPU spends most of a depthwise convolution's
    time on the gradient of its weights: for kernels wider than three cells torch computes all C x C
    products of channels in blocks, and keeps their diagonal. Here the kernel is cut into strips
    three cells wide, each of which takes the quick way (decision 22).
    """
    if h.device.type == "cpu" and weight.shape[-1] > _QUICK_WIDTH and h.requires_grad:
        return _Depthwise.apply(h, weight, bias, padding)  # type: ignore[no-untyped-call]
    return conv2d(h, weight, bias, padding=padding, groups=len(weight))


class _Depthwise(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401
        h: Tensor,
        weight: Tensor,
        bias: Tensor,
        padding: tuple[int, int],
    ) -> Tensor:
        ctx.save_for_backward(h, weight)
        ctx.padding = padding
        return conv2d(h, weight, bias, padding=padding, groups=len(weight))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:  # noqa: ANN401
        h, weight = ctx.saved_tensors
        grad = grad.contiguous(memory_format=torch.channels_last)
        around = [size - 1 - p for size, p in zip(weight.shape[2:], ctx.padding, strict=True)]
        grad_h = conv2d(grad, weight.flip(2, 3), padding=around, groups=len(weight))
        return grad_h, *_weight_gradient(h, grad, weight, ctx.padding), None


def _weight_gradient(
    h: Float[Tensor, "B C H W"],
    grad: Float[Tensor, "B C P Q"],
    weight: Float[Tensor, "C 1 I J"],
    padding: tuple[int, int],
) -> tuple[Float[Tensor, "C 1 I J"], Float[Tensor, " C"]]:
    """Return the gradients of the weights, a strip of columns at a time, and of the bias."""
    size, gradient = weight.shape[-1], torch.empty_like(weight)
    assert 2 * padding[1] <= size, "rows share their zeros, which must not reach past a neighbour"
    memory, shape = _within_zeros(h, padding, slack=size)
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
        _, strip, grad_bias = torch.ops.aten.convolution_backward(
            *(grad, moved, weight[..., columns], [channels]),
            *([1, 1], [0, 0], [1, 1], False, [0, 0], channels, [False, True, True]),
        )
        gradient[..., columns] = strip
    return gradient, grad_bias


def _within_zeros(
    h: Float[Tensor, "B C H W"], padding: tuple[int, int], slack: int
) -> tuple[Float[Tensor, " memory"], tuple[int, int, int, int]]:
    """Write an image channel last, with zeros around it, and some cells after its end.

    The zeros on the right of a row are those on the left of the next.
    """
    batch, channels, height, width = h.shape
    rows, columns = padding
    shape = (batch, height + 2 * rows, width + columns, channels)
    memory = h.new_empty((math.prod(shape[:3]) + slack) * channels)
    memory[-slack * channels :] = 0
    image = memory[: -slack * channels].view(shape)
    image[:, :rows] = 0
    image[:, rows + height :] = 0
    image[:, :, :columns] = 0
    image[:, rows : rows + height, columns:] = h.movedim(1, -1)
    return memory, shape
