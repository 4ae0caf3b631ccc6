"""The dictionary's entries in the plane: kernels of stretched distances, and noise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import torch
from jaxtyping import Float, Int
from torch import Tensor

from convcnp.models.dictionary.catalogue import Kernel, assembled
from convcnp.models.dictionary.kernels import EQ, MATERN12, MATERN32, MATERN52, Bases, Entries


@dataclass(frozen=True)
class StretchedBases(Bases):
    r"""Base kernels of a difference :math:`\delta` between points, whose lag is a length.

    .. math:: d = |S_b R_b \delta|

    with a rotation :math:`R` and a stretch :math:`S = \text{diag}(\sqrt s, 1 / \sqrt s)`; a third
    coordinate stays as it is.
    """

    metric: Int[Tensor, " b"]
    metrics: Float[Tensor, "q d d"]  # S R, transposed

    def __call__(self, difference: Float[Tensor, "... d"]) -> Float[Tensor, "b ..."]:
        """Evaluate every base kernel at every difference, in their precision."""
        shape = difference.shape[:-1]
        values = difference.new_empty(len(self.shape), math.prod(shape))
        flat = difference.reshape(-1, difference.shape[-1])
        for number in self.metric.unique().tolist():
            own = (self.metric == number).nonzero()[:, 0]
            lag = torch.linalg.vector_norm(flat @ self.metrics[number].to(flat), dim=1)
            values[own] = super().__getitem__(own)(lag)
        return values.unflatten(1, shape)

    def __getitem__(self, chosen: Tensor) -> StretchedBases:
        return StretchedBases(
            *(self.shape[chosen], self.length_scale[chosen]),
            *(self.period[chosen], self.sharpness[chosen]),
            *(self.metric[chosen], self.metrics),
        )


def metric(dim_x: int, stretch: float, angle: float) -> Float[Tensor, "d d"]:
    """Return the matrix that takes a difference, as a row, to a stretched one.

    Lengths along the angle are divided by the root of the stretch, those across it multiplied: a
    field varies slowly along the angle.
    """
    cosine, sine = math.cos(angle), math.sin(angle)
    root = math.sqrt(stretch)
    matrix = torch.eye(dim_x, dtype=torch.float64)
    turned = [[cosine / root, -sine * root], [sine / root, cosine * root]]
    matrix[:2, :2] = torch.tensor(turned, dtype=matrix.dtype)
    return matrix


@dataclass(frozen=True)
class PlaneCatalogue:
    """Length scales in typical distances, stretches, and noise relative to the kernel's variance.

    Args:
        smooth: Length scales of EQ kernels.
        smoother: Of Matern-5/2 kernels.
        rough: Of Matern-3/2 kernels.
        roughest: Of Matern-1/2 kernels.
        slow: Of the slow part of sums, EQ.
        fast: Of their fast part, Matern-3/2.
        shares: Of the fast part's variance in a sum.
        stretches: How many times slower a field varies in one direction than across it.
        angles: How many directions there are, the first along the first input.
        noises: For kernels of one part.
        few_noises: For kernels of two.
    """

    smooth: tuple[float, ...] = (1.5, 2.5, 4.0, 6.3, 10.0, 16.0, 30.0)
    smoother: tuple[float, ...] = (4.0, 10.0, 25.0)
    rough: tuple[float, ...] = (2.0, 4.0, 8.0, 16.0, 32.0, 80.0)
    roughest: tuple[float, ...] = (2.0, 6.0, 20.0, 80.0)
    slow: tuple[float, ...] = (8.0, 20.0)
    fast: tuple[float, ...] = (3.0,)
    shares: tuple[float, ...] = (0.1, 0.4)
    stretches: tuple[float, ...] = (2.0, 4.0)
    angles: int = 4
    noises: tuple[float, ...] = (1e-5, 1e-3, 0.02, 0.2, 1.5)
    few_noises: tuple[float, ...] = (1e-4, 0.02, 0.3)

    def kernels(self) -> Iterator[tuple[Kernel, Sequence[float]]]:
        """Yield the kernels, and their noise levels."""
        kinds = (
            *((EQ, self.smooth), (MATERN52, self.smoother)),
            *((MATERN32, self.rough), (MATERN12, self.roughest)),
        )
        for shape, scales in kinds:
            for scale in scales:
                yield {(shape, scale, math.inf, 0.0): 1.0}, self.noises
        for slow, fast, share in product(self.slow, self.fast, self.shares):
            parts = {(EQ, slow, math.inf, 0.0): 1 - share, (MATERN32, fast, math.inf, 0.0): share}
            yield parts, self.few_noises

    def entries(self, dim_x: int) -> Entries:
        """Return every kernel in every metric: half of what is believed is the unstretched one."""
        kernels = list(self.kernels())
        plain = assembled(kernels, [0.0] * len(kernels), [0] * len(kernels))
        directions = [
            (s, math.pi * i / self.angles) for s in self.stretches for i in range(self.angles)
        ]
        metrics = [metric(dim_x, 1.0, 0.0), *(metric(dim_x, *each) for each in directions)]
        count = len(metrics)
        bases, stretched = plain.bases, math.log(max(len(directions), 1))
        log_prior = torch.tensor([0.0, *[-stretched] * len(directions)], dtype=torch.float64)
        number = torch.arange(count)
        return Entries(
            StretchedBases(
                *(bases.shape.repeat(count), bases.length_scale.repeat(count)),
                *(bases.period.repeat(count), bases.sharpness.repeat(count)),
                number.repeat_interleave(len(bases.shape)),
                torch.stack(metrics),
            ),
            torch.block_diag(*[plain.weights] * count),
            (plain.kernel + len(kernels) * number[:, None]).flatten(),
            plain.noise.repeat(count),
            log_prior.repeat_interleave(len(plain)),
            number.clamp(max=1).repeat_interleave(len(plain)),
        )
