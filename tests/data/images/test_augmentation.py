"""Changes of images: what they move, what they keep, and that a generator decides all of it."""

import pytest
import torch

from convcnp.data.images.augmentation import mirrored, recoloured, shifted, windows
from convcnp.data.source import seeded

RAMP = torch.arange(20.0).view(1, 1, 20, 1).expand(200, 10, 20, 3) / 20


def test_half_of_the_images_are_mirrored_left_to_right():
    found = mirrored(RAMP, seeded(0))
    is_mirrored = found[:, 0, 0, 0] > 0.5
    assert 70 < is_mirrored.sum() < 130
    assert torch.equal(found[is_mirrored], RAMP[is_mirrored].flip(2))
    assert torch.equal(found[~is_mirrored], RAMP[~is_mirrored])


def test_images_are_moved_by_up_to_so_many_pixels_and_their_edge_goes_on():
    found = shifted(RAMP, 2, seeded(0))
    assert found.shape == RAMP.shape
    moves = (20 * found[:, 0, 10, 0]).round() - 10
    assert set(moves.tolist()) == {-2, -1, 0, 1, 2}
    right = found[moves == 2][0, 0, :, 0] * 20
    assert right.round().tolist() == [*range(2, 20), 19, 19]
    columns = shifted(RAMP.transpose(1, 2), 2, seeded(0))
    assert len(columns[:, 10, 0, 0].unique()) == 5


@pytest.mark.parametrize("strength", [0.1, 0.4])
def test_colours_change_by_no_more_than_the_strength_allows(strength):
    grey = torch.full((500, 2, 2, 3), 0.5)
    found = recoloured(grey, strength, seeded(0))
    assert 0.5 * strength < (found - 0.5).abs().max() <= 0.75 * strength
    assert found[:, :1, :1].expand_as(found).equal(found)
    assert found.std((1, 2, 3)).max() > 0.05 * strength  # channels differ
    ends = recoloured(torch.tensor([0.0, 1.0]).view(2, 1, 1, 1).expand(2, 1, 1, 3), 1.0, seeded(0))
    assert ends.min() >= 0
    assert ends.max() <= 1


def test_windows_are_cut_anywhere():
    found = windows(RAMP, (4, 6), seeded(0))
    assert found.shape == (200, 4, 6, 3)
    assert len(found[:, 0, 0, 0].unique()) == 15


@pytest.mark.parametrize(
    "change", [mirrored, lambda p, g: shifted(p, 2, g), lambda p, g: recoloured(p, 0.2, g)]
)
def test_the_generator_decides(change):
    first, again, other = (change(RAMP, seeded(key)) for key in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
