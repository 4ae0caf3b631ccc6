"""Counts of furs: populations that cycle, counted with errors, and hidden in part."""

import numpy as np
import pytest
import torch

from convcnp.data.fur_counts import FurCounts, followed, follower
from convcnp.data.source import seeded
from convcnp.errors import SettingError


def test_compiled_populations_are_those_of_plain_python():
    rng = np.random.default_rng(0)
    rates = np.array([[1.5, 0.3, 1.2, 0.4], [0.8, 0.2, 0.9, 0.3]])
    start, shocks = np.log([[0.3, 0.4], [0.5, 0.2]]), 0.02 * rng.normal(size=(2, 6, 10, 2))
    found = follower()(rates, start, shocks)
    np.testing.assert_allclose(found, followed(rates, start, shocks), rtol=1e-12)


def test_a_balance_without_chance_stays_and_prey_alone_fill_their_capacity():
    growth, half, balance, death = 1.5, 0.3, 0.35, 0.4
    eaten = death * (balance + half) / balance
    predators = growth * (1 - balance) * (balance + half)
    rates, still = np.array([[growth, half, eaten, death]]), np.zeros((1, 40, 10, 2))
    found = followed(rates, np.log([[balance, predators]]), still)
    np.testing.assert_allclose(found[0], np.tile([balance, predators], (40, 1)), rtol=1e-9)
    alone = followed(np.array([[growth, half, 0.0, 9.0]]), np.log([[0.1, 0.001]]), still)
    assert alone[0, -1, 0] == pytest.approx(1.0, abs=0.02)


def test_counts_are_positive_and_most_cycle_within_a_few_decades():
    counts = FurCounts().counts(64, np.random.default_rng(0))
    assert counts.shape == (64, 120, 2)
    assert (counts > 0).all()
    np.testing.assert_allclose(counts.mean(1), 1.0)
    logs = np.log(counts[..., 0])
    power = np.abs(np.fft.rfft(logs - logs.mean(1, keepdims=True), axis=1)) ** 2
    periods = 120 / np.arange(1, power.shape[1] + 1)[power[:, 1:].argmax(1)]
    assert np.mean((periods > 5) & (periods < 30)) > 0.7


def test_tasks_are_yearly_of_different_lengths_and_their_own_units():
    source = FurCounts(min_years=20, max_years=40)
    task = source.draw(16, seeded(0))
    again = source.draw(16, seeded(0))
    assert torch.equal(task.y_target, again.y_target)
    known = (task.context_mask | task.target_mask).any(2)
    assert set(known.sum(1).tolist()) <= set(range(20, 41))
    assert len(set(known.sum(1).tolist())) > 3
    assert not (task.context_mask & task.target_mask).any()
    many = task.context_mask.sum(1) > 10
    mean = task.y_context.sum(1) / task.context_mask.sum(1).clamp(min=1)
    assert mean[many].abs().max() < 1e-9


def test_lengths_that_cannot_be_are_refused():
    with pytest.raises(SettingError, match=r"10 years or more, .* got min_years = 5"):
        FurCounts(min_years=5)
