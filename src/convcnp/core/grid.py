"""The uniform grid that covers a task, and functions on it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from convcnp.core.task import Task
from convcnp.errors import GridTooLargeError

Padding = Literal["unobserved", "zeros", "circular"]

_STEP = 16  # cells, by which tight grids differ in length
_FEWER = 0.85  # of the cells of a batch
MAX_CELLS = 2**24  # of the grids of one forward pass: more would not fit into memory


class Field(NamedTuple):
    """A function on a grid, and the one value it takes far from all data.

    An equivariant network maps "nothing observed" to one constant per channel. Carrying that
    constant beside the values says what lies beyond the grid, so that no layer has to invent it.
    """

    values: Float[Tensor, "B *G C"]
    beyond: Float[Tensor, " C"]

    def map(self, function: Callable[[Tensor], Tensor]) -> Field:
        """Apply a function of the channels at every point."""
        return Field(function(self.values), function(self.beyond))


Ends = tuple[int, int]  # cells before and after others


class Rim(NamedTuple):
    """Cells around a field that hold its constant."""

    rows: Ends
    columns: Ends


@dataclass(frozen=True, eq=False)
class Grid:
    """One uniform grid per task: the same spacing and shape, each with its own origin."""

    origin: Float[Tensor, "B Dx"]  # the position of cell (0, ..., 0), in float64
    spacing: float
    shape: tuple[int, ...]  # cells along each input dimension
    lead: int | None = None  # cells before a phase of the anchor, if a network is to continue it
    lengths: tuple[int, ...] | None = None  # cells that each task needs, along a line of fixed ends

    def cells(self, x: Float[Tensor, "B K Dx"]) -> Float[Tensor, "B K Dx"]:
        """Return positions in cells from the grid's origin, in float64."""
        return (x.double() - self.origin[:, None]) / self.spacing


@dataclass(frozen=True)
class Margin:
    r"""How far a grid must continue beyond the data for its end not to matter, in input units.

    The encoder spreads a context point over `reach`, the network carries it on by `radius`, and the
    decoder looks `reach` around a target. Let data end at :math:`S`, targets at :math:`T`, and let
    :math:`R` be the radius. With zeros beyond the grid it has to end at :math:`T + R`. With the
    right constant beyond the grid, only signals count that leave it and come back. Such a signal
    starts at :math:`S`, spends :math:`r` of the radius going out and :math:`R - r` coming back, so
    it turns no farther than :math:`(S + T + R) / 2`; and beyond :math:`S + R` there is nothing but
    the constant.

    Args:
        fixed: Replace the exact margin by this one, measured from the outermost point: cheaper, and
            then the numbers depend on where the grid ends.
        is_continued: Whether the network continues the grid by itself, as far as it has to. Then
            the exact margin is none: the grid ends where what is observed and asked for does.
    """

    encoder_reach: float
    decoder_reach: float
    radius: float
    padding: Padding
    fixed: float | None = None
    is_continued: bool = False

    @property
    def is_tight(self) -> bool:
        """Whether a grid has no more than what is observed and asked for."""
        return self.is_continued and self.fixed is None

    def lead(self, spacing: float) -> int:
        """Return with how many cells a tight grid begins before data that targets lie among."""
        return 2 * math.ceil(max(self.encoder_reach, self.decoder_reach) / (2 * spacing))

    def end(
        self, context: Float[np.ndarray, "*B"], target: Float[np.ndarray, "*B"]
    ) -> Float[np.ndarray, "*B"]:
        """Return where the grid may end, given where context and targets do (outwards positive)."""
        data = context + self.encoder_reach
        asked = target + self.decoder_reach
        if self.padding == "unobserved":
            asked = np.minimum(asked, data + self.radius)
        if self.fixed is not None:
            return np.maximum(context, asked - self.decoder_reach) + self.fixed
        if self.is_tight:
            return np.maximum(asked, data)
        if self.padding == "unobserved":
            return (data + np.maximum(asked, data) + self.radius) / 2
        return np.maximum(context, asked) + self.radius


def covering_grid(
    task: Task,
    spacing: float,
    margin: Margin,
    *,
    multiple: int = 1,
    anchor: Float[Tensor, "B Dx"] | None = None,
) -> Grid:
    """Return the grid that covers context and targets with a margin around both.

    Its length is a multiple of `multiple` cells, and it lies a whole multiple from the anchor; a
    tight one lies `lead` cells before such a place.

    Args:
        anchor: A point that falls on a grid cell, in place of the smallest context input.
    """
    origin, lengths = extent(task, spacing, margin, multiple=multiple, anchor=anchor)
    shape: list[float] = lengths.amax(0).tolist()
    if not task.batch_size * math.prod(shape) <= MAX_CELLS:
        _refuse(task.batch_size, shape, spacing)
    cells = tuple(map(int, shape))
    if margin.is_tight:
        return Grid(origin, spacing, cells, lead=margin.lead(spacing))
    return Grid(origin, spacing, cells, lengths=_needed(lengths) if len(cells) == 1 else None)


