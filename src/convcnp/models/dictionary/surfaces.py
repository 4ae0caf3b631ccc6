r"""Surfaces drawn jointly: a process before anything was seen, put right by the observations.

A draw :math:`g` of an entry's process, with noise :math:`\varepsilon` at the observations, becomes
one given their values :math:`z` (Matheron's rule; Wilson et al., 2020):

.. math:: g(x_*) + U(x_*) \, \big(z - g(X) - \varepsilon\big)

where :math:`U(x_*) z` is the mean that the entry predicts. The first part is a sum of waves, whose
cost grows with the number of places alone, so that maps of any size are drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from convcnp.models.dictionary.bordered import Frame
from convcnp.models.dictionary.evidence import Factored, Variants, factored
from convcnp.models.dictionary.joint import SMOOTH, drawn_scales, drawn_variants, in_user_units
from convcnp.models.dictionary.kernels import EQ, Entries
from convcnp.models.dictionary.regions import FittedPoints
from convcnp.models.dictionary.stretched import StretchedBases

_WAVES = 1024  # of one part of a surface
_PLACES = 2**11  # looked at once
_FREEDOM = (math.inf, 1.0, 3.0, 5.0)  # of the Student-t that frequencies have, by kernel shape


def drawn_surfaces(
    fitted: FittedPoints, x: Float[Tensor, "m d"], num_samples: int, generator: Generator
) -> Float[Tensor, "S m"]:
    """Draw new observations at some points, in the user's units.

    Each surface is of one entry, chosen by its weight, and has one scale, drawn from the
    posterior. Where there are many points, every region puts the same draw right, and their
    surfaces are blended as their predictions are.
    """
    at = fitted.points.places(x)
    which = drawn_variants(fitted.weighed.weight, num_samples, generator)
    scale = drawn_scales(fitted.freedom, num_samples, generator) * fitted.variance[which].sqrt()
    before = [_Before.drawn(fitted, int(one), generator) for one in which]
    form = fitted.weighed.variants.form[which]
    wanted, errors = [], []
    for surface, factor, kind in zip(before, scale, form, strict=True):
        errors.append(fitted.points.z[kind] - factor * surface.at_observations)
        wanted.append(factor * surface(at))
    surfaces = torch.stack(wanted) + _corrections(fitted, which, torch.stack(errors), at)
    return in_user_units(fitted, at, which, surfaces)


def _corrections(
    fitted: FittedPoints,
    which: Tensor,
    errors: Float[Tensor, "S n"],
    at: Float[Tensor, "m d"],
) -> Float[Tensor, "S m"]:
    """Return what the chosen variants predict of errors at the observations."""
    found, total = at.new_zeros(len(which), len(at)), at.new_zeros(len(at))
    for region in fitted.regions:
        share = region.share(at)
        own = share.nonzero()[:, 0]
        if not len(own):
            continue
        part = fitted.points.some(region.points)
        frame = Frame.of(part)
        factors = factored(fitted.entries, part, frame, fitted.prior)
        for one in which.unique():
            variant = fitted.weighed.variants[one[None]]
            line, weight = _solved(factors, variant, errors[which == one][:, region.points])
            entry = fitted.entries[variant.entry]
            rows = (which == one).nonzero()
            for some in own.split(_PLACES):
                across = part.across(entry, at[some])[0]  # (n, m)
                mean = line @ frame.means(at[some]) + weight @ across
                found[rows, some] += share[some] * mean
        total[own] += share[own]
    return found / total


def _solved(
    factors: Factored, variant: Variants, errors: Float[Tensor, "S n"]
) -> tuple[Float[Tensor, "S h"], Float[Tensor, "S n"]]:
    """Return the lines through some values, and the weights of kernels beside them."""
    entry, trend = variant.entry[0], variant.trend[0]
    factor, means = factors.factor[entry], factors.means[entry]  # (n, n), (h, n)
    whitened = torch.linalg.solve_triangular(factor, errors.T, upper=False)  # (n, S)
    line = torch.linalg.solve(factors.lines.precision[entry, trend], means @ whitened)  # (h, S)
    left = whitened - means.T @ line
    return line.T, torch.linalg.solve_triangular(factor.T, left, upper=True).T


@dataclass(frozen=True)
class _Before:
    """A surface before anything was seen, at scale one: waves, a line, and noise."""

    waves: Float[Tensor, "d w"]  # frequencies
    height: Float[Tensor, " w"]
    phase: Float[Tensor, " w"]
    slopes: Float[Tensor, " h"]  # behind a constant, which the observations tell
    frame: Frame
    at_observations: Float[Tensor, " n"]  # with their noise

    @classmethod
    def drawn(cls, fitted: FittedPoints, one: int, generator: Generator) -> _Before:
        """Draw what a variant expects, and what it would observe of it."""
        points, prior = fitted.points, fitted.prior
        variant = fitted.weighed.variants[torch.tensor([one])]
        entry = fitted.entries[variant.entry]

        def normal(*shape: int) -> Tensor:
            return torch.randn(*shape, dtype=points.x.dtype, generator=generator)

        frequencies = torch.cat(
            [_frequencies(entry, generator), normal(points.x.shape[1], _WAVES) / SMOOTH], 1
        )
        height = torch.ones(2, _WAVES, dtype=points.x.dtype) / math.sqrt(_WAVES)
        height[1] *= entry.noise.sqrt()
        # Rayleigh, so that every surface is a Gaussian process given its frequencies.
        height = height.flatten() * torch.hypot(normal(2 * _WAVES), normal(2 * _WAVES))
        phase = 2 * math.pi * torch.rand(2 * _WAVES, dtype=points.x.dtype, generator=generator)
        frame = Frame.of(points)
        slopes = prior.trends[int(variant.trend)] * normal(len(frame.half))
        own = cls(frequencies, height, phase, slopes, frame, points.x[:0, 0])
        smooth = own(points.x, with_noise=False)
        noise = (entry.noise / points.count + points.extra).sqrt() * normal(points.num_points)
        return cls(frequencies, height, phase, slopes, frame, smooth + noise)

    def __call__(self, x: Float[Tensor, "m d"], *, with_noise: bool = True) -> Float[Tensor, " m"]:
        """Return the surface at some places, as a new observation would see it, or without."""
        count = 2 * _WAVES if with_noise else _WAVES
        waves, height, phase = self.waves[:, :count], self.height[:count], self.phase[:count]
        sums = [torch.cos(some @ waves + phase) @ height for some in x.split(_PLACES)]
        return torch.cat(sums) + self.slopes @ self.frame.means(x)[1:]


def _frequencies(entry: Entries, generator: Generator) -> Float[Tensor, "d w"]:
    """Draw frequencies of waves whose sum has an entry's kernel: each is of one of its parts."""
    bases = entry.bases
    assert isinstance(bases, StretchedBases)
    part = torch.multinomial(entry.weights[0], _WAVES, replacement=True, generator=generator)
    dim_x = bases.metrics.shape[1]
    waves = torch.randn(_WAVES, dim_x, dtype=torch.float64, generator=generator)
    freedom = torch.tensor(_FREEDOM, dtype=torch.float64)[bases.shape[part]]  # (w,)
    normal = torch.randn(_WAVES, int(max(_FREEDOM[1:])), dtype=torch.float64, generator=generator)
    counted = torch.arange(normal.shape[1]) < freedom[:, None]
    spread = (normal**2 * counted).sum(1) / freedom
    spread = torch.where(bases.shape[part] == EQ, 1.0, spread)
    waves = waves / (bases.length_scale[part] * spread.sqrt())[:, None]
    return torch.einsum("wji,wi->jw", bases.metrics[bases.metric[part]], waves)
