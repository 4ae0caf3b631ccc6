"""Parts of a data set, and a task's points divided into context and targets."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from convcnp.core.task import Task
from convcnp.data.source import Part

PARTS: tuple[Part, ...] = get_args(Part)
_HELD_OUT = 0.1  # of a user's series or images, for validation and for test each


def parts_by_name(names: Sequence[str]) -> np.ndarray:
    """Return the part that each name belongs to, as its number among `PARTS`, by a hash."""
    order = np.argsort([_hash(name) for name in names], kind="stable")
    count = max(1, round(_HELD_OUT * len(order)))
    parts = np.zeros(len(order), dtype=np.int64)
    parts[order[:count]] = PARTS.index("test")
    parts[order[count : 2 * count]] = PARTS.index("validation")
    return parts


def _hash(name: str) -> int:
    content = name.encode(errors="surrogateescape")  # names of files may be in any encoding
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest())


def drawn_sizes(
    low: int,
    high: int,
    batch_size: int,
    sizes: Literal["batch", "task"],
    generator: torch.Generator,
) -> Int[Tensor, " B"]:
    """Draw sizes from low to high, one for the whole batch or one for every task."""
    groups = batch_size if sizes == "task" else 1
    return torch.randint(low, high + 1, (groups,), generator=generator).expand(batch_size)


def split(
    x: Float[Tensor, "B K Dx"],
    y: Float[Tensor, "B K Dy"],
    num_context: Int[Tensor, " B"],
    observed: Bool[Tensor, "B K Dy"] | None = None,
    error: Float[Tensor, "B K Dy"] | None = None,
) -> Task:
    """Make the first points of each task its context, as many as it is to have; the rest, targets.

    Args:
        observed: What was observed, channel by channel; everything if left out.
        error: Standard errors of the outputs, where they are known.
    """
    is_context = (torch.arange(x.shape[1]) < num_context[:, None])[..., None].expand(y.shape)
    observed = torch.ones_like(is_context) if observed is None else observed
    first, last = int(num_context.min()), int(num_context.max())
    return Task(
        *(x[:, :last], y[:, :last], x[:, first:], y[:, first:]),
        context_mask=(observed & is_context)[:, :last],
        target_mask=(observed & ~is_context)[:, first:],
        context_error=None if error is None else error[:, :last],
        target_error=None if error is None else error[:, first:],
    )
