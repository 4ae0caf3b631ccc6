"""Gradients that are too long: a rare batch can throw a run far back."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch.nn import Parameter


def clip(weights: Iterable[Parameter], largest: float) -> float:
    """Shorten gradients that are longer together; most are not, and are not written again.

    Returns:
        The length that they had.

    Example:
        >>> weight = Parameter(torch.zeros(2))
        >>> weight.grad = torch.tensor([3.0, 4.0])
        >>> clip([weight], 1.0), weight.grad.norm().round(decimals=4).item()
        (5.0, 1.0)
    """
    grads = [weight.grad for weight in weights if weight.grad is not None]
    # Behind each other in one tensor: torch's own functions sort them first, which takes longer.
    length = torch.cat([grad.flatten() for grad in grads]).norm().item()
    if largest < length < math.inf:
        for grad in grads:
            grad.mul_(largest / (length + 1e-6))
    return length
