"""ConvCNP for images, whose pixels are the grid: the paper's on-the-grid algorithm (Section 4)."""

from __future__ import annotations

from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import conv2d, softplus

from convcnp.core.cnn import CNN, ResNet, check_kernel, wrapped
from convcnp.core.grid import Field, Padding
from convcnp.core.image_task import ImageTask
from convcnp.core.predictive import GaussianPredictive
from convcnp.core.task import Task
from convcnp.errors import SettingError, ShapeError, check_not_negative, check_positive
from convcnp.models.base import Model
from convcnp.models.cnp import mlp

Filter = Literal["absolute", "signed", "eq"]


class GridEncoder(nn.Module):
    r"""Smooth mask and observed values, and divide the second by the first (Section 4).

    .. math:: h = [\psi * M ;\; \psi * (M \odot I) / \psi * M]

    The parts can be changed one by one, as Appendix D.4 does.

    Args:
        kernel_size: Pixels across the filter; every channel has a filter of its own.
        filter: Trained and made positive by its absolute value, trained with any sign, or an
            exponentiated quadratic with a trained length scale.
        has_density: Return the density channels as well.
        normalise: Divide the data channels by the density.
    """

    def __init__(
        self,
        dim_y: int = 1,
        *,
        kernel_size: int = 9,
        filter: Filter = "absolute",
        has_density: bool = True,
        normalise: bool = True,
        padding: Padding = "unobserved",
    ) -> None:
        super().__init__()
        check_kernel(kernel_size, padding)
        if filter not in ("absolute", "signed", "eq"):
            raise SettingError(
                f"first_filter must be 'absolute', 'signed' or 'eq', got {filter!r}; choose one."
            )
        self.dim_y, self.reach = dim_y, kernel_size // 2
        self.filter, self.padding = filter, padding
        self.has_density, self.normalise = has_density, normalise
        self.channels_out = (2 if has_density else 1) * dim_y
        if filter == "eq":
            self.log_length_scale = nn.Parameter(torch.zeros(dim_y))  # one pixel
        else:
            # A filter that begins as a peak shows the network what was seen at a pixel from the
            # first step on. The paper's trained filters are such peaks (Appendix D.5).
            self.weight = nn.Parameter(_eq_filter(torch.zeros(dim_y), self.reach))

    @property
    def kernel(self) -> Float[Tensor, "C 1 K K"]:
        """The filter of every channel."""
        if self.filter == "eq":
            return _eq_filter(self.log_length_scale, self.reach)
        return self.weight.abs() if self.filter == "absolute" else self.weight

    def forward(
        self, observed: Float[Tensor, "B H W C"], mask: Bool[Tensor, "B H W C"]
    ) -> Float[Tensor, "B H W D"]:
        """Return the density channels, if wanted, followed by the data channels."""
        both, zeros = torch.cat([mask.to(observed), observed]), self.reach  # (2 B, H, W, C)
        if self.padding == "circular":
            both, zeros = wrapped(both, self.reach, self.reach), 0
        both = both.movedim(-1, 1)
        smooth = conv2d(both, self.kernel, padding=zeros, groups=both.shape[1]).movedim(1, -1)
        density, data = smooth.chunk(2)
        if self.normalise:
            # The magnitude, because a signed filter's density can be negative.
            data = data / (density.abs() + 1e-5)
        return torch.cat([density, data], -1) if self.has_density else data


