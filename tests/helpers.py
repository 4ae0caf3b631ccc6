"""Builders shared by the tests."""

import gzip
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from convcnp.data.source import Source, seeded
from convcnp.errors import DataError
from convcnp.experiment import Experiment
from convcnp.models.base import Model
from convcnp.models.convcnp import ConvCNP
from convcnp.task import Task

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


def held_out_tasks_of(experiment: Experiment) -> Source:
    """Return the source of an experiment's test tasks; skip where its data set is not at hand."""
    source = experiment.source().held_out("test")
    try:
        source.draw(1, seeded(0))
    except DataError as error:
        pytest.skip(str(error))
    return source


def light_curve_rows(num_objects: int, seed: int = 0) -> list[tuple[int, float, int, float, float]]:
    """Make up light curves: (object id, day, band, flux, error), objects of 1 to 6 observations."""
    rng = np.random.default_rng(seed)
    rows = []
    for object_id in range(1, num_objects + 1):
        for _ in range(rng.integers(1, 7)):
            day = round(59_000 + 1000 * rng.random() + 1e-3 * len(rows) % 1, 4)
            flux = 200 * rng.standard_normal() * (5 if object_id % 10 == 0 else 1)
            rows.append((object_id, day, int(rng.integers(6)), flux, rng.uniform(1, 20)))
    rng.shuffle(rows)
    return [(int(o), float(d), int(b), float(f), float(e)) for o, d, b, f, e in rows]


def write_light_curves(path: Path, num_objects: int) -> None:
    """Write made-up light curves as PLAsTiCC does, compressed."""
    lines = ["object_id,mjd,passband,flux,flux_err,detected_bool"]
    lines += [",".join(map(repr, row)) + ",1" for row in light_curve_rows(num_objects)]
    path.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode()))
