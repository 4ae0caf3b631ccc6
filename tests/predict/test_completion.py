"""Completion of photographs: what is missing, what is filled, and what is refused."""

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode

from convcnp.core.cnn import ResNet
from convcnp.data.images.photo import Photo
from convcnp.errors import ConvCNPWarning, DataError, SettingError, ShapeError
from convcnp.models.convcnp import ConvCNP
from convcnp.models.grid_convcnp import GridConvCNP, GridEncoder
from convcnp.predict.completion import (
    all_but,
    complete,
    default_model,
    fill,
    read_mask,
    within,
)
from convcnp.predict.zoo import load
from helpers import assert_equal, lively, random_photo, saved

# --- What is missing ------------------------------------------------------------------------------


def test_bright_pixels_of_a_mask_are_missing(tmp_path):
    array = np.zeros((4, 5), dtype=np.uint8)
    array[2, 3] = 255
    path = saved(tmp_path / "mask.png", array)
    assert torch.nonzero(read_mask(path, (4, 5))).tolist() == [[2, 3]]
    with pytest.raises(ShapeError, match=r"expected 6 x 4 pixels, got 5 x 4 in .*mask.png"):
        read_mask(path, (4, 6))


def test_masks_of_every_kind_mark_what_is_bright_and_opaque(tmp_path):
    hole = np.zeros((4, 5), dtype=bool)
    hole[2, 3] = True
    red = np.zeros((4, 5, 3), dtype=np.uint8)
    red[hole, 0] = 255
    masks = {
        "deep.png": np.where(hole, 50_000, 5_000).astype(np.uint16),
        "opaque.png": np.stack([np.full((4, 5), 255), 255 * hole], -1).astype(np.uint8),
        "red.png": red,
        "bilevel.png": hole,
    }
    for name, array in masks.items():
        assert read_mask(saved(tmp_path / name, array), (4, 5)).numpy().tolist() == hole.tolist()


def test_a_mask_that_marks_nothing_is_named(tmp_path):
    path = saved(tmp_path / "mask.png", np.full((4, 5), 51, dtype=np.uint8))
    with pytest.raises(DataError, match=r"brightest pixel of .*mask.png has 20% of white"):
        read_mask(path, (4, 5))


@pytest.mark.parametrize(
    "keep, kept", [("5%", 10), ("0.05", 10), (" 12.5 %", 25), ("0%", 0), ("100%", 200), ("1", 200)]
)
def test_a_share_is_kept_at_random(keep, kept):
    missing = all_but(keep, (10, 20), seed=1)
    assert (~missing).sum() == kept
    assert torch.equal(missing, all_but(keep, (10, 20), seed=1))
    if 0 < kept < 200:
        assert not torch.equal(missing, all_but(keep, (10, 20), seed=2))


@pytest.mark.parametrize("keep", ["", "some", "120%", "-5%", "5", "1.2.3", "5%%", "nan"])
def test_an_impossible_share_is_refused(keep):
    with pytest.raises(SettingError, match=r"^keep= must be a share .* got '.*'; write 5%"):
        all_but(keep, (4, 4), seed=1)


def test_a_box_is_left_top_width_height():
    missing = within("1, 2,3,1", (4, 5))
    assert torch.nonzero(missing).tolist() == [[2, 1], [2, 2], [2, 3]]
    assert within("0,0,5,4", (4, 5)).all()


@pytest.mark.parametrize(
    "box", ["", "1,2,3", "1,2,0,4", "3,0,3,1", "0,4,1,1", "-1,0,2,2", "a,b,c,d"]
)
def test_an_impossible_box_is_refused(box):
    with pytest.raises(SettingError, match=r"^box= must be left,top,width,height.*of 5 x 4, got"):
        within(box, (4, 5))


# --- Completion -----------------------------------------------------------------------------------


def colour_model():
    return lively(GridConvCNP.small(dim_y=3)).float().eval()


def grey_model():
    return lively(GridConvCNP.small()).float().eval()


