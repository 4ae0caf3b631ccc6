"""Prediction in tiles: the numbers of one piece, in bounded memory."""

import math

import pytest
import torch
from torch import Tensor

from convcnp.core.cnn import ResNet
from convcnp.core.grid import Grid
from convcnp.core.heads import Head, MixtureHead
from convcnp.core.predictive import MixturePredictive
from convcnp.core.task import Task
from convcnp.errors import SettingError, ShapeError
from convcnp.models.cnp import CNP
from convcnp.models.convcnp import ConvCNP
from convcnp.models.grid_convcnp import GridConvCNP, GridEncoder
from convcnp.models.tiling import predict_in_tiles, raw_in_passes
from helpers import assert_equal, lively, moments, random_images, random_task, rebuilt


def tiled(model: ConvCNP, task: Task, cells_per_tile: int) -> tuple[Tensor, list[tuple[int, int]]]:
    """Return means and standard deviations, and what was reported on the way."""
    reports: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        reports.append((done, total))

    predictive = predict_in_tiles(model, task, cells_per_tile=cells_per_tile, progress=progress)
    return torch.stack([predictive.mean, predictive.stddev]), reports


def assert_tiles_equal_one_piece(
    model: ConvCNP, task: Task, cells_per_tile: int, *, tolerance: float = 1e-9, tiles: int = 3
) -> None:
    prediction, reports = tiled(model.eval(), task, cells_per_tile)
    assert len(reports) >= tiles
    whole = moments(model, task)
    asked = task.target_mask.expand_as(whole)
    assert whole[asked].std() > 0.1
    assert_equal(prediction[asked], whole[asked], tolerance)


def series(width: float = 30.0, **options: int) -> Task:
    return random_task(**{"num_context": 90, "num_target": 40, **options}, width=width)


# Tiles of 4 and 20 units: the networks look 0.7 and 5.5 units around a target.
PRESETS = {"convcnp": (ConvCNP.small, 256), "convcnpxl": (ConvCNP.xl, 1280)}
every_preset = pytest.mark.parametrize("preset, cells", PRESETS.values(), ids=PRESETS.keys())


@every_preset
@pytest.mark.parametrize("padding", ["unobserved", "zeros", "circular"])
def test_tiles_give_the_numbers_of_one_piece(preset, cells, padding):
    assert_tiles_equal_one_piece(lively(preset(padding=padding)), series(), cells)


def test_tiles_of_a_mixture_are_mixtures_with_the_numbers_of_one_piece():
    model, task = lively(ConvCNP.small(head=MixtureHead(3))).eval(), series()
    assert_tiles_equal_one_piece(model, task, 256)
    in_tiles, whole = predict_in_tiles(model, task, cells_per_tile=256), model(task)
    assert isinstance(in_tiles, MixturePredictive)
    for level in (0.05, 0.7):  # a mixture is more than its mean and deviation
        assert_equal(in_tiles.quantile(level), whole.quantile(level), 1e-8)


def test_tiles_of_images_may_be_mixtures():
    model = model_of("zeros", head=MixtureHead(2))
    task = random_images(2, height=40, width=48)
    in_tiles = predict_in_tiles(model, task, cells_per_tile=20**2)
    assert isinstance(in_tiles, MixturePredictive)
    assert_equal(in_tiles.quantile(0.9), model(task).quantile(0.9), 1e-8)


@pytest.mark.parametrize("filters", [0, 2])
def test_tiles_give_the_numbers_of_one_piece_with_residual_blocks_and_filters(filters):
    assert_tiles_equal_one_piece(lively(ConvCNP.residual(filters=filters)), series(), 1280)


@every_preset
def test_tiles_give_the_numbers_of_one_piece_in_float32(preset, cells):
    model = lively(preset()).float()
    assert_tiles_equal_one_piece(model, series(), cells, tolerance=2e-6)
    assert predict_in_tiles(model, series()).mean.dtype == torch.float32


