"""Normal scores of mixtures, and the search for where they are: quantiles without a formula."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

SMALLEST = 1e-300  # keeps the logarithm and the quotient of what underflowed finite
_STEPS = 100  # as many as float64 could need
_TOLERANCE = 1e-9  # of the values compared


def mixed_score(z: Float[Tensor, "*S K"], weights: Float[Tensor, "*#S K"]) -> Float[Tensor, "*S"]:
    """Return the normal score of a mixture, given those of its components."""
    lower, upper = ((weights * torch.special.ndtr(side * z)).sum(-1) for side in (1, -1))
    # Whichever tail is the shorter: the other one rounds to one.
    return torch.where(
        lower < upper,
        torch.special.ndtri(lower.clamp(SMALLEST, 0.5)),
        -torch.special.ndtri(upper.clamp(SMALLEST, 0.5)),
    )


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