@pytest.mark.parametrize("build", [grey_model, colour_model])
@pytest.mark.parametrize("channels", [1, 3])
def test_given_pixels_stay_and_missing_ones_are_the_mean(build, channels):
    photo = random_photo(channels)
    completion = complete(build(), photo)
    assert completion.mean.shape == completion.stddev.shape == (20, 24, channels)
    assert torch.equal(completion.pixels[~photo.missing], photo.pixels[~photo.missing])
    mean = completion.mean.clamp(0, 1)
    assert torch.equal(completion.pixels[photo.missing], mean[photo.missing])
    assert (completion.doubt[photo.missing] >= 0.1).all()
    assert not completion.doubt[~photo.missing].any()


def test_what_stands_at_missing_pixels_does_not_matter():
    photo, model = random_photo(3), colour_model()
    other = Photo(torch.where(photo.missing[..., None], 0.123, photo.pixels), photo.missing)
    assert torch.equal(complete(model, other).pixels, complete(model, photo).pixels)


def test_tiles_do_not_show():
    photo, model, reports = random_photo(3), colour_model(), []
    whole = complete(model, photo)
    tiles = complete(
        model, photo, pixels_per_tile=32 * 32, progress=lambda *report: reports.append(report)
    )
    assert len(reports) > 3
    assert_equal(tiles.mean, whole.mean, 1e-5)
    assert_equal(tiles.stddev, whole.stddev, 1e-5)


@pytest.mark.parametrize("build", [grey_model, colour_model])
@pytest.mark.parametrize("channels", [1, 3])
def test_filling_is_completing_in_bytes(build, channels):
    photo, model = random_photo(channels), build()
    photo.missing[:, :12] = False  # tiles in which nothing is missing
    whole, filled = complete(model, photo), fill(model, photo, pixels_per_tile=32 * 32)
    assert (filled.pixels.int() - (255 * whole.pixels).round().int()).abs().max() <= 1
    torch.testing.assert_close(filled.doubt.float(), whole.doubt, rtol=1e-3, atol=1e-3)
    average = whole.doubt[photo.missing].mean().item()
    assert filled.average_doubt == pytest.approx(average, rel=1e-3)


@pytest.fixture
def tiles_predicted(monkeypatch):
    """List the sizes of what models are shown."""
    real, seen = GridConvCNP.on_pixels, []
    monkeypatch.setattr(
        GridConvCNP,
        "on_pixels",
        lambda self, *parts: seen.append(parts[1].shape) or real(self, *parts),
    )
    return seen


def test_tiles_in_which_nothing_is_missing_are_not_predicted(tiles_predicted):
    photo, model = random_photo(1), grey_model()
    photo.missing[:] = False
    photo.missing[0, 0] = True
    fill(model, photo, pixels_per_tile=1)
    assert len(tiles_predicted) == 1


class LargestTensor(TorchFunctionMode):
    """Notes the bytes of the largest tensor that is made."""

    size = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        found = function(*args, **(kwargs or {}))
        for made in found if isinstance(found, tuple | list) else [found]:
            if isinstance(made, torch.Tensor):
                self.size = max(self.size, made.untyped_storage().nbytes())
        return found


def test_a_large_photograph_is_filled_in_bytes_beyond_its_tiles():
    model = lively(GridConvCNP.small(dim_y=1, channels=2)).float().eval()
    pixels = torch.randint(256, (3000, 500, 3), dtype=torch.uint8)
    photo = Photo(pixels, torch.zeros(3000, 500, dtype=torch.bool))
    photo.missing[10:60, 10:60] = True
    with LargestTensor() as largest, pytest.warns(ConvCNPWarning, match="bridges"):
        fill(model, photo, pixels_per_tile=48 * 48)
    assert largest.size <= pixels.numel()


# --- Holes that are wider than a model bridges ----------------------------------------------------


