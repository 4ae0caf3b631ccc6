"""Log-likelihood of a model on fixed tasks, and how sure we are of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from convcnp.data.source import Source, seeded
from convcnp.errors import SettingError
from convcnp.predictive import GaussianPredictive
from convcnp.task import Task

_CHUNK = 50  # tasks at once

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
        error = per_task.std().item() / len(per_task) ** 0.5 if len(per_task) > 1 else float("nan")
        return cls(per_task.mean().item(), error, len(per_task))


def fixed_tasks(source: Source, num_tasks: int, seed: int) -> Iterator[Task]:
    """Yield the same tasks for the same seed, in batches."""
    if num_tasks < 1:
        raise SettingError(f"num_tasks must be at least 1, got {num_tasks}.")
    for start in range(0, num_tasks, _CHUNK):
        # Always a full batch: the first tasks are the same however many are asked for.
        yield source.draw(_CHUNK, seeded(seed, start))[: min(_CHUNK, num_tasks - start)]


@torch.inference_mode()
def log_likelihoods(
    predict: Callable[[Task], GaussianPredictive],
    tasks: Iterator[Task],
    device: torch.device | str = "cpu",
) -> Float[Tensor, " tasks"]:
    """Return the log-likelihood per target point of each task."""
    scores = []
    for task in tasks:
        task = task.to(device)
        assert task.y_target is not None
        scores.append(predict(task).log_likelihood(task.y_target).cpu().double())
    return torch.cat(scores)