def _needed(lengths: Float[Tensor, "B 1"]) -> tuple[int, ...] | None:
    """Return the cells that each task needs, if all together that is much less than the grids have.

    They are even where the longest is: layers read cells in pairs. Of lengths that differ little
    more time would go to numbering their cells than to computing the others.
    """
    found = [int(length) for (length,) in lengths.tolist()]
    longest = max(found)
    if sum(found) > _FEWER * longest * len(found):
        return None
    return tuple(min(length + length % 2, longest) for length in found)


def extent(
    task: Task,
    spacing: float,
    margin: Margin,
    *,
    multiple: int = 1,
    anchor: Float[Tensor, "B Dx"] | None = None,
) -> tuple[Float[Tensor, "B Dx"], Float[Tensor, "B Dx"]]:
    """Return where the grid of each task begins, and its cells along each dimension, in float64."""
    # In numpy, whose operations on a few numbers take a fifth of torch's time.
    context, target = ([_array(end) for end in ends] for ends in ranges(task))
    # The grid hangs on the context, not on the targets: a network that downsamples by `multiple`
    # then sees every point in the same phase, and an added target cannot change the other
    # predictions.
    hung = context[0] if anchor is None else _array(anchor)
    # A tight grid is as short as can be: it begins in the same phase for all tasks, and rounding
    # its length keeps lengths few, because convolutions are prepared for each anew.
    lead, step = (margin.lead(spacing), _STEP) if margin.is_tight else (0, multiple)
    low, high = -margin.end(-context[0], -target[0]), margin.end(context[1], target[1])
    begin = np.floor((low - hung) / (spacing * multiple) + lead / multiple) * multiple - lead
    lengths = (np.floor((high - hung) / (spacing * step) - begin / step) + 1) * step
    origin, cells = (
        torch.from_numpy(found).to(task.x_target.device)
        for found in (hung + begin * spacing, np.maximum(lengths, step))  # rounding may leave none
    )
    return origin, cells


def _array(tensor: Float[Tensor, "B Dx"]) -> Float[np.ndarray, "B Dx"]:
    return tensor.detach().cpu().numpy()


def _refuse(batch_size: int, shape: list[float], spacing: float) -> None:
    cells = batch_size * math.prod(shape)
    size = " x ".join(f"{length:,.0f}" for length in shape)
    raise GridTooLargeError(
        f"The grid must have at most {MAX_CELLS:,} cells, got {size} cells of {spacing:g} for "
        f"{batch_size} task(s): {cells:,.0f} in all, about "
        f"{cells * 32 * 4 * 3 / 1e9:,.1f} GB for three layers of 32 channels in float32. Use "
        "convcnp.predict_in_tiles, fewer tasks at once, fewer points per unit, or rescale the "
        "inputs."
    )


Range = tuple[Float[Tensor, "B Dx"], Float[Tensor, "B Dx"]]


def ranges(task: Task) -> tuple[Range, Range]:
    """Return the smallest and largest context inputs, and target inputs, of each task, in float64.

    Without context the smallest target stands in; without targets the context does.
    """
    context = _range(task.x_context, task.context_mask)
    target = _range(task.x_target, task.target_mask)
    if context is not None and target is not None:
        return context, target
    context, target = (
        _range_of_some(x, mask)
        for x, mask in ((task.x_context, task.context_mask), (task.x_target, task.target_mask))
    )

    def known(ends: Range, otherwise: Range) -> Range:
        low, high = (
            torch.where(end.isfinite(), end, other).nan_to_num(posinf=0.0, neginf=0.0)
            for end, other in zip(ends, otherwise, strict=True)
        )
        return low, high

    return known(context, (target[0], target[0])), known(target, context)


def _range(x: Float[Tensor, "B K Dx"], mask: Bool[Tensor, "B K Dy"]) -> Range | None:
    """Return the range of inputs that all count, the usual case: it takes few operations."""
    return torch.aminmax(x.double(), dim=1) if x.shape[1] and mask.all() else None


def _range_of_some(x: Float[Tensor, "B K Dx"], mask: Bool[Tensor, "B K Dy"]) -> Range:
    """Return the range of inputs that count, infinite where none does."""
    counts = mask.any(-1, keepdim=True)
    nothing = x.new_full((len(x), 1, x.shape[2]), math.inf, dtype=torch.float64)
    low = torch.cat([torch.where(counts, x.double(), math.inf), nothing], 1).amin(1)
    high = torch.cat([torch.where(counts, x.double(), -math.inf), -nothing], 1).amax(1)
    return low, high
