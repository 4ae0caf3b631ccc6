"""Normal scores of mixtures, and the search for where they are: quantiles without a formula."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

SMALLEST = 1e-300  # keeps the logarithm and the quotient of what underflowed finite
_STEPS = 100  # as many as float64 could need
EXACTLY = 1e-9  # of scores: outputs that differ by less cannot be told apart


def mixed_score(z: Float[Tensor, "*S K"], weights: Float[Tensor, "*#S K"]) -> Float[Tensor, "*S"]:
    """Return the normal score of a mixture, given those of its components."""
    # Whichever tail is the shorter, of components and of the mixture: the other rounds to one.
    short = torch.special.ndtr(-z.abs())
    is_below = z < 0
    lower, upper = (
        (weights * torch.where(side, short, 1 - short)).sum(-1) for side in (is_below, ~is_below)
    )
    return torch.where(
        lower < upper,
        torch.special.ndtri(lower.clamp(SMALLEST, 0.5)),
        -torch.special.ndtri(upper.clamp(SMALLEST, 0.5)),
    )


def root(
    function: Callable[[Tensor], Tensor],
    low: Tensor,
    high: Tensor,
    aim: Tensor,
    tolerance: float = EXACTLY,
) -> Tensor:
    """Return where an increasing function has a value, between ends that enclose it.

    Straight lines between the ends, which meet scores almost at once; and every third time the
    middle, so that nothing takes longer than halving.
    """
    at_low, at_high = function(low), function(high)
    is_found = torch.zeros_like(aim, dtype=torch.bool)
    for step in range(_STEPS):
        share = (aim - at_low) / (at_high - at_low)
        share = torch.where(share.isfinite() & (step % 3 < 2), share.clamp(0.01, 0.99), 0.5)
        middle = low + share * (high - low)
        value = function(middle)
        # What is found stays: a root must not depend on how long others are searched for.
        is_below, is_above = (side & ~is_found for side in (value < aim, value >= aim))
        low, at_low = torch.where(is_below, middle, low), torch.where(is_below, value, at_low)
        high, at_high = torch.where(is_above, middle, high), torch.where(is_above, value, at_high)
        is_narrow = high - low <= 4e-16 * torch.maximum(low.abs(), high.abs())
        is_found = is_found | is_narrow | ((value - aim).abs() < tolerance)
        if is_found.all():
            break
    nearer = (at_high - aim).abs() < (at_low - aim).abs()
    return torch.where(nearer, high, low)