def with_a_hole(size: int = 40, hole: int = 24) -> Photo:
    """Return a photograph, dark on the left and bright on the right, with a hole in its middle."""
    pixels = torch.linspace(0.1, 0.9, size).view(1, size, 1).expand(size, size, 3).clone()
    start = (size - hole) // 2
    return Photo(pixels, within(f"{start},{start},{hole},{hole}", (size, size)))


def interpolating() -> GridConvCNP:
    """Return a model that answers with the mean of what it sees nearby, and 0 where it sees none.

    Its encoder is such a mean, over squares of nine; all that follows hands it on.
    """
    encoder = GridEncoder(3, first_filter="eq")
    model = GridConvCNP(encoder, ResNet(2, 6, blocks=1, kernel_size=9))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        encoder.log_length_scale.fill_(1.0)
        model.embedding.weight.copy_(torch.eye(6))
        model.decoder[0].weight[:3, 3:6] = torch.eye(3)  # the data channels
        for layer in model.decoder[2::2]:
            layer.weight[:3, :3] = torch.eye(3)
    return model.eval()


def test_a_wide_hole_continues_what_is_around_it_and_a_warning_says_so():
    photo, model = with_a_hole(), interpolating()
    with pytest.warns(ConvCNPWarning, match=r"of the missing pixels are farther than 2 pixels"):
        found = complete(model, photo)
    middle = found.mean[18:22, 8:32, 0]
    assert_equal(middle, photo.pixels[18:22, 8:32, 0], 0.12)
    assert (middle.diff(dim=1).mean(0) > -0.01).all()  # brighter and brighter
    assert found.doubt[20, 20] > 1.2 * found.doubt[9, 20]


def test_tiles_of_a_wide_hole_do_not_show_and_filling_is_completing():
    photo, model = with_a_hole(), colour_model()
    with pytest.warns(ConvCNPWarning, match="more than this model bridges"):
        whole = complete(model, photo)
    with pytest.warns(ConvCNPWarning, match="more than this model bridges"):
        tiles = fill(model, photo, pixels_per_tile=30 * 30)
    # The smaller photograph is kept in bytes: what rounds the other way there is shown here.
    assert (tiles.pixels.int() - (255 * whole.pixels).round().int()).abs().max() <= 6
    torch.testing.assert_close(tiles.doubt.float(), whole.doubt, rtol=1e-3, atol=0.05)


def test_the_smaller_photograph_is_filled_where_the_larger_one_needs_it(tiles_predicted):
    photo, model = with_a_hole(80, 12), colour_model()
    photo.missing[::8, ::8] = photo.missing[1::8, ::8] = True  # narrow, but gaps when halved
    photo.missing[::8, 1::8] = photo.missing[1::8, 1::8] = True
    side = 10  # of a tile, whatever its overlap
    with pytest.warns(ConvCNPWarning, match="more than this model bridges"):
        fill(model, photo, pixels_per_tile=(side + 2 * model.radius_in_pixels) ** 2)
    assert len(tiles_predicted) - (80 // side) ** 2 < (40 // side) ** 2


def test_a_narrow_hole_and_one_without_an_end_stay_as_they_were():
    model, nothing = colour_model(), torch.ones(12, 12, dtype=torch.bool)
    for photo in (with_a_hole(hole=6), Photo(torch.zeros(12, 12, 3), nothing)):
        complete(model, photo)  # a warning would be an error


def test_a_grey_model_sees_the_channels_one_by_one():
    photo, model = random_photo(3), grey_model()
    green = Photo(photo.pixels[..., 1:2], photo.missing)
    assert_equal(complete(model, green).mean[..., 0], complete(model, photo).mean[..., 1], 1e-6)


def test_a_model_that_is_not_of_images_is_refused():
    with pytest.raises(ShapeError, match="needs a model of images, got a ConvCNP"):
        complete(ConvCNP.small(), random_photo(1))


def test_the_default_model_ships_and_knows_colours():
    model = load(default_model()).model
    assert isinstance(model, GridConvCNP)
    assert model.dim_y == 3
