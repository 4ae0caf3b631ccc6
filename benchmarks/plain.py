"""The opponent: Algorithm 1 and its training written the straightforward way.

It has the package's architecture, grid and padding, and equal predictions when its length scales
are equal (`copy_weights`). It differs in how the work is done: every channel has a length scale of
its own, so that kernel weights are (B, N, G, C) tensors; mean and sigma have a head each, which
decodes all channels and then maps them to the outputs; convolutions are `nn.Conv1d`; Adam is
torch's default.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from convcnp import ConvCNP, Task
from convcnp.core.cnn import SimpleCNN, UNet
from convcnp.core.grid import Grid, Margin, covering_grid
from convcnp.core.heads import GaussianHead


class PlainSetConv(nn.Module):
    """A Gaussian kernel with one length scale per channel."""

    def __init__(self, channels: int, length_scale: float) -> None:
        super().__init__()
        self.log_length_scale = nn.Parameter(torch.full((channels,), math.log(length_scale)))

    def kernel(self, x: Tensor, grid: Tensor) -> Tensor:
        """Return the weights between points (B, K) and cells (G,), as (B, K, G, C)."""
        distance = x[:, :, None, None] - grid[:, None]  # (B, K, G, 1)
        return torch.exp(-0.5 * (distance / self.log_length_scale.exp()) ** 2)


class PlainEncoder(PlainSetConv):
    """Densities and normalised data channels on the grid."""

    def forward(self, x: Tensor, y: Tensor, grid: Tensor) -> Tensor:
        """Map points (B, N) and outputs (B, N, Dy) to channels (B, G, 2 Dy)."""
        phi = torch.cat([torch.ones_like(y), y], -1)
        h = (self.kernel(x, grid) * phi[:, :, None]).sum(1)  # (B, G, 2 Dy)
        density, data = h.chunk(2, -1)
        return torch.cat([density, data / (density + 1e-8)], -1)


class PlainHead(PlainSetConv):
    """Decode every channel at the targets, then map them to the outputs."""

    def __init__(self, channels: int, dim_y: int, length_scale: float, spacing: float) -> None:
        super().__init__(channels, length_scale)
        self.spacing = spacing
        self.linear = nn.Linear(channels, dim_y)

    def forward(self, h: Tensor, beyond: Tensor, x: Tensor, grid: Tensor) -> Tensor:
        """Map channels (B, G, C) and their constant beyond the grid to outputs (B, M, Dy)."""
        near = (self.kernel(x, grid) * (h - beyond)[:, None]).sum(2)  # (B, M, C)
        # Over an infinite grid the kernel sums to sqrt(2 pi) length scales in cells, with a ripple
        # of 1e-34 at two cells per length scale. Summing would only cost the opponent time.
        total = math.sqrt(2 * math.pi) * self.log_length_scale.exp() / self.spacing
        return self.linear(near + total * beyond)


class PlainConv(nn.Module):
    """A convolution that continues each channel with its constant, and a ReLU."""

    def __init__(self, channels_in: int, channels_out: int, stride: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv1d(channels_in, channels_out, 5, stride)

    def forward(self, h: Tensor, beyond: Tensor) -> tuple[Tensor, Tensor]:
        """Map channels (B, C, G) and their constant (C,) to those of the next layer."""
        edge = beyond[None, :, None].expand(len(h), -1, 2)
        h = self.conv(torch.cat([edge, h, edge], -1))
        beyond = self.conv.weight.sum(-1) @ beyond + self.conv.bias
        return torch.relu(h), torch.relu(beyond)


class PlainSimpleCNN(nn.Module):
    """8-16-32-16-8."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            [PlainConv(8, 16), PlainConv(16, 32), PlainConv(32, 16), PlainConv(16, 8)]
        )

    def forward(self, h: Tensor, beyond: Tensor) -> tuple[Tensor, Tensor]:
        """Apply the layers."""
        for layer in self.layers:
            h, beyond = layer(h, beyond)
        return h, beyond


class PlainUNet(nn.Module):
    """Six layers down, six up, skips by concatenation."""

    def __init__(self) -> None:
        super().__init__()
        down = [(8, 8), (8, 16), (16, 16), (16, 32), (32, 32), (32, 64)]
        up = [(64, 32), (64, 32), (64, 16), (32, 16), (32, 8), (16, 8)]
        self.down = nn.ModuleList(PlainConv(*channels, stride=2) for channels in down)
        self.up = nn.ModuleList(PlainConv(*channels) for channels in up)

    def forward(self, h: Tensor, beyond: Tensor) -> tuple[Tensor, Tensor]:
        """Apply the layers."""
        skips = []
        for layer in self.down:
            skips.append((h, beyond))
            h, beyond = layer(h, beyond)
        for layer in self.up:
            h, beyond = layer(torch.repeat_interleave(h, 2, -1), beyond)
            skip, skip_beyond = skips.pop()
            h, beyond = torch.cat([skip, h], 1), torch.cat([skip_beyond, beyond])
        return h, beyond


