"""The dictionary's entries: sums of base kernels in units of the typical gap, and noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

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
        factors = self._rhythms(flat)
        numbers = (self.length_scale.tolist(), self.period.tolist(), self.sharpness.tolist())
        rows = zip(values.unbind(), self.shape.tolist(), *numbers, strict=True)
        # One after the other: what is worked on in many steps stays in the processor's cache.
        for row, shape, length_scale, *pair in rows:
            _ENVELOPES[shape](flat, 1 / length_scale, row)
            if tuple(pair) in factors:
                row.mul_(factors[pair[0], pair[1]])
        return values.view(len(values), *lag.shape)

    def _rhythms(self, lag: Float[Tensor, " n"]) -> dict[tuple[float, float], Tensor]:
        """Return the different periodic factors, by period and sharpness."""
        pairs = dict.fromkeys(zip(self.period.tolist(), self.sharpness.tolist(), strict=True))
        return {pair: rhythm(lag, *pair) for pair in pairs if pair[0] < math.inf}

    def __getitem__(self, chosen: Tensor) -> Bases:
        return Bases(
            *(self.shape[chosen], self.length_scale[chosen]),
            *(self.period[chosen], self.sharpness[chosen]),
        )


def rhythm(lag: Float[Tensor, " n"], period: float, sharpness: float) -> Float[Tensor, " n"]:
    """Return the periodic factor of variance one and mean zero over a period."""
    # Whole periods are taken off first: single precision has no digits to spare for them.
    phase = lag / period
    squared = phase.sub_(phase.round()).mul_(math.pi).sin_().square_()
    # Of sharpness zero, the limit: a cosine. Both are one less a multiple of a squared sine.
    if sharpness == 0:
        return squared.mul_(-2).add_(1)
    mean = _mean(sharpness)
    return squared.mul_(-2 * sharpness).exp_().sub_(mean).div_(1 - mean)


@lru_cache(maxsize=1024)
def _mean(sharpness: float) -> float:
    return float(torch.special.i0e(torch.tensor(sharpness, dtype=torch.float64)))


def _eq(lag: Tensor, rate: float, out: Tensor) -> None:
    torch.square(lag, out=out).mul_(-0.5 * rate**2).clamp_(min=-_far(lag)).exp_()


def _matern12(lag: Tensor, rate: float, out: Tensor) -> None:
    torch.mul(lag, -rate, out=out).clamp_(min=-_far(lag)).exp_()


def _matern32(lag: Tensor, rate: float, out: Tensor) -> None:
    d = (lag * (math.sqrt(3) * rate)).clamp_(max=_far(lag))
    torch.neg(d, out=out).exp_().mul_(d.add_(1))


def _matern52(lag: Tensor, rate: float, out: Tensor) -> None:
    d = (lag * (math.sqrt(5) * rate)).clamp_(max=_far(lag))
    torch.neg(d, out=out).exp_().mul_((d**2 / 3).add_(d).add_(1))


def _far(numbers: Tensor) -> float:
    """Return where kernels decay no further, 29 in single precision: what is left is nothing.

    Smaller numbers would have products that underflow, which take fifteen times as long: in
    Cholesky factors of short kernels, nearly all of them.
    """
    return -math.log(torch.finfo(numbers.dtype).tiny) / 3


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

    @property
    def variance(self) -> Float[Tensor, " e"]:
        """Return the variance of every entry without its noise."""
        return self.weights.sum(1)[self.kernel]

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
        return (self.weights.to(lag) @ values.flatten(1)).view(-1, *values.shape[1:])
