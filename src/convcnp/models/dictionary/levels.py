"""Where errors are known, the scale of a process is summed over, since no formula integrates it."""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from convcnp.models.dictionary.components import FEWEST
from convcnp.models.dictionary.windows import Fitted, weigh

_STEP, _FINEST = 0.52, 0.2  # between levels of the logarithm of a squared scale
_WIDTH = 0.3  # of a level, in steps
_MANY = 60  # observations, of which more tell the scale more finely
_BELOW, _ABOVE = 4, 2  # steps from the typical scale: errors may explain more than it says
_TAILS = 1.5  # deviations of what few observations leave open
_HOPELESS = 30.0  # nats


def at_levels(fitted: Fitted, told: Float[Tensor, " n"]) -> tuple[Fitted, ...]:
    r"""Weigh the entries of a series again at several scales, beside which its errors are as told.

    Observations vary by :math:`s^2 (K + \sigma^2 I) + E` with errors :math:`E` that do not grow
    with the scale :math:`s^2`. The evidence of each level has its share of the scale's prior.
    Levels that cannot count are left out.

    Args:
        told: Variance of errors, in units of the series' spread.
    """
    prior, found = fitted.prior, []
    freedom = fitted.freedom - 2 * prior.freedom
    step = min(max(_STEP * (_MANY / max(freedom, 1)) ** 0.5, _FINEST), _STEP)
    for level in range(-_BELOW, 1 + max(_ABOVE, math.ceil(_open(fitted.freedom) / step))):
        scale = fitted.typical_variance * math.exp(step * level)
        near = prior.near(scale, _WIDTH * step)
        each = weigh(replace(fitted.series, extra=told / scale), fitted.entries, near)
        constant = near.log_constant(freedom) - prior.log_constant(freedom)
        share = prior.log_density(scale) + math.log(step)
        found.append(replace(each, evidence=each.evidence + constant + share))
    most = max(each.evidence for each in found)
    return tuple(
        each.finished(fitted.windows) for each in found if each.evidence >= most - _HOPELESS
    )


def _open(freedom: float) -> float:
    """Return how far up the logarithm of a squared scale is left open by so much freedom."""
    half = torch.tensor(max(freedom, FEWEST) / 2, dtype=torch.float64)
    return _TAILS * float(torch.polygamma(1, half).sqrt())
