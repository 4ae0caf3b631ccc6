"""Dead leaves: every image by its number, with edges and smooth parts."""

import pytest
import torch

from convcnp.data.images.dead_leaves import DeadLeaves
from convcnp.data.source import seeded
from convcnp.errors import SettingError


def test_an_image_is_the_same_whenever_it_is_asked_for():
    images = DeadLeaves().images()
    one, other = images[torch.tensor([3, 7])], images[torch.tensor([7, 3])]
    assert one.shape == (2, 64, 64, 3)
    assert one.dtype == torch.uint8
    assert torch.equal(one, other.flip(0))
    assert not torch.equal(one[0], one[1])


def test_parts_share_no_image():
    sources = [DeadLeaves(), *(DeadLeaves().held_out(part) for part in ("validation", "test"))]
    first = [source.images()[torch.tensor([0])] for source in sources]
    assert not any(torch.equal(first[i], first[j]) for i, j in ((0, 1), (0, 2), (1, 2)))


def test_images_are_smooth_but_for_edges():
    pixels = DeadLeaves().images()[torch.arange(20)].float() / 255
    steps = pixels.diff(dim=1).abs().mean(-1)
    assert steps.median() < 0.03
    assert steps.quantile(0.99) > 0.15
    assert pixels.std() > 0.15
    assert ((pixels == 0) | (pixels == 1)).float().mean() < 0.25


def test_the_first_leaf_lies_on_top():
    from convcnp.data.images import dead_leaves

    unit = torch.zeros(6, dead_leaves._LEAVES)
    unit[0], unit[1], unit[3:5] = 0.9, 1.0, 0.5  # discs around the middle
    rows = (torch.arange(64) + 0.5)[:, None]
    unit[5] = 1.0
    top = dead_leaves._topmost(64, rows, rows.T, unit, torch.tensor([0.5]))
    assert set(top.unique().tolist()) == {0, dead_leaves._LEAVES}
    assert top[32, 32] == 0
    assert top[0, 0] == dead_leaves._LEAVES


def test_sizes_can_be_chosen():
    task = DeadLeaves(size=20).draw(2, seeded(0))
    assert (task.height, task.width, task.dim_y) == (20, 20, 3)
    with pytest.raises(SettingError, match="size must be a positive number, got 0"):
        DeadLeaves(size=0)
