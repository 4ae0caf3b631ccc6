"""Predictive distributions: what a model answers with, whatever its shape."""

from __future__ import annotations

import copy
import math
from abc import abstractmethod

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.distributions import Distribution, Normal

from convcnp.core.normal_scores import EXACTLY, SMALLEST, mixed_score, root
from convcnp.errors import SettingError, ShapeError


class Predictive(Distribution):
    """Independent distributions at the targets, with a mask of the outputs that were asked for.

    A `torch.distributions.Distribution`. A new one is a subclass with `mean`, `variance`, `crps`,
    `affine`, and the methods below that begin with an underscore. Nobody else needs to know its
    shape: bands ask for `quantile`, calibration for `cdf`, scores for `log_prob` and `crps`.

    Attributes:
        mask: Where it is false, `log_prob` is zero whatever the value.

    Example:
        >>> mean, mask = torch.zeros(1, 1, 1), torch.ones(1, 1, 1, dtype=torch.bool)
        >>> predictive: Predictive = GaussianPredictive(mean, mean + 2, mask)
        >>> round(predictive.quantile(0.95).item(), 2)
        3.29
    """

    arg_constraints = {}  # noqa: RUF012 - as torch declares it: parameters are checked elsewhere
    mask: Bool[Tensor, "B M Dy"]

    def log_prob(self, value: Float[Tensor, "B M Dy"]) -> Float[Tensor, "B M Dy"]:
        """Return the log-density of each output, zero where it was not asked for."""
        if value.shape != self.mask.shape:
            raise ShapeError(
                "log_prob needs one value per target and channel: expected "
                f"{tuple(self.mask.shape)}, got {tuple(value.shape)}; pass task.y_target."
            )
        value = value.to(likely := self._likely().detach())
        if self.mask.all():  # the usual case: it takes few operations
            return self._log_density(value)
        # Masking the value, not only the result: NaN would survive in the gradient.
        value = torch.where(self.mask, value, likely)
        return torch.where(self.mask, self._log_density(value), 0)

    def log_likelihood(self, value: Float[Tensor, "B M Dy"]) -> Float[Tensor, " B"]:
        """Return each task's log-likelihood per target point, summed over its channels.

        Outputs that were not asked for count for nothing, and points without any do not count.
        """
        count = self.mask.any(-1).sum(1).clamp(min=1)
        return self.log_prob(value).sum((1, 2)) / count

    def quantile(self, level: float | Float[Tensor, "B M Dy"]) -> Float[Tensor, "B M Dy"]:
        """Return the value that an output stays below with probability `level`."""
        levels = torch.as_tensor(level, dtype=torch.float64, device=self.mask.device)
        if not ((levels > 0) & (levels < 1)).all():
            raise SettingError(
                f"A quantile level must lie strictly between 0 and 1, got {level}; 0.05 is the "
                "5 % quantile."
            )
        scores = torch.special.ndtri(levels.expand(self.mask.shape))
        return self.at_score(scores).to(self._likely())

    def cdf(self, value: Float[Tensor, "*S B M Dy"]) -> Float[Tensor, "*S B M Dy"]:
        """Return the probability of a smaller output."""
        return torch.special.ndtr(self.score(value))

    def covers(self, value: Float[Tensor, "B M Dy"], level: float = 0.9) -> Bool[Tensor, "B M Dy"]:
        """Tell which outputs asked for lie in the central interval of this probability."""
        below, above = self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)
        return (below <= value) & (value <= above) & self.mask

    def sample(  # type: ignore[override]  # torch's has no generator
        self, sample_shape: tuple[int, ...] = (), generator: torch.Generator | None = None
    ) -> Float[Tensor, "*S B M Dy"]:
        """Draw outputs, each independently of the others."""
        with torch.no_grad():
            return self._sample(torch.Size(sample_shape), generator)

    def as_mixture(self) -> MixturePredictive:
        """Return the same distribution as a mixture of Gaussians, if it is one."""
        raise SettingError(
            f"A {type(self).__name__} is no mixture of Gaussians; use its quantiles."
        )

    @abstractmethod
    def score(self, value: Float[Tensor, "*S B M Dy"]) -> Float[Tensor, "*S B M Dy"]:
        r"""Return normal scores :math:`\Phi^{-1}(F(y))`, which tell tails apart where F cannot."""

    @abstractmethod
    def at_score(
        self, score: Float[Tensor, "*S B M Dy"], tolerance: float = EXACTLY
    ) -> Float[Tensor, "*S B M Dy"]:
        """Return the outputs that have these normal scores, or miss them by less, in float64."""

    @abstractmethod
    def crps(self, value: Float[Tensor, "B M Dy"]) -> Float[Tensor, "B M Dy"]:
        """Return the continuous ranked probability score of each output; smaller is better.

        It has the units of the output, and is zero where the output was not asked for.
        """

    @abstractmethod
    def affine(
        self, shift: Tensor | float, scale: Tensor | float, scatter: Tensor | float = 0.0
    ) -> Predictive:
        """Return the distribution of shift + scale * output + noise of deviation `scatter`."""

    @abstractmethod
    def to(self, device: torch.device | str) -> Predictive:
        """Move every tensor to a device."""

    def _likely(self) -> Tensor:
        """Return an output of some density, to stand where none was asked for: the mean."""
        return self.mean

    @abstractmethod
    def _log_density(self, value: Tensor) -> Tensor:
        """Return the log-density of each output, whatever the mask says."""

    @abstractmethod
    def _sample(self, shape: torch.Size, generator: torch.Generator | None) -> Tensor:
        """Draw as many outputs as the shape says."""


