"""Errors that are told may be wrong: what a series says without them is weighed as well."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from convcnp.models.dictionary.components import (
    Components,
    LogLimits,
    at_nodes,
    joined,
    student_nodes,
)
from convcnp.models.dictionary.joint import drawn, drawn_variants
from convcnp.models.dictionary.windows import Fitted

TRUST = math.log(10.0)  # of odds that errors are what they are told to be, before anything is seen
_LEAST = 0.05  # of a scale: what is left of it where the error of a measurement explains all
_NOTHING = 1e-12  # weight
_SMALL = 0.5  # of a value: errors up to it are about the same of its logarithm


@dataclass(frozen=True)
class Hypothesis:
    """One way to see a series whose errors are told, and the logarithm of how much it explains.

    Args:
        error: Typical variance of errors that it was not told, which its predictions leave out.
        logarithms: What is believed of logarithms of the values, where these were fitted.
    """

    fitted: Fitted
    evidence: float
    error: float = 0.0
    logarithms: LogLimits | None = None

    def gaussians(self, x: Float[Tensor, " m"]) -> Components:
        """Predict values behind measurements."""
        students, noise = self.fitted.students_and_noise(x)
        found = at_nodes(students, self.fitted.freedom)
        factors = student_nodes(self.fitted.freedom)[1]
        found = _less_error(found, torch.cat([noise * factor for factor in factors]), self.error)
        return replace(found, is_log=found.is_log | (self.logarithms is not None))

    def drawn(
        self, x: Float[Tensor, " m"], num_samples: int, generator: Generator
    ) -> Float[Tensor, "S m"] | None:
        """Draw values behind measurements, if the series is short enough."""
        return drawn(self.fitted, x, num_samples, generator, self.error, self.logarithms)


def as_told(fitted: Fitted) -> Iterator[Hypothesis]:
    """See a series with its errors, at several scales of what varies beside them."""
    for each in fitted.levels:
        yield Hypothesis(each, each.evidence + TRUST)


def of_logarithms(fitted: Fitted, logarithms: Float[Tensor, " n"]) -> Iterator[Hypothesis]:
    """See fitted logarithms as ways to see the values: so are their densities."""
    limits = LogLimits.of(logarithms, float(fitted.series.scale[0]))
    for each in as_told(fitted):
        # Of a long series the evidence is that of some windows.
        observations = each.fitted.freedom - 2 * each.fitted.prior.freedom + 1
        volume = observations * float(logarithms.mean())
        yield replace(each, evidence=each.evidence - volume, logarithms=limits)


def weighed(found: Sequence[Hypothesis], x: Float[Tensor, " m"]) -> Components:
    """Return what all predict, the heaviest first, each weighed by its evidence."""
    every = joined(
        [
            replace(gaussians, weight=share * gaussians.weight)
            for share, gaussians in zip(
                _shares(found), (each.gaussians(x) for each in found), strict=True
            )
        ]
    )
    every = every[every.weight[:, 0] > _NOTHING]
    return every[every.weight[:, 0].argsort(descending=True, stable=True)]


def drawn_by_weight(
    found: Sequence[Hypothesis], x: Float[Tensor, " m"], num_samples: int, generator: Generator
) -> Float[Tensor, "S m"] | None:
    """Draw curves, each by one way to see the series, chosen by its evidence."""
    which = drawn_variants(_shares(found), num_samples, generator)
    curves = x.new_empty(num_samples, len(x))
    for one in which.unique().tolist():
        own = which == one
        some = found[one].drawn(x, int(own.sum()), generator)
        if some is None:
            return None
        curves[own] = some
    return curves


def _shares(found: Sequence[Hypothesis]) -> Float[Tensor, " h"]:
    evidence = torch.tensor([each.evidence for each in found], dtype=torch.float64)
    return evidence.softmax(0)


def are_small(variance: Float[Tensor, " n"], y: Float[Tensor, " n"]) -> bool:
    """Tell whether errors are small enough beside positive values to be those of logarithms."""
    return bool((variance < (_SMALL * y) ** 2).all())


def _less_error(
    measured: Components, noise: Float[Tensor, "c m"], error_variance: float
) -> Components:
    """Take the variance of errors off, of logarithms relative to the value and its shift.

    Errors are part of the noise: what is left open beside it is not made known by them.
    """
    if not error_variance:
        return measured
    size = torch.where(measured.is_log[:, None], measured.location.exp(), 1)
    error = torch.minimum(error_variance / size**2, noise**2)
    left = (measured.scale**2 - error).clamp(min=0).sqrt()
    return replace(measured, scale=left.clamp(min=_LEAST * measured.scale))
