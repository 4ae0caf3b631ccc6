"""The network of a model of one's own: how far it sees, how fine its grid is, and its floor."""

import numpy as np
import pytest

from convcnp.core.cnn import UNet
from convcnp.training.own import choices
from convcnp.training.own.network import _levels, _radius
from helpers import long_series, planned


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Take a pace as given in place of a rehearsal."""
    monkeypatch.setattr(choices, "_rehearse", lambda *_: choices._Pace(0.1, 0.05))


def test_longer_tasks_get_a_network_that_sees_farther():
    few, many = (planned(long_series(rows))[0].model["down"] for rows in (80, 2000))
    assert len(few) < len(many)
    assert planned(long_series(), ["model.down=[8, 9, 10]"])[0].model["up"] == (9, 8, 8)


def test_bursts_get_a_finer_grid_and_rounding_a_floor():
    regular = long_series()
    assert planned(regular)[0].model["points_per_unit"] == 3
    bursts = regular.assign(t=np.cumsum(np.tile([0.2, 0.2, 1.0, 1.0, 1.0], 80)))
    assert planned(bursts)[0].model["points_per_unit"] == 8
    assert planned(regular)[0].model["sigma_floor"] == 1e-3
    rounded = regular.assign(v=regular["v"].round(1))
    floor = 0.1 / 12**0.5 / regular["v"].std()
    assert planned(rounded)[0].model["sigma_floor"] == pytest.approx(floor, rel=0.1)


def test_a_network_has_as_many_halvings_as_it_needs_to_see_so_far():
    radii = [_radius(levels, blocks=1) for levels in (2, 3, 4)]
    assert radii == sorted(set(radii))
    assert radii[0] == UNet(1, 1, (1, 1), (1, 1), blocks=1).receptive_radius
    assert [_levels(radius, 1, most=7) for radius in radii] == [2, 3, 4]
    assert _levels(1e9, 1, most=5) == 5


def test_another_model_keeps_its_own_settings():
    experiment, said = planned(long_series(), ["model.name=cnp"])
    assert experiment.model["name"] == "cnp"
    assert "The model is 'cnp', as given, with its own settings." in said
