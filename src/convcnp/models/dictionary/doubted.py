"""Errors that are told may be wrong: what a series says without them is weighed as well."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from convcnp.models.dictionary.components import Components, joined
from convcnp.models.dictionary.windows import Fitted

TRUST = math.log(10.0)  # of odds that errors are what they are told to be, before anything is seen
_LEAST = 0.05  # of a scale: what is left of it where the error of a measurement explains all
_SMALL = 0.5  # of a value: errors up to it are about the same of its logarithm


@dataclass(frozen=True)
class View:
    """What one way to see a series predicts, and the logarithm of how much it explains."""

    students: Components
    evidence: float

    @classmethod
    def told(cls, fitted: Fitted, x: Float[Tensor, " m"]) -> View:
        """See the series with its errors."""
        return cls(fitted.students(x), TRUST + fitted.evidence)

    @classmethod
    def told_logarithms(
        cls, fitted: Fitted, x: Float[Tensor, " m"], logarithms: Float[Tensor, " n"]
    ) -> View:
        """See the logarithms of the series with their errors; densities are those of values."""
        students = fitted.students(x)
        students = replace(students, is_log=torch.ones_like(students.is_log))
        return cls(students, TRUST + fitted.evidence - float(logarithms.sum()))

    @classmethod
    def untold(
        cls, fitted: Fitted, x: Float[Tensor, " m"], error_variance: Float[Tensor, " m"]
    ) -> View:
        """See the series without its errors, which are part of all observations' noise.

        What is predicted is a measurement, of which the error is taken off again.
        """
        return cls(_less_error(fitted.students(x), error_variance), fitted.evidence)


def weighed(views: Sequence[View]) -> Components:
    """Return what all views predict, the heaviest first, each view weighed by its evidence."""
    evidence = torch.tensor([view.evidence for view in views], dtype=torch.float64)
    shares = evidence.softmax(0)
    both = joined(
        [
            replace(view.students, weight=share * view.students.weight)
            for view, share in zip(views, shares, strict=True)
        ]
    )
    return both[both.weight[:, 0].argsort(descending=True, stable=True)]


def are_small(variance: Float[Tensor, " n"], y: Float[Tensor, " n"]) -> bool:
    """Tell whether errors are small enough beside positive values to be those of logarithms."""
    return bool((variance < (_SMALL * y) ** 2).all())


def _less_error(measured: Components, error_variance: Float[Tensor, " m"]) -> Components:
    """Take the variance of errors off, of logarithms relative to the value."""
    size = torch.where(measured.is_log[:, None], measured.location.exp(), 1)
    left = measured.scale**2 - error_variance / size**2
    return replace(measured, scale=left.clamp(min=0).sqrt().clamp(min=_LEAST * measured.scale))
