"""Models of images: the first layer by hand, and what no image may change."""

import math

import pytest
import torch
from benchmarks.attention import write_out_attention
from torch import Tensor
from torch.nn import functional

from convcnp.core.cnn import ResNet
from convcnp.core.heads import GaussianHead
from convcnp.core.image_task import ImageTask
from convcnp.errors import SettingError, ShapeError
from convcnp.models.attncnp import AttnCNP
from convcnp.models.grid_convcnp import GridConvCNP, GridEncoder
from convcnp.models.tiling import predict_in_tiles
from helpers import assert_equal, lively, moments, random_images, random_task

every_padding = pytest.mark.parametrize("padding", ["unobserved", "zeros", "circular"])
FILTERS = ("absolute", "signed", "eq")


def small_model(dim_y: int = 1, padding: str = "unobserved", **options) -> GridConvCNP:
    """Build a model that sees six pixels to either side, in float64."""
    encoder = GridEncoder(dim_y, kernel_size=5, padding=padding, **options)
    cnn = ResNet(2, 6, blocks=2, kernel_size=5, padding=padding)
    model = lively(GridConvCNP(encoder, cnn)).eval()
    assert model.radius_in_pixels == 6
    return model


def framed(task: ImageTask, top: int, left: int, height: int, width: int) -> ImageTask:
    """Put images into a larger frame of which nothing else is observed."""
    pixels = torch.zeros(task.batch_size, height, width, task.dim_y, dtype=torch.float64)
    mask = torch.zeros(pixels.shape, dtype=torch.bool)
    inside = (slice(None), slice(top, top + task.height), slice(left, left + task.width))
    pixels[inside] = task.as_images(task.y_context)
    mask[inside] = task.as_images(task.context_mask)
    return ImageTask(pixels, mask)


def image_moments(model: GridConvCNP, task: ImageTask) -> Tensor:
    """Return means and standard deviations as images: (2, B, H, W, C)."""
    return moments(model, task).unflatten(2, (task.height, task.width))


# --- The first layer ------------------------------------------------------------------------------


def encoded_by_hand(encoder: GridEncoder, values: Tensor, mask: Tensor) -> Tensor:
    """Sum over the observed pixels around each pixel, one by one."""
    height, width, channels = values.shape
    kernel, reach = encoder.kernel.detach(), encoder.reach
    density, data = torch.zeros(2, height, width, channels, dtype=torch.float64)
    for row in range(height):
        for column in range(width):
            for i in range(-reach, reach + 1):
                for j in range(-reach, reach + 1):
                    at = (row + i, column + j)
                    if encoder.padding == "circular":
                        at = (at[0] % height, at[1] % width)
                    if not (0 <= at[0] < height and 0 <= at[1] < width):
                        continue
                    weight = kernel[:, 0, i + reach, j + reach] * mask[at]
                    density[row, column] += weight
                    data[row, column] += weight * values[at]
    if encoder.normalise:
        data = data / (density.abs() + 1e-5)
    return torch.cat([density, data], -1) if encoder.has_density else data


@every_padding
@pytest.mark.parametrize("filter", FILTERS)
@pytest.mark.parametrize("has_density, normalise", [(True, True), (False, True), (True, False)])
def test_the_first_layer_is_the_normalised_convolution(filter, has_density, normalise, padding):
    encoder = lively(
        GridEncoder(
            2,
            kernel_size=3,
            first_filter=filter,
            has_density=has_density,
            normalise=normalise,
            padding=padding,
        )
    )
    task = random_images(2, batch_size=1, height=5, width=6)
    values, mask = task.as_images(task.y_context), task.as_images(task.context_mask)
    expected = encoded_by_hand(encoder, values[0], mask[0])
    assert expected.shape[-1] == encoder.channels_out == (4 if has_density else 2)
    assert_equal(encoder(values, mask)[0], expected, 1e-10)


def test_filters_are_positive_of_any_sign_or_gaussian():
    absolute, signed, gaussian = (lively(GridEncoder(3, first_filter=f)).kernel for f in FILTERS)
    assert absolute.min() > 0
    assert signed.min() < 0
    assert gaussian.shape == (3, 1, 9, 9)
    with torch.no_grad():
        encoder = GridEncoder(1, first_filter="eq").double()
        encoder.log_length_scale.fill_(math.log(2.0))
    assert encoder.kernel[0, 0, 4, 4].item() == pytest.approx(1)
    assert encoder.kernel[0, 0, 4 + 1, 4 - 3].item() == pytest.approx(math.exp(-10 / 8))


