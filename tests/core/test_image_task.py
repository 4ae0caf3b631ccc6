"""ImageTask: the pixels of images as points of a task."""

import pytest
import torch

from convcnp import Task
from convcnp.core.image_task import ImageTask, pixel_inputs
from convcnp.errors import ShapeError
from helpers import assert_equal, random_images

nan = float("nan")


def test_all_pixels_are_points_row_by_row():
    images = torch.arange(12.0).view(1, 2, 3, 2)
    mask = torch.tensor([[[True, False, True], [False, True, False]]])
    task = ImageTask(images, mask, images)
    assert (task.height, task.width, task.dim_x, task.dim_y) == (2, 3, 2, 2)
    assert task.context_mask[0, :, 0].tolist() == [True, False, True, False, True, False]
    assert task.y_context[0].tolist() == [[0, 1], [0, 0], [4, 5], [0, 0], [8, 9], [0, 0]]
    assert torch.equal(task.y_target[0], images.view(6, 2))
    assert task.target_mask.all()


def test_as_images_undoes_the_arrangement_as_points():
    task = random_images(3)
    assert torch.equal(task.as_images(task.y_target).flatten(1, 2), task.y_target)
    assert task.as_images(task.y_target).shape == (2, 12, 14, 3)


def test_inputs_are_row_and_column_from_the_centre_in_sixteenths():
    expected = [[-0.5, -1.0], [-0.5, 0.0], [-0.5, 1.0], [0.5, -1.0], [0.5, 0.0], [0.5, 1.0]]
    assert_equal(pixel_inputs(2, 3) * 16, torch.tensor(expected), 0)
    # Another row at the bottom moves the centre, and not the distance between pixels.
    assert (pixel_inputs(3, 3)[3] - pixel_inputs(3, 3)[0]).tolist() == [1 / 16, 0.0]


def test_a_mask_can_differ_by_channel():
    images = torch.ones(1, 2, 2, 3)
    mask = torch.zeros(1, 2, 2, 3, dtype=torch.bool)
    mask[..., 1] = True
    task = ImageTask(images, mask)
    assert task.y_context[0, 0].tolist() == [0, 1, 0]
    assert task.y_target is None


def test_what_is_not_observed_may_be_anything():
    images = torch.full((1, 2, 2, 1), nan)
    images[0, 0, 0] = 0.5
    task = ImageTask(images, ~images[..., 0].isnan())
    assert task.y_context.isfinite().all()


def test_some_pixels_only_can_be_asked_for():
    images = torch.rand(1, 2, 2, 1)
    asked = torch.tensor([[[True, False], [False, False]]])
    assert ImageTask(images, asked, images, ~asked).target_mask.flatten().tolist() == [
        *(False, True, True, True)
    ]


def test_a_part_of_a_batch_is_made_of_images_too():
    task = random_images(batch_size=3)
    part = task[1]
    assert isinstance(part, ImageTask)
    assert (part.batch_size, part.height, part.width) == (1, 12, 14)
    assert torch.equal(part.y_target[0], task.y_target[1])
    assert isinstance(task.to("cpu"), ImageTask)


def test_images_of_one_size_stack_to_images_and_others_to_points():
    small, other, wide = random_images(), random_images(seed=1), random_images(width=20)
    stacked = ImageTask.stack([small, other])
    assert isinstance(stacked, ImageTask)
    assert (stacked.batch_size, stacked.height, stacked.width) == (4, 12, 14)
    assert torch.equal(stacked[2].y_target, other[0].y_target)
    mixed = ImageTask.stack([small, wide])
    assert type(mixed) is Task
    assert mixed.context_mask.shape == (4, 240, 1)


@pytest.mark.parametrize("images", [torch.rand(2, 2, 1), torch.ones(1, 2, 2, 1).byte(), [1.0]])
def test_images_have_four_dimensions_and_floating_point_values(images, unchecked):
    with pytest.raises(ShapeError, match=r"observed must be a floating-point tensor \(images"):
        ImageTask(images, torch.ones(1, 2, 2, dtype=torch.bool))


@pytest.mark.parametrize("mask", [torch.ones(1, 2, 3).bool(), torch.ones(1, 2, 2), None])
def test_a_mask_has_an_entry_per_pixel(mask, unchecked):
    with pytest.raises(ShapeError, match=r"context_mask must be boolean.*expected \(1, 2, 2\) or"):
        ImageTask(torch.rand(1, 2, 2, 1), mask)


def test_what_is_predicted_has_the_shape_of_what_is_observed():
    with pytest.raises(ShapeError, match="images must have the shape of what is observed"):
        ImageTask(torch.rand(1, 2, 2, 1), torch.ones(1, 2, 2).bool(), torch.rand(1, 2, 2, 3))
