"""Task: the observations a prediction is made from, and the points it is asked for."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.nn.functional import pad

from convcnp.errors import NonFiniteError, ShapeError

_ERRORS = ("context_error", "target_error")
_FIELDS = (
    *("x_context", "y_context", "x_target", "y_target", "context_mask", "target_mask"),
    *_ERRORS,
)


class Task:
    """A batch of small data sets: context points observed, target points asked for.

    The masks say which outputs are observed, channel by channel, so that tasks of different sizes
    share a batch and channels need not be observed at the same inputs. Whatever stands where a mask
    is false, NaN included, is ignored. An empty context is legal; an empty set of targets is not.

    Where standard errors of the measurements are known, they stand beside the outputs. An infinite
    one says that nothing was observed; zero is the same as none. Those of targets say how precise
    the measurements are that a prediction will be compared with.

    Inputs keep the precision they come with (use float64 for time stamps): a model subtracts its
    grid's origin before it rounds anything to its own.

    Example:
        >>> task = Task(torch.zeros(2, 5, 1), torch.zeros(2, 5, 3), torch.ones(2, 7, 1))
        >>> task.batch_size, task.dim_x, task.dim_y
        (2, 1, 3)
    """

    def __init__(
        self,
        x_context: Tensor,  # (B, N, Dx)
        y_context: Tensor,  # (B, N, Dy)
        x_target: Tensor,  # (B, M, Dx)
        y_target: Tensor | None = None,  # (B, M, Dy)
        context_mask: Tensor | None = None,  # (B, N, Dy), boolean; all observed if left out
        target_mask: Tensor | None = None,  # (B, M, Dy), boolean; all asked for if left out
        context_error: Tensor | None = None,  # (B, N, Dy); standard errors, unknown if left out
        target_error: Tensor | None = None,  # (B, M, Dy)
    ) -> None:
        _check_points(x_context, y_context, x_target, y_target)
        channels = y_context.shape[2]
        self.context_mask, self.context_error, observed = _counted(
            "context", context_mask, context_error, x_context, channels
        )
        self.target_mask, self.target_error, asked = _counted(
            "target", target_mask, target_error, x_target, channels
        )
        self.x_context = _hidden("x_context", x_context, observed, is_input=True)
        self.y_context = _hidden("y_context", y_context, observed)
        self.x_target = _hidden("x_target", x_target, asked, is_input=True)
        self.y_target = None if y_target is None else _hidden("y_target", y_target, asked)

    @classmethod
    def from_arrays(
        cls,
        x_context: ArrayLike,
        y_context: ArrayLike,
        x_target: ArrayLike,
        y_target: ArrayLike | None = None,
        context_error: ArrayLike | None = None,
        target_error: ArrayLike | None = None,
    ) -> Task:
        """Build one task from arrays or lists of shape (points,) or (points, dimensions).

        NaN in an output means that this channel was not observed there. A target whose outputs are
        all NaN is not asked for, and its prediction means nothing: leave `y_target` out to predict.
        Standard errors have the shape of the outputs.

        Example:
            >>> task = Task.from_arrays([0.0, 1.0], [2.0, float("nan")], [0.5])
            >>> task.context_mask.flatten().tolist()
            [True, False]
        """
        x_context, y_context, x_target = map(_as_points, (x_context, y_context, x_target))
        y_target = None if y_target is None else _as_points(y_target)
        target_mask = None if y_target is None else ~y_target.isnan()
        errors = (None if e is None else _as_points(e) for e in (context_error, target_error))
        masks = (~y_context.isnan(), target_mask)
        return cls(x_context, y_context, x_target, y_target, *masks, *errors)

    @classmethod
    def stack(cls, tasks: Sequence[Task]) -> Task:
        """Put tasks of different sizes into one batch; the padding is masked.

        Tasks without errors among others with errors get errors of zero.

        Example:
            >>> short = Task.from_arrays([0.0], [1.0], [0.5])
            >>> long = Task.from_arrays([0.0, 1.0, 2.0], [1.0, 2.0, 3.0], [0.5, 0.6])
            >>> Task.stack([short, long]).context_mask.sum((1, 2)).tolist()
            [1, 3]
        """
        if not tasks:
            raise ShapeError("Task.stack needs at least one task, got none; pass a non-empty list.")
        if len({(task.dim_x, task.dim_y, task.y_target is None) for task in tasks}) > 1:
            raise ShapeError(
                "Task.stack needs tasks with the same Dx and Dy, all with y_target or all without, "
                f"got {[(t.dim_x, t.dim_y, t.y_target is not None) for t in tasks]} as "
                "(Dx, Dy, has y_target); bring them to one form first."
            )

        def padded(name: str) -> Tensor | None:
            tensors = [getattr(task, name) for task in tasks]
            if all(tensor is None for tensor in tensors):
                return None
            if name in _ERRORS:
                masks = [getattr(task, name.replace("error", "mask")) for task in tasks]
                tensors = [
                    mask.to(task.y_context) * 0 if tensor is None else tensor
                    for tensor, mask, task in zip(tensors, masks, tasks, strict=True)
                ]
            length = max(t.shape[1] for t in tensors)
            return torch.cat([pad(t, (0, 0, 0, length - t.shape[1])) for t in tensors])

        return cls(*map(padded, _FIELDS))  # type: ignore[arg-type]

    def packed(self) -> Task:
        """Drop context points that no task of the batch needs, by moving the observed to the front.

        Example:
            >>> mask = torch.tensor([[[False], [True], [False], [True]]])
            >>> x = torch.arange(4.0)[None, :, None]
            >>> Task(x, x, x, context_mask=mask).packed().x_context.flatten().tolist()
            [1.0, 3.0]
        """
        is_observed = self.context_mask.any(-1)  # (B, N)
        length = int(is_observed.sum(1).max())
        if length == is_observed.shape[1]:
            return self
        first = is_observed.byte().argsort(dim=1, descending=True, stable=True)[:, :length, None]

        def chosen(tensor: Tensor) -> Tensor:
            return tensor.gather(1, first.expand(-1, -1, tensor.shape[2]))

        return self.of_context(chosen)

    def of_context(self, chosen: Callable[[Tensor], Tensor]) -> Task:
        """Choose context points by the same function of every tensor (B, N, ...) of theirs.

        Example:
            >>> x = torch.arange(4.0)[None, :, None]
            >>> Task(x, x, x).of_context(lambda t: t[:, :1]).x_context.shape
            torch.Size([1, 1, 1])
        """
        return self._with("context", chosen)

    def of_targets(self, chosen: Callable[[Tensor], Tensor]) -> Task:
        """Choose targets likewise."""
        return self._with("target", chosen)

    def _with(self, kind: str, chosen: Callable[[Tensor], Tensor]) -> Task:
        fields = {name: getattr(self, name) for name in _FIELDS}
        for name, tensor in fields.items():
            if kind in name and tensor is not None:
                fields[name] = chosen(tensor)
        return Task(**fields)

    def without_errors(self) -> Task:
        """Forget the standard errors of context and targets."""
        new = copy.copy(self)
        new.context_error = new.target_error = None
        return new

    def to(self, device: torch.device | str) -> Task:
        """Move every tensor to a device; precisions stay as they are."""
        return self._unchecked(lambda tensor: tensor.to(device))

    @property
    def has_targets(self) -> Tensor:  # (B,), boolean
        """Which tasks ask for anything."""
        return self.target_mask.flatten(1).any(1)

    def __len__(self) -> int:
        return self.batch_size

    def __getitem__(self, index: int | slice | Tensor) -> Task:
        """Take one task, a slice or a list of tasks; the result is a batch as well."""
        if isinstance(index, int):
            position = range(self.batch_size)[index]  # IndexError beyond the end, as in a list
            index = slice(position, position + 1)
        return self._unchecked(lambda tensor: tensor[index])

    def _unchecked(self, function: Callable[[Tensor], Tensor]) -> Task:
        new = copy.copy(self)
        for name in _FIELDS:
            tensor = getattr(self, name)
            setattr(new, name, None if tensor is None else function(tensor))
        return new

    @property
    def batch_size(self) -> int:
        """Number of tasks B."""
        return self.x_context.shape[0]

    @property
    def dim_x(self) -> int:
        """Input dimension Dx."""
        return self.x_context.shape[2]

    @property
    def dim_y(self) -> int:
        """Output channels Dy."""
        return self.y_context.shape[2]


def _check_points(x: Tensor, y: Tensor, x_target: Tensor, y_target: Tensor | None) -> None:
    named = {"x_context": x, "y_context": y, "x_target": x_target, "y_target": y_target}
    for name, tensor in named.items():
        if name == "y_target" and tensor is None:
            continue
        if not isinstance(tensor, Tensor) or not tensor.is_floating_point() or tensor.dim() != 3:
            raise ShapeError(
                f"{name} must be a floating-point tensor (tasks, points, dimensions), got "
                f"{_described(tensor)}; "
                "Task.from_arrays builds one task from plain arrays."
            )
    if x.shape[:2] != y.shape[:2]:
        raise ShapeError(
            "x_context and y_context must hold the same points: expected (B, N, Dx) and (B, N, "
            f"Dy), got {tuple(x.shape)} and {tuple(y.shape)}; give one output row per input."
        )
    if (x_target.shape[0], x_target.shape[2]) != (x.shape[0], x.shape[2]):
        raise ShapeError(
            "x_target must belong to the same tasks and input space as x_context: expected "
            f"({x.shape[0]}, M, {x.shape[2]}), got {tuple(x_target.shape)}; ask every task for the "
            "same number of points, or use Task.stack."
        )
    if 0 in (x_target.shape[1], x.shape[0], x.shape[2], y.shape[2]):
        raise ShapeError(
            "A task needs at least one target, input dimension and output channel, got x_context "
            f"{tuple(x.shape)}, y_context {tuple(y.shape)} and x_target {tuple(x_target.shape)}; "
            "ask for at least one point."
        )
    if y_target is not None and y_target.shape != (*x_target.shape[:2], y.shape[2]):
        raise ShapeError(
            "y_target must have one row per target and the channels of y_context: expected "
            f"{(*x_target.shape[:2], y.shape[2])}, got {tuple(y_target.shape)}; reshape it."
        )


def _described(value: object) -> str:
    if isinstance(value, Tensor):
        return f"{value.dtype} of shape {tuple(value.shape)}"
    return type(value).__name__


def _counted(
    kind: str, mask: Tensor | None, error: Tensor | None, x: Tensor, channels: int
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Return what counts of the context or the targets, its errors, and the mask if some do not."""
    is_all = mask is None and error is None  # known without looking
    mask = _checked_mask(f"{kind}_mask", mask, x, channels)
    error, mask = _checked_error(f"{kind}_error", error, mask)
    return mask, error, None if is_all or mask.all() else mask


