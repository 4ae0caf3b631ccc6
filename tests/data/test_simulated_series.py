"""Series such as people measure: every kind, finite, with something hidden and something seen."""

import numpy as np
import pytest
import torch

from convcnp.data.simulated_series import KINDS, SimulatedSeries, drawn_series, hidden_points
from convcnp.data.source import seeded
from convcnp.errors import SettingError


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("points", [6, 50, 300])
def test_every_kind_is_finite_and_varies(kind, points):
    random = np.random.default_rng(0)
    x = np.cumsum(random.exponential(1, points))
    spreads = [np.std(KINDS[kind][0](random, x)) for _ in range(20)]
    assert np.isfinite(spreads).all()
    assert np.median(spreads) > 0


@pytest.mark.parametrize("kind", ["counts", "rain", "growth", "cycles"])
def test_what_cannot_be_negative_is_not(kind):
    random = np.random.default_rng(1)
    x = np.arange(80.0)
    assert min(KINDS[kind][0](random, x).min() for _ in range(30)) >= 0


def test_counts_are_whole_and_rain_has_dry_days():
    random, x = np.random.default_rng(2), np.arange(100.0)
    counts = KINDS["counts"][0](random, x)
    assert np.array_equal(counts, counts.round())
    dry = [np.mean(KINDS["rain"][0](random, x) == 0) for _ in range(20)]
    assert 0.2 < np.mean(dry) < 0.95


def test_something_is_hidden_and_something_seen():
    random = np.random.default_rng(3)
    shares = []
    for _ in range(300):
        x, _ = drawn_series(random, 40)
        hidden = hidden_points(random, x)
        assert 1 <= hidden.sum() <= 38
        shares.append(hidden.mean())
    assert min(shares) < 0.06
    assert max(shares) > 0.8


def test_tasks_have_the_points_that_are_asked_for():
    source = SimulatedSeries(max_points=60, max_targets=7)
    task = source.draw(20, seeded(4))
    assert task.target_mask.sum((1, 2)).max() <= 7
    assert task.context_mask.sum((1, 2)).min() >= 2
    assert task.y_context.isfinite().all()
    again = source.draw(20, seeded(4))
    assert torch.equal(task.y_context, again.y_context)
    assert not torch.equal(task.y_context, source.draw(20, seeded(5)).y_context[:20])


def test_lengths_are_alike_in_a_batch_and_differ_when_held_out():
    source = SimulatedSeries(max_points=256)
    lengths = (source.draw(30, seeded(6)).context_mask.sum((1, 2))).double()
    apart = (source.held_out("test").draw(30, seeded(6)).context_mask.sum((1, 2))).double()
    assert apart.std() > lengths.std()


def test_impossible_settings_are_refused():
    with pytest.raises(SettingError, match="max_points of at least 6"):
        SimulatedSeries(max_points=5)
