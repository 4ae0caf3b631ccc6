"""Fields such as people map: every kind, finite, with something hidden and something seen."""

import numpy as np
import pytest
import torch

from convcnp.data.simulated_fields import (
    FIELDS,
    SimulatedFields,
    drawn_field,
    drawn_places,
    hidden_places,
)
from convcnp.data.source import seeded
from convcnp.errors import SettingError


@pytest.mark.parametrize("kind", FIELDS)
@pytest.mark.parametrize("points", [6, 200])
def test_every_kind_is_finite_and_varies(kind, points):
    random = np.random.default_rng(0)
    spreads = [np.std(FIELDS[kind][0](random, random.uniform(size=(points, 2)))) for _ in range(20)]
    assert np.isfinite(spreads).all()
    assert np.median(spreads) > 0


@pytest.mark.parametrize("kind", ["concentration", "counts"])
def test_what_cannot_be_negative_is_not(kind):
    random = np.random.default_rng(1)
    x = random.uniform(size=(60, 2))
    assert min(FIELDS[kind][0](random, x).min() for _ in range(20)) >= 0


def test_places_are_as_many_as_asked_for():
    random = np.random.default_rng(2)
    for points in (6, 7, 100):
        for _ in range(20):
            assert drawn_places(random, points).shape == (points, 2)


def test_something_is_hidden_and_something_seen():
    random = np.random.default_rng(3)
    shares = []
    for _ in range(200):
        x, _ = drawn_field(random, 40)
        hidden = hidden_places(random, x)
        assert 1 <= hidden.sum() <= 37
        shares.append(hidden.mean())
    assert min(shares) < 0.1
    assert max(shares) > 0.75


def test_tasks_have_the_points_that_are_asked_for():
    source = SimulatedFields(max_points=60, max_targets=7)
    task = source.draw(20, seeded(4))
    assert task.target_mask.sum((1, 2)).max() <= 7
    assert task.context_mask.sum((1, 2)).min() >= 3
    assert torch.equal(task.y_context, source.draw(20, seeded(4)).y_context)
    assert source.held_out("test") == source
    assert source.ceiling(task) is None


@pytest.mark.parametrize("options", [{"max_points": 5}, {"max_targets": 0}, {"dim_x": 1}])
def test_wrong_options_are_refused(options):
    with pytest.raises(SettingError, match="Expected max_points of at least 6"):
        SimulatedFields(**options)
