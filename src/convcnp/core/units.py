"""From a user's units to a model's, and back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from convcnp.core.predictive import Predictive
from convcnp.core.task import Task

_SEEN_FROM = 500  # points
_SMALLEST_GAP = 1 / 16  # of the mean gap: bursts of observations make no typical gap smaller


@dataclass(frozen=True)
class Units:
    r"""What a model calls zero and one, for every task of a batch.

    Inputs become :math:`(x - x_0) / s`, outputs :math:`(y - a - (x - x_0) b) / r`. Predictions get
    the scatter of repeated observations, in the user's units, on top of their own.
    """

    origin: Float[Tensor, "B 1 Dx"]  # x_0
    gap: Float[Tensor, "B 1 Dx"]  # s
    level: Float[Tensor, "B 1 Dy"]  # a
    slope: Float[Tensor, "B Dx Dy"]  # b
    scale: Float[Tensor, "B 1 Dy"]  # r
    scatter: Float[Tensor, "B 1 Dy"] | float = 0.0

    def inputs(self, x: Float[Tensor, "B N Dx"]) -> Float[Tensor, "B N Dx"]:
        """Express inputs in the model's units."""
        return (x.double() - self.origin) / self.gap

    def trend(self, x: Float[Tensor, "B N Dx"]) -> Float[Tensor, "B N Dy"]:
        """Return what a model calls zero at these inputs."""
        if not self.slope.any():
            return self.level.expand(-1, x.shape[1], -1)
        return self.level + (x.double() - self.origin) @ self.slope

    def to_model(self, task: Task) -> Task:
        """Express a task in the model's units."""

        def outputs(x: Tensor, y: Tensor) -> Tensor:
            return (y.double() - self.trend(x)) / self.scale

        def errors(error: Tensor | None) -> Tensor | None:
            return None if error is None else error.double() / self.scale

        y_target = task.y_target
        return Task(
            self.inputs(task.x_context),
            outputs(task.x_context, task.y_context),
            self.inputs(task.x_target),
            None if y_target is None else outputs(task.x_target, y_target),
            task.context_mask,
            task.target_mask,
            errors(task.context_error),
            errors(task.target_error),
        )

    def to_user(self, x: Float[Tensor, "B M Dx"], predictive: Predictive) -> Predictive:
        """Put predictions at these inputs (in the user's units) back into the user's units."""
        return predictive.affine(self.trend(x), self.scale, self.scatter)


@runtime_checkable
class Normaliser(Protocol):
    """Finds the units in which a model sees each task."""

    def units(self, task: Task) -> Units:
        """Return the units of every task, from its context alone."""


@dataclass(frozen=True)
class AsIs:
    """The model's units are the user's."""

    def units(self, task: Task) -> Units:
        """Return zeros and ones."""
        inputs, outputs = (task.batch_size, 1, task.dim_x), (task.batch_size, 1, task.dim_y)
        like = task.x_context.new_zeros(0, dtype=torch.float64)
        return Units(
            origin=like.new_zeros(inputs),
            gap=like.new_ones(inputs),
            level=like.new_zeros(outputs),
            slope=like.new_zeros(task.batch_size, task.dim_x, task.dim_y),
            scale=like.new_ones(outputs),
        )


@dataclass(frozen=True)
class InGaps:
    """Inputs in typical gaps of each series, outputs as they are: what zero is, may matter."""

    def units(self, task: Task) -> Units:
        """Return the units of every series, from its observations alone."""
        seen = task.context_mask.any(2, keepdim=True)
        x = task.x_context.double()
        origin = (
            torch.where(seen, x, torch.inf).amin(1, keepdim=True)
            if x.shape[1]
            else x.sum(1, keepdim=True)
        )
        return replace(
            AsIs().units(task),
            origin=origin.nan_to_num(posinf=0.0),
            gap=typical_gap(x, seen),
        )


@dataclass(frozen=True)
class PerSeries:
    r"""Units of one series' own: its typical gap, its level and trend, its spread.

    The trend is the least-squares line, shrunk by the share of it that chance would give,
    :math:`1/F`, and where few observations tell little. The spread is the standard deviation
    around it, wider where few tell little. Tasks have one input and one output.
    """

    def units(self, task: Task) -> Units:
        """Return the units of every series, from its observations alone."""
        x, y = task.x_context.double(), task.y_context.double()  # (B, N, 1) each
        seen = task.context_mask.double()
        count = seen.sum(1, keepdim=True)  # (B, 1, 1)
        origin, level = (_mean(values, seen, count) for values in (x, y))
        away, rest = (x - origin) * seen, (y - level) * seen
        spread, total = (away**2).sum(1, keepdim=True), (rest**2).sum(1, keepdim=True)
        slope = (away * rest).sum(1, keepdim=True) / spread.clamp(min=1e-300)
        explained = slope**2 * spread
        freedom = (count - 2).clamp(min=0)
        chance = (total - explained).clamp(min=0) / (explained * freedom).clamp(min=1e-300)
        trust = (1 - chance).clamp(min=0) * freedom / (freedom + 4)
        slope = torch.where(spread > 0, slope * trust, 0)
        rest = (rest - slope * away) * seen
        variance = (rest**2).sum(1, keepdim=True) / (count - 1).clamp(min=1)
        scale = variance.sqrt() * (1 + 2 / count.clamp(min=1))
        # A constant series, or a single observation, shows no spread: the more often it was seen,
        # the less it is likely to have.
        size = torch.where(level == 0, 1.0, level.abs())
        tiny = scale <= 1e-14 * size
        scale = torch.where(tiny, size / count.clamp(min=1), scale)
        return Units(origin, typical_gap(x, task.context_mask), level, slope, scale)


