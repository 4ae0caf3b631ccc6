"""Set convolutions: from points to a grid, and from a grid to points."""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from convcnp.core.grid import Field, Grid
from convcnp.errors import SettingError, check_positive

# After division by density + EPSILON a data channel fades out only where the kernel is far below
# EPSILON: exp(-9²/2) is 3e-18, while a cut at 6 length scales would change data channels by half.
REACH = 9.0  # length scales
EPSILON = 1e-8
# Above this many kernel weights per task, touching only the cells in reach is quicker.
DENSE_WEIGHTS = 2**17
# The same for the whole batch: more than this and every pass over them goes to main memory.
DENSE_BATCH_WEIGHTS = 2**21
# The cells in reach are visited for this many weights at once, so that memory stays bounded.
LOCAL_WEIGHTS = 2**22


class _SetConv(nn.Module):
    r"""Hold the kernel :math:`\psi(d) = \exp(-|d|^2 / 2\ell^2)` and both ways to evaluate it."""

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

    def _kernel(self, cells: Tensor, spacing: float) -> Tensor:
        """Evaluate the kernel along one dimension at a distance given in cells."""
        decay = -0.5 * (spacing * torch.exp(-self.log_length_scale)) ** 2
        # exp(-60) is nothing here, and arithmetic that underflows is forty times slower.
        return torch.exp_((cells**2).clamp(max=-60 / decay.detach()) * decay)

    def _is_dense(self, x: Tensor, grid: Grid) -> bool:
        weights = x.shape[1] * math.prod(grid.shape)
        most = min(DENSE_WEIGHTS, DENSE_BATCH_WEIGHTS / len(x))
        return weights <= most * 32 ** (len(grid.shape) - 1)

    def _split(
        self, x: Float[Tensor, "B K Dx"], grid: Grid
    ) -> tuple[Float[Tensor, "B K Dx"], Float[Tensor, "B K Dx"]]:
        """Return the cell below each point, in float64, and the fraction of a cell above it.

        Distances are differences of whole cells plus that fraction, so that float32 is as good at
        the end of a long grid as at its beginning.
        """
        position = grid.cells(x)
        below = position.floor()
        return below, (position - below).to(self.log_length_scale.dtype)

    def _dense(self, x: Float[Tensor, "B K Dx"], grid: Grid) -> list[Float[Tensor, "B K L"]]:
        """Return per dimension the weight of each point on all cells: the kernel is a product."""
        below, fraction = self._split(x, grid)
        whole = below.to(fraction.dtype)
        return [
            self._kernel(
                (whole[..., d, None] - torch.arange(cells).to(whole)).add_(fraction[..., d, None]),
                grid.spacing,
            )
            for d, cells in enumerate(grid.shape)
        ]

    def _neighbours(
        self, x: Float[Tensor, "B K Dx"], grid: Grid
    ) -> tuple[Float[Tensor, "B K Dx"], Int[Tensor, " R"], Float[Tensor, "B K Dx R"]]:
        """Return the cell below each point, steps to the cells in reach, and their weights."""
        below, fraction = self._split(x, grid)
        reach = math.ceil(self.reach / grid.spacing)
        steps = torch.arange(1 - reach, reach + 1, device=x.device)
        return below, steps, self._kernel(fraction[..., None] - steps, grid.spacing)

    def _points_at_once(self, x: Float[Tensor, "B K Dx"], grid: Grid) -> int:
        cells = (2 * math.ceil(self.reach / grid.spacing)) ** len(grid.shape)
        return max(1, LOCAL_WEIGHTS // (cells * len(x)))

    def _local(
        self, x: Float[Tensor, "B K Dx"], grid: Grid
    ) -> tuple[Int[Tensor, "B K R"], Float[Tensor, "B K R"]]:
        """Return the cells each point reaches, as indices into the whole batch, and weights."""
        below, steps, weights = self._neighbours(x, grid)
        index = torch.arange(len(x), device=x.device)[:, None, None]  # (B, 1, 1)
        weight = weights.new_ones(1, 1, 1)
        for d, cells in enumerate(grid.shape):
            along = below[..., d, None].clamp(-(2**40), 2**40).long() + steps  # (B, K, R)
            inside = (along >= 0) & (along < cells)
            index = (index[..., None] * cells + along.clamp(0, cells - 1)[:, :, None]).flatten(2)
            weight = (weight[..., None] * (weights[..., d, :] * inside)[:, :, None]).flatten(2)
        return index, weight


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
    ) -> Float[Tensor, "B *G C"]:
        """Return the densities, then the normalised data channels, one block for each power."""
        observed = mask.to(y)
        phi = torch.cat([observed, *(observed * y**k for k in range(1, self.powers + 1))], -1)
        spread = self._spread_dense if self._is_dense(x, grid) else self._spread_local
        density, *data = spread(x, phi, grid).split(y.shape[2], -1)
        return torch.cat([density, *(power / (density + EPSILON) for power in data)], -1)

    def _spread_dense(
        self, x: Float[Tensor, "B N Dx"], phi: Float[Tensor, "B N C"], grid: Grid
    ) -> Float[Tensor, "B *G C"]:
        first, *others = self._dense(x, grid)
        for weight in reversed(others):
            phi = (weight[..., None] * phi[:, :, None]).flatten(2)
        return (first.mT @ phi).unflatten(-1, (*grid.shape[1:], -1))

    def _spread_local(
        self, x: Float[Tensor, "B N Dx"], phi: Float[Tensor, "B N C"], grid: Grid
    ) -> Float[Tensor, "B *G C"]:
        flat = phi.new_zeros(len(x) * math.prod(grid.shape), phi.shape[2])
        points = self._points_at_once(x, grid)
        for x_part, phi_part in zip(x.split(points, 1), phi.split(points, 1), strict=True):
            index, weight = self._local(x_part, grid)
            spread = (weight[..., None] * phi_part[:, :, None]).flatten(0, 2)
            flat = flat.index_add_(0, index.flatten(), spread)
        return flat.view(len(x), *grid.shape, -1)


