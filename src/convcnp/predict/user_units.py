"""Predictions in a user's units, by a model that sees data in its own."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from convcnp.core.predictive import Predictive
from convcnp.core.task import Task
from convcnp.core.units import Units
from convcnp.data.source import NamedSource
from convcnp.models.base import Model

_SAME = 1 / 64  # of the mean gap: inputs closer than this are one


@dataclass(frozen=True)
class InUserUnits:
    """A model that sees every task in units of its source, and answers in the user's."""

    model: Model
    source: NamedSource

    @torch.inference_mode()
    def __call__(self, task: Task) -> Predictive:
        """Predict the targets, without any fitting."""
        seen, units = to_model_units(task, self.source)
        return units.to_user(task.x_target, self.model(seen))


def to_model_units(task: Task, source: NamedSource) -> tuple[Task, Units]:
    """Return a user's task as a model of this source sees it, and the way back."""
    if source.familiar.has_repeats:
        units = source.normaliser.units(task)
    else:
        task, scatter = average_repeats(task)
        units = replace(source.normaliser.units(task), scatter=scatter)
    return units.to_model(task), units


# --- Several observations at one input, for models that were trained on one -----------------------


def average_repeats(task: Task) -> tuple[Task, Float[Tensor, "B 1 Dy"]]:
    r"""Average the observations that share an input, channel by channel.

    Inputs that are much closer than others are one: to a model they would be observations as dense
    as it has never seen, and it would be far too certain there.

    A model predicts another average of :math:`k` observations, where a single one is asked for.
    Their variances differ by :math:`(1 - 1/k) s^2`, with the variance :math:`s^2` of observations
    around their averages; its root is returned, for every task and channel.
    """
    assert task.dim_x == 1
    x, order = torch.where(task.context_mask.any(2), task.x_context[..., 0], torch.inf).sort(1)
    is_first = _starts(x)
    if is_first.all():
        return task, torch.zeros(len(task), 1, task.dim_y, dtype=torch.float64)

    def sums(values: Tensor) -> Tensor:
        return torch.zeros_like(values).scatter_add_(1, place, values)

    order = order[..., None].expand(-1, -1, task.dim_y)
    place = (is_first.cumsum(1) - 1)[..., None].expand(-1, -1, task.dim_y)
    y, seen = task.y_context.gather(1, order).double(), task.context_mask.gather(1, order).double()
    count = sums(seen)  # (B, N, Dy), at every different input, of which there are N at most
    mean = sums(y * seen) / count.clamp(min=1)
    around = (y - mean.gather(1, place)) * seen
    inputs = (count > 0).sum(1, keepdim=True)
    freedom = seen.sum(1, keepdim=True) - inputs
    variance = (around**2).sum(1, keepdim=True) / freedom.clamp(min=1)
    share = (1 / count.clamp(min=1) * (count > 0)).sum(1, keepdim=True) / inputs.clamp(min=1)
    error = task.context_error
    if error is not None:  # of the averages
        error = sums(error.gather(1, order).double() ** 2).sqrt() / count.clamp(min=1)
    # Relative to the smallest, the mean of equal inputs is exactly these.
    start = x[:, :1]
    away = torch.where(x.isfinite(), x - start, 0)
    members = torch.zeros_like(x).scatter_add_(1, place[..., 0], torch.ones_like(x))
    away = torch.zeros_like(x).scatter_add_(1, place[..., 0], away) / members.clamp(min=1)
    x = torch.where(start.isfinite(), start, 0) + away
    different = Task(
        x_context=x[..., None],
        y_context=mean.to(task.y_context),
        x_target=task.x_target,
        y_target=task.y_target,
        context_mask=count > 0,
        target_mask=task.target_mask,
        context_error=None if error is None else error.to(task.y_context),
        target_error=task.target_error,
    )
    return different.packed(), (variance * (1 - share)).sqrt()


def _starts(x: Float[Tensor, "B N"]) -> Bool[Tensor, "B N"]:
    """Tell which of these sorted inputs begin a group of inputs that are taken for one.

    A group is no wider than what counts as the same, so that a dense series does not become one.
    """
    gaps = x.diff(dim=1, prepend=x.new_full((len(x), 1), -torch.inf))
    is_real = gaps.isfinite() & (gaps > 0)
    mean = torch.where(is_real, gaps, 0).sum(1, keepdim=True) / is_real.sum(1, keepdim=True)
    same = torch.where(mean > 0, _SAME * mean, 0)  # without any gap the mean is no number
    starts = ~(gaps <= same)  # beyond the last input gaps are no numbers
    begin = torch.where(starts, x, -torch.inf).cummax(1).values
    window = torch.where(starts | (same == 0), 0, ((x - begin) / same).nan_to_num().floor())
    starts[:, 1:] |= window.diff(dim=1) > 0
    return starts
