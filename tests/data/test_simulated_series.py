"""Series such as people measure: every kind is finite, and something of each is hidden."""

import numpy as np
import pytest
import torch

from convcnp.data.simulated_series import KINDS, SimulatedSeries, drawn_series, hidden_points
from convcnp.data.source import NamedSource, seeded
from convcnp.errors import SettingError


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_finite_and_varies(kind):
    draw, weight = KINDS[kind]
    assert weight > 0
    x = np.arange(120.0)
    drawn = np.stack([draw(np.random.default_rng(seed), x) for seed in range(20)])
    assert drawn.shape == (20, 120)
    assert np.isfinite(drawn).mean() > 0.99
    assert np.nanstd(drawn) > 0


@pytest.mark.parametrize("points", [6, 7, 40, 256])
def test_times_increase_and_some_but_not_all_points_are_hidden(points):
    for seed in range(40):
        random = np.random.default_rng(seed)
        x, y = drawn_series(random, points)
        assert len(x) == len(y)
        assert np.isfinite(y).all()
        assert (np.diff(x) >= 0).all()
        hidden = hidden_points(random, x)
        assert 0 < hidden.sum() < len(x)


def test_a_batch_follows_from_the_generator_and_has_few_targets():
    source = SimulatedSeries(max_points=64, max_targets=10)
    assert isinstance(source, NamedSource)
    first, again, other = (source.draw(4, seeded(key)) for key in (1, 1, 2))
    assert torch.equal(first.y_context, again.y_context)
    assert first.y_context.shape != other.y_context.shape or not torch.equal(
        first.y_context, other.y_context
    )
    assert first.x_target.shape[1] <= 10
    assert source.held_out("test").sizes == "task"
    assert source.ceiling(first) is None


@pytest.mark.parametrize("options", [{"max_points": 5}, {"max_targets": 0}, {"dim_y": 2}])
def test_impossible_series_are_refused(options):
    with pytest.raises(SettingError, match="Series need max_points of at least 6"):
        SimulatedSeries(**options)