class SetConvDecoder(_SetConv):
    r"""Evaluate a function on a grid at any input (Algorithm 1, lines 7 and 8).

    .. math:: f(x) = \sum_i f_i \, \psi(x - t_i)

    The sum runs over the infinite grid: cells beyond the stored ones hold the field's constant.
    """

    def forward(
        self, field: Field, x: Float[Tensor, "B M Dx"], grid: Grid
    ) -> Float[Tensor, "B M C"]:
        """Return the function's values at the given inputs."""
        gather = self._gather_dense if self._is_dense(x, grid) else self._gather_local
        # The constant is summed over all cells, stored or not.
        total = self._total_weight(x, grid).prod(-1, keepdim=True)  # (B, M, 1)
        return gather(field.values + (-field.beyond), x, grid) + total * field.beyond

    def _total_weight(self, x: Float[Tensor, "B M Dx"], grid: Grid) -> Float[Tensor, "B M Dx"]:
        r"""Sum the kernel over all cells of an infinite grid, along each dimension.

        By Poisson's formula, with :math:`r = \ell / \text{spacing}` and :math:`u` the fraction of a
        cell, :math:`\sum_i \psi = \sqrt{2\pi} r \big(1 + 2 \sum_k e^{-2 (\pi k r)^2} \cos 2\pi k u
        \big)`: one term is exact to 1e-8 for :math:`r = 1`, eight for :math:`r = 0.13`.
        """
        _, fraction = self._split(x, grid)
        ratio = torch.exp(self.log_length_scale) / grid.spacing
        k = torch.arange(1, 9).to(fraction)
        weights = torch.exp(-2 * (math.pi * k * ratio) ** 2)
        waves = torch.cos(2 * math.pi * k * fraction[..., None]) @ weights
        return math.sqrt(2 * math.pi) * ratio * (1 + 2 * waves)

    def _gather_dense(
        self, values: Float[Tensor, "B *G C"], x: Float[Tensor, "B M Dx"], grid: Grid
    ) -> Float[Tensor, "B M C"]:
        first, *others = self._dense(x, grid)
        values = (first @ values.flatten(2)).unflatten(-1, values.shape[2:])  # (B, M, *G[1:], C)
        for weight in others:
            values = (
                (weight[:, :, None] @ values.flatten(3)).squeeze(2).unflatten(-1, values.shape[3:])
            )
        return values

    def _gather_local(
        self, values: Float[Tensor, "B *G C"], x: Float[Tensor, "B M Dx"], grid: Grid
    ) -> Float[Tensor, "B M C"]:
        flat = values.flatten(0, -2)
        parts = []
        for x_part in x.split(self._points_at_once(x, grid), 1):
            index, weight = self._local(x_part, grid)
            # A weighted sum of rows, without a copy of every row that a point reaches.
            near = embedding_bag(
                index.flatten(0, 1), flat, per_sample_weights=weight.flatten(0, 1), mode="sum"
            )
            parts.append(near.unflatten(0, index.shape[:2]))
        return torch.cat(parts, 1)
