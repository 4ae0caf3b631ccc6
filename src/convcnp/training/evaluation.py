"""Scores of predictions; log-likelihood of a model on fixed tasks, and how sure we are of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from convcnp.core.predictive import Predictive
from convcnp.core.task import Task
from convcnp.data.source import FiniteSource, Source, seeded
from convcnp.errors import SettingError

_CHUNK = 50  # tasks at once
_ORDER = 2**31  # the key, beside those of the chunks, that a data set is ordered by

# Training, validation and test tasks never share a seed: each kind has a range of its own.
TRAINING_SEEDS, VALIDATION_SEEDS, TEST_SEEDS = (
    range(2**20),
    range(2**20, 2**21),
    range(2**21, 2**31),
)


@dataclass(frozen=True)
class Score:
    """Log-likelihood per target point, averaged over tasks, with its standard error over tasks."""

    log_likelihood: float
    standard_error: float
    num_tasks: int

    @classmethod
    def of(cls, per_task: Float[Tensor, " tasks"]) -> Score:
        """Summarise the log-likelihoods of independent tasks."""
        return cls(*mean_and_error(per_task), len(per_task))


def mean_and_error(values: Float[Tensor, " tasks"]) -> tuple[float, float]:
    """Return the mean of independent values and its standard error, NaN for a single one."""
    error = values.std().item() / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return values.mean().item(), error


def fixed_tasks(source: Source, num_tasks: int, seed: int) -> Iterator[Task]:
    """Yield the same tasks for the same seed, in batches; of a data set, from distinct objects.

    Where a data set has fewer objects than tasks, they come again with other context points.
    """
    if num_tasks < 1:
        raise SettingError(f"num_tasks must be at least 1, got {num_tasks}.")
    for start in range(0, num_tasks, _CHUNK):
        # Always a full batch: the first tasks are the same however many are asked for.
        yield _chunk(source, start, seed)[: min(_CHUNK, num_tasks - start)]


def _chunk(source: Source, start: int, seed: int) -> Task:
    generator = seeded(seed, start)
    if not isinstance(source, FiniteSource):
        return source.draw(_CHUNK, generator)
    order = torch.randperm(len(source), generator=seeded(seed, _ORDER))
    return source.take(order[torch.arange(start, start + _CHUNK) % len(order)], generator)


@torch.inference_mode()
def log_likelihoods(
    predict: Callable[[Task], Predictive],
    tasks: Iterator[Task],
    device: torch.device | str = "cpu",
) -> Float[Tensor, " tasks"]:
    """Return the log-likelihood per target point of each task that asks for any."""
    scores = []
    for task in tasks:
        task = task.to(device)
        assert task.y_target is not None
        found = predict(task).log_likelihood(task.y_target)[task.has_targets]
        scores.append(found.cpu().double())
    return torch.cat(scores)
