"""Convolutional networks from a field on a grid to a field on the same grid."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import TypeVar

from jaxtyping import Float
from torch import Tensor, nn

from convcnp.core import tape
from convcnp.core.convolution import (
    AnyField,
    Convolution,
    Image,
    LayerOptions,
    Pointwise,
    ResidualBlocks,
)
from convcnp.core.grid import Field, Padding, Rim
from convcnp.core.line import Activation, Line
from convcnp.core.separable import SeparableBlock
from convcnp.errors import SettingError, check_not_negative

AnyLine = TypeVar("AnyLine", Line, tape.TapedLine)


class CNN(nn.Module, ABC):
    """A network between fields; subclasses define `layers_forward`."""

    channels_in: int
    channels_out: int
    multiple: int  # the grid's length must be a multiple of this many cells
    receptive_radius: int  # cells on either side that an output depends on, at most
    takes_tight_grids: bool = False  # whether `layers_forward` has the option `first`
    beside: int | None = None  # cells to add at either end on a tape, for those that `along` is of

    def __init__(self, dim: int, padding: Padding) -> None:
        super().__init__()
        self.dim, self.padding = dim, padding

    @property
    def goes_along_lines(self) -> bool:
        """Whether cells lie in lines, beyond which a constant continues them."""
        return self.dim == 1 and self.padding == "unobserved"

    def forward(
        self,
        field: Field,
        *,
        before: Pointwise | None = None,
        after: Pointwise | None = None,
        lengths: tuple[int, ...] | None = None,
        **options: int,
    ) -> Field:
        """Map a field to a field on the same grid; options are those of `layers_forward`.

        Args:
            before: Maps the channels of every cell to those that the network reads.
            after: Maps those that it leaves.
            lengths: Cells that each task needs. In training along a line no others are computed.
        """
        if self.training and self.beside is not None and Line.takes(field) and tape.takes(field):

            def network(line: tape.TapedLine) -> tape.TapedLine:
                line = line if before is None else before.along(line)
                line = self.along(line, **options)
                return line if after is None else after.along(line)

            modules = [module for module in (before, self, after) if module is not None]
            parameters = chain.from_iterable(module.parameters() for module in modules)
            return tape.applied(network, field, parameters, self.beside, lengths)
        field = field if before is None else field.map(before)
        field = self.between(field, **options)
        return field if after is None else field.map(after)

    def between(self, field: Field, **options: int) -> Field:
        """Do the same off the tape, without a map before or after."""
        image = field.values if self.dim == 2 else field.values[:, None]
        h, beyond = self.layers_forward(image.movedim(-1, 1), field.beyond, **options)
        image = h.movedim(1, -1)
        return Field(image if self.dim == 2 else image[:, 0], beyond)

    @abstractmethod
    def layers_forward(
        self, h: Float[Tensor, "B C H W"], beyond: Float[Tensor, " C"]
    ) -> tuple[Float[Tensor, "B D H W"], Float[Tensor, " D"]]:
        """Apply the layers to channel-first values and to the constant beyond the grid."""

    def along(self, line: AnyLine, *, first: int | None = None) -> AnyLine:
        """Apply the layers along a line, for a network that can; `first` is that of the layers."""
        raise SettingError(f"A {type(self).__name__} does not go along lines; call it on fields.")


class SimpleCNN(CNN):
    """Convolutions of stride one with ReLU after each (Appendix C.1, "ConvCNP").

    Args:
        channels: Channels of the input and of every layer's output.

    Example:
        >>> import torch
        >>> cnn = SimpleCNN(channels=(8, 16, 8))
        >>> nothing = Field(torch.zeros(1, 100, 8), beyond=torch.zeros(8))
        >>> cnn(nothing).values.shape, cnn.receptive_radius
        (torch.Size([1, 100, 8]), 4)
    """

    # Paper: the text lists [16, 32, 16, 2] channels, which cannot give its 6,537 parameters; 8
    # channels and a pointwise map to the outputs do. That map is linear, so the last layer has a
    # ReLU as well.
    def __init__(
        self,
        dim: int = 1,
        channels: Sequence[int] = (8, 16, 32, 16, 8),
        *,
        kernel_size: int = 5,
        padding: Padding = "unobserved",
    ) -> None:
        super().__init__(dim, padding)
        if len(channels) < 2:
            raise SettingError(
                "channels must list those of the input and of at least one layer, got "
                f"{tuple(channels)}; (8, 16, 32, 16, 8) are the paper's."
            )
        self.channels_in, self.channels_out = channels[0], channels[-1]
        self.multiple = 1
        self.takes_tight_grids = self.goes_along_lines
        self.receptive_radius = kernel_size // 2 * (len(channels) - 1)
        # Half of what the layers see: from farther away nothing comes back to the grid.
        self.beside = self.receptive_radius // 2 if self.goes_along_lines else None
        self.layers = nn.ModuleList(
            Convolution(
                dim, fan_in, fan_out, kernel_size=kernel_size, padding=padding, activation="relu"
            )
            for fan_in, fan_out in pairwise(channels)
        )

    def layers_forward(
        self, h: Float[Tensor, "B C H W"], beyond: Float[Tensor, " C"], *, first: int | None = None
    ) -> tuple[Float[Tensor, "B D H W"], Float[Tensor, " D"]]:
        """Apply the layers one after the other.

        Args:
            first: Where the grid begins does not matter: cells of all layers are equally wide.
        """
        image = Image(h, beyond)
        return self._wider(image) if self.goes_along_lines else self.along(image)

    def along(self, field: AnyField, *, first: int | None = None) -> AnyField:
        """Do the same along a line."""
        for layer in self.layers:
            field = layer(field)
        return field

    def _wider(self, image: Image) -> Image:
        """Apply the layers to a line and to what lies beyond it, as far as any of them looks.

        A line has so few cells beyond its ends that it is quicker to convolve these as well than to
        treat the constant apart in every layer. The first of them sees the constant alone.
        """
        radius = self.receptive_radius
        h = image.around(Rim((0, 0), (2 * radius + 1, radius)))
        for layer in self.layers:
            assert isinstance(layer, Convolution)
            h = layer.within(h)
        return Image(h[..., radius + 1 :], h[0, :, 0, 0])


@lru_cache(maxsize=1024)  # of the sizes that are predicted again and again
def _rims_along(first: int, cells: int, spread: int, halvings: int) -> list[tuple[int, int]]:
    """Return the cells to add before and after a line of cells, each time before it is halved."""
    ends = []
    for _ in range(halvings):
        first, cells = first // 2, cells // 2
        before = spread + (first - spread) % 2
        after = spread + (cells + before - spread) % 2
        first, cells = first - before, cells + before + after
        ends.append((2 * before, 2 * after))
    return ends


class UNet(CNN):
    """Halve the resolution layer by layer and double it again, with skips (App. C.1, "ConvCNPXL").

    Layer :math:`L_{n+1-i}` reads the concatenation of its predecessor and :math:`L_i`, and the
    input itself is concatenated to the output.

    Args:
        channels_in: Channels of the input.
        down: Channels of the layers that halve the resolution.
        up: Channels of the layers that double it; as many as `down`.
        blocks: Residual convolutions after each of these layers; the paper has none.
        activation: Follows every convolution; the paper's is `relu`.

    Example:
        >>> cnn = UNet()
        >>> cnn.multiple, cnn.channels_out  # the input is part of the output
        (64, 16)
    """

    # Paper: transposed convolutions double the resolution. They answer a constant with a periodic
    # pattern, so that no constant continues them beyond the grid. Repeating every cell and
    # convolving has the same number of parameters and keeps constants constant.
    def __init__(
        self,
        dim: int = 1,
        channels_in: int = 8,
        down: Sequence[int] = (8, 16, 16, 32, 32, 64),
        up: Sequence[int] = (32, 32, 16, 16, 8, 8),
        *,
        blocks: int = 0,
        kernel_size: int = 5,
        padding: Padding = "unobserved",
        activation: Activation = "relu",
    ) -> None:
        super().__init__(dim, padding)
        if not down or len(down) != len(up):
            raise SettingError(
                f"down and up must have the same number of layers, at least one, got {len(down)} "
                f"and {len(up)}; every halving needs a doubling."
            )
        self.channels_in, self.channels_out = channels_in, channels_in + up[-1]
        self.multiple = 2 ** len(down)
        self.takes_tight_grids = padding == "unobserved"
        self.beside = 0 if self.goes_along_lines else None
        # A layer at stride s looks s * (kernel_size // 2) cells to either side, once down and once
        # up; reading a repeated cell is up to s cells more. Blocks on the way down have stride 2 s.
        reach = kernel_size // 2
        self.receptive_radius = (self.multiple - 1) * (2 * reach + 1 + 3 * blocks * reach)
        self._spread = -(-reach // 2) + blocks * reach  # cells of a halved grid, by its layers
        options = LayerOptions(kernel_size=kernel_size, padding=padding, activation=activation)
        into_down = (channels_in, *down[:-1])
        into_up = (down[-1], *(a + b for a, b in zip(up[:-1], reversed(down[:-1]), strict=True)))
        self.down = nn.ModuleList(
            Convolution(dim, fan_in, fan_out, **options, stride=2)
            for fan_in, fan_out in zip(into_down, down, strict=True)
        )
        self.up = nn.ModuleList(
            Convolution(dim, fan_in, fan_out, **options)
            for fan_in, fan_out in zip(into_up, up, strict=True)
        )
        self.down_blocks, self.up_blocks = (
            nn.ModuleList(ResidualBlocks(blocks, dim, channels, **options) for channels in path)
            for path in (down, up)
        )

    def between(self, field: Field, **options: int) -> Field:
        """Go along a line also where no tape is kept."""
        if not (self.goes_along_lines and Line.takes(field)):
            return super().between(field, **options)
        return self.along(Line.of(field), **options).field()

    def layers_forward(
        self, h: Float[Tensor, "B C H W"], beyond: Float[Tensor, " C"], *, first: int | None = None
    ) -> tuple[Float[Tensor, "B D H W"], Float[Tensor, " D"]]:
        """Go down, then up again past the skips.

        Args:
            first: Where the grid begins, counted in cells from one where layers of every width
                begin a cell. If it is given, the grid ends where what is observed and asked for
                does, and every layer reads as far beyond it as signals go that come back. Those
                that go far do so where cells are wide, and few (decision 31).
        """
        return self._down_and_up(Image(h, beyond), first, h.shape[2:])

    def along(self, line: AnyLine, *, first: int | None = None) -> AnyLine:
        """Do the same along a line."""
        return self._down_and_up(line, first, (1, line.cells))

    def _down_and_up(self, h: AnyField, first: int | None, size: Sequence[int]) -> AnyField:
        skips = []
        rims = [None] * len(self.down) if first is None else self._rims(first, size)
        for layer, blocks, rim in zip(self.down, self.down_blocks, rims, strict=True):
            skips.append(h)
            h = blocks(layer(h, "halved", rim))
        for layer, blocks, rim in zip(self.up, self.up_blocks, reversed(rims), strict=True):
            h = blocks(layer(h, "doubled"))
            h = skips.pop().beside(h if rim is None else h.without(rim))
        return h

    def _rims(self, first: int, size: Sequence[int]) -> list[Rim]:
        """Return what each layer on the way down reads around a grid.

        Its output then has all that it and its blocks spread a signal to, and can be halved again.
        """
        along = [
            _rims_along(first, cells, self._spread, len(self.down))
            for cells in size[2 - self.dim :]
        ]
        nothing = [(0, 0)] * len(self.down)
        rows, columns = along if self.dim == 2 else (nothing, along[0])
        return [Rim(*ends) for ends in zip(rows, columns, strict=True)]


class ResNet(CNN):
    """Residual blocks of separable convolutions, at one resolution (Appendix D.1, for images).

    Args:
        channels: Channels of the input, of every layer and of the output.
        blocks: Residual blocks.
        layers: Separable convolutions in each block.

    Example:
        >>> import torch
        >>> cnn = ResNet(channels=4, blocks=2)
        >>> nothing = Field(torch.zeros(1, 20, 30, 4), beyond=torch.zeros(4))
        >>> cnn(nothing).values.shape, cnn.receptive_radius
        (torch.Size([1, 20, 30, 4]), 4)
    """

    def __init__(
        self,
        dim: int = 2,
        channels: int = 128,
        *,
        blocks: int = 4,
        layers: int = 1,
        kernel_size: int = 5,
        padding: Padding = "unobserved",
    ) -> None:
        super().__init__(dim, padding)
        check_not_negative("blocks", blocks)
        self.channels_in = self.channels_out = channels
        self.multiple = 1
        self.receptive_radius = kernel_size // 2 * blocks * layers
        self.blocks = nn.ModuleList(
            SeparableBlock(layers, dim, channels, kernel_size=kernel_size, padding=padding)
            for _ in range(blocks)
        )

    def layers_forward(
        self, h: Float[Tensor, "B C H W"], beyond: Float[Tensor, " C"]
    ) -> tuple[Float[Tensor, "B D H W"], Float[Tensor, " D"]]:
        """Apply the blocks one after the other."""
        for block in self.blocks:
            h, beyond = block(h, beyond)
        return h, beyond
