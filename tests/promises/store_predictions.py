"""Write down what the shipped models predict: run once, before a change that must move nothing.

python tests/promises/store_predictions.py
"""

from pathlib import Path

import convcnp
from convcnp.predict.zoo import WEIGHTS
from convcnp.storage import write_tensors
from helpers import moments, random_images, random_task

STORED = Path(__file__).with_name("stored_predictions.safetensors")


def predictions(name):
    """Return mean and standard deviation of a shipped model on tasks made from a seed."""
    model = convcnp.load(name).model
    has_pixels = "grid-convcnp" in convcnp.load(name).experiment.model["name"]
    if has_pixels:
        task = random_images(model.dim_y, batch_size=1, height=9, width=10, seed=3)
    else:
        task = random_task(
            *(model.dim_x, model.dim_y), batch_size=2, num_context=12, width=3.0, seed=3
        )
    return moments(model, task)


if __name__ == "__main__":
    names = sorted(path.stem for path in WEIGHTS.glob("*.json"))
    write_tensors(STORED, {name: predictions(name).contiguous() for name in names})
