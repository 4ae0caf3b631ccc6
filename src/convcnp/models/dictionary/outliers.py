"""Observations that no process explains: a spike of a sensor, a slip of a pen."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from convcnp.models.dictionary.components import Outliers
from convcnp.models.dictionary.series import Series
from convcnp.models.dictionary.windows import LONGEST, Fitted

_FAR = 5.0  # deviations from what all others say of an observation
_ASIDE = 2.0  # deviations, likewise, by which a neighbour bears it out
_PRICE = math.log(100)  # nats: one in a hundred is an outlier, before anything is seen
_MOST = 0.1  # of the observations: more are no outliers
_FEWEST = 8  # observations, among which one can be told
_ROUNDS = 3  # without the largest, smaller ones are seen

Again = Callable[[Series, Bool[Tensor, " n"]], Fitted]  # fits a series anew, given its outliers


def without_outliers(fitted: Fitted, again: Again) -> Fitted:
    """Give outliers an error as large as they are off, if that explains the series better.

    What is far from all that the others say of it may be one, if it is alone: two in a row that
    are off to the same side are something that happened. The evidence decides, of which every
    outlier takes its price.
    """
    series = fitted.series
    found = torch.zeros(series.num_points, dtype=torch.bool)
    for _ in range(_ROUNDS if _FEWEST <= series.num_points <= LONGEST else 0):
        away, deviation = fitted.left_out
        score = away / deviation
        new = (score.abs() > _FAR) & _alone(score) & ~found
        count = int((found | new).sum())
        if not new.any() or count > max(1, _MOST * series.num_points):
            break
        extra = torch.where(new, away**2 / fitted.variance[0], fitted.series.extra)
        tried = again(replace(series, extra=extra), found | new)
        evidence = tried.evidence - _PRICE * count
        if evidence <= fitted.evidence:
            break
        found |= new
        outliers = Outliers(tuple(series.x[found].tolist()), _width(tried, found))
        fitted = replace(tried, evidence=evidence, outliers=outliers)
    return fitted


def _width(fitted: Fitted, outliers: Bool[Tensor, " n"]) -> float:
    """Return how far outliers are from what the others say, in spreads of the values."""
    series, form = fitted.series, int(fitted.weighed.variants.form[0])
    z = series.z[form, outliers]
    both = torch.stack([z, z - fitted.left_out.away[outliers]])
    values = series.level[form] + series.scale[form] * both
    off = (values.exp() if series.is_log[form] else values).diff(dim=0) / series.scale[0]
    return float((off**2).mean().sqrt())


def _alone(score: Float[Tensor, " n"]) -> Bool[Tensor, " n"]:
    """Tell which observations are off to a side to which no neighbour is off as well."""
    aside = torch.where(score.abs() > _ASIDE, score.sign(), 0)
    alone = torch.ones_like(score, dtype=torch.bool)
    alone[1:] &= score[1:].sign() != aside[:-1]
    alone[:-1] &= score[:-1].sign() != aside[1:]
    return alone
