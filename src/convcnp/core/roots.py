"""Where an increasing function has a value: quantiles of distributions that have no formula."""

from collections.abc import Callable

import torch
from torch import Tensor

_STEPS = 100  # as many as float64 could need
_TOLERANCE = 1e-9  # of the values compared


def root(function: Callable[[Tensor], Tensor], low: Tensor, high: Tensor, aim: Tensor) -> Tensor:
    """Return where an increasing function has a value, between ends that enclose it.

    Straight lines between the ends, which meet scores almost at once; and every third time the
    middle, so that nothing takes longer than halving.
    """
    at_low, at_high = function(low), function(high)
    for step in range(_STEPS):
        share = (aim - at_low) / (at_high - at_low)
        share = torch.where(share.isfinite() & (step % 3 < 2), share.clamp(0.01, 0.99), 0.5)
        middle = low + share * (high - low)
        found = function(middle)
        is_below = found < aim
        low, at_low = torch.where(is_below, middle, low), torch.where(is_below, found, at_low)
        high, at_high = torch.where(is_below, high, middle), torch.where(is_below, at_high, found)
        is_narrow = high - low <= 4e-16 * torch.maximum(low.abs(), high.abs())
        if (is_narrow | ((found - aim).abs() < _TOLERANCE)).all():
            break
    nearer = (at_high - aim).abs() < (at_low - aim).abs()
    return torch.where(nearer, high, low)
