"""Set convolutions: from points to a grid, and from a grid to points."""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from convcnp.core import compiled
from convcnp.core.grid import Field, Grid
from convcnp.core.window import EPSILON, Window, gather, spread
from convcnp.errors import SettingError, check_positive

# After division by density + EPSILON a data channel fades out only where the kernel is far below
# EPSILON: exp(-9²/2) is 3e-18, while a cut at 6 length scales would change data channels by half.
REACH = 9.0  # length scales
# In a plane the kernel is a product, and products of matrices over whole rows and columns are the
# quicker way on grids of up to so many times the cells in reach of a point ...
PRODUCT_CELLS = 16
# ... as long as they have no more weights than this for the rows or the columns.
PRODUCT_WEIGHTS = 2**22


class _SetConv(nn.Module):
    r"""Hold the kernel :math:`\psi(d) = \exp(-|d|^2 / 2\ell^2)` and what is near a point."""

    def __init__(self, length_scale: float) -> None:
        super().__init__()
        check_positive("length_scale", length_scale)
        self.log_length_scale = nn.Parameter(torch.tensor(math.log(length_scale)))

    @property
    def length_scale(self) -> float:
        """The kernel's length scale in input units."""
        return math.exp(self.log_length_scale.item())

    @property
    def reach(self) -> float:
        """How far the kernel is felt, in input units."""
        return REACH * self.length_scale

    def _window(
        self, x: Float[Tensor, "B K Dx"], grid: Grid
    ) -> tuple[Window, Int[Tensor, "B K Dx"], Float[Tensor, "B K Dx"]]:
        """Return the window of points, where each begins, and how far they are above a cell."""
        window = Window(grid.shape, grid.spacing, self._reach_in(grid))
        return window, *window.split(grid.cells(x), self.log_length_scale.dtype)

    def _reach_in(self, grid: Grid) -> int:
        """Return how far the kernel is felt, in cells."""
        return math.ceil(self.reach / grid.spacing)

    def _is_looped(self, x: Float[Tensor, "B K Dx"]) -> bool:
        return self.training and compiled.takes(x, self.log_length_scale)

    def _is_product(self, x: Float[Tensor, "B K Dx"], grid: Grid) -> bool:
        dims = len(grid.shape)
        in_reach = (2 * self._reach_in(grid)) ** dims
        return (
            dims > 1
            and math.prod(grid.shape) <= PRODUCT_CELLS * in_reach
            and x.shape[0] * x.shape[1] * max(grid.shape) <= PRODUCT_WEIGHTS
        )

    def _kernel(self, cells: Tensor, spacing: float) -> Tensor:
        """Evaluate the kernel along one dimension at a distance given in cells."""
        decay = -0.5 * (spacing * torch.exp(-self.log_length_scale)) ** 2
        # exp(-60) is nothing here, and arithmetic that underflows is forty times slower.
        return torch.exp_((cells**2).clamp(max=-60 / decay.detach()) * decay)

    def _along(self, x: Float[Tensor, "B K Dx"], grid: Grid) -> list[Float[Tensor, "B K L"]]:
        """Return per dimension the weight of each point on all rows or columns."""
        position = grid.cells(x)
        below = position.floor()
        whole, fraction = (
            part.to(self.log_length_scale.dtype) for part in (below, position - below)
        )
        return [
            self._kernel(
                (whole[..., d, None] - torch.arange(cells).to(whole)).add_(fraction[..., d, None]),
                grid.spacing,
            )
            for d, cells in enumerate(grid.shape)
        ]


