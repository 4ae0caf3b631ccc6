"""Long filters, one for each channel, ahead of a network along a line."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import gelu

from convcnp.core.cnn import CNN
from convcnp.core.convolution import Pointwise
from convcnp.core.grid import Field
from convcnp.errors import SettingError, check_positive

REACH = 64  # cells on either side, unless something else is said


class LongFilter(nn.Module):
    r"""Add to a field what a long filter of every channel finds, mixed.

    .. math:: h_c(t) + \sum_d W_{cd} \operatorname{gelu}\Big(b_d + \sum_{|s| \le R} k_d(s) \,
              h_d(t + s)\Big)

    A filter that reaches to where a rhythm comes round again reads all that has the same phase, at
    the full resolution, in one layer.

    Args:
        channels: Channels of the field.
        reach: Cells on either side that a filter reads.
    """

    def __init__(self, channels: int, reach: int) -> None:
        super().__init__()
        check_positive("reach", reach)
        bound = (2 * reach + 1) ** -0.5
        self.kernels = nn.Parameter(torch.empty(channels, 2 * reach + 1).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(channels).uniform_(-bound, bound))
        self.mixing = Pointwise(channels, channels)

    def forward(self, field: Field) -> Field:
        """Return the field with what was found added."""
        far = self.kernels.sum(1) * field.beyond + self.bias  # what is found far from data
        signal = (field.values - field.beyond).mT  # (B, C, N)
        found = Field(correlated(signal, self.kernels).mT + far, far)
        change = found.map(gelu).map(self.mixing)
        return Field(field.values + change.values, field.beyond + change.beyond)


def correlated(
    lines: Float[Tensor, "B C N"], kernels: Float[Tensor, "C K"]
) -> Float[Tensor, "B C N"]:
    """Return every channel's correlation with its kernel, as if zeros lay beyond the line.

    It is a product of Fourier transforms, which round by what is largest anywhere on the line. In
    double precision that is nothing, and a far observation moves nothing that it should not.

    Example:
        >>> line = torch.tensor([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
        >>> found = correlated(line[None, None], torch.tensor([[1.0, 2.0, 3.0]]))
        >>> [round(value) for value in found.flatten().tolist()]
        [0, 3, 2, 1, 0, 0]
    """
    cells, reach = lines.shape[-1], kernels.shape[-1] // 2
    size = _transformed_cells(cells + 2 * reach)  # so that nothing wraps around into the line
    kernel = torch.fft.rfft(kernels.double().flip(-1), size)
    found = torch.fft.irfft(torch.fft.rfft(lines.double(), size) * kernel, size)
    return found[..., reach : reach + cells].to(kernels.dtype)


def _transformed_cells(cells: int) -> int:
    """Return a number of at least so many cells without large factors: transforms are quick."""
    return min(odd << (-(-cells // odd) - 1).bit_length() for odd in (1, 3, 5, 9, 15))


class LongFilters(CNN):
    """A network behind layers of long filters, along a line.

    Args:
        behind: Reads what the filters leave.
        filters: Layers of filters.
        reach: Cells on either side that a filter reads.

    Example:
        >>> from convcnp.core.cnn import UNet
        >>> cnn = LongFilters(UNet(), filters=2)
        >>> nothing = Field(torch.zeros(1, 128, 8), beyond=torch.zeros(8))
        >>> cnn(nothing).values.shape, cnn.receptive_radius - cnn.behind.receptive_radius
        (torch.Size([1, 128, 16]), 128)
    """

    def __init__(self, behind: CNN, filters: int = 2, reach: int = REACH) -> None:
        super().__init__(behind.dim, behind.padding)
        check_positive("filters", filters)
        if (behind.dim, behind.padding) != (1, "unobserved"):
            raise SettingError(
                "Long filters need one input dimension and the padding 'unobserved', got "
                f"{behind.dim} and {behind.padding!r}; leave the filters out."
            )
        self.channels_in, self.channels_out = behind.channels_in, behind.channels_out
        self.multiple = behind.multiple
        self.takes_tight_grids = behind.takes_tight_grids
        self.receptive_radius = filters * reach + behind.receptive_radius
        self.layers = nn.ModuleList(LongFilter(behind.channels_in, reach) for _ in range(filters))
        self.behind = behind
        self._spread = 2 * -(-filters * reach // 2)  # cells: a U-Net halves what they are added to

    def layers_forward(
        self, h: Float[Tensor, "B C H W"], beyond: Float[Tensor, " C"], *, first: int | None = None
    ) -> tuple[Float[Tensor, "B D H W"], Float[Tensor, " D"]]:
        """Apply the filters, and then the network behind them.

        Args:
            first: Where the grid begins, as in `UNet`. If it is given, the grid ends where what is
                observed and asked for does, and filters write beyond it; so it is made as much
                longer meanwhile.
        """
        field = Field(h[:, :, 0].mT, beyond)  # (B, N, C)
        if first is None:
            field = self.behind(self._found(field))
        else:
            ends = beyond.to(h.dtype).expand(len(h), self._spread, -1)
            field = Field(torch.cat([ends, field.values, ends], 1), beyond)
            field = self.behind(self._found(field), first=first - self._spread)
            field = Field(field.values[:, self._spread : -self._spread], field.beyond)
        return field.values.mT[:, :, None], field.beyond

    def _found(self, field: Field) -> Field:
        for layer in self.layers:
            field = layer(field)
        return field