class GaussianPredictive(Predictive, Normal):
    """Independent Gaussians at the targets; a `torch.distributions.Normal` as well.

    Example:
        >>> mask = torch.ones(1, 2, 1, dtype=torch.bool)
        >>> predictive = GaussianPredictive(torch.zeros(1, 2, 1), torch.ones(1, 2, 1), mask)
        >>> predictive.log_likelihood(torch.zeros(1, 2, 1)).item()
        -0.9189385175704956
    """

    def __init__(
        self,
        mean: Float[Tensor, "B M Dy"],
        stddev: Float[Tensor, "B M Dy"],
        mask: Bool[Tensor, "B M Dy"],
    ) -> None:
        self.loc, self.scale, self.mask = mean, stddev, mask
        Distribution.__init__(self, mean.shape, validate_args=False)

    def score(self, value: Float[Tensor, "*S B M Dy"]) -> Float[Tensor, "*S B M Dy"]:
        """Return how many standard deviations above the mean outputs lie."""
        return (value - self.mean) / self.stddev

    def at_score(
        self, score: Float[Tensor, "*S B M Dy"], tolerance: float = EXACTLY
    ) -> Float[Tensor, "*S B M Dy"]:
        """Return the outputs that lie so many standard deviations above the mean."""
        return self.mean.double() + self.stddev.double() * score

    def crps(self, value: Float[Tensor, "B M Dy"]) -> Float[Tensor, "B M Dy"]:
        r"""Return the continuous ranked probability score of each output; smaller is better.

        With :math:`z = (y - \mu) / \sigma` (Gneiting and Raftery, 2007):

        .. math:: \sigma \big(z (2 \Phi(z) - 1) + 2 \varphi(z) - 1 / \sqrt{\pi}\big)
        """
        z = self.score(value)
        score = _absolute_mean(z, torch.ones_like(z)) - 1 / math.sqrt(math.pi)
        return torch.where(self.mask, self.stddev * score, 0)

    def affine(
        self, shift: Tensor | float, scale: Tensor | float, scatter: Tensor | float = 0.0
    ) -> GaussianPredictive:
        """Return the distribution of shift + scale * output + noise of deviation `scatter`."""
        spread = torch.hypot(own := self.stddev * scale, torch.as_tensor(scatter).to(own))
        return GaussianPredictive(self.mean * scale + shift, spread, self.mask)

    def as_mixture(self) -> MixturePredictive:
        """Return the mixture of one that this is."""
        mean, stddev = self.mean[..., None], self.stddev[..., None]
        return MixturePredictive(torch.zeros_like(mean), mean, stddev, self.mask)

    def to(self, device: torch.device | str) -> GaussianPredictive:
        """Move every tensor to a device."""
        return GaussianPredictive(
            self.mean.to(device), self.stddev.to(device), self.mask.to(device)
        )

    def _log_density(self, value: Tensor) -> Tensor:
        return _log_normal(value - self.mean, self.stddev)

    def _sample(self, shape: torch.Size, generator: torch.Generator | None) -> Tensor:
        return self.mean + self.stddev * _normal((*shape, *self.mean.shape), self.mean, generator)


