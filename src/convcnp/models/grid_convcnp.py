"""ConvCNP for images, whose pixels are the grid: the paper's on-the-grid algorithm (Section 4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import conv2d, pad

from convcnp.core.cnn import CNN, ResNet, UNet
from convcnp.core.convolution import check_kernel, wrapped
from convcnp.core.grid import Field, Padding
from convcnp.core.heads import Head, make_pixel_head
from convcnp.core.image_task import PIXELS_PER_UNIT, ImageTask
from convcnp.core.task import Task
from convcnp.errors import SettingError, ShapeError, check_positive
from convcnp.models.base import Model, Tile
from convcnp.models.cnp import mlp
from convcnp.models.cutting import cut

Filter = Literal["absolute", "signed", "eq"]


class Window(NamedTuple):
    """A tile of an image, the pixels that can matter to it, and where it is among these."""

    tile: tuple[slice, slice]
    around: tuple[Tensor, Tensor]  # rows (h, 1) and columns (w,)
    inner: tuple[slice, slice]


class GridEncoder(nn.Module):
    r"""Smooth mask and observed values, and divide the second by the first (Section 4).

    .. math:: h = [\psi * M ;\; \psi * (M \odot I) / \psi * M]

    The parts can be changed one by one, as Appendix D.4 does.

    Args:
        kernel_size: Pixels across the filter; every channel has a filter of its own.
        first_filter: Trained and made positive by its absolute value, trained with any sign, or an
            exponentiated quadratic with a trained length scale.
        has_density: Return the density channels as well.
        normalise: Divide the data channels by the density.
    """

    def __init__(
        self,
        dim_y: int = 1,
        *,
        kernel_size: int = 9,
        first_filter: Filter = "absolute",
        has_density: bool = True,
        normalise: bool = True,
        padding: Padding = "unobserved",
    ) -> None:
        super().__init__()
        check_kernel(kernel_size, padding)
        if first_filter not in ("absolute", "signed", "eq"):
            raise SettingError(
                f"first_filter must be 'absolute', 'signed' or 'eq', got {first_filter!r}; choose "
                "one."
            )
        self.dim_y, self.reach = dim_y, kernel_size // 2
        self.first_filter, self.padding = first_filter, padding
        self.has_density, self.normalise = has_density, normalise
        self.channels_out = (2 if has_density else 1) * dim_y
        if first_filter == "eq":
            self.log_length_scale = nn.Parameter(torch.zeros(dim_y))  # one pixel
        else:
            # A filter that begins as a peak shows the network what was seen at a pixel from the
            # first step on. The paper's trained filters are such peaks (Appendix D.5).
            self.weight = nn.Parameter(_eq_filter(torch.zeros(dim_y), self.reach))

    @property
    def kernel(self) -> Float[Tensor, "C 1 K K"]:
        """The filter of every channel."""
        if self.first_filter == "eq":
            return _eq_filter(self.log_length_scale, self.reach)
        return self.weight.abs() if self.first_filter == "absolute" else self.weight

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
    r"""Map images with missing pixels to predictions of all pixels.

    .. math:: (\mu, \operatorname{pos}^{-1}(\sigma)) = \mathrm{CNN}\big(\big[\psi * M ;\;
              \psi * (M \odot I) / \psi * M\big]\big)

    with the context mask :math:`M`, the image :math:`I` and the first filter :math:`\psi`. The CNN
    ends in an MLP that is applied to every pixel (Appendix D.1).

    Args:
        encoder: The first layer.
        cnn: The network on the grid; the paper's is a `ResNet`.
        head: Makes the distribution of what is decoded; a Gaussian's with a standard deviation of
            at least a tenth if left out.

    Example:
        >>> pixels = torch.rand(1, 8, 9, 3)
        >>> predictive = GridConvCNP.small(dim_y=3)(ImageTask(pixels, torch.rand(1, 8, 9) < 0.5))
        >>> predictive.mean.shape
        torch.Size([1, 72, 3])
    """

    # Paper: sigma = 0.1 sigma_min + 0.9 softplus with sigma_min = 0.1; its scores are only possible
    # with a floor of 0.1 (decision 20). The factor 0.9 is left to the last layer.
    def __init__(self, encoder: GridEncoder, cnn: CNN, *, head: Head | None = None) -> None:
        super().__init__(2, encoder.dim_y, head or make_pixel_head())
        if cnn.multiple > 1 and cnn.padding == "circular":
            raise SettingError(
                f"A network that halves the resolution, to every {cnn.multiple}th pixel, cannot go "
                "around images of any size; use padding = 'unobserved', or a ResNet."
            )
        self.encoder = encoder
        self.embedding = nn.Linear(encoder.channels_out, cnn.channels_in)
        self.cnn = cnn
        self.decoder = mlp(
            [cnn.channels_out, 64, 64, 64, 64, self.to_predictive.channels(self.dim_y)]
        )

    def check(self, task: Task) -> None:
        """Refuse a task that is not made of images with the model's channels."""
        super().check(task)
        if not isinstance(task, ImageTask):
            raise ShapeError(
                "This model predicts the pixels of images: expected an ImageTask, got "
                f"{type(task).__name__}; build one from a tensor (images, height, width, channels)."
            )

    @classmethod
    def small(
        cls,
        dim_x: int = 2,
        dim_y: int = 1,
        *,
        image_size: int = 32,
        channels: int = 128,
        kernel_size: int | None = None,
        padding: Padding = "unobserved",
        head: Head | None = None,
        **first_layer: Any,
    ) -> GridConvCNP:
        """Build the paper's small model for images (Appendix D.1).

        Args:
            image_size: Pixels along the longer side; beyond 50 the paper's filters are smaller.
            channels: Channels of every layer.
            kernel_size: Pixels across the filters after the first, in place of the paper's.
            first_layer: Settings of `GridEncoder`.

        Example:
            >>> GridConvCNP.small(dim_y=3).num_parameters
            101625
        """
        _check_images(dim_x)
        check_positive("image_size", image_size)
        first, later = (9, 5) if image_size <= 50 else (7, 3)
        encoder = GridEncoder(dim_y, kernel_size=first, padding=padding, **first_layer)
        cnn = ResNet(
            channels=channels,
            kernel_size=later if kernel_size is None else kernel_size,
            padding=padding,
        )
        return cls(encoder, cnn, head=head)

    @classmethod
    def xl(
        cls,
        dim_x: int = 2,
        dim_y: int = 1,
        *,
        kernel_size: int = 11,
        padding: Padding = "unobserved",
        head: Head | None = None,
    ) -> GridConvCNP:
        """Build the paper's large model for images (Appendix D.1).

        Example:
            >>> GridConvCNP.xl(dim_y=3).num_parameters
            407801
        """
        _check_images(dim_x)
        cnn = ResNet(blocks=6, layers=2, kernel_size=kernel_size, padding=padding)
        return cls(GridEncoder(dim_y, padding=padding), cnn, head=head)

    @classmethod
    def unet(
        cls,
        dim_x: int = 2,
        dim_y: int = 1,
        *,
        down: Sequence[int] = (32, 64, 80, 80),
        up: Sequence[int] = (80, 64, 32, 32),
        blocks: int = 1,
        kernel_size: int = 3,
        padding: Padding = "unobserved",
        head: Head | None = None,
    ) -> GridConvCNP:
        """Build a model that bridges wide holes: a `UNet` on the pixels, in place of a `ResNet`.

        It commutes with shifts by as many pixels as its coarsest cell has.

        Args:
            down: Channels of the layers that halve the resolution; the first also of the input.
            up: Channels of the layers that double it; as many as `down`.
            blocks: Residual convolutions after each of these layers.

        Example:
            >>> GridConvCNP.unet(dim_y=3).radius_in_pixels
            94
        """
        _check_images(dim_x)
        cnn = UNet(*(2, down[0], down, up), blocks=blocks, kernel_size=kernel_size, padding=padding)
        return cls(GridEncoder(dim_y, padding=padding), cnn, head=head)

    def raw(self, task: Task) -> Float[Tensor, "B M P"]:
        """Return what is decoded at every pixel, row by row."""
        assert isinstance(task, ImageTask)
        observed, mask = task.as_images(task.y_context), task.as_images(task.context_mask)
        return self.on_pixels(observed, mask).flatten(1, 2)

    def on_pixels(
        self, observed: Float[Tensor, "B H W C"], mask: Bool[Tensor, "B H W C"]
    ) -> Float[Tensor, "B H W P"]:
        """Return what is decoded at every pixel.

        Cells that a network needs to halve the resolution follow after the last row and column, as
        pixels that are not observed.
        """
        height, width = mask.shape[1:3]
        rows, columns = (-length % self.cnn.multiple for length in (height, width))
        if rows or columns:
            observed, mask = (pad(t, (0, 0, 0, columns, 0, rows)) for t in (observed, mask))
        h = self.encoder(observed.to(self.dtype), mask)
        field = Field(h, torch.zeros_like(h[0, 0, 0])).map(self.embedding)
        return self.decoder(self.cnn(field).values[:, :height, :width])

    @property
    def radius_in_pixels(self) -> int:
        """How many pixels away an observation can matter."""
        return self.encoder.reach + self.cnn.receptive_radius

    @property
    def receptive_radius(self) -> float:
        """How far away an observation can matter, in input units."""
        return self.radius_in_pixels / PIXELS_PER_UNIT

    def cells(self, task: Task) -> Float[Tensor, " B"]:
        """Return how many pixels each task has."""
        return torch.full((task.batch_size,), float(task.x_target.shape[1]))

    def tiles(self, task: Task, cells_per_tile: int) -> Iterator[Tile]:
        """Predict images tile by tile, each from the pixels that can matter to it.

        What lies beyond the receptive radius of a tile cannot be seen from it, and so the edge that
        a cut makes there cannot be seen either.
        """
        assert isinstance(task, ImageTask)
        observed, mask = task.as_images(task.y_context), task.as_images(task.context_mask)
        pixels = torch.arange(task.height * task.width).view(task.height, task.width)
        for i in range(task.batch_size):
            for window in self.windows(task.height, task.width, cells_per_tile):
                part = (slice(i, i + 1), *window.around)
                raw = self.on_pixels(observed[part], mask[part])[0, *window.inner]
                yield Tile(i, pixels[window.tile].flatten(), raw.flatten(0, 1))

    def windows(self, height: int, width: int, cells_per_tile: int) -> Iterator[Window]:
        """Cut an image into tiles, each with the pixels that can matter to it.

        What a tile is predicted from begins at a multiple of the network's coarsest cell, as the
        image does.
        """
        radius, wraps = self.radius_in_pixels, self.cnn.padding == "circular"
        multiple = self.cnn.multiple
        side = max(int(cells_per_tile**0.5) - 2 * radius, radius // 4, 1)
        for top in range(0, height, side):
            rows, inner_rows = cut(top, side, radius, height, wraps, multiple)
            for left in range(0, width, side):
                columns, inner_columns = cut(left, side, radius, width, wraps, multiple)
                yield Window(
                    tile=(slice(top, top + side), slice(left, left + side)),
                    around=(rows[:, None], columns),
                    inner=(inner_rows, inner_columns),
                )


def _eq_filter(log_length_scale: Float[Tensor, " C"], reach: int) -> Float[Tensor, "C 1 K K"]:
    offset = torch.arange(-reach, reach + 1).to(log_length_scale)
    along = torch.exp(-0.5 * (offset / log_length_scale.exp()[:, None]) ** 2)  # (C, K)
    return (along[:, :, None] * along[:, None, :])[:, None]


def _check_images(dim_x: int) -> None:
    if dim_x != 2:
        raise SettingError(
            f"Images have two input dimensions, got Dx = {dim_x}; choose data made of images."
        )
