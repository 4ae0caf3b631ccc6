"""Builders shared by the tests."""

import json
import struct
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from convcnp.experiment import Experiment
from convcnp.image_task import ImageTask
from convcnp.models.base import Model
from convcnp.models.convcnp import ConvCNP
from convcnp.task import Task
from convcnp.training import write_tensors

AnyModule = TypeVar("AnyModule", bound=nn.Module)


def random_task(
    dim_x: int = 1,
    dim_y: int = 1,
    *,
    batch_size: int = 1,
    num_context: int = 8,
    num_target: int = 6,
    width: float = 1.0,
    seed: int = 0,
    observed: float = 1.0,
) -> Task:
    """Draw inputs in a box of this width and outputs of variance one, in float64.

    Args:
        observed: The probability that an output is observed, channel by channel.
    """
    generator = torch.Generator().manual_seed(seed)

    def uniform(*shape: int) -> Tensor:
        return torch.rand(shape, dtype=torch.float64, generator=generator)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, dtype=torch.float64, generator=generator)

    return Task(
        width * uniform(batch_size, num_context, dim_x),
        normal(batch_size, num_context, dim_y),
        width * (1.2 * uniform(batch_size, num_target, dim_x) - 0.1),
        normal(batch_size, num_target, dim_y),
        uniform(batch_size, num_context, dim_y) < observed,
    )


def random_images(
    dim_y: int = 1,
    *,
    batch_size: int = 2,
    height: int = 12,
    width: int = 14,
    observed: float = 0.3,
    seed: int = 0,
) -> ImageTask:
    """Draw images of noise in float64, with a share of their pixels observed."""
    generator = torch.Generator().manual_seed(seed)
    shape = (batch_size, height, width, dim_y)
    images = torch.rand(shape, dtype=torch.float64, generator=generator)
    mask = torch.rand(shape[:3], generator=generator) < observed
    return ImageTask(images, mask, images)


def rebuilt(task: Task, **changes: Any) -> Task:
    """Pass a task through its door again, with some of its fields replaced."""
    return Task(**{**vars(task), **changes})


def lively(module: AnyModule, seed: int = 1) -> AnyModule:
    """Redraw all weights so that outputs vary by about one, and return the module in float64.

    With the usual initial weights predictions are nearly constant, and faults would hide.
    """
    generator = torch.Generator().manual_seed(seed)
    module = module.double()
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if name.endswith("bias"):
                parameter.normal_(0, 0.3, generator=generator)
            elif parameter.dim() > 1:
                fan_in = parameter[0].numel()
                parameter.normal_(0, (2 / fan_in) ** 0.5, generator=generator)
        if isinstance(module, ConvCNP):
            for parameter in module.head.parameters():
                parameter /= 5**module.dim_x  # the decoder's kernel sums to 5 in every dimension
    return module


def moments(model: Model, task: Task) -> Tensor:
    """Return the predicted means and standard deviations side by side: (2, B, M, Dy)."""
    with torch.no_grad():
        predictive = model(task)
    return torch.stack([predictive.mean, predictive.stddev])


def assert_equal(actual: Tensor, expected: Tensor, tolerance: float = 1e-9) -> None:
    """Compare absolutely; NaN equals nothing, so it fails."""
    torch.testing.assert_close(actual, expected, atol=tolerance, rtol=0)


def idx(images: Tensor) -> bytes:
    """Return images (images, height, width) as bytes in MNIST's format."""
    return struct.pack(">IIII", 0x803, *images.shape) + images.numpy().tobytes()


def some_digits(count: int, seed: int) -> Tensor:
    """Draw images of 28 x 28 with an empty margin of four pixels, as MNIST's have."""
    generator = torch.Generator().manual_seed(seed)
    digits = torch.zeros(count, 28, 28, dtype=torch.uint8)
    digits[:, 4:24, 4:24] = torch.randint(1, 256, (count, 20, 20), generator=generator).byte()
    return digits


def write_untrained(directory: Path, data: str, model: dict[str, str]) -> None:
    """Leave an untrained model where a finished run would leave a trained one."""
    experiment = Experiment.parse({"data": data, "model": model})
    write_tensors(directory / "best.safetensors", experiment.build_model().state_dict())
    result = {"name": f"table/{directory.name}", "experiment": experiment.model_dump()}
    (directory / "result.json").write_text(json.dumps(result))
