"""Long filters, one for each channel, ahead of a network along a line."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import gelu, pad

from convcnp.core.cnn import CNN
from convcnp.core.grid import Field
from convcnp.errors import SettingError, check_positive

_EVEN = 32  # cells: lines are transformed in multiples of so many, which have small factors


class LongFilter(nn.Module):
    """Add to a field what a long filter of every channel finds, mixed.

    A filter that reaches to where a rhythm comes round again reads all that has the same phase, at
    the full resolution, in one layer.

    Args:
        channels: Channels of the field.
        reach: Cells on either side that a filter reads.
    """

    def __init__(self, channels: int, reach: int) -> None:
        super().__init__()
        check_positive("reach", reach)
        self.reach = reach
        cells = 2 * reach + 1
        self.filters = nn.Parameter(torch.empty(channels, cells).uniform_(-1, 1) / cells**0.5)
        self.threshold = nn.Parameter(torch.empty(channels).uniform_(-1, 1) / cells**0.5)
        self.mixing = nn.Linear(channels, channels)

    def forward(self, field: Field) -> Field:
        """Return the field with what was found added."""
        far = self.filters.sum(1) * field.beyond + self.threshold  # what is found far from data
        signal = (field.values - field.beyond).to(self.filters.dtype)
        found = Field(filtered(signal.mT, self.filters).mT + far, far)
        change = found.map(gelu).map(self.mixing)
        return Field(field.values + change.values, field.beyond + change.beyond)


def filtered(
    lines: Float[Tensor, "B C N"], kernels: Float[Tensor, "C K"]
) -> Float[Tensor, "B C N"]:
    """Return the correlation of every channel with its kernel, zeros lying beyond the line.

    By Fourier transforms: eleven times as fast as sums over 129 cells, gradients included.

    Example:
        >>> line = torch.tensor([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
        >>> filtered(line[None, None], torch.tensor([[1.0, 2.0, 3.0]])).round().tolist()
        [[[0.0, 3.0, 2.0, 1.0, 0.0, 0.0]]]
    """
    cells, reach = lines.shape[-1], kernels.shape[-1] // 2
    # What wraps around the end of a transform must not reach a cell of the line again.
    size = -(-(cells + 2 * reach) // _EVEN) * _EVEN
    ahead = pad(kernels.flip(-1), (0, size - kernels.shape[-1]))
    product = torch.fft.rfft(lines, size) * torch.fft.rfft(ahead)
    return torch.fft.irfft(product, size)[..., reach : reach + cells]


class Filtered(CNN):
    """A network behind long filters, along a line.

    Args:
        cnn: Reads what the filters leave.
        layers: Layers of filters.
        reach: Cells on either side that a filter reads.

    Example:
        >>> from convcnp.core.cnn import UNet
        >>> cnn = Filtered(UNet(), layers=2, reach=64)
        >>> nothing = Field(torch.zeros(1, 128, 8), beyond=torch.zeros(8))
        >>> cnn(nothing).values.shape, cnn.receptive_radius - cnn.behind.receptive_radius
        (torch.Size([1, 128, 16]), 128)
    """

    def __init__(self, cnn: CNN, layers: int = 2, reach: int = 64) -> None:
        super().__init__(cnn.dim, cnn.padding)
        check_positive("layers", layers)
        if (cnn.dim, cnn.padding) != (1, "unobserved"):
            raise SettingError(
                "Long filters need one input dimension and the padding 'unobserved', got "
                f"{cnn.dim} and {cnn.padding!r}; leave the filters out."
            )
        self.channels_in, self.channels_out = cnn.channels_in, cnn.channels_out
        self.multiple = cnn.multiple
        self.takes_tight_grids = cnn.takes_tight_grids
        self.receptive_radius = layers * reach + cnn.receptive_radius
        self.filters = nn.ModuleList(LongFilter(cnn.channels_in, reach) for _ in range(layers))
        self.behind = cnn
        self._spread = 2 * -(-layers * reach // 2)  # cells, an even number that can be halved

    def layers_forward(
        self, h: Float[Tensor, "B C H W"], beyond: Float[Tensor, " C"], *, first: int | None = None
    ) -> tuple[Float[Tensor, "B D H W"], Float[Tensor, " D"]]:
        """Apply the filters, and then the network behind them.

        Args:
            first: Where the grid begins, as in `UNet`. If it is given, the grid ends where data do,
                and filters write beyond it; so it is made as much longer meanwhile.
        """
        field = Field(h[:, :, 0].mT, beyond)
        if first is None:
            field = self.behind(self._filtered(field))
        else:
            ends = beyond.expand(len(h), self._spread, -1)
            field = Field(torch.cat([ends, field.values, ends], 1), beyond)
            field = self.behind(self._filtered(field), first=first - self._spread)
            field = Field(field.values[:, self._spread : -self._spread], field.beyond)
        return field.values.mT[:, :, None], field.beyond

    def _filtered(self, field: Field) -> Field:
        for layer in self.filters:
            field = layer(field)
        return field
