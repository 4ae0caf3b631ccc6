"""A training process for the tests of resuming; arguments: directory, and when to pause."""

import os
import sys
import time
from pathlib import Path

import torch

from convcnp.training import loop as training
from convcnp.training.experiment import Experiment

EXPERIMENT = {
    "data": "eq",
    "model": "convcnp",
    "training": {
        "steps": 24,
        "batch_size": 2,
        "schedule": "cosine",
        "average": 0.9,
        "validate_every": 8,
        "validation_tasks": 4,
        "checkpoint_every": 1,
    },
}


def pause_in_writes(directory: Path) -> None:
    """Stop for a moment in the middle of every checkpoint write, so that a kill can hit it."""
    real_fsync = os.fsync

    def slow_fsync(descriptor: int) -> None:
        (directory / "writing").touch()
        time.sleep(0.05)
        (directory / "writing").unlink(missing_ok=True)
        real_fsync(descriptor)

    os.fsync = slow_fsync


def main(directory: Path, pause: str) -> None:
    torch.set_num_threads(1)
    experiment = Experiment.parse(EXPERIMENT)
    if pause == "in-write":
        pause_in_writes(directory)
    source = experiment.source()
    training.train(experiment.build_model(), source, experiment.training, directory, resume=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