@dataclass(frozen=True)
class Fixed:
    """The same units for every task: a source's, or learned from training data.

    Args:
        gap: What the model calls one, along each input.
        level: What it calls zero, in each output channel.
        scale: What it calls one there.
        origin: What it calls zero, along each input.
    """

    gap: tuple[float, ...]
    level: tuple[float, ...]
    scale: tuple[float, ...]
    origin: tuple[float, ...] = (0.0,)

    def units(self, task: Task) -> Units:
        """Return the same units for every task."""
        as_is = AsIs().units(task)
        return replace(
            as_is,
            origin=as_is.origin + as_is.origin.new_tensor(self.origin),
            gap=as_is.gap * as_is.gap.new_tensor(self.gap),
            level=as_is.level + as_is.level.new_tensor(self.level),
            scale=as_is.scale * as_is.scale.new_tensor(self.scale),
        )


@dataclass(frozen=True)
class OwnLevel:
    """Inputs in learned units; outputs relative to the level and spread of each task's context.

    For series that are alike in shape but not in size. The learned level stands in where nothing
    was observed, the learned spread where fewer than three observations, or equal ones, show none.
    """

    learned: Fixed

    def units(self, task: Task) -> Units:
        """Return the units of every task, channel by channel."""
        learned = self.learned.units(task)
        y, seen = task.y_context.double(), task.context_mask.double()
        count = seen.sum(1, keepdim=True)  # (B, 1, Dy)
        mean = _mean(y, seen, count)
        variance = (((y - mean) * seen) ** 2).sum(1, keepdim=True) / (count - 1).clamp(min=1)
        # Wider where few observations tell little.
        spread = variance.sqrt() * (1 + 2 / count.clamp(min=1))
        shows_spread = (count >= 3) & (spread > 1e-9 * learned.scale)
        return replace(
            learned,
            level=torch.where(count > 0, mean, learned.level),
            scale=torch.where(shows_spread, spread, learned.scale),
        )


@dataclass(frozen=True)
class OwnSize:
    """Inputs in fixed units; outputs in multiples of each task's own size, of all channels alike.

    The size is the root mean square of all that was observed. For outputs whose zero means
    something and whose sizes differ by orders of magnitude, such as the fluxes of stars.

    Args:
        gap: What the model calls one, along each input.
        typical: The size of a task without observations, or all of whose observations are zero.
        origin: What the model calls zero, along each input.

    Example:
        >>> task = Task.from_arrays([0.0, 1.0], [[3.0, 0.0], [0.0, 4.0]], [2.0])
        >>> round(OwnSize((1.0,), 1.0).units(task).scale[0, 0, 0].item(), 3)
        2.5
    """

    gap: tuple[float, ...]
    typical: float
    origin: tuple[float, ...] = (0.0,)

    def units(self, task: Task) -> Units:
        """Return the units of every task, from its observations alone."""
        fixed = Fixed(self.gap, (0.0,), (1.0,), self.origin).units(task)
        seen = task.context_mask
        squares = torch.where(seen, task.y_context.double() ** 2, 0).sum((1, 2), keepdim=True)
        size = (squares / seen.sum((1, 2), keepdim=True).clamp(min=1)).sqrt()
        return replace(fixed, scale=fixed.scale * torch.where(size > 0, size, self.typical))


def typical_gap(x: Float[Tensor, "B N Dx"], mask: Tensor) -> Float[Tensor, "B 1 1"]:
    """Return the median gap between different inputs, one where there is no gap.

    With several inputs it is the median distance from a point to the nearest other.
    """
    if x.shape[1] < 2:
        return x.new_ones(len(x), 1, 1)
    if x.shape[2] > 1:
        tasks = zip(x, mask.any(2), strict=True)
        return torch.stack([_typical_distance(points[seen]) for points, seen in tasks])
    ordered = torch.where(mask, x, torch.inf).sort(1).values
    gaps = ordered.diff(dim=1)
    gaps = torch.where(gaps.isfinite() & (gaps > 0), gaps, torch.nan)
    median = gaps.nanmedian(1, keepdim=True).values
    mean = gaps.nansum(1, keepdim=True) / (~gaps.isnan()).sum(1, keepdim=True)
    return torch.maximum(median, _SMALLEST_GAP * mean).nan_to_num(nan=1.0)


def _typical_distance(x: Float[Tensor, "N Dx"]) -> Float[Tensor, "1 1"]:
    """Return the median distance to the nearest other point, seen from some of the points."""
    some = x[:: max(1, len(x) // _SEEN_FROM)]
    away = distance_to_other(some, x)
    away = torch.where(away.isfinite(), away, torch.nan)
    return away.nanmedian().nan_to_num(nan=1.0).view(1, 1)


def distance_to_other(
    x: Float[Tensor, "M Dx"], others: Float[Tensor, "N Dx"]
) -> Float[Tensor, " M"]:
    """Return how far away the nearest other of these points is, infinity where there is none."""
    if not len(others):
        return x.new_full((len(x),), torch.inf)
    # Not by products, whose rounding puts a point a little away from itself.
    away = torch.cdist(x, others, compute_mode="donot_use_mm_for_euclid_dist")
    return torch.where(away > 0, away, torch.inf).amin(1)


def _mean(values: Tensor, seen: Tensor, count: Tensor) -> Tensor:
    return (values * seen).sum(1, keepdim=True) / count.clamp(min=1)