def test_a_normalised_constant_stays_a_constant_however_few_pixels_are_seen():
    task = random_images(observed=0.2)
    mask = task.as_images(task.context_mask)
    h = GridEncoder().double()(0.7 * mask.double(), mask)
    seen = h[..., 0] > 1e-2
    assert h[..., 1][seen].std() < 1e-3
    assert h[..., 1][seen].mean().item() == pytest.approx(0.7, abs=1e-3)


# --- The models -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model, count, radius, layers",
    [
        (GridConvCNP.small(), 100_691, 12, [1] * 4),
        (GridConvCNP.small(dim_y=3), 101_625, 12, [1] * 4),
        (GridConvCNP.small(dim_y=3, image_size=64), 93_337, 7, [1] * 4),
        (GridConvCNP.xl(dim_y=3), 407_801, 64, [2] * 6),
        (GridConvCNP.small(kernel_size=11), 149_843, 24, [1] * 4),
    ],
)
def test_presets_have_the_paper_s_layers(model, count, radius, layers):
    assert model.num_parameters == count
    assert model.radius_in_pixels == radius
    assert [len(block.layers) for block in model.cnn.blocks] == layers


def test_impossible_sizes_are_refused():
    with pytest.raises(SettingError, match="kernel_size must be odd and positive, got 0"):
        GridConvCNP.small(kernel_size=0)
    with pytest.raises(SettingError, match="image_size must be a positive number, got -5"):
        GridConvCNP.small(image_size=-5)


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (3, 1), (9, 20)])
def test_a_ring_smaller_than_the_filters_is_gone_around_more_than_once(shape):
    small = random_images(2, height=shape[0], width=shape[1])
    pixels, seen = (small.as_images(t) for t in (small.y_context, small.context_mask))
    many = ImageTask(pixels.repeat(1, 9, 9, 1), seen[..., 0].repeat(1, 9, 9))
    model = small_model(2, "circular").eval()
    whole = many.as_images(model(many).mean)[:, : shape[0], : shape[1]]
    assert_equal(small.as_images(model(small).mean), whole, 1e-9)


def test_predictions_have_the_shape_of_the_pixels_and_sigma_a_floor():
    task = random_images(3)
    model = GridConvCNP.small(dim_y=3, head=GaussianHead(0.25))
    predictive = model(task)
    assert predictive.mean.shape == predictive.stddev.shape == (2, 168, 3)
    assert predictive.mean.dtype == torch.float32
    assert predictive.stddev.min() >= 0.25
    with torch.no_grad():
        model.decoder[-1].bias.fill_(-100.0)
    assert model(task).stddev.max().item() == pytest.approx(0.25, abs=1e-6)
    for model in (GridConvCNP.small(), GridConvCNP.xl()):
        assert model.to_predictive.sigma_floor == 0.1


@every_padding
@pytest.mark.parametrize("filter", FILTERS)
def test_every_parameter_has_a_finite_gradient(filter, padding):
    model, task = small_model(2, padding, first_filter=filter).train(), random_images(2)
    (-model(task).log_likelihood(task.y_target)).mean().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.any(), name


@every_padding
@pytest.mark.parametrize("observed", [0.0, 1.0])
@pytest.mark.parametrize("filter", FILTERS)
def test_all_or_no_pixels_observed_gives_finite_predictions_and_gradients(
    filter, observed, padding
):
    model = small_model(padding=padding, first_filter=filter).train()
    task = random_images(observed=observed)
    assert task.context_mask.float().mean() == observed
    predictive = model(task)
    assert predictive.mean.isfinite().all()
    assert predictive.stddev.isfinite().all()
    predictive.log_likelihood(task.y_target).mean().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize("garbage", [1e9, float("nan"), float("inf")])
@pytest.mark.parametrize("build", [small_model, lambda: lively(AttnCNP.for_images())])
def test_masked_pixels_never_matter(build, garbage):
    model, task = build(), random_images()
    pixels, mask = task.as_images(task.y_target), task.as_images(task.context_mask)
    filled = ImageTask(torch.where(mask, pixels, garbage), mask)
    assert_equal(moments(model, filled), moments(model, task), 1e-12)


