"""Predictive distributions."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.distributions import Normal

from convcnp.errors import SettingError, ShapeError


class GaussianPredictive(Normal):
    """Independent Gaussians at the targets, with a mask of the outputs that were asked for.

    A `torch.distributions.Normal`: `mean`, `stddev`, `sample`, `rsample`, `cdf` and `icdf` are its
    own.

    Args:
        mask: Where it is false, `log_prob` is zero whatever the value.
    """

    def __init__(
        self,
        mean: Float[Tensor, "B M Dy"],
        stddev: Float[Tensor, "B M Dy"],
        mask: Bool[Tensor, "B M Dy"],
    ) -> None:
        super().__init__(mean, stddev, validate_args=False)
        self.mask = mask

    def to(self, device: torch.device | str) -> GaussianPredictive:
        """Move every tensor to a device."""
        return GaussianPredictive(*(t.to(device) for t in (self.mean, self.stddev, self.mask)))

    def log_prob(self, value: Float[Tensor, "B M Dy"]) -> Float[Tensor, "B M Dy"]:
        """Return the log-density of each output, zero where it was not asked for."""
        if value.shape != self.mean.shape:
            raise ShapeError(
                "log_prob needs one value per target and channel: expected "
                f"{tuple(self.mean.shape)}, got {tuple(value.shape)}; pass task.y_target."
            )
        # Masking the value, not only the result: NaN would survive in the gradient.
        value = torch.where(self.mask, value.to(self.mean), self.mean.detach())
        return torch.where(self.mask, super().log_prob(value), 0)  # type: ignore[no-untyped-call]

    def log_likelihood(self, value: Float[Tensor, "B M Dy"]) -> Float[Tensor, " B"]:
        """Return each task's log-likelihood per target point, summed over its channels.

        Outputs that were not asked for count for nothing, and points without any do not count.
        """
        count = self.mask.any(-1).sum(1).clamp(min=1)
        return self.log_prob(value).sum((1, 2)) / count

    def quantile(self, level: float) -> Float[Tensor, "B M Dy"]:
        """Return the value that an output stays below with probability `level`."""
        if not 0 < level < 1:
            raise SettingError(
                f"A quantile level must lie strictly between 0 and 1, got {level}; 0.05 is the "
                "5 % quantile."
            )
        return self.icdf(torch.as_tensor(level).to(self.mean))  # type: ignore[no-untyped-call]
