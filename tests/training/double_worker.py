"""Train a model of double precision in the processes of a launcher; argument: directory."""

import sys
from pathlib import Path

import torch

from convcnp.data.functions import GPSource
from convcnp.models.convcnp import ConvCNP
from convcnp.training.loop import TrainingSettings, train
from convcnp.training.processes import Processes


def main(directory: Path) -> None:
    torch.manual_seed(0)
    model = ConvCNP.small(points_per_unit=16.0).double()
    settings = TrainingSettings(steps=50, validation_tasks=8, average=0.9)
    processes = Processes()
    with processes.one_voice(print):
        train(model, GPSource(), settings, directory, fabric=processes.launch())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
