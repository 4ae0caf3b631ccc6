"""Coherent samples: curves drawn point by point, each point given those before it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from convcnp.core.predictive import Predictive
from convcnp.core.task import Task
from convcnp.data.source import NamedSource, seeded
from convcnp.frames.series import Ragged
from convcnp.models.base import Model
from convcnp.models.tiling import raw_in_passes
from convcnp.predict.batches import Progress, predict_each
from convcnp.predict.user_units import to_model_units
from convcnp.predict.windows import in_windows


@torch.no_grad()
def sample_many(
    model: Model,
    source: NamedSource,
    series: Ragged,
    y: np.ndarray,
    asked: Ragged,
    *,
    samples: int,
    key: tuple[int, int],
    progress: Progress = lambda done, total: None,
) -> np.ndarray:
    """Draw curves (samples, rows, Dy) in the user's units, series by series.

    Of series that are seen in windows, every window draws its own, which fade into each other.

    Args:
        source: What the model was trained on.
        y: Outputs (rows, Dy) of the series, NaN where nothing was observed.
        asked: Inputs asked for, of as many series; those of a series without observations are NaN.
        key: The seed, and the number of the first value column: others draw other curves.
    """
    windows = in_windows(series, y, asked, source.familiar.rows)
    if windows is None:
        return _sample_each(model, source, series, y, asked, samples, key, progress)
    copies, rows = windows.copies(asked), len(asked.x)

    def on_progress(done: int, total: int) -> None:
        progress(done * rows // max(total, 1), rows)

    parts = (model, source, windows.series, windows.y, copies.asked)
    curves = _sample_each(*parts, samples, key, on_progress)
    return copies.faded(curves, predict_each(*parts).predictive.mean[0].numpy(), rows)


def _sample_each(
    model: Model,
    source: NamedSource,
    series: Ragged,
    y: np.ndarray,
    asked: Ragged,
    samples: int,
    key: tuple[int, int],
    progress: Progress,
) -> np.ndarray:
    """Draw curves of every series at once, as a model sees it."""
    curves = np.full((samples, len(asked.x), y.shape[1]), np.nan)
    for i in np.flatnonzero((series.lengths > 0) & (asked.lengths > 0)):
        rows, wanted = series.rows(i), asked.rows(i)
        error = None if series.error is None else series.error[rows]
        task = Task.from_arrays(series.x[rows], y[rows], asked.x[wanted], context_error=error)
        seen, units = to_model_units(task, source)
        generator = seeded(key[0], int(i), key[1])
        drawn = sample_curves(
            model, seen, samples, generator, spacing=source.familiar.spacing
        ).double()
        scatter = torch.as_tensor(units.scatter, dtype=torch.float64)
        if asked.error is not None:
            scatter = torch.hypot(scatter, torch.from_numpy(asked.error[wanted]))
        noise = scatter * torch.randn(drawn.shape, generator=generator)
        curve = drawn * units.scale + units.trend(task.x_target) + noise
        curves[:, wanted] = curve.numpy()
        progress(wanted.stop, len(asked.x))
    return curves


@torch.no_grad()
def sample_curves(
    model: Model,
    task: Task,
    num_samples: int,
    generator: torch.Generator,
    *,
    spacing: float,
    block: int = 64,
) -> Float[Tensor, "S M Dy"]:
    """Draw curves at the targets of one task, in the model's units.

    Most models predict every target on its own, so independent draws are no curve. Of a model that
    cannot draw them jointly itself, some targets
    are drawn one after the other, and each drawn value joins the context of the next: the product
    of these predictions is a joint distribution. The other targets follow from their predictions
    given all that was drawn, with deviations that vary smoothly.

    Args:
        spacing: Distance between the drawn targets, at least. Closer ones would be a context as
            dense as the model has never seen, and it errs there.
        block: Targets drawn before one goes on to the right, far-apart ones first.
    """
    assert len(task) == 1
    jointly = model.draw(task, num_samples, generator)
    if jointly is not None:
        return jointly
    x_target = task.x_target[0, :, 0]
    rank = torch.argsort(x_target, stable=True)
    chosen = _apart(x_target, rank, spacing)
    observed, count = task.x_context.shape[1], len(chosen)
    known = _Known(
        torch.cat([task.x_context, task.x_target[:, chosen]], 1),
        _lengthened(task.y_context, count).repeat(num_samples, 1, 1),
        _lengthened(task.context_mask, count),
        None if task.context_error is None else _lengthened(task.context_error, count),
    )
    reach = model.receptive_radius
    for indices in _blocks(x_target[chosen], block, reach):
        part = observed + indices
        near = known.near(known.x[0, part, 0], reach)
        for k in _far_apart_first(len(part)):
            place = part[k : k + 1]
            predictive = known.predict(model, near, known.x[:, place])
            known.y[:, place] = predictive.sample(generator=generator).to(known.y)
            known.mask[:, place] = True
    if count == len(rank):
        return known.y[:, observed:][:, torch.argsort(chosen)]
    curves = _smooth_deviations(x_target, chosen, known.y, generator)
    return _completed(model, task, known, rank, curves)


def _completed(
    model: Model, task: Task, known: _Known, rank: Int[Tensor, " M"], deviations: Tensor
) -> Float[Tensor, "S M Dy"]:
    """Predict all targets from what was observed and drawn, and let them deviate by this.

    The drawn targets are predicted again like the others: their own values hold noise, and would
    stand out from a smooth curve.
    """
    x_target, curves = task.x_target[0, :, 0], deviations.clone()
    for indices in _blocks(x_target[rank], len(rank), model.receptive_radius):
        part = rank[indices]
        near = known.near(x_target[part], model.receptive_radius)
        predictive = known.predict(model, near, task.x_target[:, part])
        levels = torch.special.ndtr(deviations[:, part].double())
        curves[:, part] = predictive.quantile(levels).to(curves)
    return curves


@dataclass
class _Known:
    """What was observed, the same for all samples, followed by what was drawn for each."""

    x: Float[Tensor, "1 N Dx"]
    y: Float[Tensor, "S N Dy"]
    mask: Bool[Tensor, "1 N Dy"]
    error: Float[Tensor, "1 N Dy"] | None  # of what was observed; what was drawn is exact

    def near(self, x: Float[Tensor, " m"], distance: float) -> Int[Tensor, " n"]:
        """Return which points can matter between the outermost of these inputs."""
        inside = (self.x[0, :, 0] >= x.min() - distance) & (self.x[0, :, 0] <= x.max() + distance)
        return torch.nonzero(inside)[:, 0]

    def predict(
        self, model: Model, near: Int[Tensor, " n"], x_target: Float[Tensor, "1 M Dx"]
    ) -> Predictive:
        """Predict from these points, as many samples at a time as fit into memory."""
        samples = len(self.y)
        task = Task(
            x_context=self.x[:, near].expand(samples, -1, -1),
            y_context=self.y[:, near],
            x_target=x_target.expand(samples, -1, -1),
            context_mask=self.mask[:, near].expand(samples, -1, -1),
            context_error=None
            if self.error is None
            else self.error[:, near].expand(samples, -1, -1),
        )
        return model.to_predictive(raw_in_passes(model, task), task.target_mask)


def _lengthened(tensor: Tensor, count: int) -> Tensor:
    return torch.cat([tensor, tensor.new_zeros(1, count, tensor.shape[2])], 1)


def _apart(x: Float[Tensor, " M"], rank: Int[Tensor, " M"], spacing: float) -> Int[Tensor, " K"]:
    """Choose targets from left to right, each at least this far from the one before."""
    ordered = x[rank].contiguous()
    near = spacing * (1 - 1e-6)  # targets exactly so far apart are all chosen
    chosen, last = [0], 0
    while (last := int(torch.searchsorted(ordered, ordered[last] + near))) < len(rank):
        chosen.append(last)
    return rank[chosen]


def _blocks(ordered: Float[Tensor, " K"], most: int, widest: float) -> Iterator[Tensor]:
    """Cut inputs into parts, no longer and no wider than this."""
    ordered, start = ordered.contiguous(), 0
    while start < len(ordered):
        end = int(torch.searchsorted(ordered, ordered[start] + widest, right=True))
        stop = min(start + most, end)
        yield torch.arange(start, stop)
        start = stop


def _far_apart_first(count: int) -> list[int]:
    """Order points such that each halves what the earlier ones left open (bits reversed)."""
    bits = max(1, (count - 1).bit_length())
    return sorted(range(count), key=lambda k: int(f"{k:0{bits}b}"[::-1], 2))


def _smooth_deviations(
    x: Float[Tensor, " M"],
    chosen: Int[Tensor, " K"],
    like: Float[Tensor, "S N Dy"],
    generator: torch.Generator,
) -> Float[Tensor, "S M Dy"]:
    """Draw deviations of unit variance that turn from one drawn target's to the next one's."""
    samples, _, channels = like.shape
    knots = torch.randn(samples, len(chosen) + 1, channels, generator=generator).to(like)
    position = torch.from_numpy(np.interp(x, x[chosen], np.arange(len(chosen)))).to(like)
    left = position.floor().clamp(max=len(chosen) - 1).long()
    angle = (0.5 * math.pi * (position - left))[:, None]
    return torch.cos(angle) * knots[:, left] + torch.sin(angle) * knots[:, left + 1]