def test_observed_pixels_matter_each_and_every_channel():
    model, task = small_model(2), random_images(2, batch_size=1)
    before, mask = moments(model, task), task.context_mask
    for pixel, channel in [(p, c) for p in torch.nonzero(mask[0, :, 0])[:5, 0] for c in (0, 1)]:
        values = task.y_context.clone()
        values[0, pixel, channel] += 0.5
        changed = ImageTask(task.as_images(values), task.as_images(mask))
        assert (moments(model, changed) - before).abs().max() > 1e-4


def test_images_of_a_batch_do_not_know_of_each_other():
    model, task = small_model(), random_images(batch_size=3)
    assert_equal(moments(model, task)[:, 1:2], moments(model, task[1]), 1e-12)


def test_weights_make_a_round_trip():
    model, other = small_model(), lively(small_model(), seed=2)
    task = random_images()
    assert (moments(model, task) - moments(other, task)).abs().max() > 1e-2
    other.load_state_dict(model.state_dict())
    assert_equal(moments(model, task), moments(other, task), 0)


# --- Shifts ---------------------------------------------------------------------------------------


def test_with_circular_padding_any_shift_of_image_and_mask_shifts_the_prediction():
    model, task = small_model(padding="circular"), random_images()
    whole = image_moments(model, task)
    for rows, columns in ((1, 0), (0, -3), (5, 9)):
        pixels, mask = (
            task.as_images(t).roll((rows, columns), (1, 2))
            for t in (task.y_context, task.context_mask)
        )
        assert_equal(
            image_moments(model, ImageTask(pixels, mask)),
            whole.roll((rows, columns), (2, 3)),
            1e-12,
        )
    assert whole.std() > 0.1


@pytest.mark.parametrize("padding", ["unobserved", "zeros"])
def test_in_a_large_frame_a_shift_of_image_and_mask_shifts_the_prediction(padding):
    model, task = small_model(padding=padding), random_images(height=8, width=9)
    radius, size = model.radius_in_pixels, 50
    first, second = (
        image_moments(model, framed(task, *at, size, size)) for at in ((20, 20), (22, 17))
    )
    inside = slice(radius + 3, size - radius - 3)
    shifted = second.roll((-2, 3), (2, 3))
    assert first[..., inside, inside, :].std() > 0.05
    assert_equal(shifted[..., inside, inside, :], first[..., inside, inside, :], 1e-12)


def test_only_unobserved_padding_keeps_the_frame_s_edge_unseen():
    task = random_images(height=8, width=9)
    for padding in ("unobserved", "zeros"):
        model = small_model(padding=padding)
        near = image_moments(model, framed(task, 6, 6, 20, 21))
        far = image_moments(model, framed(task, 26, 26, 60, 61))[:, :, 20:40, 20:41]
        difference = (near - far).abs().max()
        assert difference < 1e-12 if padding == "unobserved" else difference > 1e-3


def test_far_from_all_pixels_seen_the_prediction_is_that_of_nothing_seen():
    model, task = small_model(), random_images(height=4, width=4, observed=1.0)
    seen = image_moments(model, framed(task, 0, 0, 40, 40))
    nothing = image_moments(model, random_images(height=6, width=6, observed=0.0))
    assert_equal(seen[:, 0, 20:, 20:], nothing[:, 0, :1, :1].expand(-1, 20, 20, -1), 1e-12)


def small_unet(padding: str = "unobserved") -> GridConvCNP:
    """Build a model that halves the resolution twice, in float64."""
    options = {"down": (4, 6), "up": (6, 4), "kernel_size": 3, "padding": padding}
    return lively(GridConvCNP.unet(**options)).eval()


def test_a_unet_commutes_with_shifts_by_its_coarsest_cell():
    model, task = small_unet(), random_images(height=8, width=9)
    assert (model.cnn.multiple, model.radius_in_pixels) == (4, 22)
    first, second, other = (
        image_moments(model, framed(task, *at, 96, 99)) for at in ((44, 40), (40, 48), (44, 41))
    )
    inside = (..., slice(8, 88), slice(8, 91), slice(None))
    assert first[inside].std() > 0.05
    assert_equal(second.roll((4, -8), (2, 3))[inside], first[inside], 1e-12)
    assert (other.roll(-1, 3) - first)[inside].abs().max() > 1e-3


