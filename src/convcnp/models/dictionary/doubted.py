"""Errors that are told may be wrong: what a series says without them is weighed as well."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from convcnp.models.dictionary.components import Components, at_nodes, joined, student_nodes
from convcnp.models.dictionary.levels import at_levels
from convcnp.models.dictionary.windows import Fitted

TRUST = math.log(10.0)  # of odds that errors are what they are told to be, before anything is seen
_LEAST = 0.05  # of a scale: what is left of it where the error of a measurement explains all
_NOTHING = 1e-12  # weight
_SMALL = 0.5  # of a value: errors up to it are about the same of its logarithm


@dataclass(frozen=True)
class View:
    """What one way to see a series predicts, and the logarithm of how much it explains."""

    gaussians: Components
    evidence: float
    observations: float  # that the evidence is of

    @classmethod
    def of(cls, fitted: Fitted, x: Float[Tensor, " m"]) -> View:
        """See a series as it was fitted."""
        observations = fitted.freedom - 2 * fitted.prior.freedom + 1
        return cls(at_nodes(fitted.students(x), fitted.freedom), fitted.evidence, observations)

    @classmethod
    def told(cls, fitted: Fitted, x: Float[Tensor, " m"]) -> View:
        """See a series with its errors, at several scales of what varies beside them."""
        at_scales = [cls.of(each, x) for each in at_levels(fitted)]
        evidence = torch.tensor([view.evidence for view in at_scales], dtype=torch.float64)
        total = TRUST + float(evidence.logsumexp(0))
        return cls(weighed(at_scales), total, at_scales[0].observations)

    @classmethod
    def untold(cls, fitted: Fitted, x: Float[Tensor, " m"], variance: float) -> View:
        """See a series without its errors, whose typical variance is taken off predictions."""
        seen = cls.of(fitted, x)
        noise, factors = fitted.noise(x), student_nodes(fitted.freedom)[1]
        at_every_node = torch.cat([noise * factor for factor in factors])
        return replace(seen, gaussians=_less_error(seen.gaussians, at_every_node, variance))

    def of_logarithms(self, logarithms: Float[Tensor, " n"]) -> View:
        """Take a view of logarithms for one of values: so are its densities."""
        gaussians = replace(self.gaussians, is_log=torch.ones_like(self.gaussians.is_log))
        # Of a long series the evidence is that of some windows.
        volume = self.observations * float(logarithms.mean())
        return replace(self, gaussians=gaussians, evidence=self.evidence - volume)


def weighed(views: Sequence[View]) -> Components:
    """Return what all views predict, the heaviest first, each view weighed by its evidence."""
    evidence = torch.tensor([view.evidence for view in views], dtype=torch.float64)
    shares = evidence.softmax(0)
    every = joined(
        [
            replace(view.gaussians, weight=share * view.gaussians.weight)
            for view, share in zip(views, shares, strict=True)
        ]
    )
    every = every[every.weight[:, 0] > _NOTHING]
    return every[every.weight[:, 0].argsort(descending=True, stable=True)]


def are_small(variance: Float[Tensor, " n"], y: Float[Tensor, " n"]) -> bool:
    """Tell whether errors are small enough beside positive values to be those of logarithms."""
    return bool((variance < (_SMALL * y) ** 2).all())


def _less_error(
    measured: Components, noise: Float[Tensor, "c m"], error_variance: float
) -> Components:
    """Take the variance of errors off, of logarithms relative to the value and its shift.

    Errors are part of the noise: what is left open beside it is not made known by them.
    """
    size = torch.where(measured.is_log[:, None], measured.location.exp(), 1)
    error = torch.minimum(error_variance / size**2, noise**2)
    left = (measured.scale**2 - error).clamp(min=0).sqrt()
    return replace(measured, scale=left.clamp(min=_LEAST * measured.scale))