@every_preset
def test_tiles_give_the_numbers_of_one_piece_for_batches_with_masks(preset, cells):
    generator = torch.Generator().manual_seed(0)
    task = series(batch_size=2, dim_y=2)
    task = rebuilt(
        task,
        x_context=task.x_context + torch.tensor([0.0, 1e6]).double()[:, None, None],
        x_target=task.x_target + torch.tensor([0.0, 1e6]).double()[:, None, None],
        context_mask=torch.rand(task.context_mask.shape, generator=generator) < 0.7,
        target_mask=torch.rand(task.target_mask.shape, generator=generator) < 0.5,
    )
    assert_tiles_equal_one_piece(lively(preset(dim_y=2)), task, cells, tiles=6)


def test_tiles_give_the_numbers_of_one_piece_in_the_plane():
    task = random_task(2, num_context=20, num_target=20, width=14.0)
    assert_tiles_equal_one_piece(lively(ConvCNP.small(2, points_per_unit=4)), task, 60**2)


@every_preset
def test_tiles_give_the_numbers_of_one_piece_for_tasks_of_different_sizes(preset, cells):
    small = random_task(num_context=2, num_target=1, seed=1)
    empty = random_task(num_context=0, num_target=3, seed=2)
    assert_tiles_equal_one_piece(lively(preset()), Task.stack([small, series(), empty]), cells)


@every_preset
def test_targets_far_from_all_context_are_predicted_as_in_one_piece(preset, cells):
    task = series()
    far = torch.tensor([-1e6, -100.0, -10.0, 31.0, 36.0, 1e4, 1e6]).double()
    x_target = torch.cat([task.x_target, far[None, :, None]], 1)
    task = Task(task.x_context, task.y_context, x_target)
    assert_tiles_equal_one_piece(lively(preset()), task, cells, tiles=8)


@every_preset
def test_gaps_in_the_context_are_predicted_as_in_one_piece(preset, cells):
    task = series()
    gap = (task.x_context > 8) & (task.x_context < 22)
    task = rebuilt(task, context_mask=~gap)
    assert_tiles_equal_one_piece(lively(preset()), task, cells)


def test_without_context_targets_may_be_any_distance_apart():
    model = lively(ConvCNP.small()).eval()
    task = Task.from_arrays([], [], [0.0, 1e6, -1e7])
    prediction, reports = tiled(model, task, 256)
    assert len(reports) == 3
    assert_equal(prediction, moments(model, Task.from_arrays([], [], [0.0] * 3)))


def test_a_domain_that_one_piece_refuses_is_predicted_in_tiles():
    model = lively(ConvCNP.small()).eval()
    near = random_task(num_context=5, num_target=4)
    far = Task.from_arrays([1e6, 1e6 + 0.3], [1.0, -1.0], [1e6 + 0.1])
    both = Task(
        *(
            torch.cat([getattr(near, n), getattr(far, n)], 1)
            for n in ("x_context", "y_context", "x_target")
        )
    )
    assert_equal(tiled(model, both, 2**16)[0][:, :, :4], moments(model, near))


def test_time_stamps_keep_their_precision_in_tiles():
    model = lively(ConvCNP.small()).float().eval()
    task = series()
    shifted = rebuilt(task, x_context=task.x_context + 1.7e9, x_target=task.x_target + 1.7e9)
    assert_equal(tiled(model, shifted, 256)[0], tiled(model, task, 256)[0], 1e-4)


