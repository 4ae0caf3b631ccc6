"""Depthwise convolution with a quick gradient on a CPU."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import conv2d

_QUICK_WIDTH = 3  # the widest depthwise kernel whose weight gradient oneDNN has quick code for


def depthwise(
    h: Float[Tensor, "B C H W"],
    weight: Float[Tensor, "C 1 K K"],
    bias: Float[Tensor, " C"],
    *,
    padding: int,
) -> Float[Tensor, "B C P Q"]:
    """Convolve every channel with a kernel of its own, with `padding` zeros around the image.

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
    def forward(ctx: Any, h: Tensor, weight: Tensor, bias: Tensor, padding: int) -> Tensor:  # noqa: ANN401
        ctx.save_for_backward(h, weight)
        ctx.padding = padding
        return conv2d(h, weight, bias, padding=padding, groups=len(weight))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:  # noqa: ANN401
        h, weight = ctx.saved_tensors
        grad = grad.contiguous(memory_format=torch.channels_last)
        around = weight.shape[-1] - 1 - ctx.padding
        grad_h = conv2d(grad, weight.flip(2, 3), padding=around, groups=len(weight))
        return grad_h, *_weight_gradient(h, grad, weight, ctx.padding), None


def _weight_gradient(
    h: Float[Tensor, "B C H W"],
    grad: Float[Tensor, "B C P Q"],
    weight: Float[Tensor, "C 1 K K"],
    padding: int,
) -> tuple[Float[Tensor, "C 1 K K"], Float[Tensor, " C"]]:
    """Return the gradients of the weights, a strip of columns at a time, and of the bias."""
    size, gradient = weight.shape[-1], torch.empty_like(weight)
    padded, slack = _padded(h, padding, size)
    wide_grad = torch.nn.functional.pad(grad, (0, size - _QUICK_WIDTH))
    for start in [*range(0, size - _QUICK_WIDTH, _QUICK_WIDTH), size - _QUICK_WIDTH]:
        columns = slice(start, start + _QUICK_WIDTH)
        # The image moved left by `start` cells is the same memory read from a later address. What
        # enters a row on its right comes from the next row, and meets the zeros of `wide_grad`.
        moved = slack.as_strided(padded.shape, padded.stride(), start * padded.shape[1])
        _, strip, grad_bias = torch.ops.aten.convolution_backward(
            *(wide_grad, moved, weight[..., columns], [len(weight)]),
            *([1, 1], [0, 0], [1, 1], False, [0, 0], len(weight), [False, True, True]),
        )
        gradient[..., columns] = strip
    return gradient, grad_bias


def _padded(
    h: Float[Tensor, "B C H W"], padding: int, slack: int
) -> tuple[Float[Tensor, "B C P Q"], Float[Tensor, " memory"]]:
    """Return the image within zeros, channel last, and its memory with some cells after the end."""
    batch, channels, height, width = h.shape
    shape = (batch, height + 2 * padding, width + 2 * padding, channels)
    size = shape[0] * shape[1] * shape[2] * channels
    memory = h.new_zeros(size + slack * channels)
    padded = memory[:size].view(shape)
    padded[:, padding : padding + height, padding : padding + width] = h.movedim(1, -1)
    return padded.movedim(-1, 1), memory
