"""AttnCNP, the paper's second baseline (Appendix B; Kim et al., 2019, without the latent path)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from convcnp.core.heads import Head, make_pixel_head
from convcnp.core.task import Task
from convcnp.errors import SettingError, check_not_negative, check_positive
from convcnp.models.cnp import CNP, mlp


class AttnCNP(CNP):
    """Let every target attend to the context points instead of averaging them.

    Args:
        width: Hidden units of every layer.
        num_heads: Attention heads.
        self_attention: Self-attention layers over the context.
        detail: How many times as finely as with torch's initial weights targets tell places of
            [-1, 1] apart before training. To learn that takes long.

    Example:
        >>> AttnCNP().num_parameters
        149250
    """

    # Paper: Appendix B asks for two self-attention layers in the text, but its 149,250 parameters
    # are those of a network without them; they are an option.
    def __init__(
        self,
        dim_x: int = 1,
        dim_y: int = 1,
        *,
        width: int = 128,
        num_heads: int = 8,
        self_attention: int = 0,
        detail: float = 1.0,
        decoder: Sequence[int] | None = None,
        head: Head | None = None,
    ) -> None:
        super().__init__(dim_x, dim_y, width=width, decoder=decoder, head=head)
        check_not_negative("self_attention", self_attention)
        check_positive("detail", detail)
        self.input_embedding = mlp([dim_x, width, width])
        if detail != 1:
            _bend_everywhere(self.input_embedding[0], detail)
        self.self_attention = nn.ModuleList(
            SelfAttention(width, num_heads) for _ in range(self_attention)
        )
        self.cross_attention = Attention(width, num_heads)

    @classmethod
    def for_images(
        cls,
        dim_x: int = 2,
        dim_y: int = 1,
        *,
        self_attention: int = 2,
        detail: float = 1.0,
        head: Head | None = None,
    ) -> AttnCNP:
        """Build the paper's AttnCNP for images (Appendix B).

        Example:
            >>> AttnCNP.for_images(dim_y=3).num_parameters
            336390
        """
        return cls(
            dim_x,
            dim_y,
            self_attention=self_attention,
            detail=detail,
            decoder=(64, 64, 64, 64),
            head=head or make_pixel_head(),
        )

    def encode(
        self, task: Task, points: Float[Tensor, "B N C"], dtype: torch.dtype
    ) -> Float[Tensor, "B M C"]:
        """Return for every target the context points it attends to."""
        present = task.context_mask.any(-1)
        for layer in self.self_attention:
            points = layer(points, present)
        keys = self.input_embedding(task.x_context.to(dtype))
        queries = self.input_embedding(task.x_target.to(dtype))
        return self.cross_attention(queries, keys, points, present)


@torch.no_grad()
def _bend_everywhere(layer: nn.Module, detail: float) -> None:
    """Make a layer of units that are steep, and zero on one side of a place in [-1, 1]."""
    assert isinstance(layer, nn.Linear)
    layer.weight.mul_(detail)
    bends = torch.empty_like(layer.weight).uniform_(-1, 1)
    layer.bias.copy_(-(layer.weight * bends).sum(1))


class Attention(nn.Module):
    """Multi-head attention that ignores absent points, and returns its bias if all are absent."""

    def __init__(self, width: int, num_heads: int) -> None:
        super().__init__()
        if num_heads < 1 or width % num_heads:
            raise SettingError(
                f"width must be a multiple of num_heads, got {width} and {num_heads}; 128 and 8 "
                "are usual."
            )
        self.num_heads = num_heads
        self.attend: Callable[..., Tensor] = scaled_dot_product_attention
        self.query, self.key, self.value = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.output = nn.Linear(width, width)

    def forward(
        self,
        queries: Float[Tensor, "B M C"],
        keys: Float[Tensor, "B N C"],
        values: Float[Tensor, "B N C"],
        present: Bool[Tensor, "B N"],
    ) -> Float[Tensor, "B M C"]:
        """Return for every query the mixture of values whose keys it matches."""
        q, k, v = (
            layer(h).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)  # (B, heads, points, C')
            for layer, h in ((self.query, queries), (self.key, keys), (self.value, values))
        )
        empty = ~present.any(1)  # a softmax over nothing is NaN
        mask = None if present.all() else (present | empty[:, None])[:, None, None]
        mixed = self.attend(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2)
        return self.output(torch.where(empty[:, None, None], 0, mixed))


class SelfAttention(nn.Module):
    """Attention among the context points, then a feed-forward layer, each with skip and norm."""

    def __init__(self, width: int, num_heads: int) -> None:
        super().__init__()
        self.attention = Attention(width, num_heads)
        self.feed_forward = mlp([width, width, width])
        self.norm_attention, self.norm_feed_forward = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(
        self, points: Float[Tensor, "B N C"], present: Bool[Tensor, "B N"]
    ) -> Float[Tensor, "B N C"]:
        """Return the context points, each knowing of the others."""
        points = self.norm_attention(points + self.attention(points, points, points, present))
        return self.norm_feed_forward(points + self.feed_forward(points))