class PlainConvCNP(nn.Module):
    """Algorithm 1: encode, convolve, and decode the mean and sigma."""

    def __init__(
        self, cnn: PlainSimpleCNN | PlainUNet, dim_y: int, spacing: float, sigma_floor: float
    ) -> None:
        super().__init__()
        channels = 16 if isinstance(cnn, PlainUNet) else 8
        self.spacing, self.sigma_floor = spacing, sigma_floor
        self.multiple, radius = (64, 63 * 5) if isinstance(cnn, PlainUNet) else (1, 8)
        self.radius = radius * spacing
        self.encoder = PlainEncoder(2 * dim_y, 2 * spacing)
        self.embedding = nn.Linear(2 * dim_y, 8)
        self.cnn = cnn
        self.mean_head = PlainHead(channels, dim_y, 2 * spacing, spacing)
        self.sigma_head = PlainHead(channels, dim_y, 2 * spacing, spacing)
        self.fixed_margin: float | None = None

    def forward(self, task: Task) -> torch.distributions.Normal:
        """Return the predictive distribution at the targets; tasks must be fully observed."""
        grid = self.covering_grid(task)
        like = self.embedding.weight
        x_context, x_target = (
            (x[..., 0].double() - grid.origin).to(like) for x in (task.x_context, task.x_target)
        )
        cells = (torch.arange(*grid.shape) * self.spacing).to(like)  # (G,)
        h = self.embedding(self.encoder(x_context, task.y_context.to(like), cells))  # (B, G, 8)
        h, beyond = self.cnn(h.transpose(1, 2), self.embedding.bias)
        h = h.transpose(1, 2)  # (B, G, C)
        mean = self.mean_head(h, beyond, x_target, cells)
        sigma = softplus(self.sigma_head(h, beyond, x_target, cells)) + self.sigma_floor
        return torch.distributions.Normal(mean, sigma)

    def covering_grid(self, task: Task) -> Grid:
        """Return the package's grid, so that both do the same work."""
        reaches = [
            9 * max(conv.log_length_scale.exp().max().item() for conv in convs)
            for convs in ([self.encoder], [self.mean_head, self.sigma_head])
        ]
        margin = Margin(*reaches, self.radius, "unobserved", self.fixed_margin)
        return covering_grid(task, self.spacing, margin, multiple=self.multiple)


def copy_weights(model: ConvCNP) -> PlainConvCNP:
    """Return the plain version of a 1-D model, with the same predictions on the same grid."""
    source, dtype = model.cnn, model.embedding.weight.dtype
    assert isinstance(source, SimpleCNN | UNet)
    cnn = PlainSimpleCNN() if isinstance(source, SimpleCNN) else PlainUNet()
    head = model.to_predictive
    assert isinstance(head, GaussianHead)
    plain = PlainConvCNP(cnn, model.dim_y, model.spacing, head.sigma_floor).to(dtype)
    plain.fixed_margin = model.training_margin if model.training else model.margin
    heads = [plain.mean_head, plain.sigma_head]
    # The package maps to the outputs on the grid and then decodes, so that its bias is summed over
    # the cells like all else. The plain head adds its bias once: it gets that sum in advance.
    total = math.sqrt(2 * math.pi) * model.decoder.length_scale / model.spacing
    with torch.no_grad():
        plain.encoder.log_length_scale.fill_(model.encoder.log_length_scale)
        plain.embedding.load_state_dict(model.embedding.state_dict())
        for copied, original in zip(_convolutions(cnn), _convolutions(source), strict=True):
            copied.weight.copy_(original.weight.squeeze(2))
            copied.bias.copy_(original.bias)
        for head, weight, bias in zip(
            heads, model.head.weight.chunk(2), model.head.bias.chunk(2), strict=True
        ):
            head.log_length_scale.fill_(model.decoder.log_length_scale)
            head.linear.weight.copy_(weight)
            head.linear.bias.copy_(bias * total)
    return plain.train(model.training)


def _convolutions(cnn: nn.Module) -> list[nn.Module]:
    return [module for module in cnn.modules() if isinstance(module, nn.Conv1d | nn.Conv2d)]


def draw_task_by_task(
    batch_size: int, num_context: int, num_target: int, rng: np.random.Generator
) -> Task:
    """Draw EQ tasks of the paper's setting one after the other, with a Cholesky factor each."""
    xs, ys = [], []
    for _ in range(batch_size):
        x = rng.uniform(-2, 2, size=num_context + num_target)
        covariance = np.exp(-0.5 * ((x[:, None] - x) / 0.25) ** 2) + 1e-10 * np.eye(len(x))
        xs.append(x)
        ys.append(np.linalg.cholesky(covariance) @ rng.standard_normal(len(x)))
    x, y = (torch.from_numpy(np.stack(values))[..., None].float() for values in (xs, ys))
    return Task(x[:, :num_context], y[:, :num_context], x[:, num_context:], y[:, num_context:])


def train_step(model: PlainConvCNP, optimizer: torch.optim.Optimizer, task: Task) -> None:
    """Take one step: forward, backward, Adam."""
    optimizer.zero_grad()
    loss = -model(task).log_prob(task.y_target).mean()
    loss.backward()
    optimizer.step()


def plainly_training(model: PlainConvCNP, rng: np.random.Generator) -> Callable[[int, int], None]:
    """Return a function that draws 16 tasks of a number of points and takes a step on them."""
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4, weight_decay=1e-5)

    def take(num_context: int, num_target: int) -> None:
        train_step(model, optimizer, draw_task_by_task(16, num_context, num_target, rng))

    return take
