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
        is_periodic = self.period.isfinite()
        pairs = torch.stack([self.period, self.sharpness], 1)
        for period, sharpness in dict.fromkeys(map(tuple, pairs[is_periodic].tolist())):
            alike = is_periodic & (self.period == period) & (self.sharpness == sharpness)
            factor = rhythm(lag, period, sharpness)
            for i in alike.nonzero()[:, 0].tolist():
                values[i] *= factor

    def __getitem__(self, chosen: Tensor) -> Bases:
        return Bases(
            *(self.shape[chosen], self.length_scale[chosen]),
            *(self.period[chosen], self.sharpness[chosen]),
        )


def rhythm(lag: Float[Tensor, ...], period: float, sharpness: float) -> Float[Tensor, ...]:
    """Return the periodic factor of variance one and mean zero over a period."""
    # Whole periods are taken off first: single precision has no digits to spare for them.
    phase = lag / period
    phase = (phase - phase.round()) * math.pi
    if sharpness == 0:
        return torch.cos(2 * phase)
    mean = float(torch.special.i0e(torch.tensor(sharpness, dtype=torch.float64)))
    return (torch.exp(-2 * sharpness * torch.sin(phase) ** 2) - mean) / (1 - mean)


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
