"""Errors that are told may be wrong: what a series says without them is weighed as well."""

from __future__ import annotations

from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from convcnp.models.dictionary.components import Components, joined
from convcnp.models.dictionary.windows import Fitted

_ODDS = 10.0  # that errors are what they are told to be, before anything is seen
_LEAST = 0.05  # of a scale: what is left of it where the error of a measurement explains all


def doubted(
    told: Fitted,
    untold: Fitted,
    x: Float[Tensor, " m"],
    error_variance: Float[Tensor, " m"],
) -> Components:
    r"""Return the values that both predict, the heaviest first, each weighed by its evidence.

    Without them, errors are part of the noise :math:`\sigma^2` that all observations share. What
    is predicted there is a measurement; its error is taken off again.

    Args:
        error_variance: Of a measurement at every time.
    """
    odds = torch.tensor(_ODDS, dtype=torch.float64).log() + told.evidence - untold.evidence
    share = torch.sigmoid(odds)
    trusting = told.students(x)
    doubting = _less_error(untold.students(x), error_variance)
    both = joined(
        [
            replace(trusting, weight=share * trusting.weight),
            replace(doubting, weight=(1 - share) * doubting.weight),
        ]
    )
    return both[both.weight[:, 0].argsort(descending=True, stable=True)]


def _less_error(measured: Components, error_variance: Float[Tensor, " m"]) -> Components:
    """Take the variance of errors off, of logarithms relative to the value."""
    size = torch.where(measured.is_log[:, None], measured.location.exp(), 1)
    left = measured.scale**2 - error_variance / size**2
    return replace(measured, scale=left.clamp(min=0).sqrt().clamp(min=_LEAST * measured.scale))
