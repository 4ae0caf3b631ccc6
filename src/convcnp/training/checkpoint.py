"""Checkpoints: all that a run needs to go on as if it had never been stopped."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from convcnp.errors import CheckpointError
from convcnp.models.base import Model
from convcnp.storage import read_tensors, write_tensors

# The files of a run's directory: those that hold tensors, and what is told of them.
CHECKPOINT, BEST = "checkpoint.safetensors", "best.safetensors"
EXPERIMENT, RESULT = "experiment.toml", "result.json"


@dataclass
class Progress:
    """Where a run stands: all its state beside tensors."""

    step: int = 0
    seconds: float = 0.0
    best_score: float = -math.inf
    best_step: int = 0
    stale: int = 0  # validations since the best
    losses: list[float] = field(default_factory=list)  # since the last row of metrics


class RunState:
    """All that changes while a model is trained.

    Args:
        average: The moving average of the weights, if there is one.
    """

    def __init__(self, model: Model, optimizer: Optimizer, average: Model | None = None) -> None:
        self.model, self.optimizer, self.average = model, optimizer, average
        self.best = {name: value.clone() for name, value in model.state_dict().items()}
        self.progress = Progress()

    def write(self, path: Path) -> None:
        """Write a checkpoint; one that is there is replaced in one step."""
        tensors = {f"model.{name}": value for name, value in self.model.state_dict().items()}
        tensors |= {f"best.{name}": value for name, value in self.best.items()}
        if self.average is not None:
            tensors |= {f"average.{k}": v for k, v in self.average.state_dict().items()}
        for index, state in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{index}.{name}": value for name, value in state.items()}
        write_tensors(path, tensors, {"progress": asdict(self.progress)})

    def read(self, path: Path) -> None:
        """Go back to the state that a checkpoint holds."""
        self.load(*read_tensors(path), path)

    def load(self, tensors: dict[str, Tensor], metadata: dict[str, Any], path: Path) -> None:
        """Take the state that was read from a checkpoint."""
        try:
            self.progress = Progress(**metadata["progress"])
            self.model.load_state_dict(_below("model", tensors))
            self.best = _below("best", tensors)
            if self.average is not None:
                self.average.load_state_dict(_below("average", tensors))
            state: dict[int, dict[str, Tensor]] = {}
            for name, value in _below("optimizer", tensors).items():
                index, key = name.split(".")
                state.setdefault(int(index), {})[key] = value
            groups = self.optimizer.state_dict()["param_groups"]
            self.optimizer.load_state_dict({"state": state, "param_groups": groups})
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise CheckpointError(
                f"{path} must hold a run of this experiment, but does not fit it "
                f"({str(error).splitlines()[0]}); start again in another directory."
            ) from error


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix(f"{prefix}."): value
        for name, value in tensors.items()
        if name.startswith(f"{prefix}.")
    }
