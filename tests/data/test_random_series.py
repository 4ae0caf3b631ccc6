"""Random series that the general model learns from."""

import pytest
import torch

from convcnp.core.units import PerSeries, typical_gap
from convcnp.data.random_series import SeriesSource
from convcnp.data.source import Source, seeded
from convcnp.errors import SettingError


@pytest.fixture(scope="module")
def tasks():
    return [SeriesSource(max_points=96).draw(16, seeded(0, step)) for step in range(12)]


def test_the_same_key_draws_the_same_series():
    source = SeriesSource(max_points=40)
    first, again, other = (source.draw(3, seeded(0, step)) for step in (1, 1, 2))
    assert isinstance(source, Source)
    assert torch.equal(first.y_context, again.y_context)
    assert first.y_context.shape != other.y_context.shape or not torch.equal(
        first.y_context, other.y_context
    )


def test_every_series_has_an_observation_and_no_point_is_both(tasks):
    for task in tasks:
        assert task.context_mask.any(1).all()
        assert not (task.context_mask & task.target_mask).any()
        assert 6 <= task.x_context.shape[1] <= 96


def test_lengths_differ_and_reach_both_ends(tasks):
    lengths = [(task.context_mask | task.target_mask).sum((1, 2)).float().mean() for task in tasks]
    assert min(lengths) < 15
    assert max(lengths) > 40


def test_series_are_in_the_units_of_a_users_own(tasks):
    for task in tasks:
        gaps = typical_gap(task.x_context.double(), task.context_mask)
        several = task.context_mask.sum((1, 2)) > 1
        torch.testing.assert_close(gaps[several], torch.ones_like(gaps[several]))
        again = PerSeries().units(task)
        seen = task.context_mask.sum(1, keepdim=True) > 3
        assert (again.level[seen].abs() < 1e-4).all()
        assert (again.scale[seen] > 0.4).all()


def test_targets_are_within_reach_of_the_loss(tasks):
    for task in tasks:
        assert (task.y_target.abs()[task.target_mask] < 8).all()


def test_neighbours_are_alike_and_series_differ(tasks):
    task = max(tasks, key=lambda task: task.x_context.shape[1])
    y = torch.where(task.context_mask, task.y_context, task.y_target)[..., 0].double()
    is_pair = (task.context_mask | task.target_mask)[:, 1:, 0]
    products = [
        (y[:, 1:] * y[:, :-1])[is_pair].mean(),
        (y[1:, 1:] * y[:-1, 1:])[is_pair[1:]].mean(),
    ]
    assert products[0] > 0.4 * (y[:, 1:] ** 2)[is_pair].mean()
    assert abs(products[1]) < 0.2 * products[0]


@pytest.mark.parametrize("settings", [{"max_points": 5}, {"dim_x": 2}, {"dim_y": 2}])
def test_settings_that_make_no_series_are_refused(settings):
    with pytest.raises(SettingError, match="Series need max_points of at least 6"):
        SeriesSource(**settings)
