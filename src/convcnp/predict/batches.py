"""Predictions for many series or sets of points at once, of any sizes, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from convcnp.core.bounds import Bounds
from convcnp.core.heads import Head
from convcnp.core.predictive import Predictive
from convcnp.core.task import Task
from convcnp.core.units import Units, typical_gap
from convcnp.data.source import NamedSource
from convcnp.frames.series import Ragged
from convcnp.models.base import Model
from convcnp.models.tiling import raw_in_passes
from convcnp.predict.user_units import to_model_units
from convcnp.predict.windows import in_windows

_SERIES = 2**12  # of one batch
_POINTS = 2**17  # of one batch, padding included; a longer series is a batch of its own
_PAIRS = 2**22  # of points whose distances are found at once

Progress = Callable[[int, int], None]  # called with the rows done and asked for


@dataclass
class Predictions:
    """What a model decodes at the asked inputs, and how far the data lies from what it is used to.

    The distribution in the user's units is made once, of all rows. Distances, gaps and values are
    in the model's units.
    """

    head: Head
    raw: Float[Tensor, "R P"]
    shift: Float[Tensor, "R Dy"]  # what the model calls zero
    scale: Float[Tensor, "R Dy"]  # what it calls one
    scatter: Float[Tensor, "R Dy"]  # of repeated observations, on top of its own
    is_answered: Bool[Tensor, " R"]  # not where a series has no observations to answer from
    distance: np.ndarray  # (R,), to the nearest observation
    gaps: tuple[float, float] = (np.inf, -np.inf)  # smallest and largest typical gap
    largest: float = 0.0  # of the observed values, without sign
    observed: int = 0  # values
    averaged: int = 0  # of these, that share an input with an earlier one
    beside: Predictions | None = None  # of the windows after, where series are seen in windows
    share: Float[Tensor, " R"] | None = None  # of their answers
    bounds: Bounds | None = None  # between which the outputs lie, if they do

    @classmethod
    def none(cls, model: Model, rows: int) -> Predictions:
        """Return room for predictions, none of which is made yet."""
        outputs = torch.zeros(rows, model.dim_y, dtype=torch.float64)
        return cls(
            head=model.to_predictive,
            raw=torch.zeros(rows, model.to_predictive.channels(model.dim_y), dtype=model.dtype),
            shift=outputs.clone(),
            scale=torch.ones_like(outputs),
            scatter=outputs.clone(),
            is_answered=torch.zeros(rows, dtype=torch.bool),
            distance=np.full(rows, np.nan),
        )

    @property
    def predictive(self) -> Predictive:
        """The distributions in the user's units, as those of one task (1, R, Dy)."""
        return self._free if self.bounds is None else self.bounds.predictive(self._free)

    @property
    def _free(self) -> Predictive:
        """The distributions of outputs that know no bounds."""
        mask = self.is_answered[None, :, None].expand(1, *self.shift.shape)
        of_model = self.head(self.raw[None], mask)
        alone = of_model.affine(self.shift[None], self.scale[None], self.scatter[None])
        if self.beside is None or self.share is None:
            return alone
        after = self.beside.predictive.as_mixture()
        return alone.as_mixture().blended(after, self.share[None, :, None].to(after.means))

    def among(self, chosen: np.ndarray, rows: np.ndarray, count: int) -> Predictions:
        """Return chosen predictions at their rows of an answer; other rows have none."""
        some, there = torch.from_numpy(chosen), torch.from_numpy(rows[chosen])

        def spread(values: Tensor, fill: float = 0) -> Tensor:
            room = values.new_full((count, *values.shape[1:]), fill)
            return room.index_copy(0, there, values[some])

        return replace(
            self,
            raw=spread(self.raw),
            shift=spread(self.shift),
            scale=spread(self.scale, 1),
            scatter=spread(self.scatter),
            is_answered=spread(self.is_answered),
            distance=spread(torch.from_numpy(self.distance), np.nan).numpy(),
        )

    def put(self, batch: _Batch, units: Units, raw: Float[Tensor, "B M P"]) -> None:
        """Keep what was decoded for a batch, with the way back to its units."""
        rows, is_asked = torch.from_numpy(batch.rows), torch.from_numpy(batch.is_asked)
        shape = batch.task.target_mask.shape
        there = rows[is_asked]
        self.raw[there] = raw[is_asked]
        self.shift[there] = units.trend(batch.task.x_target)[is_asked]
        self.scale[there] = units.scale.expand(shape)[is_asked]
        scatter = torch.as_tensor(units.scatter, dtype=torch.float64).expand(shape)
        if batch.task.target_error is not None:
            scatter = torch.hypot(scatter, batch.task.target_error)
        self.scatter[there] = scatter[is_asked]
        self.is_answered[there] = True

    def note(self, batch: _Batch, seen: Task) -> None:
        """Take note of the data as the model sees it."""
        self.distance[batch.rows[batch.is_asked]] = _distance(seen).numpy()[batch.is_asked]
        is_seen = seen.context_mask.any(2, keepdim=True)
        several = is_seen.sum((1, 2)) > 1
        if several.any():
            gaps = typical_gap(seen.x_context[several], is_seen[several])
            low, high = self.gaps
            self.gaps = (min(low, gaps.min().item()), max(high, gaps.max().item()))
        self.largest = max(self.largest, seen.y_context.abs().max().item())
        observed = int(batch.task.context_mask.sum())
        self.observed += observed
        self.averaged += observed - int(seen.context_mask.sum())


