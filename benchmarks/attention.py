"""Attention as in the paper's time, holding the weights of all pairs of points."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from convcnp.models.attncnp import Attention, AttnCNP


def written_out_attention(
    q: Float[Tensor, "B heads M C"],
    k: Float[Tensor, "B heads N C"],
    v: Float[Tensor, "B heads N C"],
    attn_mask: Bool[Tensor, "B 1 1 N"] | None = None,
) -> Float[Tensor, "B heads M C"]:
    """Do what `scaled_dot_product_attention` does, holding the weights of all pairs of points."""
    similarity = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5  # (B, heads, M, N)
    if attn_mask is not None:
        similarity = similarity.masked_fill(~attn_mask, -torch.inf)
    return torch.softmax(similarity, -1) @ v


def write_out_attention(model: AttnCNP) -> AttnCNP:
    """Let a model hold the weights of all pairs of points, as in the paper's time, and return it.

    The predictions stay; memory then grows with the number of context points times targets.
    """
    for module in model.modules():
        if isinstance(module, Attention):
            module.attend = written_out_attention
    return model