class GridConvCNP(Model):
    r"""Map images with missing pixels to Gaussian predictions of all pixels.

    .. math:: (\mu, \operatorname{pos}^{-1}(\sigma)) = \mathrm{CNN}\big(\big[\psi * M ;\;
              \psi * (M \odot I) / \psi * M\big]\big)

    with the context mask :math:`M`, the image :math:`I` and the first filter :math:`\psi`. The CNN
    ends in an MLP that is applied to every pixel (Appendix D.1).

    Args:
        encoder: The first layer.
        cnn: The network on the grid; the paper's is a `ResNet`.
        sigma_floor: Added to every predicted standard deviation.
    """

    # Paper: sigma = 0.1 sigma_min + 0.9 softplus with sigma_min = 0.1; its scores are only possible
    # with a floor of 0.1 (decision 20). The factor 0.9 is left to the last layer.
    def __init__(self, encoder: GridEncoder, cnn: CNN, *, sigma_floor: float = 0.1) -> None:
        super().__init__(dim_x=2, dim_y=encoder.dim_y)
        check_not_negative("sigma_floor", sigma_floor)
        self.sigma_floor = sigma_floor
        self.encoder = encoder
        self.embedding = nn.Linear(encoder.channels_out, cnn.channels_in)
        self.cnn = cnn
        self.decoder = mlp([cnn.channels_out, 64, 64, 64, 64, 2 * self.dim_y])

    def check(self, task: Task) -> None:
        """Refuse a task that is not made of images with the model's channels."""
        super().check(task)
        if not isinstance(task, ImageTask):
            raise ShapeError(
                "This model predicts the pixels of images: expected an ImageTask, got "
                f"{type(task).__name__}; build one from a tensor (images, height, width, channels)."
            )

    def forward(self, task: Task) -> GaussianPredictive:
        """Return the predictive distribution of the pixels, row by row."""
        self.check(task)
        assert isinstance(task, ImageTask)
        observed, mask = task.as_images(task.y_context), task.as_images(task.context_mask)
        mean, stddev = (moment.flatten(1, 2) for moment in self.on_pixels(observed, mask))
        return GaussianPredictive(mean, stddev, task.target_mask)

    def on_pixels(
        self, observed: Float[Tensor, "B H W C"], mask: Bool[Tensor, "B H W C"]
    ) -> tuple[Float[Tensor, "B H W C"], Float[Tensor, "B H W C"]]:
        """Return the means and standard deviations of all pixels."""
        h = self.encoder(observed.to(self.dtype), mask)
        field = Field(h, torch.zeros_like(h[0, 0, 0])).map(self.embedding)
        mean, scale = self.decoder(self.cnn(field).values).chunk(2, -1)
        return mean, softplus(scale) + self.sigma_floor

    @property
    def dtype(self) -> torch.dtype:
        """The precision of the weights, and so of the predictions."""
        return self.embedding.weight.dtype

    @property
    def receptive_radius(self) -> int:
        """How many pixels away an observation can matter."""
        return self.encoder.reach + self.cnn.receptive_radius


def _eq_filter(log_length_scale: Float[Tensor, " C"], reach: int) -> Float[Tensor, "C 1 K K"]:
    offset = torch.arange(-reach, reach + 1).to(log_length_scale)
    along = torch.exp(-0.5 * (offset / log_length_scale.exp()[:, None]) ** 2)  # (C, K)
    return (along[:, :, None] * along[:, None, :])[:, None]


def grid_convcnp(
    dim_x: int = 2,
    dim_y: int = 1,
    *,
    image_size: int = 32,
    channels: int = 128,
    kernel_size: int | None = None,
    first_filter: Filter = "absolute",
    has_density: bool = True,
    normalise: bool = True,
    padding: Padding = "unobserved",
    sigma_floor: float = 0.1,
) -> GridConvCNP:
    """Build the paper's small model for images (Appendix D.1).

    Args:
        image_size: Pixels along the longer side; beyond 50 the paper's filters are smaller.
        channels: Channels of every layer.
        kernel_size: Pixels across the filters after the first, in place of the paper's.
        first_filter: See `GridEncoder`, for this and the next two.

    Example:
        >>> grid_convcnp(dim_y=3).num_parameters
        101625
    """
    _check_images(dim_x)
    check_positive("image_size", image_size)
    first, later = (9, 5) if image_size <= 50 else (7, 3)
    encoder = GridEncoder(
        dim_y,
        kernel_size=first,
        filter=first_filter,
        has_density=has_density,
        normalise=normalise,
        padding=padding,
    )
    cnn = ResNet(
        channels=channels,
        kernel_size=later if kernel_size is None else kernel_size,
        padding=padding,
    )
    return GridConvCNP(encoder, cnn, sigma_floor=sigma_floor)


def grid_convcnpxl(
    dim_x: int = 2,
    dim_y: int = 1,
    *,
    kernel_size: int = 11,
    padding: Padding = "unobserved",
    sigma_floor: float = 0.1,
) -> GridConvCNP:
    """Build the paper's large model for images (Appendix D.1).

    Example:
        >>> grid_convcnpxl(dim_y=3).num_parameters
        407801
    """
    _check_images(dim_x)
    cnn = ResNet(blocks=6, layers=2, kernel_size=kernel_size, padding=padding)
    return GridConvCNP(GridEncoder(dim_y, padding=padding), cnn, sigma_floor=sigma_floor)


def _check_images(dim_x: int) -> None:
    if dim_x != 2:
        raise SettingError(
            f"Images have two input dimensions, got Dx = {dim_x}; choose data made of images."
        )
