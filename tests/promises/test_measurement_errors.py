"""What standard errors promise of every model that knows them."""

from collections.abc import Callable
from functools import cache

import pytest
import torch

from convcnp.core.cnn import UNet
from convcnp.core.heads import MixtureHead
from convcnp.core.task import Task
from convcnp.models.base import Model
from convcnp.models.cnp import CNP
from convcnp.models.convcnp import ConvCNP
from convcnp.models.dictionary.model import GaussianProcessDictionary
from convcnp.models.measured import MeasuredConvCNP
from convcnp.models.tiling import predict_in_tiles
from helpers import assert_equal, lively, random_task, rebuilt


def convcnp(kind=MeasuredConvCNP, **options) -> ConvCNP:
    return kind(UNet(1, 8, (8, 8), (8, 8), blocks=1), 2, points_per_unit=16, **options)


MODELS: dict[str, Callable[[], Model]] = {
    "convcnp": convcnp,
    "dictionary": lambda: GaussianProcessDictionary(1, 2),
    "compressed-mixture": lambda: convcnp(compress=True, head=MixtureHead(2)),
}
built = cache(lambda name: lively(MODELS[name]()).eval())
convolutional = pytest.mark.parametrize(
    "model", [built(name) for name in MODELS if name != "dictionary"]
)
every_model = pytest.mark.parametrize("model", [built(name) for name in MODELS], ids=MODELS)


def measured(seed: int = 0, batch_size: int = 2) -> Task:
    """A task of two channels whose values are measured more or less precisely."""
    task = random_task(dim_y=2, batch_size=batch_size, num_context=9, seed=seed, observed=0.8)
    generator = torch.Generator().manual_seed(seed)
    errors = (torch.rand(mask.shape, generator=generator).double() for mask in masks(task))
    return rebuilt(task, **dict(zip(("context_error", "target_error"), errors, strict=True)))


def masks(task):
    return task.context_mask, task.target_mask


def moments(model, task):
    return described(model(task))


def described(predictive):
    """Mean and deviation, compressed: some models' differ by orders of magnitude."""
    return torch.stack([predictive.mean.asinh(), predictive.stddev.asinh()])


@every_model
def test_errors_matter(model):
    task = measured()
    coarser = rebuilt(task, context_error=3 * task.context_error)
    assert (moments(model, coarser) - moments(model, task)).abs().amax() > 1e-3


@every_model
def test_errors_of_zero_are_no_errors(model):
    task = measured()
    nothing = rebuilt(task, context_error=0 * task.context_error, target_error=None)
    assert_equal(moments(model, nothing), moments(model, task.without_errors()))


@every_model
def test_an_infinite_error_is_no_observation(model):
    task = measured()
    # Not the first and the last: the grid hangs on them.
    inner = (task.x_context > 0.3) & (task.x_context < 0.7) & task.context_mask
    assert inner.any()
    infinite = rebuilt(task, context_error=torch.where(inner, torch.inf, task.context_error))
    absent = rebuilt(task, context_mask=task.context_mask & ~inner)
    assert_equal(moments(model, infinite), moments(model, absent))
    if not isinstance(model, ConvCNP):
        return  # its units are those of all observations, however poor
    huge = rebuilt(task, context_error=torch.where(inner, 1e9, task.context_error))
    assert_equal(moments(model, huge), moments(model, absent), 1e-3)


@every_model
def test_order_and_shifts_do_not_matter(model):
    task, order = measured(), torch.tensor([3, 1, 8, 0, 2, 7, 6, 4, 5])
    mixed = task.of_context(lambda tensor: tensor[:, order])
    assert_equal(moments(model, mixed), moments(model, task))
    # Multiples of a power of two, which lose no digit far from zero.
    near = [(x * 2**20).round() / 2**20 for x in (task.x_context, task.x_target)]
    found = [
        moments(model, rebuilt(task, x_context=near[0] + by, x_target=near[1] + by))
        for by in (0.0, 1.7e5)
    ]
    assert_equal(found[1], found[0])


@every_model
def test_another_task_in_the_batch_and_its_errors_change_nothing(model):
    task, other = measured(1, batch_size=1), random_task(dim_y=2, num_context=12, seed=5)
    together = moments(model, Task.stack([other, task]))[:, 1:, : task.x_target.shape[1]]
    assert_equal(together, moments(model, task))
    alone = moments(model, Task.stack([other, task]))[:, :1, : other.x_target.shape[1]]
    assert_equal(alone, moments(model, other))


@every_model
def test_the_errors_of_targets_widen_their_predictions_and_nothing_else(model):
    task = measured()
    of_values = model(rebuilt(task, target_error=None))
    of_measurements = model(task)
    assert_equal(of_measurements.mean, of_values.mean)
    widened = (of_values.variance + task.target_error**2).sqrt()
    assert_equal(of_measurements.stddev.asinh(), widened.asinh())


@convolutional
def test_tiles_know_errors(model):
    x = torch.linspace(0, 60, 90).double()[None, :, None]
    y = torch.cat([x.sin(), x.cos()], -1)
    error = 0.1 + (x.expand_as(y) / 7).sin() ** 2
    task = Task(x, y, x + 0.3, context_error=error, target_error=error)
    tiled = predict_in_tiles(model, task, cells_per_tile=400)
    assert_equal(described(tiled), moments(model, task), 1e-6)


def test_a_model_that_does_not_know_errors_ignores_them():
    task = measured()
    for model in (lively(convcnp(ConvCNP)).eval(), lively(CNP(dim_y=2)).eval()):
        assert not model.knows_errors
        assert_equal(moments(model, task), moments(model, task.without_errors()))
