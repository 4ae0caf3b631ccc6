"""Coherent samples: curves drawn point by point, each point given those before it."""

from __future__ import annotations

import math

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from convcnp.models.base import Model
from convcnp.task import Task


@torch.no_grad()
def sample_curves(
    model: Model,
    task: Task,
    num_samples: int,
    generator: torch.Generator,
    *,
    spacing: float,
    drawn: int = 64,
) -> Float[Tensor, "S M Dy"]:
    """Draw curves at the targets of one task, in the model's units.

    A model predicts every target on its own, so independent draws are no curve. Here some targets
    are drawn one after the other, and each drawn value joins the context of the next: the product
    of these predictions is a joint distribution. The other targets follow from their predictions
    given all that was drawn, with deviations that vary smoothly.

    Args:
        spacing: Distance between the drawn targets, at least. Closer ones would be a context as
            dense as the model has never seen, and it errs there.
        drawn: Targets that are drawn one after the other, at most.
    """
    assert len(task) == 1
    rank = torch.argsort(task.x_target[0, :, 0], stable=True)
    chosen = _apart(task.x_target[0, :, 0], rank, spacing)
    chosen = chosen[torch.linspace(0, len(chosen) - 1, min(drawn, len(chosen))).round().long()]
    observed, count = task.x_context.shape[1], len(chosen)
    x = _copies(torch.cat([task.x_context, task.x_target[:, chosen]], 1), num_samples)
    y = _copies(_lengthened(task.y_context, count), num_samples)
    mask = _copies(_lengthened(task.context_mask, count), num_samples)
    for k in _far_apart_first(count):
        place = slice(observed + k, observed + k + 1)
        predictive = model(Task(x, y, x[:, place], context_mask=mask))
        noise = torch.randn(predictive.mean.shape, generator=generator)
        y[:, place], mask[:, place] = predictive.mean + predictive.stddev * noise, True
    if count == len(rank):
        return y[:, observed:][:, torch.argsort(chosen)]
    # The drawn targets are predicted again like the others: their own values hold noise, and would
    # stand out from a smooth curve.
    predictive = model(Task(x, y, _copies(task.x_target, num_samples), context_mask=mask))
    deviation = _smooth_deviations(task.x_target[0, :, 0], chosen, predictive.mean, generator)
    return predictive.mean + predictive.stddev * deviation


def _copies(tensor: Tensor, count: int) -> Tensor:
    return tensor.repeat(count, 1, 1)


def _lengthened(tensor: Tensor, count: int) -> Tensor:
    return torch.cat([tensor, tensor.new_zeros(1, count, tensor.shape[2])], 1)


def _apart(x: Float[Tensor, " M"], rank: Int[Tensor, " M"], spacing: float) -> Int[Tensor, " K"]:
    """Choose targets from left to right, each at least this far from the one before."""
    ordered = x[rank].contiguous()
    near = spacing * (1 - 1e-6)  # targets exactly so far apart are all chosen
    chosen, last = [0], 0
    while (last := int(torch.searchsorted(ordered, ordered[last] + near))) < len(rank):
        chosen.append(last)
    return rank[chosen]


def _far_apart_first(count: int) -> list[int]:
    """Order points such that each halves what the earlier ones left open (bits reversed)."""
    bits = max(1, (count - 1).bit_length())
    return sorted(range(count), key=lambda k: int(f"{k:0{bits}b}"[::-1], 2))


def _smooth_deviations(
    x: Float[Tensor, " M"],
    chosen: Int[Tensor, " K"],
    like: Float[Tensor, "S M Dy"],
    generator: torch.Generator,
) -> Float[Tensor, "S M Dy"]:
    """Draw deviations of unit variance that turn from one drawn target's to the next one's."""
    samples, _, channels = like.shape
    knots = torch.randn(samples, len(chosen) + 1, channels, generator=generator)
    position = torch.from_numpy(np.interp(x, x[chosen], np.arange(len(chosen)))).float()
    left = position.floor().clamp(max=len(chosen) - 1).long()
    angle = (0.5 * math.pi * (position - left))[:, None]
    return torch.cos(angle) * knots[:, left] + torch.sin(angle) * knots[:, left + 1]