class MixturePredictive(Predictive):
    r"""Independent mixtures of Gaussians at the targets: either up here or down there.

    .. math:: p(y) = \sum_k w_k \, \mathcal N(y; \mu_k, \sigma_k^2)

    Args:
        logits: Logarithms of the weights, up to a constant; the components are last.
        means: Mean of every component.
        stddevs: Standard deviation of every component.

    Example:
        >>> zeros, mask = torch.zeros(1, 1, 1, 2), torch.ones(1, 1, 1, dtype=torch.bool)
        >>> two = MixturePredictive(zeros, torch.tensor([[[[-1.0, 1.0]]]]), zeros + 0.1, mask)
        >>> round(two.stddev.item(), 3), round(two.quantile(0.25).item(), 3)
        (1.005, -1.0)
    """

    def __init__(
        self,
        logits: Float[Tensor, "B M Dy K"],
        means: Float[Tensor, "B M Dy K"],
        stddevs: Float[Tensor, "B M Dy K"],
        mask: Bool[Tensor, "B M Dy"],
    ) -> None:
        super().__init__(mask.shape, validate_args=False)
        self.log_weights = torch.log_softmax(logits.movedim(-1, 0), 0).movedim(0, -1)
        self.means, self.stddevs, self.mask = means, stddevs, mask

    def with_components(
        self, means: Float[Tensor, "B M Dy K"], stddevs: Float[Tensor, "B M Dy K"]
    ) -> MixturePredictive:
        """Return a mixture of other Gaussians with the same weights."""
        other = copy.copy(self)
        other.log_weights, other.means, other.stddevs = self.log_weights.to(means), means, stddevs
        return other

    @property
    def weights(self) -> Float[Tensor, "B M Dy K"]:
        """The probability of every component."""
        return self.log_weights.exp()

    @property
    def mean(self) -> Float[Tensor, "B M Dy"]:
        """The mean of the mixture."""
        return (self.weights * self.means).sum(-1)

    @property
    def variance(self) -> Float[Tensor, "B M Dy"]:
        """Variances within components, and of the components' means."""
        away = self.means - self.mean[..., None]
        return (self.weights * (self.stddevs**2 + away**2)).sum(-1)

    @property
    def stddev(self) -> Float[Tensor, "B M Dy"]:
        """The standard deviation of the mixture."""
        return self.variance.sqrt()

    def score(self, value: Float[Tensor, "*S B M Dy"]) -> Float[Tensor, "*S B M Dy"]:
        r"""Return normal scores :math:`\Phi^{-1}(F(y))`, which tell tails apart where F cannot."""
        return mixed_score((value[..., None] - self.means) / self.stddevs, self.weights)

    def at_score(
        self, score: Float[Tensor, "*S B M Dy"], tolerance: float = EXACTLY
    ) -> Float[Tensor, "*S B M Dy"]:
        """Return the outputs that have these normal scores, in float64."""
        # A mixture's lies between those of its components: a bracket that cannot fail.
        own = self.means.double() + self.stddevs.double() * score[..., None]
        return root(self.score, own.amin(-1), own.amax(-1), score.double(), tolerance)

    def crps(self, value: Float[Tensor, "B M Dy"]) -> Float[Tensor, "B M Dy"]:
        r"""Return the continuous ranked probability score of each output; smaller is better.

        With :math:`A(\mu, \sigma) = \mathbb E |\mathcal N(\mu, \sigma^2)|` (Grimit et al., 2006):

        .. math:: \sum_i w_i A(y - \mu_i, \sigma_i) - \tfrac12 \sum_{ij} w_i w_j
                  A\big(\mu_i - \mu_j, \sqrt{\sigma_i^2 + \sigma_j^2}\big)
        """
        weights = self.weights
        away = _absolute_mean(value[..., None] - self.means, self.stddevs)
        between = _absolute_mean(
            self.means[..., None] - self.means[..., None, :],
            torch.hypot(self.stddevs[..., None], self.stddevs[..., None, :]),
        )
        pairs = weights[..., None] * weights[..., None, :]
        score = (weights * away).sum(-1) - 0.5 * (pairs * between).sum((-2, -1))
        return torch.where(self.mask, score, 0)

    def affine(
        self, shift: Tensor | float, scale: Tensor | float, scatter: Tensor | float = 0.0
    ) -> MixturePredictive:
        """Return the distribution of shift + scale * output + noise of deviation `scatter`."""
        shift, scale = (torch.as_tensor(part)[..., None] for part in (shift, scale))
        own = self.stddevs * scale
        if isinstance(scatter, Tensor) or scatter != 0:
            own = torch.hypot(own, torch.as_tensor(scatter)[..., None].to(own))
        return self.with_components(self.means * scale + shift, own)

    def as_mixture(self) -> MixturePredictive:
        """Return itself."""
        return self

    def blended(self, other: MixturePredictive, share: Tensor) -> MixturePredictive:
        """Return the mixture of this and another, which has a share of the probability."""
        share = share[..., None]
        logits = torch.log1p(-share) + self.log_weights, share.log() + other.log_weights
        return MixturePredictive(
            torch.cat(logits, -1),
            torch.cat([self.means, other.means], -1),
            torch.cat([self.stddevs, other.stddevs], -1),
            self.mask,
        )

    def to(self, device: torch.device | str) -> MixturePredictive:
        """Move every tensor to a device."""
        tensors = (self.log_weights, self.means, self.stddevs, self.mask)
        return MixturePredictive(*(tensor.to(device) for tensor in tensors))

    def _log_density(self, value: Tensor) -> Tensor:
        densities = _log_normal(value[..., None] - self.means, self.stddevs)
        return torch.logsumexp(self.log_weights + densities, -1)

    def _sample(self, shape: torch.Size, generator: torch.Generator | None) -> Tensor:
        choices = self.weights.flatten(0, -2)  # (outputs, K)
        chosen = torch.multinomial(choices, math.prod(shape), replacement=True, generator=generator)
        chosen = chosen.T.reshape(*shape, *self.mask.shape, 1)
        means, stddevs = (
            parameter.expand(*shape, *parameter.shape).gather(-1, chosen)[..., 0]
            for parameter in (self.means, self.stddevs)
        )
        return means + stddevs * _normal(tuple(means.shape), means, generator)


def coverage_key(level: float) -> str:
    """Return the name of a coverage among scores: coverage90 for 0.9."""
    return f"coverage{round(100 * level)}"


def _log_normal(away: Tensor, stddev: Tensor) -> Tensor:
    """Return the log-density of a Gaussian at a distance from its mean."""
    return -0.5 * (away / stddev) ** 2 - stddev.log() - 0.5 * math.log(2 * math.pi)


def _absolute_mean(mean: Tensor, stddev: Tensor) -> Tensor:
    """Return the mean of the absolute value of a Gaussian."""
    z = mean / stddev.clamp(min=SMALLEST)
    density = torch.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
    return mean * torch.erf(z / math.sqrt(2)) + 2 * stddev * density


def _normal(shape: tuple[int, ...], like: Tensor, generator: torch.Generator | None) -> Tensor:
    """Draw standard normals where the generator is, and move them to where they are needed."""
    device = like.device if generator is None else generator.device
    return torch.randn(shape, dtype=like.dtype, device=device, generator=generator).to(like)