@torch.no_grad()
def predict_many(
    model: Model,
    source: NamedSource,
    series: Ragged,
    y: np.ndarray,
    asked: Ragged,
    progress: Progress = lambda done, total: None,
) -> Predictions:
    """Predict every series, or set of points, at its asked inputs.

    There are no predictions for a series without observations: it has no units to answer in. A
    model that knows series by the level and spread of what it sees at once sees no more than it
    did in training: longer series come in windows.

    Args:
        source: What the model was trained on.
        series: Inputs, and the standard errors of outputs where they are known.
        y: Outputs (rows, Dy) of the series, NaN where nothing was observed.
        asked: Inputs asked for, of as many series; any of them may be empty. With errors, what is
            predicted is measurements that have these.
    """
    windows = in_windows(series, y, asked, source.familiar.rows)
    if windows is None:
        return predict_each(model, source, series, y, asked, progress)
    copies = windows.copies(asked)

    def on_progress(done: int, total: int) -> None:
        progress(done * len(asked.x) // max(total, 1), len(asked.x))

    found = predict_each(model, source, windows.series, windows.y, copies.asked, on_progress)
    before, after = (
        found.among(np.flatnonzero(copies.is_after == side), copies.row, len(asked.x))
        for side in (False, True)
    )
    return replace(before, beside=after, share=torch.from_numpy(windows.share))


def predict_each(
    model: Model,
    source: NamedSource,
    series: Ragged,
    y: np.ndarray,
    asked: Ragged,
    progress: Progress = lambda done, total: None,
) -> Predictions:
    """Predict every series at once, as a model sees it."""
    total, done = len(asked.x), 0
    found = Predictions.none(model, total)
    for members in _batches(series, asked):
        batch = _padded(series, y, asked, members)
        seen, units = to_model_units(batch.task, source)

        def on_progress(part: int, _: int, done: int = done) -> None:
            progress(done + part, total)

        found.put(batch, units, _raw_of_distinct(model, seen, on_progress))
        found.note(batch, seen)
        done += int(batch.is_asked.sum())
        progress(done, total)
    progress(total, total)
    return found


def _distance(task: Task) -> Float[Tensor, "B M"]:
    """Return how far each target is from the nearest observation."""
    seen = task.context_mask.any(2)
    if task.dim_x > 1:
        parts = zip(task.x_target, task.x_context, seen, strict=True)
        return torch.stack([nearest(target, x[is_seen]) for target, x, is_seen in parts])
    x = torch.where(seen, task.x_context[..., 0], torch.inf).sort(1).values
    target = task.x_target[..., 0].contiguous()
    after = torch.searchsorted(x, target)
    neighbours = [x.gather(1, i.clamp(0, x.shape[1] - 1)) for i in (after - 1, after)]
    return torch.stack([(target - neighbour).abs() for neighbour in neighbours]).amin(0)


def nearest(x: Float[Tensor, "M Dx"], points: Float[Tensor, "N Dx"]) -> Float[Tensor, " M"]:
    """Return how far each input is from the nearest of some points, in bounded memory."""
    parts = x.split(max(1, _PAIRS // len(points)))
    return torch.cat([torch.cdist(part, points).amin(1) for part in parts])


@dataclass(frozen=True)
class _Batch:
    """Some series as a batch of tasks."""

    task: Task
    rows: np.ndarray  # (B, M), of the targets among all that is asked for
    is_asked: np.ndarray  # (B, M), whether it is a target, or padding


def _batches(series: Ragged, asked: Ragged) -> Iterator[np.ndarray]:
    """Yield series of similar lengths, as many as fit into one batch."""
    members = np.flatnonzero((series.lengths > 0) & (asked.lengths > 0))
    sizes = (series.lengths + asked.lengths)[members]
    members, sizes = members[np.argsort(sizes, kind="stable")], np.sort(sizes)
    start = 0
    while start < len(members):
        stop = min(start + _SERIES, len(members))
        while stop - start > 1 and (stop - start) * sizes[stop - 1] > _POINTS:
            stop = start + max(1, min(stop - start - 1, _POINTS // int(sizes[stop - 1])))
        yield members[start:stop]
        start = stop


def _rows(ragged: Ragged, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of these series (B, longest), and which of them exist."""
    offset = np.arange(ragged.lengths[members].max())
    exists = offset < ragged.lengths[members][:, None]
    return np.where(exists, ragged.starts[members][:, None] + offset, 0), exists


def _padded(series: Ragged, y: np.ndarray, asked: Ragged, members: np.ndarray) -> _Batch:
    """Return some series as a batch of tasks."""
    context, has_context = _rows(series, members)
    target, is_asked = _rows(asked, members)
    values = torch.from_numpy(y[context])
    mask = torch.from_numpy(has_context)[..., None] & ~values.isnan()
    x, x_asked = series.inputs, asked.inputs
    # Where nothing is asked for stands the first input, so that no grid has to reach farther.
    filled = np.where(is_asked[..., None], x_asked[target], x_asked[target[:, :1]])
    task = Task(
        x_context=torch.from_numpy(np.where(has_context[..., None], x[context], 0.0)),
        y_context=values.nan_to_num(),
        x_target=torch.from_numpy(filled),
        context_mask=mask,
        context_error=None if series.error is None else torch.from_numpy(series.error[context]),
        target_error=None if asked.error is None else torch.from_numpy(asked.error[target]),
    )
    return _Batch(task, target, is_asked)


def _raw_of_distinct(model: Model, task: Task, progress: Progress) -> Float[Tensor, "B M P"]:
    """Predict each different task once: series of one observation, for example, are all alike."""
    if len(task) == 1:
        return raw_in_passes(model, task, progress=progress)
    seen = task.context_mask.any(2, keepdim=True)
    parts = [seen * task.x_context, task.context_mask * task.y_context, seen, task.x_target]
    parts += [] if task.context_error is None else [task.context_error]
    key = torch.cat([part.double().flatten(1) for part in parts], 1)
    _, inverse = torch.unique(key, dim=0, return_inverse=True)
    first = torch.full((int(inverse.max()) + 1,), len(task)).scatter_reduce(
        0, inverse, torch.arange(len(task)), "amin"
    )
    return raw_in_passes(model, task[first], progress=progress)[inverse]
