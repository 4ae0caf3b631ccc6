"""Images in tiles: the numbers of one piece."""

import pytest
import torch

from convcnp.core.cnn import ResNet
from convcnp.errors import SettingError, ShapeError
from convcnp.models.grid_convcnp import GridConvCNP, GridEncoder
from convcnp.models.tiling import predict_in_tiles
from helpers import assert_equal, lively, moments, random_images, random_task


def model_of(padding: str, dim_y: int = 2) -> GridConvCNP:
    """Build a model that sees six pixels to either side, in float64."""
    encoder = GridEncoder(dim_y, kernel_size=5, padding=padding)
    cnn = ResNet(2, 6, blocks=2, kernel_size=5, padding=padding)
    return lively(GridConvCNP(encoder, cnn)).eval()


def tiled(model, task, side: int):
    """Predict from cuts of at most this side; return moments and what was reported."""
    reports = []
    predictive = predict_in_tiles(
        model, task, cells_per_tile=side**2, progress=lambda *report: reports.append(report)
    )
    return torch.stack([predictive.mean, predictive.stddev]), reports


# Of a cut's side 12 pixels are overlap. With circular padding a cut longer than the image is the
# image itself, so the last column of tiles takes another way than the first.
@pytest.mark.parametrize("padding", ["unobserved", "zeros", "circular"])
@pytest.mark.parametrize("side, tiles", [(20, 5 * 6), (30, 3 * 3), (52, 1 * 2), (60, 1)])
def test_tiles_give_the_numbers_of_one_piece(padding, side, tiles):
    model, task = model_of(padding), random_images(2, height=40, width=48)
    actual, reports = tiled(model, task, side)
    assert len(reports) == 2 * tiles
    assert reports[-1] == (2 * 40 * 48, 2 * 40 * 48)
    whole = moments(model, task)
    assert whole.std() > 0.1
    assert_equal(actual, whole, 1e-10)


@pytest.mark.parametrize("padding", ["unobserved", "zeros", "circular"])
def test_tiles_of_a_preset_are_equal_in_float32(padding):
    model = lively(GridConvCNP.small(dim_y=3, padding=padding)).float().eval()
    task = random_images(3, batch_size=1, height=50, width=45)
    actual, reports = tiled(model, task, 40)
    assert len(reports) == 4 * 3  # 16 pixels across
    assert actual.dtype == torch.float32
    assert_equal(actual, moments(model, task), 1e-5)


def test_what_a_tile_cannot_see_is_not_given_to_it(monkeypatch):
    model, task = model_of("unobserved"), random_images(2, height=40, width=48)
    shapes = []
    real = model.on_pixels
    monkeypatch.setattr(
        model, "on_pixels", lambda *images: shapes.append(images[0].shape) or real(*images)
    )
    tiled(model, task, 20)
    assert max(shape[1] * shape[2] for shape in shapes) == 20 * 20
    assert {shape[0] for shape in shapes} == {1}


def test_tiles_are_no_thinner_than_a_quarter_of_what_a_pixel_sees():
    cnn = ResNet(2, 6, blocks=3, kernel_size=9)
    model = lively(GridConvCNP(GridEncoder(kernel_size=5), cnn)).eval()  # sees 14: 3 are a quarter
    _, reports = tiled(model, random_images(batch_size=1, height=12, width=9), 1)
    assert len(reports) == 4 * 3


def test_the_mask_of_targets_is_kept():
    task = random_images(2)
    predictive = predict_in_tiles(model_of("zeros"), task)
    assert torch.equal(predictive.mask, task.target_mask)


def test_wrong_tasks_and_sizes_are_refused():
    with pytest.raises(ShapeError, match="expected an ImageTask, got Task"):
        predict_in_tiles(model_of("zeros", 1), random_task(2, 1))
    with pytest.raises(SettingError, match="must be a positive number, got 0"):
        predict_in_tiles(model_of("zeros", 1), random_images(), cells_per_tile=0)
