"""Several observations at one input, for models that were trained on one."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from convcnp.task import Task


def averaged(task: Task) -> tuple[Task, Float[Tensor, "B 1 Dy"]]:
    r"""Average the observations that share an input, channel by channel.

    A model predicts another average of :math:`k` observations, where a single one is asked for.
    Their variances differ by :math:`(1 - 1/k) s^2`, with the variance :math:`s^2` of observations
    around their averages; its root is returned, for every task and channel.
    """
    assert task.dim_x == 1
    x, order = torch.where(task.context_mask.any(2), task.x_context[..., 0], torch.inf).sort(1)
    is_first = torch.ones_like(x, dtype=torch.bool)
    is_first[:, 1:] = x.diff(dim=1) != 0
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
    x = torch.zeros_like(x).scatter_(1, place[..., 0], x)
    different = Task(
        *(x[..., None], mean.to(task.y_context), task.x_target, task.y_target),
        *(count > 0, task.target_mask),
    )
    return different.packed(), (variance * (1 - share)).sqrt()