def _checked_mask(name: str, mask: Tensor | None, x: Tensor, channels: int) -> Tensor:
    shape = (*x.shape[:2], channels)
    if mask is None:
        return x.new_ones(shape, dtype=torch.bool)
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool or mask.shape != shape:
        raise ShapeError(
            f"{name} must be boolean, one entry per point and channel: expected torch.bool of "
            f"shape {shape}, got {_described(mask)}; write {name}.bool() if it holds 0 and 1."
        )
    return mask


def _checked_error(name: str, error: Tensor | None, mask: Tensor) -> tuple[Tensor | None, Tensor]:
    """Return errors, zero where the mask is false, and the mask of what has a finite one."""
    if error is None:
        return None, mask
    if not isinstance(error, Tensor) or not error.is_floating_point() or error.shape != mask.shape:
        raise ShapeError(
            f"{name} must be a floating-point tensor, one standard error per point and channel: "
            f"expected shape {tuple(mask.shape)}, got {_described(error)}; leave it out where "
            "errors are unknown."
        )
    mask = mask & (error != torch.inf)
    error = torch.where(mask, error, 0)
    if not (error >= 0).all():
        task, point = torch.nonzero(~(error >= 0))[0, :2].tolist()
        raise NonFiniteError(
            f"{name} must be zero or larger wherever its mask is true, got "
            f"{error[task, point].tolist()} at point {point} of task {task}; give a standard error "
            "for every value, or none."
        )
    return error, mask


def _hidden(name: str, values: Tensor, mask: Tensor | None, is_input: bool = False) -> Tensor:
    """Put zeros where the mask is false, and refuse non-finite values where it is true.

    An input counts if any of its outputs does.
    """
    if mask is not None:
        values = torch.where(mask.any(-1, keepdim=True) if is_input else mask, values, 0)
    # One sum tells most often; only where it is no number, every value is looked at.
    if not math.isfinite(values.sum()) and not values.isfinite().all():
        task, point = torch.nonzero(~values.isfinite())[0, :2].tolist()
        raise NonFiniteError(
            f"{name} must be finite wherever its mask is true, got {values[task, point].tolist()} "
            f"at point {point} of task {task}; mask or remove it."
        )
    return values


def _as_points(values: ArrayLike) -> Tensor:
    # A copy: a task must not change with the arrays it was built from.
    points = torch.from_numpy(np.array(values, dtype=np.float64, order="C"))
    if points.dim() not in (1, 2):
        raise ShapeError(
            "Arrays must have shape (points,) or (points, dimensions), got "
            f"{tuple(points.shape)}; build a batch of tasks with Task.stack."
        )
    return (points[:, None] if points.dim() == 1 else points)[None]