class SetConvEncoder(_SetConv):
    r"""Embed a set of observations as a function on a grid (Algorithm 1, lines 4 and 5).

    .. math:: h(t) = \Big(\rho(t),\ \frac{\sum_n y_n \psi(t - x_n)}{\rho(t) + 10^{-8}}\Big),
              \qquad \rho(t) = \sum_n \psi(t - x_n)

    The density channel :math:`\rho` says *where* data were seen; dividing by it keeps the data
    channels from growing with the number of points. Every output channel has its own density,
    because every channel is observed at its own inputs.

    Args:
        length_scale: Initial length scale of the kernel, in input units.
        powers: Highest power of :math:`y` that is embedded. Up to K observations at one input need
            :math:`\phi(y) = (1, y, \dots, y^K)` (Theorem 1).
    """

    def __init__(self, length_scale: float, powers: int = 1) -> None:
        super().__init__(length_scale)
        if powers < 1:
            raise SettingError(
                f"powers must be at least 1, got {powers}; 1 embeds the values only."
            )
        self.powers = powers

    def forward(
        self,
        x: Float[Tensor, "B N Dx"],
        y: Float[Tensor, "B N Dy"],
        mask: Bool[Tensor, "B N Dy"],
        grid: Grid,
        *,
        weight: Float[Tensor, "B N Dy"] | None = None,
        beside: Float[Tensor, "B N Dy"] | None = None,
    ) -> Float[Tensor, "B *G C"]:
        """Return the densities, then the normalised data channels, one block for each power.

        Args:
            weight: How much every observation counts, in place of one where the mask is true.
            beside: Further numbers of every observation, averaged like outputs in a last block.
        """
        observed = mask.to(y) if weight is None else weight.to(y)
        features = [y, *(y**k for k in range(2, self.powers + 1))]
        features += [] if beside is None else [beside.to(y)]
        phi = torch.cat([observed, *(observed * feature for feature in features)], -1)
        embedded = self._in_product if self._is_product(x, grid) else self._in_windows
        return embedded(x, phi, grid, y.shape[2])

    def _in_windows(
        self, x: Float[Tensor, "B N Dx"], phi: Float[Tensor, "B N C"], grid: Grid, densities: int
    ) -> Float[Tensor, "B *G C"]:
        if self._is_looped(x):
            reach = self._reach_in(grid)
            return compiled.spread(self.log_length_scale, x, phi, grid, reach, densities=densities)
        window, start, fraction = self._window(x, grid)
        return spread(self.log_length_scale, fraction, phi, start, window, densities=densities)

    def _in_product(
        self, x: Float[Tensor, "B N Dx"], phi: Float[Tensor, "B N C"], grid: Grid, densities: int
    ) -> Float[Tensor, "B *G C"]:
        first, *others = self._along(x, grid)
        for weight in reversed(others):
            phi = (weight[..., None] * phi[:, :, None]).flatten(2)
        sums = (first.mT @ phi).unflatten(-1, (*grid.shape[1:], -1))
        density, *data = sums.split(densities, -1)
        return torch.cat([density, *(power / (density + EPSILON) for power in data)], -1)


class SetConvDecoder(_SetConv):
    r"""Evaluate a function on a grid at any input (Algorithm 1, lines 7 and 8).

    .. math:: f(x) = \sum_i f_i \, \psi(x - t_i)

    The sum runs over the infinite grid: cells beyond the stored ones hold the field's constant.
    """

    def forward(
        self, field: Field, x: Float[Tensor, "B M Dx"], grid: Grid
    ) -> Float[Tensor, "B M C"]:
        """Return the function's values at the given inputs."""
        dtype = self.log_length_scale.dtype
        field = Field(field.values.to(dtype), field.beyond.to(dtype))
        if self._is_looped(x):
            return compiled.gather(self.log_length_scale, x, field, grid, self._reach_in(grid))
        is_product = self._is_product(x, grid) or self._learns_by_product(field, x, grid)
        return (self._in_product if is_product else self._in_windows)(field, x, grid)

    def _learns_by_product(self, field: Field, x: Float[Tensor, "B M Dx"], grid: Grid) -> bool:
        """Tell whether a gradient on a line is found quicker by a product over all of its cells.

        Windows hold every channel of every cell in reach, the product one weight of every cell.
        """
        (cells, *others), channels = grid.shape, field.values.shape[-1]
        return (
            torch.is_grad_enabled()
            and not others
            and cells <= channels * self._reach_in(grid)
            and x.shape[0] * x.shape[1] * cells <= PRODUCT_WEIGHTS
        )

    def _in_windows(
        self, field: Field, x: Float[Tensor, "B M Dx"], grid: Grid
    ) -> Float[Tensor, "B M C"]:
        window, start, fraction = self._window(x, grid)
        return gather(self.log_length_scale, fraction, *field, start, window)

    def _in_product(
        self, field: Field, x: Float[Tensor, "B M Dx"], grid: Grid
    ) -> Float[Tensor, "B M C"]:
        first, *others = self._along(x, grid)
        values = field.values + (-field.beyond)
        values = (first @ values.flatten(2)).unflatten(-1, values.shape[2:])  # (B, M, *G[1:], C)
        for weight in others:
            values = (
                (weight[:, :, None] @ values.flatten(3)).squeeze(2).unflatten(-1, values.shape[3:])
            )
        # The constant is summed over all cells in reach, stored or not.
        window, _, fraction = self._window(x, grid)
        steps = torch.arange(1 - window.reach, window.reach + 1, device=x.device)
        total = self._kernel(fraction[..., None] - steps, grid.spacing).sum(-1)  # (B, M, Dx)
        return values + total.prod(-1, keepdim=True) * field.beyond
