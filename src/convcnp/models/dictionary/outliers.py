"""Observations that no process explains: a spike of a sensor, a slip of a pen."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from convcnp.models.dictionary.components import Outliers
from convcnp.models.dictionary.evidence import Lines, Variants
from convcnp.models.dictionary.series import Series
from convcnp.models.dictionary.windows import Fitted, windows

_FAR = 5.0  # deviations from what all others say of an observation
_ASIDE = 2.0  # deviations, likewise, by which a neighbour bears it out
_PRICE = math.log(100)  # nats: one in a hundred is an outlier, before anything is seen
_MOST = 0.1  # of the observations: more are no outliers
_FEWEST = 8  # observations, among which one can be told
_LONGEST = 4608  # observations: among more, every look would take longer than all the rest
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
    for _ in range(_ROUNDS if _FEWEST <= series.num_points <= _LONGEST else 0):
        away, deviation = left_out(fitted)
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
    both = torch.stack([z, z - left_out(fitted)[0][outliers]])
    values = series.level[form] + series.scale[form] * both
    off = (values.exp() if series.is_log[form] else values).diff(dim=0) / series.scale[0]
    return float((off**2).mean().sqrt())


def left_out(fitted: Fitted) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    r"""Return how far each observation is from what the others say, and the deviation of that.

    By the heaviest variant, in spreads of its form: :math:`[C^{-1} z]_i / [C^{-1}]_{ii}` and
    :math:`s [C^{-1}]_{ii}^{-1/2}` with :math:`C = K + \Sigma`, beside the line of the mean.
    """
    series = fitted.series
    away, deviation = torch.zeros_like(series.x), torch.zeros_like(series.x)
    only, best = _only(fitted, fitted.weighed.variants[torch.tensor([0])])
    for window in windows(series.x):
        part = series.part(window.start, window.stop)
        found = only.factored(part)
        factor = found.factor[best.entry[0]]
        residual = torch.linalg.solve_triangular(factor.mT, found.left(best).mT, upper=True)[:, 0]
        precision = torch.cholesky_inverse(factor).diagonal()
        own = torch.arange(window.start, window.stop)[window.share(part.x) >= 0.5]
        away[own] = (residual / precision)[own - window.start]
        deviation[own] = (fitted.variance[0] / precision).sqrt()[own - window.start]
    return away, deviation


def _only(fitted: Fitted, best: Variants) -> tuple[Fitted, Variants]:
    """Leave out all entries but the best, if they would be factorised again for every window."""
    if fitted.whole is not None:
        return fitted, best
    lines = Lines(fitted.lines.precision[best.entry], fitted.lines.estimate[best.entry])
    only = replace(fitted, entries=fitted.entries[best.entry], lines=lines)
    return only, replace(best, entry=torch.zeros_like(best.entry))


def _alone(score: Float[Tensor, " n"]) -> Bool[Tensor, " n"]:
    """Tell which observations are off to a side to which no neighbour is off as well."""
    aside = torch.where(score.abs() > _ASIDE, score.sign(), 0)
    alone = torch.ones_like(score, dtype=torch.bool)
    alone[1:] &= score[1:].sign() != aside[:-1]
    alone[:-1] &= score[:-1].sign() != aside[1:]
    return alone
