"""What an observation is worth, given the standard error of its measurement."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from convcnp.core.heads import Head
from convcnp.core.predictive import GaussianPredictive, MixturePredictive, Predictive
from convcnp.errors import SettingError

_FARTHEST = 20.0  # of a compressed mean: its hyperbolic sine is still a number that can be squared


class Precision(nn.Module):
    r"""Weigh observations by their errors, and say how large these are.

    .. math:: w = \frac{1}{1 + (e / \tau)^2}, \qquad \text{level} = \log(1 + e / \tau)

    With the learned tolerance :math:`\tau` of every channel: an exact observation counts as one, an
    error of :math:`\tau` halves it, an infinite one leaves nothing. Without any errors, weights are
    the mask and levels zero.

    Example:
        >>> weight, level = Precision(1)(torch.ones(1, 2, 1), torch.tensor([[[True], [False]]]))
        >>> weight.flatten().tolist(), level.shape
        ([0.5, 0.0], torch.Size([1, 2, 1]))
    """

    def __init__(self, dim_y: int) -> None:
        super().__init__()
        self.log_tolerance = nn.Parameter(torch.zeros(dim_y))

    def forward(
        self, error: Float[Tensor, "B N Dy"] | None, mask: Bool[Tensor, "B N Dy"]
    ) -> tuple[Float[Tensor, "B N Dy"], Float[Tensor, "B N Dy"]]:
        """Return the weight of every observation, zero where there is none, and its level."""
        observed = mask.to(self.log_tolerance)
        if error is None:
            return observed, torch.zeros_like(observed)
        relative = error.to(observed) * torch.exp(-self.log_tolerance)
        return observed / (1 + relative**2), observed * relative.log1p()


def compressed(
    y: Float[Tensor, "*B Dy"], error: Float[Tensor, "*B Dy"] | None
) -> tuple[Float[Tensor, "*B Dy"], Float[Tensor, "*B Dy"] | None]:
    """Return hyperbolic arcsines of outputs, and their errors, to first order.

    Example:
        >>> y, error = compressed(torch.tensor([0.0, 1e4]), torch.ones(2))
        >>> [round(value, 2) for value in y.tolist()], [round(value, 4) for value in error.tolist()]
        ([0.0, 9.9], [1.0, 0.0001])
    """
    return y.asinh(), None if error is None else error / torch.hypot(torch.ones_like(y), y)


class ExpandedHead(Head):
    r"""Undo the compression of what another head says: Gaussians of the outputs themselves.

    A Gaussian of compressed outputs, of mean :math:`m` and deviation :math:`s`, becomes one of mean
    :math:`\sinh m` and deviation :math:`s \cosh m`, component by component. So errors of
    measurement add to it exactly as they do to the outputs.

    Args:
        base: Makes a Gaussian, or a mixture of Gaussians.

    Example:
        >>> from convcnp.core.heads import GaussianHead
        >>> head = ExpandedHead(GaussianHead())
        >>> raw, mask = torch.tensor([[[5.0, 0.0]]]), torch.ones(1, 1, 1) > 0
        >>> round(head(raw, mask).mean.item(), 1)
        74.2
    """

    def __init__(self, base: Head) -> None:
        super().__init__()
        self.base = base

    def channels(self, dim_y: int) -> int:
        """Return how many numbers the other head needs."""
        return self.base.channels(dim_y)

    def on_grid(self, raw: Float[Tensor, "... P"]) -> Float[Tensor, "... P"]:
        """Change the numbers on the grid as the other head does."""
        return self.base.on_grid(raw)

    def forward(self, raw: Float[Tensor, "B M P"], mask: Bool[Tensor, "B M Dy"]) -> Predictive:
        """Return what the other head says, in outputs themselves."""
        found = self.base(raw, mask)
        if isinstance(found, GaussianPredictive):
            return GaussianPredictive(*_expanded(found.mean, found.stddev), mask)
        if isinstance(found, MixturePredictive):
            return found.with_components(*_expanded(found.means, found.stddevs))
        raise SettingError(
            f"Only Gaussians and mixtures of them are compressed, got {type(found).__name__}; "
            "choose such a head."
        )


def _expanded(mean: Tensor, stddev: Tensor) -> tuple[Tensor, Tensor]:
    mean = mean.clamp(-_FARTHEST, _FARTHEST)
    return mean.sinh(), stddev * mean.cosh()
