"""CNP, the paper's first baseline (Appendix B; Garnelo et al., 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn

from convcnp.core.heads import GaussianHead, Head
from convcnp.core.task import Task
from convcnp.errors import check_positive
from convcnp.models.base import Model


class CNP(Model):
    """Average an embedding of the context points, and decode it together with each target input.

    It depends on absolute inputs: nothing beyond the training range is to be trusted.

    Args:
        width: Hidden units of every layer.
        decoder: Hidden units of the decoder's layers; two of `width` if left out.
        head: Makes the distribution of what is decoded; a Gaussian's if left out.

    Example:
        >>> CNP().num_parameters
        66818
    """

    def __init__(
        self,
        dim_x: int = 1,
        dim_y: int = 1,
        *,
        width: int = 128,
        decoder: Sequence[int] | None = None,
        head: Head | None = None,
    ) -> None:
        super().__init__(dim_x, dim_y, head or GaussianHead())
        check_positive("width", width)
        self.encoder = mlp([dim_x + point_channels(dim_y), width, width, width])
        hidden = (width, width) if decoder is None else decoder
        self.decoder = mlp([dim_x + width, *hidden, self.to_predictive.channels(dim_y)])

    def raw(self, task: Task) -> Float[Tensor, "B M P"]:
        """Return what is decoded at every target."""
        task, dtype = task.packed(), self.dtype
        code = self.encode(task, self.embed(task, dtype), dtype)  # (B, M, C)
        return self.decoder(torch.cat([task.x_target.to(dtype), code], -1))

    def embed(self, task: Task, dtype: torch.dtype) -> Float[Tensor, "B N C"]:
        """Return an embedding of every context point."""
        points = [task.x_context, task.y_context]
        # With one channel a point is observed or absent; with several, say which are observed.
        points += [task.context_mask] if self.dim_y > 1 else []
        return self.encoder(torch.cat([p.to(dtype) for p in points], -1))

    def encode(
        self, task: Task, points: Float[Tensor, "B N C"], dtype: torch.dtype
    ) -> Float[Tensor, "B M C"]:
        """Return a representation of the context for every target: here their mean for all."""
        present = task.context_mask.any(-1, keepdim=True).to(dtype)  # (B, N, 1)
        mean = (points * present).sum(1) / present.sum(1).clamp(min=1)
        return mean[:, None].expand(-1, task.x_target.shape[1], -1)


def point_channels(dim_y: int) -> int:
    """Return how many numbers describe the outputs at one context point."""
    return dim_y if dim_y == 1 else 2 * dim_y


def mlp(widths: Sequence[int]) -> nn.Sequential:
    """Stack linear layers with ReLU between them and none after the last."""
    layers: list[nn.Module] = []
    for width in widths:
        check_positive("The width of a layer", width)
    for fan_in, fan_out in pairwise(widths):
        layers += [nn.Linear(fan_in, fan_out), nn.ReLU()]
    return nn.Sequential(*layers[:-1])
