"""ConvCNP for data off the grid: Algorithm 1 of the paper."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float
from torch import Tensor

from convcnp.core.cnn import CNN, SimpleCNN, UNet
from convcnp.core.convolution import Pointwise
from convcnp.core.filters import LongFilters
from convcnp.core.grid import Field, Grid, Margin, Padding, covering_grid, extent, ranges
from convcnp.core.heads import GaussianHead, Head
from convcnp.core.line import Activation
from convcnp.core.set_conv import SetConvDecoder, SetConvEncoder
from convcnp.core.task import Task
from convcnp.errors import check_not_negative, check_positive
from convcnp.models.base import Model, Tile
from convcnp.models.cutting import parts_of


class ConvCNP(Model):
    r"""Map a task to predictions, commuting with every shift of the inputs.

    .. math:: \mu(x) = \sum_i f_\mu(t_i) \psi_\rho(x - t_i), \quad
              \sigma(x) = \operatorname{pos}\Big(\sum_i f_\sigma(t_i) \psi_\rho(x - t_i)\Big), \quad
              f = \mathrm{CNN}(E(\text{context}))

    `small`, `xl` and `residual` build the paper's two models and one of ours.

    Args:
        cnn: The network on the grid; `SimpleCNN` and `UNet` are the paper's.
        head: Makes the distribution of what is decoded; a Gaussian's if left out.
        points_per_unit: Grid cells per unit of input, along each dimension.
        length_scale: Initial length scale of the encoder, in input units; two cells if left out.
            Where data are many cells apart, a wider one lets the network see them from the start.
        powers: Highest power of the outputs to embed; above 1 for repeated inputs.
        margin: Input units of grid beyond the outermost point; the default makes the grid's end
            unnoticeable.
        training_margin: The same while training, where a shorter grid saves time.

    Example:
        >>> model = ConvCNP(SimpleCNN(), points_per_unit=16)
        >>> task = Task.from_arrays([0.0, 1.0], [1.0, 3.0], [0.5, 2.0, 7.0])
        >>> model(task).mean.shape
        torch.Size([1, 3, 1])
    """

    def __init__(
        self,
        cnn: CNN,
        dim_y: int = 1,
        *,
        head: Head | None = None,
        points_per_unit: float = 64.0,
        length_scale: float | None = None,
        powers: int = 1,
        margin: float | None = None,
        training_margin: float | None = None,
    ) -> None:
        super().__init__(cnn.dim, dim_y, head or GaussianHead())
        check_positive("points_per_unit", points_per_unit)
        check_positive("length_scale", 1.0 if length_scale is None else length_scale)
        check_not_negative("margin", margin or 0.0)
        check_not_negative("training_margin", training_margin or 0.0)
        self.spacing = 1 / points_per_unit
        self.margin, self.training_margin = margin, training_margin
        self.encoder = SetConvEncoder(length_scale or 2 * self.spacing, powers)
        self.embedding = Pointwise((1 + powers) * dim_y, cnn.channels_in)
        self.cnn = cnn
        self.head = Pointwise(cnn.channels_out, self.to_predictive.channels(dim_y))
        self.decoder = SetConvDecoder(2 * self.spacing)

    @classmethod
    def small(
        cls, dim_x: int = 1, dim_y: int = 1, *, padding: Padding = "unobserved", **settings: Any
    ) -> ConvCNP:
        """Build the paper's small model (6,516 parameters in 1-D); settings are the class's.

        Example:
            >>> ConvCNP.small().num_parameters
            6516
        """
        return cls(SimpleCNN(dim_x, padding=padding), dim_y, **settings)

    @classmethod
    def xl(
        cls, dim_x: int = 1, dim_y: int = 1, *, padding: Padding = "unobserved", **settings: Any
    ) -> ConvCNP:
        """Build the paper's large model (50,580 parameters in 1-D); settings are the class's.

        Example:
            >>> ConvCNP.xl().num_parameters
            50580
        """
        return cls(UNet(dim_x, padding=padding), dim_y, **settings)

    @classmethod
    def residual(
        cls,
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
            settings: `filters`, which is that of `behind_filters`, and those of the class.

        Example:
            >>> ConvCNP.residual().num_parameters
            45300
        """
        unet = UNet(
            dim_x, channels, down, up, blocks=blocks, activation=activation, padding=padding
        )
        cnn = behind_filters(unet, filters=settings.pop("filters", 0))
        return cls(cnn, dim_y, **settings)

    def raw(
        self, task: Task, anchor: Float[Tensor, "B Dx"] | None = None
    ) -> Float[Tensor, "B M P"]:
        """Return what is decoded at every target.

        Args:
            anchor: A point of the grid, in place of the smallest context input. A part of a task
                keeps the whole task's grid by it.
        """
        return self.on_grid(task, self.covering_grid(task, anchor))

    def on_grid(self, task: Task, grid: Grid) -> Float[Tensor, "B M P"]:
        """Return what is decoded at every target, using this grid."""
        h = self.encoded(task, grid)  # (B, *G, C)
        nothing = h.new_zeros(h.shape[-1])  # what the encoder's channels are far from data
        first = {} if grid.lead is None else {"first": -grid.lead}
        # Projecting to the output channels before the kernel product, as Algorithm 1 does, decodes
        # 2 Dy channels instead of all that the network has.
        maps = {"before": self.embedding, "after": self.head}
        field = self.cnn(Field(h, nothing), **maps, lengths=grid.lengths, **first)
        field = field.map(self.to_predictive.on_grid)
        return self.decoder(field, task.x_target, grid)  # (B, M, P)

    def encoded(self, task: Task, grid: Grid) -> Float[Tensor, "B *G C"]:
        """Return the context as a function on the grid."""
        y = task.y_context.to(self.embedding.weight.dtype)
        return self.encoder(task.x_context, y, task.context_mask, grid)

    def covering_grid(self, task: Task, anchor: Float[Tensor, "B Dx"] | None = None) -> Grid:
        """Return the grid on which this task is predicted."""
        return covering_grid(
            task, self.spacing, self.grid_margin, multiple=self.cnn.multiple, anchor=anchor
        )

    @property
    def grid_margin(self) -> Margin:
        """How far the grid continues beyond the data."""
        return replace(self._exact, fixed=self.training_margin if self.training else self.margin)

    @property
    def _exact(self) -> Margin:
        """How far a grid must continue for its end to be unnoticeable."""
        return Margin(
            encoder_reach=self.encoder.reach,
            decoder_reach=self.decoder.reach,
            radius=self.cnn.receptive_radius * self.spacing,
            padding=self.cnn.padding,
            is_continued=self.cnn.takes_tight_grids,
        )

    @property
    def receptive_radius(self) -> float:
        """How far away an observation can matter, in input units."""
        reach = self.encoder.reach + self.decoder.reach
        return reach + (self.cnn.receptive_radius + 1) * self.spacing

    def cells(self, task: Task) -> Float[Tensor, " B"]:
        """Return how many cells of a grid each task needs by itself."""
        _, lengths = extent(task, self.spacing, self.grid_margin, multiple=self.cnn.multiple)
        return lengths.prod(1)

    def tiles(self, task: Task, cells_per_tile: int) -> Iterator[Tile]:
        """Predict a task tile by tile, each from the observations that can matter to it.

        A prediction depends on what lies within the receptive radius and on the phase of the grid,
        and on nothing else. So a tile is the ordinary prediction for a part of the targets, on an
        exact margin and a grid anchored where the whole task's grid would be.
        """
        halo = self.receptive_radius
        # Beyond the targets of a tile its grid has to cover what the context up to the halo needs,
        # and is rounded up to a multiple of cells at either end.
        beyond = self._exact.end(np.array([halo]), np.array([0.0])).item()
        overlap = beyond + self.cnn.multiple * self.spacing
        width = int(cells_per_tile ** (1 / self.dim_x)) * self.spacing - 2 * overlap
        anchors = ranges(task)[0][0]
        for i in range(task.batch_size):
            one, anchor = task[i : i + 1], anchors[i : i + 1]
            for targets, part in parts_of(one, anchor[0], max(width, halo / 2), halo):
                grid = covering_grid(
                    part, self.spacing, self._exact, multiple=self.cnn.multiple, anchor=anchor
                )
                yield Tile(i, targets, self.on_grid(part, grid)[0])


def behind_filters(cnn: CNN, *, filters: int = 0) -> CNN:
    """Put layers of `LongFilters` before a network, if there are to be some."""
    return LongFilters(cnn, filters) if filters else cnn