@pytest.mark.parametrize(
    "model, task, cells_per_tile",
    [
        (ConvCNP.small(), series(100.0, num_context=500), 2048),
        (ConvCNP.small(padding="zeros"), series(100.0, num_context=500), 2048),
        (ConvCNP.xl(), series(200.0, num_context=500), 4096),
        (ConvCNP.xl(padding="zeros"), series(200.0, num_context=500), 4096),
        (
            ConvCNP.small(2, points_per_unit=4.0),
            random_task(2, num_context=200, width=60.0),
            200**2,
        ),
    ],
    ids=["convcnp", "convcnp-zeros", "convcnpxl", "convcnpxl-zeros", "convcnp-2d"],
)
def test_no_tile_has_a_larger_grid_than_allowed(monkeypatch, model, task, cells_per_tile):
    sizes, on_grid = [], ConvCNP.on_grid

    def recorded(self: ConvCNP, task: Task, grid: Grid) -> object:
        sizes.append(math.prod(grid.shape))
        return on_grid(self, task, grid)

    monkeypatch.setattr(ConvCNP, "on_grid", recorded)
    predict_in_tiles(model, task, cells_per_tile=cells_per_tile)
    assert len(sizes) > 1
    assert max(sizes) <= cells_per_tile


def test_progress_counts_targets_up_to_all_of_them():
    _, reports = tiled(lively(ConvCNP.small()), series(batch_size=2), 256)
    assert [total for _, total in reports] == [80] * len(reports)
    done = [done for done, _ in reports]
    assert done == sorted(set(done))
    assert done[-1] == 80


def test_a_single_tile_suffices_for_a_small_task():
    task = Task.from_arrays([0.0, 1.0], [0.0, 1.0], [0.0, 0.5, 1.0])
    assert tiled(lively(ConvCNP.small()), task, 2**16)[1] == [(3, 3)]


@pytest.mark.parametrize("training", [True, False])
def test_tiles_predict_as_in_evaluation_and_leave_the_model_as_it_was(training):
    model = lively(ConvCNP.xl(training_margin=0.0)).train(training)
    prediction, _ = tiled(model, series(), 1280)
    assert model.training is training
    assert not prediction.requires_grad
    assert_equal(prediction, moments(model.eval(), series()))


def test_a_model_is_left_as_it_was_after_an_error_as_well():
    def interrupted(done: int, total: int) -> None:
        raise KeyboardInterrupt

    model = ConvCNP.small().train()
    with pytest.raises(KeyboardInterrupt):
        predict_in_tiles(model, random_task(), progress=interrupted)
    assert model.training


def test_the_prediction_carries_the_targets_mask():
    mask = torch.tensor([[[True], [False]] * 3])
    predictive = predict_in_tiles(ConvCNP.small(), rebuilt(random_task(), target_mask=mask))
    assert torch.equal(predictive.mask, mask)


# --- Bad input ------------------------------------------------------------------------------------


def test_tiles_have_the_exact_margin_whatever_the_model_s():
    exact, cheap = (
        lively(ConvCNP.small(margin=margin, padding="zeros")).eval() for margin in (None, 0.01)
    )
    task = random_task(width=30.0)
    assert (moments(cheap, task) - moments(exact, task)).abs().max() > 1e-3
    tiled = predict_in_tiles(cheap, task, cells_per_tile=400)
    assert_equal(tiled.mean, exact(task).mean.detach(), 1e-9)


def test_passes_give_the_numbers_of_each_task_alone():
    model = lively(ConvCNP.small(points_per_unit=8)).eval()
    tasks = [random_task(width=width, seed=i) for i, width in enumerate((1.0, 90.0, 3.0, 1.0, 9.0))]
    reports = []
    raw = raw_in_passes(
        model,
        Task.stack(tasks),
        cells_per_pass=400,  # the second needs tiles, the others share passes
        progress=lambda *report: reports.append(report),
    )
    for found, task in zip(raw, tasks, strict=True):
        assert_equal(found[None], model.raw(task).detach(), 1e-9)
    assert len(reports) >= 1
    assert model.cells(Task.stack(tasks))[1] > 400 > model.cells(Task.stack(tasks))[0]