@pytest.mark.parametrize("height, width", [(1, 1), (7, 13), (8, 8)])
def test_a_unet_takes_images_of_any_size(height, width):
    task = random_images(height=height, width=width)
    assert moments(small_unet(), task).shape == (2, 2, height * width, 1)


@pytest.mark.parametrize("padding", ["unobserved", "zeros"])
@pytest.mark.parametrize("side, tiles", [(1, 10 * 11), (58, 4 * 4), (66, 3 * 3)])
def test_tiles_of_a_unet_give_the_numbers_of_one_piece(padding, side, tiles):
    model, task = small_unet(padding), random_images(batch_size=1, height=50, width=53)
    reports = []
    predictive = predict_in_tiles(
        model, task, cells_per_tile=side**2, progress=lambda *report: reports.append(report)
    )
    assert len(reports) == tiles
    assert_equal(torch.stack([predictive.mean, predictive.stddev]), moments(model, task), 1e-10)


def test_a_unet_on_a_ring_is_refused():
    with pytest.raises(SettingError, match="to every 4th pixel, cannot go around images of any"):
        small_unet("circular")


class ReadsPosition(GridEncoder):
    def forward(self, observed: Tensor, mask: Tensor) -> Tensor:
        rows = torch.arange(observed.shape[1])[:, None, None]
        return super().forward(observed, mask) + 0.01 * rows


def test_a_model_that_reads_positions_is_found():
    broken = small_model(padding="circular")
    broken.encoder = lively(ReadsPosition(1, kernel_size=5, padding="circular"))
    task = random_images()
    pixels, mask = (task.as_images(t).roll(5, 1) for t in (task.y_context, task.context_mask))
    shifted = image_moments(broken, ImageTask(pixels, mask))
    assert (shifted - image_moments(broken, task).roll(5, 2)).abs().max() > 1e-3


# --- AttnCNP --------------------------------------------------------------------------------------


def test_attention_written_out_predicts_the_same():
    model = lively(AttnCNP.for_images(dim_y=3)).eval()
    task = random_images(3)  # two images with different numbers of observed pixels
    assert len(task.context_mask.sum((1, 2)).unique()) == 2
    expected = moments(model, task)
    assert expected.std() > 0.1
    before = functional.scaled_dot_product_attention
    assert write_out_attention(model) is model
    assert_equal(moments(model, task), expected, 1e-9)
    assert all(
        module.attend is not before for module in model.modules() if hasattr(module, "attend")
    )
    nothing = random_images(3, observed=0.0)
    assert moments(model, nothing).isfinite().all()


def test_the_attncnp_of_images_has_the_paper_s_layers():
    model = AttnCNP.for_images(dim_y=3)
    assert isinstance(model, AttnCNP)
    assert len(model.self_attention) == 2
    assert model.cross_attention.num_heads == 8
    assert [layer.out_features for layer in model.decoder[::2]] == [64, 64, 64, 64, 6]
    assert (model.num_parameters, model.to_predictive.sigma_floor) == (336_390, 0.1)


# --- Refusals -------------------------------------------------------------------------------------


def test_a_task_that_is_not_made_of_images_is_refused():
    with pytest.raises(ShapeError, match="expected an ImageTask, got Task; build one from"):
        GridConvCNP.small()(random_task(2, 1))
    with pytest.raises(ShapeError, match="Dy = 3 output channel"):
        GridConvCNP.small(dim_y=3)(random_images())


def test_impossible_settings_are_refused(unchecked):
    with pytest.raises(SettingError, match="first_filter must be 'absolute', 'signed' or 'eq'"):
        GridConvCNP.small(first_filter="round")
    with pytest.raises(SettingError, match="kernel_size must be odd and positive, got 4"):
        GridConvCNP.small(kernel_size=4)
    with pytest.raises(SettingError, match="padding must be 'unobserved', 'zeros' or 'circular'"):
        GridConvCNP.xl(padding="none")
    for preset in (GridConvCNP.small, GridConvCNP.unet, GridConvCNP.xl):
        with pytest.raises(SettingError, match="Images have two input dimensions, got Dx = 1"):
            preset(1)
