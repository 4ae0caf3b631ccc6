"""Heads: from the numbers that a model decodes at a target to a distribution."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import softplus

from convcnp.core.predictive import GaussianPredictive, MixturePredictive, Predictive
from convcnp.errors import SettingError, check_not_negative, check_positive

HeadName = Literal["gaussian", "mixture"]
Positivity = Literal["target", "grid"]


class Head(nn.Module, ABC):
    """Makes a distribution of raw numbers; it has no weights of its own.

    A model decodes one tensor (B, M, P). Whatever cuts a domain into tiles, or many series into
    batches, carries that tensor, and applies the head once at the end.
    """

    @abstractmethod
    def channels(self, dim_y: int) -> int:
        """Return how many numbers P it needs at a target with so many output channels."""

    @abstractmethod
    def forward(self, raw: Float[Tensor, "B M P"], mask: Bool[Tensor, "B M Dy"]) -> Predictive:
        """Return the distribution that these numbers stand for."""

    def on_grid(self, raw: Float[Tensor, "... P"]) -> Float[Tensor, "... P"]:
        """Change the numbers on the grid before they are decoded: by default, not at all."""
        return raw

    def __call__(self, raw: Tensor, mask: Tensor) -> Predictive:
        """Return the distribution that these numbers stand for."""
        return super().__call__(raw, mask)


class GaussianHead(Head):
    r"""A mean, and a scale from which :math:`\sigma = \operatorname{softplus} + \sigma_0` comes.

    Args:
        sigma_floor: Added to every predicted standard deviation.
        positivity: Where the scale is made positive: at the targets, or on the grid.

    Example:
        >>> head = GaussianHead(sigma_floor=0.1)
        >>> raw, mask = torch.zeros(1, 5, head.channels(3)), torch.ones(1, 5, 3) > 0
        >>> round(head(raw, mask).stddev[0, 0, 0].item(), 3)
        0.793
    """

    # Paper: Algorithm 1 makes sigma positive on the grid and then smooths it, so that it cannot
    # fall steeply towards an observation. Decoding first lets it, and learns far better (decision
    # 2).
    def __init__(self, sigma_floor: float = 0.0, *, positivity: Positivity = "target") -> None:
        super().__init__()
        check_not_negative("sigma_floor", sigma_floor)
        if positivity not in ("target", "grid"):
            raise SettingError(
                f"positivity must be 'target' or 'grid', got {positivity!r}; choose one."
            )
        self.sigma_floor, self.positivity = sigma_floor, positivity

    def channels(self, dim_y: int) -> int:
        """Return two numbers per output channel."""
        return 2 * dim_y

    def on_grid(self, raw: Float[Tensor, "... P"]) -> Float[Tensor, "... P"]:
        """Make the scales positive here, if that is asked for."""
        if self.positivity == "target":
            return raw
        mean, scale = raw.chunk(2, -1)
        return torch.cat([mean, softplus(scale)], -1)

    def forward(
        self, raw: Float[Tensor, "B M P"], mask: Bool[Tensor, "B M Dy"]
    ) -> GaussianPredictive:
        """Return Gaussians: the means stand first, then the scales."""
        mean, scale = raw.chunk(2, -1)  # (B, M, Dy) each
        if self.positivity == "target":
            scale = softplus(scale)
        return GaussianPredictive(mean, scale + self.sigma_floor, mask)


class MixtureHead(Head):
    """The weight, the mean and the scale of several Gaussians.

    Untrained, the components lie apart by one unit, so that each finds its own part of the data.

    Args:
        components: How many Gaussians.
        sigma_floor: Added to the standard deviation of every component.

    Example:
        >>> head = MixtureHead(components=3)
        >>> raw, mask = torch.zeros(1, 5, head.channels(1)), torch.ones(1, 5, 1) > 0
        >>> head(raw, mask).means[0, 0, 0].tolist()
        [-1.0, 0.0, 1.0]
    """

    def __init__(self, components: int = 3, sigma_floor: float = 0.0) -> None:
        super().__init__()
        check_positive("components", components)
        check_not_negative("sigma_floor", sigma_floor)
        self.components, self.sigma_floor = components, sigma_floor

    def channels(self, dim_y: int) -> int:
        """Return three numbers per component and output channel."""
        return 3 * self.components * dim_y

    def forward(
        self, raw: Float[Tensor, "B M P"], mask: Bool[Tensor, "B M Dy"]
    ) -> MixturePredictive:
        """Return mixtures: the weights stand first, then the means, then the scales."""
        parts = raw.unflatten(-1, (3, mask.shape[2], self.components))
        # Kinds and components lie outermost in memory: what is done to one kind, and sums over so
        # few components, are several times as quick there.
        kinds = parts.movedim((-3, -1), (0, 1)).contiguous().movedim(1, -1)
        logits, means, scales = kinds  # (B, M, Dy, K) each
        apart = torch.arange(self.components).to(raw) - (self.components - 1) / 2
        return MixturePredictive(logits, means + apart, softplus(scales) + self.sigma_floor, mask)


def make_head(
    *,
    head: HeadName = "gaussian",
    components: int | None = None,
    sigma_floor: float = 0.0,
    positivity: Positivity = "target",
) -> Head:
    """Build the head that an experiment file names; `components` are those of a mixture."""
    if head == "gaussian" and components is None:
        return GaussianHead(sigma_floor, positivity=positivity)
    if head == "mixture" and positivity == "target":
        return MixtureHead(3 if components is None else components, sigma_floor)
    raise SettingError(
        "head must be 'gaussian', without components, or 'mixture', made positive at the targets; "
        f"got head = {head!r}, components = {components}, positivity = {positivity!r}."
    )


def make_pixel_head(
    *, head: HeadName = "gaussian", components: int | None = None, sigma_floor: float = 0.1
) -> Head:
    """Build the head of a model of images, whose deviations are at least a tenth (decision 20)."""
    return make_head(head=head, components=components, sigma_floor=sigma_floor)
