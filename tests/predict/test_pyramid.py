"""Photographs of half the size, and what they say of the larger ones."""

import pytest
import torch

from convcnp.data.images.photo import Photo
from convcnp.models.grid_convcnp import GridConvCNP
from convcnp.predict import pyramid
from convcnp.predict.pyramid import Support, bridged, far_from_all, halved
from helpers import assert_equal, random_photo


@pytest.mark.parametrize("height, width", [(1, 1), (6, 4), (7, 5)])
def test_a_pixel_of_half_the_size_is_the_mean_of_the_given_ones(height, width, monkeypatch):
    monkeypatch.setattr(pyramid, "_ROWS", 2)  # so that strips meet within it
    generator = torch.Generator().manual_seed(0)
    pixels = torch.rand(height, width, 3, generator=generator)
    photo = Photo(pixels, torch.rand(height, width, generator=generator) < 0.7)
    smaller = halved(photo)
    for i in range(-(-height // 2)):
        for j in range(-(-width // 2)):
            square = slice(2 * i, 2 * i + 2), slice(2 * j, 2 * j + 2)
            given = pixels[square][~photo.missing[square]]
            assert smaller.missing[i, j] == (len(given) == 0)
            if len(given):
                assert_equal(smaller.pixels[i, j], given.mean(0), 0.5 / 255 + 1e-6)


def test_bytes_are_halved_as_numbers_are():
    photo = random_photo(3)
    in_bytes = Photo((255 * photo.pixels).round().byte(), photo.missing)
    given = ~halved(photo).missing
    assert_equal(halved(in_bytes).pixels[given], halved(photo).pixels[given], 1.01 / 255)


def test_far_is_what_has_nothing_given_within_a_square():
    missing = torch.ones(9, 12, dtype=torch.bool)
    missing[4, 3] = False
    far = far_from_all(missing, 2)
    near = torch.zeros_like(far)
    near[2:7, 1:6] = True
    assert torch.equal(far, ~near)


def test_models_bridge_a_third_of_what_they_see_and_no_more_than_was_found_to_pay():
    assert bridged(GridConvCNP.small()) == 4
    assert bridged(GridConvCNP.xl()) == 5


def ramp() -> Support:
    """Return a support that is brighter from row to row and doubts more from column to column."""
    rows, columns = torch.arange(6), torch.arange(8)
    return Support(
        far=(columns > 3).expand(6, 8),
        pixels=(40 * rows).byte().view(6, 1, 1).expand(6, 8, 1),
        doubt=(columns / 10).half().expand(6, 8),
    )


EVERYWHERE = torch.arange(12)[:, None], torch.arange(16)


def test_values_lie_between_those_of_the_smaller_photograph():
    _, values = ramp().shown(*EVERYWHERE)
    expected = 40 * (torch.arange(12) / 2 - 0.25).clamp(0, 5)
    assert_equal(255 * values[:, 3, 0], expected, 1e-4)


def test_one_far_pixel_in_four_by_four_is_shown():
    shown, _ = ramp().shown(*EVERYWHERE)
    assert shown.nonzero().tolist() == [[i, j] for i in (1, 5, 9) for j in (9, 13)]


def test_doubt_is_added_where_a_pixel_is_far():
    found = ramp().widened(torch.full((12, 16, 1), 0.3), *EVERYWHERE)
    assert_equal(found[:, :8], torch.full((12, 8, 1), 0.3), 1e-6)
    expected = torch.hypot(torch.tensor(0.3), (torch.arange(8, 16) / 2 - 0.25).clamp(max=7) / 10)
    assert_equal(found[0, 8:, 0], expected, 1e-3)


def test_a_part_is_answered_as_within_the_whole():
    rows, columns = torch.arange(3, 11)[:, None], torch.arange(5, 14)
    for whole, part in zip(ramp().shown(*EVERYWHERE), ramp().shown(rows, columns), strict=True):
        assert torch.equal(whole[3:11, 5:14], part)
