"""ConvCNP for data off the grid: Algorithm 1 of the paper."""

from __future__ import annotations

from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import softplus

from convcnp.core.cnn import CNN, Activation, SimpleCNN, UNet
from convcnp.core.grid import Field, Grid, Margin, Padding, covering_grid
from convcnp.core.predictive import GaussianPredictive
from convcnp.core.set_conv import SetConvDecoder, SetConvEncoder
from convcnp.core.task import Task
from convcnp.errors import SettingError, check_not_negative, check_positive
from convcnp.models.base import Model


class ConvCNP(Model):
    r"""Map a task to Gaussian predictions, commuting with every shift of the inputs.

    .. math:: \mu(x) = \sum_i f_\mu(t_i) \psi_\rho(x - t_i), \quad
              \sigma(x) = \operatorname{pos}\Big(\sum_i f_\sigma(t_i) \psi_\rho(x - t_i)\Big), \quad
              f = \mathrm{CNN}(E(\text{context}))

    Args:
        cnn: The network on the grid; `SimpleCNN` and `UNet` are the paper's.
        points_per_unit: Grid cells per unit of input, along each dimension.
        length_scale: Initial length scale of the encoder, in input units; two cells if left out.
            Where data are many cells apart, a wider one lets the network see them from the start.
        powers: Highest power of the outputs to embed; above 1 for repeated inputs.
        margin: Input units of grid beyond the outermost point; the default makes the grid's end
            unnoticeable.
        training_margin: The same while training, where a shorter grid saves time.
        sigma_floor: Added to every predicted standard deviation.
        positivity: Where sigma is made positive: at the targets, or on the grid before decoding.
        max_cells: Refuse a grid with more cells than this, over the whole batch.
    """

    # Paper: Algorithm 1 makes sigma positive on the grid and then smooths it, so that it cannot
    # fall steeply towards an observation. Decoding first lets it, and learns far better (decision
    # 0002).
    def __init__(
        self,
        cnn: CNN,
        dim_y: int = 1,
        *,
        points_per_unit: float = 64.0,
        length_scale: float | None = None,
        powers: int = 1,
        margin: float | None = None,
        training_margin: float | None = None,
        sigma_floor: float = 0.0,
        positivity: Literal["target", "grid"] = "target",
        max_cells: int = 2**24,
    ) -> None:
        super().__init__(dim_x=cnn.dim, dim_y=dim_y)
        check_positive("points_per_unit", points_per_unit)
        check_positive("max_cells", max_cells)
        check_positive("length_scale", 1.0 if length_scale is None else length_scale)
        check_not_negative("margin", margin or 0.0)
        check_not_negative("training_margin", training_margin or 0.0)
        check_not_negative("sigma_floor", sigma_floor)
        if positivity not in ("target", "grid"):
            raise SettingError(
                f"positivity must be 'target' or 'grid', got {positivity!r}; choose one."
            )
        self.spacing = 1 / points_per_unit
        self.margin, self.training_margin = margin, training_margin
        self.sigma_floor, self.positivity, self.max_cells = sigma_floor, positivity, max_cells
        self.encoder = SetConvEncoder(length_scale or 2 * self.spacing, powers)
        self.embedding = nn.Linear((1 + powers) * dim_y, cnn.channels_in)
        self.cnn = cnn
        self.head = nn.Linear(cnn.channels_out, 2 * dim_y)
        self.decoder = SetConvDecoder(2 * self.spacing)

    def forward(
        self, task: Task, anchor: Float[Tensor, "B Dx"] | None = None
    ) -> GaussianPredictive:
        """Return the predictive distribution at the targets.

        Args:
            anchor: A point of the grid, in place of the smallest context input. A part of a task
                keeps the whole task's grid by it.
        """
        self.check(task)
        return self.on_grid(task, self.covering_grid(task, anchor))

    def on_grid(self, task: Task, grid: Grid) -> GaussianPredictive:
        """Return the predictive distribution at the targets, using this grid."""
        y = task.y_context.to(self.embedding.weight.dtype)
        h = self.encoder(task.x_context, y, task.context_mask, grid)  # (B, *G, C)
        field = Field(h, torch.zeros_like(h.flatten(0, -2)[0])).map(self.embedding)
        # Projecting to the output channels before the kernel product, as Algorithm 1 does, decodes
        # 2 Dy channels instead of all that the network has.
        field = self.cnn(field).map(self.head)
        if self.positivity == "grid":
            field = field.map(_positive_scale)
        decoded = self.decoder(field, task.x_target, grid)
        if self.positivity == "target":
            decoded = _positive_scale(decoded)
        mean, scale = decoded.chunk(2, -1)  # (B, M, Dy) each
        return GaussianPredictive(mean, scale + self.sigma_floor, task.target_mask)

    def covering_grid(self, task: Task, anchor: Float[Tensor, "B Dx"] | None = None) -> Grid:
        """Return the grid on which this task is predicted."""
        return covering_grid(
            task,
            self.spacing,
            self.grid_margin,
            multiple=self.cnn.multiple,
            anchor=anchor,
            max_cells=self.max_cells,
        )

    @property
    def grid_margin(self) -> Margin:
        """How far the grid continues beyond the data."""
        return Margin(
            encoder_reach=self.encoder.reach,
            decoder_reach=self.decoder.reach,
            radius=self.cnn.receptive_radius * self.spacing,
            padding=self.cnn.padding,
            fixed=self.training_margin if self.training else self.margin,
        )

    @property
    def receptive_radius(self) -> float:
        """How far away an observation can matter, in input units."""
        reach = self.encoder.reach + self.decoder.reach
        return reach + (self.cnn.receptive_radius + 1) * self.spacing


def _positive_scale(h: Tensor) -> Tensor:
    mean, scale = h.chunk(2, -1)
    return torch.cat([mean, softplus(scale)], -1)


def convcnp(
    dim_x: int = 1, dim_y: int = 1, *, padding: Padding = "unobserved", **settings: Any
) -> ConvCNP:
    """Build the paper's small model (6,516 parameters in 1-D); settings are those of `ConvCNP`.

    Example:
        >>> convcnp().num_parameters
        6516
    """
    return ConvCNP(SimpleCNN(dim_x, padding=padding), dim_y, **settings)


def convcnpxl(
    dim_x: int = 1, dim_y: int = 1, *, padding: Padding = "unobserved", **settings: Any
) -> ConvCNP:
    """Build the paper's large model (50,580 parameters in 1-D); settings are those of `ConvCNP`.

    Example:
        >>> convcnpxl().num_parameters
        50580
    """
    return ConvCNP(UNet(dim_x, padding=padding), dim_y, **settings)


def convcnp_ours(
    dim_x: int = 1,
    dim_y: int = 1,
    *,
    channels: int = 16,
    down: tuple[int, ...] = (16, 16, 16, 24, 32),
    up: tuple[int, ...] = (24, 16, 16, 16, 16),
    blocks: int = 1,
    activation: Activation = "gelu",
    padding: Padding = "unobserved",
    **settings: Any,
) -> ConvCNP:
    """Build a U-Net with residual blocks, fewer halvings and more channels where detail is.

    Args:
        channels: Channels before the network.
        down: Channels of each halving; this and what follows are those of `UNet`.

    Example:
        >>> convcnp_ours().num_parameters
        45300
    """
    cnn = UNet(dim_x, channels, down, up, blocks=blocks, activation=activation, padding=padding)
    return ConvCNP(cnn, dim_y, **settings)
