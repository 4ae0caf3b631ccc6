"""What processes that train one model do together: files by the first, errors shared by all."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, cast

import torch
from jaxtyping import Float
from torch import Tensor

from convcnp.errors import ConvCNPError

if TYPE_CHECKING:
    from lightning_fabric import Fabric

T = TypeVar("T")

_Outcome = tuple[T | None, Exception | None]


def is_first(fabric: Fabric | None) -> bool:
    """Tell whether this is the process that touches files: the only one, or that of rank zero."""
    return fabric is None or fabric.is_global_zero


def num_processes(fabric: Fabric | None) -> int:
    """Return how many processes train together."""
    return 1 if fabric is None else fabric.world_size


def summed(fabric: Fabric | None, values: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Return the sum of what all processes have."""
    values = values.detach().clone()
    if num_processes(fabric) > 1:
        torch.distributed.all_reduce(values)
    return values


def by_first(fabric: Fabric | None, function: Callable[[], T]) -> T:
    """Call a function in the first process; all return what it returns, or raise what it raises.

    Example:
        >>> by_first(None, lambda: "read from a file")
        'read from a file'
    """
    outcome = _tried(function) if is_first(fabric) else None
    if fabric is not None:
        outcome = fabric.broadcast(outcome)
    assert outcome is not None
    return _unpacked(outcome)


def by_first_then_others(fabric: Fabric | None, function: Callable[[], T]) -> T:
    """Call a function in the first process, then in all others; if it fails in any, all raise.

    What the first fetches, such as a data set, the others of its machine find in place.
    """
    mine: _Outcome[T] = (None, None)

    def first() -> None:
        nonlocal mine
        mine = _tried(function)

    by_first(fabric, first)
    if not is_first(fabric):
        mine = _tried(function)
    if num_processes(fabric) > 1:
        errors: list[Exception | None] = [None] * num_processes(fabric)
        torch.distributed.all_gather_object(errors, mine[1])
        failed = next((error for error in errors if error is not None), None)
        mine = (mine[0], mine[1] or failed)
    return _unpacked(mine)


def _tried(function: Callable[[], T]) -> _Outcome[T]:
    try:
        return function(), None
    except (ConvCNPError, OSError) as error:
        return None, error


def _unpacked(outcome: _Outcome[T]) -> T:
    value, error = outcome
    if error is not None:
        raise error
    return cast(T, value)
