"""Gaussian processes: exact samples, and the exact posterior that no model can beat."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from convcnp.core.predictive import GaussianPredictive
from convcnp.core.task import Task
from convcnp.errors import SettingError, check_not_negative, check_positive

# A stationary covariance: (B, N, Dx), (B, M, Dx) -> (B, N, M).
Kernel = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class EQ:
    r"""Exponentiated-quadratic kernel :math:`\exp(-d^2 / 2\ell^2)`."""

    length_scale: float = 0.25

    def __post_init__(self) -> None:
        check_positive("length_scale", self.length_scale)

    def __call__(self, a: Float[Tensor, "B N Dx"], b: Float[Tensor, "B M Dx"]) -> Tensor:
        """Return the covariances between two sets of inputs."""
        # In place: drawing passes over large matrices, and memory is what it waits for.
        away = a - b.mT if a.shape[2] == 1 else _distance(a, b)
        return away.mul_(math.sqrt(0.5) / self.length_scale).square_().neg_().exp_()


@dataclass(frozen=True)
class Matern52:
    r"""Matérn-5/2 kernel :math:`(1 + \sqrt5 d + \frac53 d^2) e^{-\sqrt5 d}`.

    The distance :math:`d = |x - x'| / \ell` is in length scales.
    """

    # Paper: prints 1 + 4 sqrt(5) d with d = 4|x - x'|, which is not a kernel (it exceeds 1).
    length_scale: float = 0.25

    def __post_init__(self) -> None:
        check_positive("length_scale", self.length_scale)

    def __call__(self, a: Float[Tensor, "B N Dx"], b: Float[Tensor, "B M Dx"]) -> Tensor:
        """Return the covariances between two sets of inputs."""
        d = math.sqrt(5) * _distance(a, b) / self.length_scale
        return (1 + d + d**2 / 3) * torch.exp(-d)


@dataclass(frozen=True)
class WeaklyPeriodic:
    r"""Periodic kernel with an EQ envelope (Appendix C.2), in one input dimension.

    .. math:: \exp\big(-\tfrac12 |f(x) - f(x')|^2 - \tfrac12 (x - x')^2 / \ell^2\big),
              \qquad f(x) = (\cos 8\pi x, \sin 8\pi x)

    Args:
        envelope: Length scale of the envelope. The paper prints 2; its table fits 0.5.
    """

    envelope: float = 0.5
    frequency: float = 4.0

    def __post_init__(self) -> None:
        check_positive("envelope", self.envelope)
        check_positive("frequency", self.frequency)

    def __call__(self, a: Float[Tensor, "B N Dx"], b: Float[Tensor, "B M Dx"]) -> Tensor:
        """Return the covariances between two sets of inputs."""
        d = _distance(a, b)
        # |f(x) - f(x')|² = 4 sin²(π frequency (x - x'))
        periodic = 2 * torch.sin(math.pi * self.frequency * d) ** 2
        return torch.exp(-periodic - 0.5 * (d / self.envelope) ** 2)


def _distance(a: Float[Tensor, "B N Dx"], b: Float[Tensor, "B M Dx"]) -> Float[Tensor, "B N M"]:
    if a.shape[2] == 1:
        return (a - b.mT).abs()
    return torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist")


class GaussianProcess:
    r"""A zero-mean Gaussian process with known kernel, in float64.

    Args:
        noise: Variance of the noise on every observation, targets included.
        jitter: Variance added to every observation, so that a covariance can be factorised, and to
            every prediction: a smooth noise-free process is predicted so well that this number
            limits its score.

    Example:
        >>> task = Task.from_arrays(x_context=[0.0, 1.0], y_context=[0.0, 2.0], x_target=[1.0, 9.0])
        >>> predictive = GaussianProcess(EQ(length_scale=0.5))(task)
        >>> predictive.mean.round(decimals=3).flatten().tolist()  # what was seen, and the prior
        [2.0, 0.0]
    """

    def __init__(self, kernel: Kernel, *, noise: float = 0.0, jitter: float = 1e-8) -> None:
        check_positive("jitter", jitter)
        check_not_negative("noise", noise)
        self.kernel, self.noise, self.jitter = kernel, noise, jitter

    def __call__(self, task: Task) -> GaussianPredictive:
        """Return the exact posterior at the targets; channels are independent functions."""
        posteriors = [
            self._posterior(task, task.y_context[..., [i]], task.context_mask[..., i])
            for i in range(task.dim_y)
        ]
        mean, stddev = (torch.cat(moment, -1) for moment in zip(*posteriors, strict=True))
        return GaussianPredictive(mean, stddev, task.target_mask)

    def _posterior(self, task: Task, y: Tensor, observed: Tensor) -> tuple[Tensor, Tensor]:
        x, x_target = task.x_context.double(), task.x_target.double()
        present = observed.double()  # (B, N)
        # An absent point becomes an independent one, of variance one and value zero.
        covariance = self.kernel(x, x) * present[:, :, None] * present[:, None]
        covariance = covariance + torch.diag_embed(1 - present + self.noise + self.jitter)
        factor = torch.linalg.cholesky(covariance)
        across = self.kernel(x, x_target) * present[:, :, None]  # (B, N, M)
        whitened = torch.linalg.solve_triangular(
            factor, torch.cat([across, y.double()], 2), upper=False
        )
        projection, residual = whitened[..., :-1], whitened[..., -1:]
        mean = projection.mT @ residual  # (B, M, 1)
        prior = self.kernel(x_target[:, :1], x_target[:, :1])  # (B, 1, 1): kernels are stationary
        left = prior - (projection**2).sum(1)[..., None]  # (B, M, 1)
        return mean, (left.clamp(min=0) + self.noise + self.jitter).sqrt()

    def sample(
        self, x: Float[Tensor, "B K Dx"], generator: torch.Generator, channels: int = 1
    ) -> Float[Tensor, "B K Dy"]:
        """Draw functions and return their noisy values at the given inputs, in float64."""
        x = x.double()
        covariance = self.kernel(x, x).contiguous()
        covariance.diagonal(dim1=1, dim2=2).add_(self.noise + self.jitter)
        try:
            # The upper factor is found where it lies in memory; the lower one would be copied.
            factor = torch.linalg.cholesky(covariance, upper=True)
        except torch.linalg.LinAlgError as error:  # type: ignore[attr-defined]
            raise SettingError(
                f"A covariance of {x.shape[1]} points must have a Cholesky factor, but has none "
                f"with a jitter of {self.jitter:g}; draw fewer points, or raise jitter."
            ) from error
        white = torch.randn(*x.shape[:2], channels, dtype=x.dtype, generator=generator).to(x)
        return (white.mT @ factor).mT
