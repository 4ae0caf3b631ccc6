"""Sums over the cells in reach of points, and over points on cells, with their gradients."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import embedding_bag

EPSILON = 1e-8  # added to densities before they divide
# The cells in reach are visited for this many weights at once, so that memory stays bounded.
WEIGHTS_AT_ONCE = 2**22
# Observations of a channel are visited one by one where they are less than this share of all that
# there could be; else all points in all channels are, without looking for them.
SPARSE = 0.5


@dataclass(frozen=True)
class Window:
    """The cells that points reach: as many around each point, on a grid that continues as far.

    Every window lies in the continued grid; that of a distant point, in what was added.
    """

    shape: tuple[int, ...]  # cells of the grid
    spacing: float
    reach: int  # cells, on either side of a point

    @property
    def padded(self) -> tuple[int, ...]:
        """Cells of the continued grid."""
        return tuple(cells + 4 * self.reach for cells in self.shape)

    def grid(self, flat: Float[Tensor, "C B L"]) -> Float[Tensor, "C B *G"]:
        """Return the part of a flattened continued grid that is the grid, as a view."""
        inside = (slice(2 * self.reach, 2 * self.reach + cells) for cells in self.shape)
        return flat.unflatten(2, self.padded)[:, :, *inside]

    def split(
        self, cells: Float[Tensor, "B K Dx"], dtype: torch.dtype
    ) -> tuple[Int[Tensor, "B K Dx"], Float[Tensor, "B K Dx"]]:
        """Return where each window begins, and the fraction of a cell that its point lies above.

        Distances are differences of whole cells plus that fraction, so that float32 is as good at
        the end of a long grid as at its beginning.
        """
        below = cells.detach().floor()
        fraction = (cells - below).to(dtype)
        start = (below + (1 + self.reach)).long()
        for d, length in enumerate(self.shape):
            start[..., d].clamp_(0, length + 2 * self.reach)
        return start, fraction

    def parts(
        self, start: Int[Tensor, "B K Dx"], fraction: Float[Tensor, "B K Dx"], scale: float
    ) -> Iterator[tuple[slice, Part]]:
        """Yield the cells in reach of some points at a time, and their weights."""
        cells = (2 * self.reach) ** len(self.shape)
        points = max(1, WEIGHTS_AT_ONCE // (cells * max(1, len(start))))
        for first in range(0, max(1, start.shape[1]), points):
            some = slice(first, first + points)
            yield some, self._part(start[:, some], fraction[:, some], scale)

    def _part(
        self, start: Int[Tensor, "B K Dx"], fraction: Float[Tensor, "B K Dx"], scale: float
    ) -> Part:
        steps, offsets = _steps(self.reach, fraction.dtype, start.device)
        away = fraction[..., None] - offsets  # (B, K, Dx, R), in cells
        index, *further = (start[..., d, None] + steps for d in range(len(self.shape)))
        for cells, along in zip(self.padded[1:], further, strict=True):
            index = (index[..., None] * cells + along[:, :, None]).flatten(2)
        # exp(-60) is nothing here, and arithmetic that underflows is forty times slower.
        weight, *others = (away * scale).square_().mul_(-0.5).clamp_(min=-60).exp_().unbind(2)
        for other in others:
            weight = (weight[..., None] * other[:, :, None]).flatten(2)
        return Part(index, weight, away)


@lru_cache(maxsize=16)
def _steps(
    reach: int, dtype: torch.dtype, device: torch.device
) -> tuple[Int[Tensor, " R"], Float[Tensor, " R"]]:
    """Return the cells of a window, counted from its first, and from the cell below its point."""
    steps = torch.arange(2 * reach, device=device)
    return steps, (steps + (1 - reach)).to(dtype)


@dataclass(frozen=True)
class Part:
    """Some points: the cells that each reaches, its weight there, and how far away they are."""

    index: Int[Tensor, "B K W"]  # into the continued grid, flattened
    weight: Float[Tensor, "B K W"]
    away: Float[Tensor, "B K Dx R"]  # along each dimension, in cells

    def spread(self, onto: Float[Tensor, "C B L"], amounts: Float[Tensor, "B K C"]) -> None:
        """Add an amount times the weight to every cell in reach of its point."""
        # Amounts in this order let the product lie in memory as it is read.
        spread = self.weight * amounts.permute(2, 0, 1).contiguous()[..., None]  # (C, B, K, W)
        onto.scatter_add_(2, self.index.flatten(1).expand(len(onto), -1, -1), spread.flatten(2))

    def gather(self, values: Float[Tensor, "C B L"]) -> Float[Tensor, "C B K W"]:
        """Return the values of the cells in reach of every point."""
        index = self.index.flatten(1).expand(len(values), -1, -1)
        return values.gather(2, index).unflatten(2, self.index.shape[1:])

    def gradients(
        self,
        near: Float[Tensor, "C B K W"],
        amounts: Float[Tensor, "B K C"],
        scale: float,
        *,
        of_positions: bool,
    ) -> tuple[Tensor, Float[Tensor, "B K Dx"] | None]:
        """Return those of the logarithm of the length scale and of the points' positions in cells.

        What is differentiated is the sum of values, weights and amounts. Positions are data, and
        have a gradient only where it is asked for.
        """
        product = (near * amounts.permute(2, 0, 1)[..., None]).sum(0).mul_(self.weight)
        dims, cells = self.away.shape[2:]
        along = product[:, :, None]  # (B, K, Dx, R)
        if dims == 2:
            both = product.unflatten(2, (cells, cells))
            along = torch.stack([both.sum(3), both.sum(2)], 2)
        slope = along * self.away
        of_scale = (slope * self.away).sum() * scale**2
        return of_scale, -(scale**2) * slope.sum(-1) if of_positions else None


def spread(
    log_length_scale: Float[Tensor, ""],
    fraction: Float[Tensor, "B N Dx"],
    amounts: Float[Tensor, "B N C"],
    start: Int[Tensor, "B N Dx"],
    window: Window,
    *,
    densities: int,
) -> Float[Tensor, "B *G C"]:
    """Sum amounts over points on every cell; the first channels are densities of the others.

    The inputs are data, and mostly the amounts are. What is learned is one number, whose gradient
    is one sum over the weights. Amounts and fractions have a gradient where they need one, so that
    observations may be weighed by a factor on their amounts. Where most amounts are nothing, as of
    observations of one channel out of six, only the others are visited, and have a gradient.
    """
    lines = (amounts.shape[2], len(amounts))
    if densities > 1:  # a point has something in the one channel that there is
        is_something = (amounts.detach().unflatten(2, (-1, densities)) != 0).any(2)  # (B, N, Dy)
        if is_something.sum() < SPARSE * is_something.numel():
            task, point, channel = is_something.nonzero(as_tuple=True)
            # Channels, and tasks in them, are lines of cells one after the other: of one long line.
            line = (channel * len(amounts) + task)[:, None] * window.padded[0]
            start = torch.cat([start[task, point, :1] + line, start[task, point, 1:]], 1)[None]
            fraction = fraction[task, point][None]
            amounts = amounts.unflatten(2, (-1, densities))[task, point, :, channel][None]
    arguments = (log_length_scale, fraction, amounts, start, window, densities, lines)
    return _Spread.apply(*arguments)  # type: ignore[no-untyped-call]


def gather(
    log_length_scale: Float[Tensor, ""],
    fraction: Float[Tensor, "B M Dx"],
    values: Float[Tensor, "B *G C"],
    beyond: Float[Tensor, " C"],
    start: Int[Tensor, "B M Dx"],
    window: Window,
) -> Float[Tensor, "B M C"]:
    """Sum a field around points; `beyond` is what it holds where the grid has ended."""
    arguments = (log_length_scale, fraction, values, beyond, start, window)
    if not torch.is_grad_enabled():
        return _summed(*arguments)
    return _Gather.apply(*arguments)  # type: ignore[no-untyped-call]


def _summed(
    log_length_scale: Float[Tensor, ""],
    fraction: Float[Tensor, "B M Dx"],
    values: Float[Tensor, "B *G C"],
    beyond: Float[Tensor, " C"],
    start: Int[Tensor, "B M Dx"],
    window: Window,
) -> Float[Tensor, "B M C"]:
    """Sum as `gather` does, without a gradient: what is near is not held, and cells lie together.

    With many channels it is some ten times as quick.
    """
    batch, cells = len(values), math.prod(window.padded)
    scale = window.spacing * math.exp(-log_length_scale.item())
    flat = beyond.repeat(batch, cells, 1)  # (B, L, C)
    window.grid(flat.movedim(-1, 0)).copy_(values.movedim(-1, 0))
    # Grids lie one after the other, as one that is so many times as long.
    before = window.padded[0] * torch.arange(batch, device=start.device)[:, None, None]
    start = torch.cat([start[..., :1] + before, start[..., 1:]], -1)
    found = [
        embedding_bag(
            part.index.flatten(0, 1),
            flat.flatten(0, 1),
            per_sample_weights=part.weight.flatten(0, 1),
            mode="sum",
        ).unflatten(0, (batch, -1))
        for _, part in window.parts(start, fraction, scale)
    ]
    joined = _joined(found, 1)
    assert joined is not None
    return joined


class _Spread(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - torch's
        log_length_scale: Tensor,
        fraction: Float[Tensor, "b N Dx"],
        amounts: Float[Tensor, "b N c"],
        start: Int[Tensor, "b N Dx"],
        window: Window,
        densities: int,
        lines: tuple[int, int],
    ) -> Float[Tensor, "B *G C"]:
        channels, batch = lines
        scale = window.spacing * math.exp(-log_length_scale.item())
        sums = amounts.new_zeros(channels, batch, math.prod(window.padded))
        parts = []
        for some, part in window.parts(start, fraction, scale):
            part.spread(_as_of(amounts, sums), amounts[:, some])
            parts += [(some, part)] if any(ctx.needs_input_grad) else []
        h = amounts.new_empty(batch, *window.shape, channels)
        if densities > 1:  # many channels are divided where those of the sums lie, outermost
            h = amounts.new_empty(channels, batch, *window.shape).movedim(0, -1)
        blocks, sums = _blocks(h, densities), window.grid(sums).unflatten(0, (-1, densities))
        blocks[0] = sums[0]
        torch.div(sums[1:], sums[0] + EPSILON, out=blocks[1:])
        ctx.save_for_backward(amounts, h)
        ctx.scale, ctx.parts, ctx.window = scale, parts, window
        ctx.densities, ctx.lines = densities, lines
        return h

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Float[Tensor, "B *G C"]) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        amounts, h = ctx.saved_tensors
        given, found = _blocks(grad, ctx.densities), _blocks(h, ctx.densities)
        flat = h.new_zeros(*ctx.lines, math.prod(ctx.window.padded))
        sums = ctx.window.grid(flat).unflatten(0, (-1, ctx.densities))
        torch.div(given[1:], found[0] + EPSILON, out=sums[1:])
        torch.sub(given[0], (sums[1:] * found[1:]).sum(0), out=sums[0])
        gradients, of_amounts = [], []
        for some, part in ctx.parts:
            near = part.gather(_as_of(amounts, flat))
            gradients.append(
                part.gradients(
                    near, amounts[:, some], ctx.scale, of_positions=ctx.needs_input_grad[1]
                )
            )
            if ctx.needs_input_grad[2]:
                of_amounts.append((near * part.weight).sum(-1).permute(1, 2, 0))
        length_scale, fraction = _summed_up(gradients)
        return length_scale, fraction, _joined(of_amounts, 1), None, None, None, None


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - torch's
        log_length_scale: Tensor,
        fraction: Float[Tensor, "B M Dx"],
        values: Float[Tensor, "B *G C"],
        beyond: Float[Tensor, " C"],
        start: Int[Tensor, "B M Dx"],
        window: Window,
    ) -> Float[Tensor, "B M C"]:
        scale = window.spacing * math.exp(-log_length_scale.item())
        flat = beyond[:, None, None].repeat(1, len(values), math.prod(window.padded))
        window.grid(flat).copy_(values.movedim(-1, 0))
        parts, found = [], []
        for some, part in window.parts(start, fraction, scale):
            near = part.gather(flat)
            found.append((near * part.weight).sum(-1))  # (C, B, m)
            parts.append((some, part, near))
        ctx.scale, ctx.parts, ctx.window, ctx.shape = scale, parts, window, flat.shape
        joined = _joined(found, 2)
        assert joined is not None
        return joined.permute(1, 2, 0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Float[Tensor, "B M C"]) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        flat = grad.new_zeros(ctx.shape)
        gradients = []
        for some, part, near in ctx.parts:
            part.spread(flat, grad[:, some])
            gradients.append(
                part.gradients(near, grad[:, some], ctx.scale, of_positions=ctx.needs_input_grad[1])
            )
        length_scale, fraction = _summed_up(gradients)
        inside = ctx.window.grid(flat)
        values = inside.movedim(0, -1).clone(memory_format=torch.contiguous_format)
        inside.zero_()  # what is left belongs to the constant
        return length_scale, fraction, values, flat.sum((1, 2)), None, None


def _summed_up(
    gradients: list[tuple[Tensor, Tensor | None]],
) -> tuple[Tensor, Tensor | None]:
    """Return the gradient of the length scale, and those of all positions if there are any."""
    of_scale, of_positions = zip(*gradients, strict=True)
    return sum(of_scale[1:], of_scale[0]), _joined([g for g in of_positions if g is not None], 1)


def _joined(parts: list[Tensor], dim: int) -> Tensor | None:
    """Return parts side by side, without a copy if there is one only, and nothing if none."""
    if len(parts) > 1:
        return torch.cat(parts, dim)
    return parts[0] if parts else None


def _as_of(
    amounts: Float[Tensor, "b K c"], lines: Float[Tensor, "C B L"]
) -> Float[Tensor, "c b l"]:
    """Return the lines of cells as those points see them: apart, or as one long line."""
    return lines.view(amounts.shape[2], len(amounts), -1)


def _blocks(h: Float[Tensor, "B *G C"], densities: int) -> Float[Tensor, "powers Dy B *G"]:
    """Return the channels first, in blocks of one power each."""
    return h.movedim(-1, 0).unflatten(0, (-1, densities))
