"""The opponent on images: the on-the-grid algorithm in torch's layers and default memory format.

It has the package's architecture, and equal predictions with zero padding (`copy_image_weights`).
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, relu, softplus

from convcnp.core.cnn import ResNet
from convcnp.core.image_task import ImageTask
from convcnp.models.grid_convcnp import GridConvCNP


class PlainBlock(nn.Module):
    """Add to an image what depthwise and pointwise convolutions make of it."""

    def __init__(self, layers: int, channels: int, size: int) -> None:
        super().__init__()
        self.depthwise = nn.ModuleList(
            nn.Conv2d(channels, channels, size, padding=size // 2, groups=channels)
            for _ in range(layers)
        )
        self.pointwise = nn.ModuleList(nn.Conv2d(channels, channels, 1) for _ in range(layers))

    def forward(self, h: Tensor) -> Tensor:
        """Apply the layers one after the other, and add what they read."""
        change = h
        for depthwise, pointwise in zip(self.depthwise, self.pointwise, strict=True):
            change = pointwise(depthwise(relu(change)))
        return h + change


class PlainImageModel(nn.Module):
    """A normalised convolution, residual blocks, and an MLP of convolutions over one pixel."""

    def __init__(self, dim_y: int, first: int, blocks: int, layers: int, size: int) -> None:
        super().__init__()
        self.filter = nn.Parameter(torch.empty(dim_y, 1, first, first))
        self.embedding = nn.Conv2d(2 * dim_y, 128, 1)
        self.blocks = nn.Sequential(*(PlainBlock(layers, 128, size) for _ in range(blocks)))
        widths = [128, 64, 64, 64, 64, 2 * dim_y]
        self.decoder = nn.ModuleList(
            nn.Conv2d(fan_in, fan_out, 1) for fan_in, fan_out in pairwise(widths)
        )

    def forward(self, task: ImageTask) -> torch.distributions.Normal:
        """Return the predictive distribution of the pixels, row by row."""
        like = self.filter
        values, mask = (
            task.as_images(t).movedim(-1, 1).to(like).contiguous()
            for t in (task.y_context, task.context_mask)
        )
        channels, reach = like.shape[0], like.shape[-1] // 2
        density, data = (
            conv2d(t, like.abs(), padding=reach, groups=channels) for t in (mask, values)
        )
        h = self.blocks(self.embedding(torch.cat([density, data / (density + 1e-5)], 1)))
        for layer in self.decoder[:-1]:
            h = relu(layer(h))
        mean, scale = (t.flatten(2).mT for t in self.decoder[-1](h).chunk(2, 1))
        return torch.distributions.Normal(mean, softplus(scale) + 0.1)


def copy_image_weights(model: GridConvCNP) -> PlainImageModel:
    """Return the plain version of a model; with zero padding its predictions are the same."""
    assert isinstance(model.cnn, ResNet)
    blocks = [list(block.layers) for block in model.cnn.blocks]
    size = blocks[0][0].depthwise.kernel_size[0]
    first = model.encoder.kernel.shape[-1]
    plain = PlainImageModel(model.dim_y, first, len(blocks), len(blocks[0]), size)
    plain = plain.to(model.dtype)
    ours = [layer for block in blocks for layer in block]
    linear = [model.embedding, *(m for m in model.decoder if isinstance(m, nn.Linear))]
    theirs_depthwise = [layer for block in plain.blocks for layer in block.depthwise]
    theirs_pointwise = [layer for block in plain.blocks for layer in block.pointwise]
    with torch.no_grad():
        plain.filter.copy_(model.encoder.weight)
        for layer, depthwise, pointwise in zip(
            ours, theirs_depthwise, theirs_pointwise, strict=True
        ):
            depthwise.load_state_dict(layer.depthwise.state_dict())
            pointwise.load_state_dict(layer.pointwise.state_dict())
        for layer, convolution in zip(linear, [plain.embedding, *plain.decoder], strict=True):
            convolution.weight.copy_(layer.weight[:, :, None, None])
            convolution.bias.copy_(layer.bias)
    return plain
