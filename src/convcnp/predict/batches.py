"""Predictions for many series at once, of any lengths, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from convcnp.core.predictive import Predictive
from convcnp.core.task import Task
from convcnp.core.units import typical_gap
from convcnp.data.source import NamedSource
from convcnp.frames.series import Ragged
from convcnp.models.base import Model
from convcnp.models.tiling import raw_in_passes
from convcnp.predict.user_units import as_seen

_SERIES = 2**12  # of one batch
_POINTS = 2**17  # of one batch, padding included; a longer series is a batch of its own

Progress = Callable[[int, int], None]  # called with the rows done and asked for


@dataclass
class Predictions:
    """Moments at the asked inputs, and how far the data lies from what a model is used to.

    Distances, gaps and values are in the model's units.
    """

    mean: np.ndarray  # (rows, Dy)
    stddev: np.ndarray  # (rows, Dy)
    distance: np.ndarray  # (rows,), to the nearest observation
    gaps: tuple[float, float] = (np.inf, -np.inf)  # smallest and largest typical gap
    largest: float = 0.0  # of the observed values, without sign
    observed: int = 0  # values
    averaged: int = 0  # of these, that share an input with an earlier one


@torch.no_grad()
def predict_many(
    model: Model,
    source: NamedSource,
    series: Ragged,
    y: np.ndarray,
    asked: Ragged,
    progress: Progress = lambda done, total: None,
) -> Predictions:
    """Predict every series at its asked inputs.

    Predictions are NaN for a series without observations: it has no units to answer in.

    Args:
        source: What the model was trained on.
        y: Outputs (rows, Dy) of the series, NaN where nothing was observed.
        asked: Inputs asked for, of as many series; any of them may be empty.
    """
    total, done = len(asked.x), 0
    nothing = np.full((total, y.shape[1]), np.nan)
    found = Predictions(nothing.copy(), nothing.copy(), np.full(total, np.nan))
    for members in _batches(series, asked):
        task, rows, is_asked = _padded(series, y, asked, members)
        scaled, units = as_seen(task, source)

        def on_progress(part: int, _: int, done: int = done) -> None:
            progress(done + part, total)

        restored = units.to_user(task.x_target, _predict_distinct(model, scaled, on_progress))
        found.mean[rows[is_asked]] = restored.mean.numpy()[is_asked]
        found.stddev[rows[is_asked]] = restored.stddev.numpy()[is_asked]
        found.distance[rows[is_asked]] = _distance(scaled).numpy()[is_asked]
        _note(found, scaled)
        found.observed += (observed := int(task.context_mask.sum()))
        found.averaged += observed - int(scaled.context_mask.sum())
        done += int(is_asked.sum())
        progress(done, total)
    progress(total, total)
    return found


def reach(model: Model) -> float:
    """Return how far away an observation can matter, in the model's units."""
    return model.receptive_radius


def _distance(task: Task) -> Float[Tensor, "B M"]:
    """Return how far each target is from the nearest observation; contexts are sorted."""
    seen = task.context_mask.any(2)
    x = torch.where(seen, task.x_context[..., 0], torch.inf).sort(1).values
    target = task.x_target[..., 0].contiguous()
    after = torch.searchsorted(x, target)
    neighbours = [x.gather(1, i.clamp(0, x.shape[1] - 1)) for i in (after - 1, after)]
    return torch.stack([(target - neighbour).abs() for neighbour in neighbours]).amin(0)


def _note(found: Predictions, task: Task) -> None:
    seen = task.context_mask.any(2, keepdim=True)
    several = seen.sum((1, 2)) > 1
    if several.any():
        gaps = typical_gap(task.x_context[several], seen[several])
        found.gaps = (
            min(found.gaps[0], gaps.min().item()),
            max(found.gaps[1], gaps.max().item()),
        )
    found.largest = max(found.largest, task.y_context.abs().max().item())


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


def _padded(
    series: Ragged, y: np.ndarray, asked: Ragged, members: np.ndarray
) -> tuple[Task, np.ndarray, np.ndarray]:
    """Return some series as a batch of tasks, with the rows of its targets and which exist."""
    context, has_context = _rows(series, members)
    target, is_asked = _rows(asked, members)
    values = torch.from_numpy(y[context])
    mask = torch.from_numpy(has_context)[..., None] & ~values.isnan()
    task = Task(
        torch.from_numpy(np.where(has_context, series.x[context], 0.0))[..., None],
        values.nan_to_num(),
        torch.from_numpy(np.where(is_asked, asked.x[target], asked.x[target[:, :1]]))[..., None],
        context_mask=mask,
    )
    return task, target, is_asked


def _predict_distinct(model: Model, task: Task, progress: Progress) -> Predictive:
    """Predict each different task once: series of one observation, for example, are all alike."""
    seen = task.context_mask.any(2, keepdim=True)
    parts = (seen * task.x_context, task.context_mask * task.y_context, seen, task.x_target)
    key = torch.cat([part.double().flatten(1) for part in parts], 1)
    if len(task) == 1:
        return _predict(model, task, progress)
    _, inverse = torch.unique(key, dim=0, return_inverse=True)
    first = torch.full((int(inverse.max()) + 1,), len(task)).scatter_reduce(
        0, inverse, torch.arange(len(task)), "amin"
    )
    raw = raw_in_passes(model, task[first], progress=progress)
    return model.to_predictive(raw[inverse], task.target_mask)


def _predict(model: Model, task: Task, progress: Progress) -> Predictive:
    """Predict tasks in passes that fit into memory."""
    return model.to_predictive(raw_in_passes(model, task, progress=progress), task.target_mask)
