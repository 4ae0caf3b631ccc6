"""The dictionary's entries: sums of base kernels in units of the typical gap, and noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import embedding_bag

EQ, MATERN12, MATERN32, MATERN52 = range(4)
NAMES = ("EQ", "Matern-1/2", "Matern-3/2", "Matern-5/2")

_IN_CACHE = 2**18  # numbers


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
        envelopes, envelope_of = _different(self.shape, self.length_scale)
        rhythms, rhythm_of = _different(self.sharpness, self.period)
        flat = lag.flatten()
        values = flat.new_empty(len(self.shape), len(flat))
        # Some after the others: what is worked on in many steps stays in the processor's cache.
        at_once = max(1, _IN_CACHE // max(len(values), 1))
        for some, out in zip(flat.split(at_once), values.split(at_once, 1), strict=True):
            beside = rhythm(some, *rhythms).index_select(0, rhythm_of)
            torch.mul(_envelope(some, *envelopes).index_select(0, envelope_of), beside, out=out)
        return values.view(len(values), *lag.shape)

    def __getitem__(self, chosen: Tensor) -> Bases:
        return Bases(
            *(self.shape[chosen], self.length_scale[chosen]),
            *(self.period[chosen], self.sharpness[chosen]),
        )


def _different(*columns: Tensor) -> tuple[Float[Tensor, "c p 1"], Int[Tensor, " b"]]:
    """Return the different rows of numbers in increasing order, and which of them every row is."""
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    place = {row: i for i, row in enumerate(sorted(set(rows)))}
    different = torch.tensor(list(place), dtype=torch.float64)
    return different.mT[..., None], torch.tensor([place[row] for row in rows])


def rhythm(
    lag: Float[Tensor, " n"], sharpness: Float[Tensor, "p 1"], period: Float[Tensor, "p 1"]
) -> Float[Tensor, "p n"]:
    """Return periodic factors of variance one and mean zero over a period: ones if that has no end.

    Args:
        sharpness: In increasing order.
    """
    # Whole periods are taken off first: single precision has no digits to spare for them.
    phase = lag / period.to(lag)
    squared = phase.sub_(phase.round()).mul_(math.pi).sin_().square_()
    # Of sharpness zero, the limit: a cosine. Both are one less a multiple of a squared sine.
    is_cosine = sharpness == 0
    found = squared.mul_(torch.where(is_cosine, -2, -2 * sharpness).to(lag))
    cosines = int(is_cosine.sum())
    found[:cosines].add_(1)
    mean = torch.special.i0e(sharpness[cosines:])
    found[cosines:].exp_().sub_(mean.to(lag)).div_((1 - mean).to(lag))
    return found


def _envelope(
    lag: Float[Tensor, " n"], shape: Float[Tensor, "p 1"], length_scale: Float[Tensor, "p 1"]
) -> Float[Tensor, "p n"]:
    """Return envelopes, of shapes in increasing order."""
    counts = shape[:, 0].long().bincount(minlength=len(_DECAYS)).tolist()
    distance, far = lag * (1 / length_scale).to(lag), _far(lag)
    for decay, own in zip(_DECAYS, distance.split(counts), strict=True):
        if len(own):
            decay(own, far)
    return distance


def _eq(distance: Tensor, far: float) -> None:
    distance.square_().mul_(-0.5).clamp_(min=-far).exp_()


def _matern12(distance: Tensor, far: float) -> None:
    distance.neg_().clamp_(min=-far).exp_()


def _matern32(distance: Tensor, far: float) -> None:
    beside = 1 + distance.mul_(math.sqrt(3)).clamp_(max=far)
    distance.neg_().exp_().mul_(beside)


def _matern52(distance: Tensor, far: float) -> None:
    d = distance.mul_(math.sqrt(5)).clamp_(max=far)
    beside = 1 + d + d**2 / 3
    d.neg_().exp_().mul_(beside)


def _far(numbers: Tensor) -> float:
    """Return where kernels decay no further, 29 in single precision: what is left is nothing.

    Smaller numbers would have products that underflow, which take fifteen times as long: in
    Cholesky factors of short kernels, nearly all of them.
    """
    return -math.log(torch.finfo(numbers.dtype).tiny) / 3


_DECAYS = (_eq, _matern12, _matern32, _matern52)


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
        kernel, base = self.weights.nonzero().unbind(1)
        weights = self.weights[kernel, base].to(lag)
        first = torch.searchsorted(kernel, torch.arange(len(self.weights)))
        # Few of the bases are part of each: a product of matrices would mostly add up zeros.
        sums = embedding_bag(
            *(base, values.flatten(1), first), mode="sum", per_sample_weights=weights
        )
        return sums.view(-1, *values.shape[1:])
