"""The trained models keep the promises of the core, in float32, on tasks of their own process."""

import json

import pytest
import torch

import convcnp
from convcnp import ConvCNP, Task, predict_in_tiles
from convcnp.core.image_task import ImageTask
from convcnp.data.source import seeded
from convcnp.predict.zoo import WEIGHTS
from helpers import held_out_tasks_of

SHIPPED = {
    path.stem: json.loads(path.read_text())["experiment"] for path in sorted(WEIGHTS.glob("*.json"))
}
CONVOLUTIONAL = [name for name, e in SHIPPED.items() if e["model"]["name"].startswith("convcnp")]
OF_IMAGES = [name for name, e in SHIPPED.items() if e["model"]["name"].startswith("grid-convcnp")]
TOLERANCE = 1e-3  # of a predicted standard deviation


@pytest.fixture(params=CONVOLUTIONAL)
def predictor(request):
    return convcnp.load(request.param)


def drawn_task(predictor):
    """Four tasks whose inputs stay exact when 1.7e9 is added: multiples of 2**-20."""
    task = held_out_tasks_of(predictor.experiment).draw(4, seeded(11))
    x_context, x_target = ((x * 2**20).round() / 2**20 for x in (task.x_context, task.x_target))
    return Task(
        x_context,
        task.y_context,
        x_target,
        context_mask=task.context_mask,
        target_mask=task.target_mask,
    )


def changed(task, **fields):
    names = ("x_context", "y_context", "x_target", "context_mask", "target_mask")
    return Task(**{name: fields.get(name, getattr(task, name)) for name in names})


@torch.no_grad()
def assert_same(predictor, reference, predictive, targets=slice(None)):
    stddev = reference.stddev
    asked = reference.mask
    for moment in ("mean", "stddev"):
        difference = getattr(predictive, moment)[:, targets] - getattr(reference, moment)
        assert (difference.abs() / stddev)[asked].max() < TOLERANCE, moment


@pytest.mark.parametrize("shift", [0.003, -250.0, 1.7e9])
@torch.no_grad()
def test_a_shift_changes_no_prediction(predictor, shift):
    task = drawn_task(predictor)
    shift = round(shift * 2**20) / 2**20
    shifted = changed(task, x_context=task.x_context + shift, x_target=task.x_target + shift)
    assert_same(predictor, predictor.model(task), predictor.model(shifted))


@torch.no_grad()
def test_a_far_target_changes_no_other_prediction(predictor):
    task = drawn_task(predictor)
    far = torch.cat([task.x_target, torch.full_like(task.x_target[:, :1], 300.0)], 1)
    mask = torch.cat([task.target_mask, torch.ones_like(task.target_mask[:, :1])], 1)
    more = changed(task, x_target=far, target_mask=mask)
    assert_same(predictor, predictor.model(task), predictor.model(more), slice(-1))


@torch.no_grad()
def test_another_task_changes_no_prediction(predictor):
    task = drawn_task(predictor)
    reference = predictor.model(task[1:2])
    batched = predictor.model(task)
    for moment in ("mean", "stddev"):
        difference = getattr(batched, moment)[1:2] - getattr(reference, moment)
        assert (difference.abs() / reference.stddev)[reference.mask].max() < TOLERANCE


@torch.no_grad()
def test_the_order_of_points_changes_no_prediction(predictor):
    task = drawn_task(predictor)
    order = torch.randperm(task.x_context.shape[1], generator=seeded(0))
    permuted = changed(
        task,
        x_context=task.x_context[:, order],
        y_context=task.y_context[:, order],
        context_mask=task.context_mask[:, order],
    )
    assert_same(predictor, predictor.model(task), predictor.model(permuted))


@torch.no_grad()
def test_tiles_give_the_numbers_of_one_piece(predictor):
    task = drawn_task(predictor)
    assert isinstance(predictor.model, ConvCNP)
    tiled = predict_in_tiles(predictor.model, task, cells_per_tile=1)
    assert_same(predictor, predictor.model(task), tiled)


def test_there_are_trained_convolutional_models():
    assert CONVOLUTIONAL


@pytest.mark.parametrize("name", OF_IMAGES)
@torch.no_grad()
def test_a_shift_of_image_and_mask_shifts_the_prediction(name):
    model = convcnp.load(name).model
    radius = model.radius_in_pixels
    size = 2 * radius + 40
    generator = torch.Generator().manual_seed(0)
    pixels = torch.zeros(1, size, size, model.dim_y)
    mask = torch.zeros(1, size, size, dtype=torch.bool)
    inside = (0, slice(radius + 8, radius + 24), slice(radius + 8, radius + 24))
    pixels[inside] = torch.rand(16, 16, model.dim_y, generator=generator)
    mask[inside] = torch.rand(16, 16, generator=generator) < 0.3
    task = ImageTask(pixels, mask)
    moved = ImageTask(pixels.roll((5, -3), (1, 2)), mask.roll((5, -3), (1, 2)))
    middle = slice(radius, -radius)
    reference, predictive = model(task), model(moved)
    stddev = task.as_images(reference.stddev)
    for moment in ("mean", "stddev"):
        first = task.as_images(getattr(reference, moment))
        second = task.as_images(getattr(predictive, moment)).roll((-5, 3), (1, 2))
        error = ((first - second).abs() / stddev)[:, middle, middle]
        assert error[:, 5:-5, 5:-5].max() < TOLERANCE
