"""Predictions of the shipped models: written down once, so that no change moves them.

PYTHONPATH=tests python tests/promises/store_predictions.py [NAME ...]  # all, or these anew
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

import convcnp
from convcnp.predict.zoo import WEIGHTS
from convcnp.storage import read_tensors, write_tensors
from helpers import moments, random_images, random_task

STORED = Path(__file__).with_name("stored_predictions.safetensors")
SHIPPED = sorted(path.stem for path in WEIGHTS.glob("*.json"))


def predictions(name: str) -> Tensor:
    """Return mean and standard deviation of a shipped model on tasks made from a seed."""
    predictor = convcnp.load(name)
    model = predictor.model
    if predictor.experiment.model["name"].startswith("grid-"):
        task = random_images(model.dim_y, batch_size=1, height=9, width=10, seed=3)
    else:
        dims = (model.dim_x, model.dim_y)
        task = random_task(*dims, batch_size=2, num_context=12, width=3.0, seed=3)
    return moments(model, task)


def main(names: Sequence[str]) -> None:
    """Write down the predictions of some models, or of all that ship."""
    torch.set_num_threads(1)
    kept = {name: found for name, found in read_tensors(STORED)[0].items() if name in SHIPPED}
    write_tensors(STORED, kept | {name: predictions(name) for name in names or SHIPPED})


if __name__ == "__main__":
    main(sys.argv[1:])
