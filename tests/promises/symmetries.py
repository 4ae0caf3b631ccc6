"""What no input may change: each property is a check of a model and a task."""

from collections.abc import Callable
from functools import lru_cache

import torch
from torch import Tensor

from convcnp.core.task import Task
from convcnp.models.base import Model
from convcnp.models.convcnp import ConvCNP
from helpers import assert_equal, moments, rebuilt

predicted = lru_cache(maxsize=256)(moments)  # the prediction that all others are compared with


def permuted(task: Task, points: str, order: Tensor) -> Task:
    names = {"context": ("x_context", "y_context", "context_mask")}.get(
        points, ("x_target", "y_target", "target_mask")
    )
    return rebuilt(task, **{name: getattr(task, name)[:, order] for name in names})


def shifted(task: Task, by: list[float] | float) -> Task:
    shift = torch.as_tensor(by, dtype=torch.float64)
    return rebuilt(task, x_context=task.x_context + shift, x_target=task.x_target + shift)


def with_target(task: Task, x: Tensor) -> Task:
    """Ask for one more target, after the others."""
    x_target = torch.cat([task.x_target, x.expand(task.batch_size, 1, -1)], 1)
    return Task(task.x_context, task.y_context, x_target, context_mask=task.context_mask)


def assert_predictions_depend_on_data(model: Model, task: Task) -> None:
    """Without this the other checks would prove nothing."""
    prediction = predicted(model, task)
    changed = moments(model, rebuilt(task, y_context=-task.y_context))
    assert (prediction.std(2) > 1e-3).all()  # from target to target
    assert ((prediction - changed).abs().amax(2) > 1e-3).all()


def assert_context_order_does_not_matter(model: Model, task: Task, order: Tensor) -> None:
    assert_equal(moments(model, permuted(task, "context", order)), predicted(model, task))


def assert_target_order_permutes_predictions(model: Model, task: Task, order: Tensor) -> None:
    assert_equal(
        moments(model, permuted(task, "target", order)), predicted(model, task)[:, :, order]
    )


def assert_shift_does_not_matter(
    model: Model, task: Task, by: list[float] | float, tolerance: float = 1e-9
) -> None:
    assert_equal(moments(model, shifted(task, by)), predicted(model, task), tolerance)


def assert_far_target_does_not_matter(model: Model, task: Task, distance: list[float]) -> None:
    """Distances count outwards from the outermost points; zero is level with the middle."""
    away = torch.tensor(distance, dtype=torch.float64)
    x = torch.cat([task.x_context, task.x_target], 1)
    low, high = x.amin((0, 1)), x.amax((0, 1))
    far = torch.where(away > 0, high, torch.where(away < 0, low, (low + high) / 2)) + away
    assert_equal(moments(model, with_target(task, far))[:, :, :-1], predicted(model, task))


def assert_far_predictions_are_those_without_context(model: ConvCNP, task: Task) -> None:
    """Where no observation reaches, and the grid has long ended, all is as if there were none."""
    far = task.x_context.amax((0, 1)) + 1.01 * model.receptive_radius
    x_target = torch.stack([far, far + 0.3, far + 1e6])[None]
    known = moments(model, Task(task.x_context, task.y_context, x_target))
    unknown = moments(model, Task(task.x_context[:, :0], task.y_context[:, :0], x_target[:, :1]))
    assert_equal(known, unknown.expand_as(known))


def assert_another_task_does_not_matter(model: Model, task: Task, other: Task) -> None:
    alone, num_target = predicted(model, task), task.x_target.shape[1]
    together = moments(model, Task.stack([other, task]))
    assert_equal(together[:, other.batch_size :, :num_target], alone)


def assert_masked_points_do_not_matter(
    model: Model, task: Task, hidden: Tensor, build: Callable[..., Task] = Task
) -> None:
    """Add points that the mask hides, with garbage in them: all is as if they were not there."""
    y_hidden = hidden[..., :1].expand(-1, -1, task.dim_y)
    nothing = torch.zeros_like(y_hidden, dtype=torch.bool)
    added = {
        "x_context": hidden,
        "y_context": y_hidden,
        "x_target": hidden,
        "y_target": y_hidden,
        "context_mask": nothing,
        "target_mask": nothing,
    }
    longer = build(**{n: torch.cat([getattr(task, n), added[n]], 1) for n in added})
    assert_equal(moments(model, longer)[:, :, : task.x_target.shape[1]], predicted(model, task))


def assert_masked_channels_do_not_matter(
    model: Model, task: Task, garbage: float, build: Callable[..., Task] = Task
) -> None:
    """Split every point into one point per channel, the other channels hidden behind garbage."""
    points = task.y_context.shape[1]
    mine = torch.eye(task.dim_y, dtype=torch.bool).repeat_interleave(points, 0)  # (Dy N, Dy)
    split = build(
        task.x_context.repeat(1, task.dim_y, 1),
        torch.where(mine, task.y_context.repeat(1, task.dim_y, 1), garbage),
        task.x_target,
        task.y_target,
        task.context_mask.repeat(1, task.dim_y, 1) & mine,
        task.target_mask,
    )
    assert_equal(moments(model, split), predicted(model, task))


def assert_empty_context_gives_finite_predictions(model: Model, task: Task) -> None:
    removed = Task(task.x_context[:, :0], task.y_context[:, :0], task.x_target)
    hidden = rebuilt(task, context_mask=torch.zeros_like(task.context_mask))
    prediction = moments(model, removed)
    assert prediction.isfinite().all()
    assert (prediction[1] > 0).all()
    assert_equal(moments(model, hidden), prediction)
