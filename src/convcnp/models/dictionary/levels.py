"""Where errors are known, the scale of a process is summed over, since no formula integrates it."""

from __future__ import annotations

import math
from dataclasses import replace

from convcnp.models.dictionary.windows import Fitted, weigh

_STEP = 0.75 * math.log(2)  # between levels of the logarithm of a squared scale
_LEVELS = range(-4, 3)  # steps from the typical one: errors may explain more than it says


def at_levels(fitted: Fitted) -> list[Fitted]:
    r"""Weigh the entries of a series again at several scales, beside which its errors are as told.

    Observations vary by :math:`s^2 (K + \sigma^2 I) + E` with errors :math:`E` that do not grow
    with the scale :math:`s^2`. The evidence of each level has its share of the scale's prior.
    """
    assert fitted.told is not None
    prior, freedom, found = fitted.prior, float(fitted.series.count.sum()) - 1, []
    for level in _LEVELS:
        scale = fitted.typical_variance * math.exp(_STEP * level)
        near = prior.near(scale)
        series = replace(fitted.series, extra=fitted.told / scale)
        constant = near.log_constant(freedom) - prior.log_constant(freedom)
        share = prior.log_density(scale) + math.log(_STEP)
        each = weigh(series, fitted.entries, near)
        found.append(replace(each, evidence=each.evidence + constant + share))
    return found