def test_a_model_that_sees_everything_has_no_tiles():
    with pytest.raises(SettingError, match="predicts in tiles, got a CNP; predict fewer targets"):
        predict_in_tiles(CNP(), random_task())
    assert raw_in_passes(CNP(), random_task(batch_size=3)).shape == (3, 6, 2)


@pytest.mark.parametrize("cells", [0, -4])
def test_tiles_need_cells(cells):
    expected = f"cells_per_tile must be a positive number, got {cells}; choose one above zero"
    with pytest.raises(SettingError, match=expected):
        predict_in_tiles(ConvCNP.small(), random_task(), cells_per_tile=cells)


def test_tiles_need_a_task_that_fits_the_model():
    with pytest.raises(
        ShapeError, match=r"This model takes tasks with Dx = 1 .* got Dx = 2 and Dy = 1"
    ):
        predict_in_tiles(ConvCNP.small(), random_task(2))


# --- Images ---------------------------------------------------------------------------------------


def model_of(padding: str, dim_y: int = 2, head: Head | None = None) -> GridConvCNP:
    """Build a model that sees six pixels to either side, in float64."""
    encoder = GridEncoder(dim_y, kernel_size=5, padding=padding)
    cnn = ResNet(2, 6, blocks=2, kernel_size=5, padding=padding)
    return lively(GridConvCNP(encoder, cnn, head=head)).eval()


def tiled_images(model, task, side: int):
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
def test_tiles_give_the_numbers_of_one_piece_of_images(padding, side, tiles):
    model, task = model_of(padding), random_images(2, height=40, width=48)
    actual, reports = tiled_images(model, task, side)
    assert len(reports) == 2 * tiles
    assert reports[-1] == (2 * 40 * 48, 2 * 40 * 48)
    whole = moments(model, task)
    assert whole.std() > 0.1
    assert_equal(actual, whole, 1e-10)


@pytest.mark.parametrize("padding", ["unobserved", "zeros", "circular"])
def test_tiles_of_a_preset_are_equal_in_float32_of_images(padding):
    model = lively(GridConvCNP.small(dim_y=3, padding=padding)).float().eval()
    task = random_images(3, batch_size=1, height=50, width=45)
    actual, reports = tiled_images(model, task, 40)
    assert len(reports) == 4 * 3  # 16 pixels across
    assert actual.dtype == torch.float32
    assert_equal(actual, moments(model, task), 1e-5)


def test_what_a_tile_cannot_see_is_not_given_to_it_of_images(monkeypatch):
    model, task = model_of("unobserved"), random_images(2, height=40, width=48)
    shapes = []
    real = model.on_pixels
    monkeypatch.setattr(
        model, "on_pixels", lambda *images: shapes.append(images[0].shape) or real(*images)
    )
    tiled_images(model, task, 20)
    assert max(shape[1] * shape[2] for shape in shapes) == 20 * 20
    assert {shape[0] for shape in shapes} == {1}


def test_tiles_are_no_thinner_than_a_quarter_of_what_a_pixel_sees_of_images():
    cnn = ResNet(2, 6, blocks=3, kernel_size=9)
    model = lively(GridConvCNP(GridEncoder(kernel_size=5), cnn)).eval()  # sees 14: 3 are a quarter
    _, reports = tiled_images(model, random_images(batch_size=1, height=12, width=9), 1)
    assert len(reports) == 4 * 3


def test_the_mask_of_targets_is_kept_of_images():
    task = random_images(2)
    predictive = predict_in_tiles(model_of("zeros"), task)
    assert torch.equal(predictive.mask, task.target_mask)


def test_wrong_tasks_and_sizes_are_refused_of_images():
    with pytest.raises(ShapeError, match="expected an ImageTask, got Task"):
        predict_in_tiles(model_of("zeros", 1), random_task(2, 1))
    with pytest.raises(SettingError, match="must be a positive number, got 0"):
        predict_in_tiles(model_of("zeros", 1), random_images(), cells_per_tile=0)
