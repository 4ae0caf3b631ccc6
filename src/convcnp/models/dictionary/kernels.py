"""The dictionary's entries: sums of base kernels in units of the typical gap, and noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

EQ, MATERN12, MATERN32, MATERN52 = range(4)
NAMES = ("EQ", "Matern-1/2", "Matern-3/2", "Matern-5/2")


@dataclass(frozen=True)
class Bases:
    r"""Base kernels of variance one: an envelope, times a periodic factor where there is one.

    .. math:: k_b(d) = e(d / \ell_b) \, q(d / p_b)

    The envelope is EQ or Matern. The periodic factor of sharpness zero is
    :math:`\cos 2\pi d / p`; that of sharpness :math:`a` is
    :math:`\exp(-2 a \sin^2 \pi d / p)` less its mean over a period, at variance one.
    """

    shape: Int[Tensor, " b"]
    length_scale: Float[Tensor, " b"]
    period: Float[Tensor, " b"]  # infinite where there is no periodic factor
    sharpness: Float[Tensor, " b"]

    def __call__(self, lag: Float[Tensor, ...]) -> Float[Tensor, "b ..."]:
        """Evaluate every base kernel at every lag, in the precision of the lags."""
        values = lag.new_empty(len(self.shape), lag.numel())
        flat = lag.flatten()
        for shape, envelope in enumerate(_ENVELOPES):
            chosen = (self.shape == shape).nonzero()[:, 0]
            if len(chosen):
                values[chosen] = envelope(flat, 1 / self.length_scale[chosen, None].to(lag))
        self._add_rhythm(values, flat)
        return values.unflatten(1, lag.shape)

    def _add_rhythm(self, values: Tensor, lag: Tensor) -> None:
        periodic = self.period.isfinite().nonzero()[:, 0].tolist()
        if not periodic:
            return
        pairs = list(zip(self.period.tolist(), self.sharpness.tolist(), strict=True))
        different = {pair: i for i, pair in enumerate(dict.fromkeys(pairs[i] for i in periodic))}
        columns = torch.tensor(list(different), dtype=torch.float64)[..., None]  # (d, 2, 1)
        factors = rhythm(lag, columns[:, 0], columns[:, 1])
        for i in periodic:
            values[i] *= factors[different[pairs[i]]]

    def __getitem__(self, chosen: Tensor) -> Bases:
        return Bases(
            *(self.shape[chosen], self.length_scale[chosen]),
            *(self.period[chosen], self.sharpness[chosen]),
        )


def rhythm(
    lag: Float[Tensor, " n"], period: Float[Tensor, "d 1"], sharpness: Float[Tensor, "d 1"]
) -> Float[Tensor, "d n"]:
    """Return the periodic factors of variance one and mean zero over a period."""
    # Whole periods are taken off first: single precision has no digits to spare for them.
    phase = lag / period.to(lag)
    phase = (phase - phase.round()).mul_(math.pi)
    mean = torch.special.i0e(sharpness)
    # Of sharpness zero, the limit: a cosine. Both are one less a multiple of a squared sine.
    squared = phase.sin_().square_()
    rate = torch.where(sharpness > 0, -2 * sharpness, 0).to(lag)
    pointed = (rate * squared).exp_().sub_(mean.to(lag)).div_((1 - mean).to(lag))
    return torch.where((sharpness > 0).to(lag.device), pointed, 1 - 2 * squared)


# In place where it can be: evaluating kernels is a third of the time on irregular series.
def _eq(lag: Tensor, rate: Tensor) -> Tensor:
    return (-0.5 * rate**2 * lag**2).exp_()


def _matern12(lag: Tensor, rate: Tensor) -> Tensor:
    return (-rate * lag).exp_()


def _matern32(lag: Tensor, rate: Tensor) -> Tensor:
    d = math.sqrt(3) * rate * lag
    return (1 + d).mul_(d.neg_().exp_())


def _matern52(lag: Tensor, rate: Tensor) -> Tensor:
    d = math.sqrt(5) * rate * lag
    return (d**2 / 3).add_(d).add_(1).mul_(d.neg_().exp_())


_ENVELOPES = (_eq, _matern12, _matern32, _matern52)


@dataclass(frozen=True)
class Entries:
    r"""Covariances :math:`\sum_b w_{kb} k_b(d) + \sigma_e^2 \delta`, up to the overall scale.

    Entries that differ in noise alone share a kernel :math:`k`, whose weights sum to one.
    """

    bases: Bases
    weights: Float[Tensor, "k b"]
    kernel: Int[Tensor, " e"]  # of every entry
    noise: Float[Tensor, " e"]
    log_prior: Float[Tensor, " e"]
    family: Int[Tensor, " e"]  # zero without a period, then one number for each

    def __len__(self) -> int:
        return len(self.kernel)

    def __getitem__(self, chosen: Tensor) -> Entries:
        """Take some of the entries, with the kernels and bases that they need."""
        kernels, kernel = self.kernel[chosen].unique(return_inverse=True)
        weights = self.weights[kernels]
        used = (weights != 0).any(0).nonzero()[:, 0]
        return Entries(
            *(self.bases[used], weights[:, used], kernel),
            *(self.noise[chosen], self.log_prior[chosen], self.family[chosen]),
        )

    def kernels(self, lag: Float[Tensor, ...]) -> Float[Tensor, "k ..."]:
        """Evaluate every kernel, without noise, at every lag."""
        values = self.bases(lag)
        return (self.weights.to(lag) @ values.flatten(1)).unflatten(1, values.shape[1:])
