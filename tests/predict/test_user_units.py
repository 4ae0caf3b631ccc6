"""Several observations at one input: averaged for a model, with their scatter in its bands."""

import numpy as np
import pytest
import torch

import convcnp
from convcnp.core.task import Task
from convcnp.errors import ConvCNPWarning
from convcnp.predict.user_units import average_repeats


def test_observations_of_one_input_are_averaged_channel_by_channel():
    nan = float("nan")
    x = [1.0, 0.0, 1.0, 1.0, 2.0]
    y = [[3.0, 7.0], [1.0, nan], [5.0, nan], [nan, nan], [2.0, 9.0]]
    task, scatter = average_repeats(Task.from_arrays(x, y, [0.5]))
    assert task.x_context.flatten().tolist() == [0.0, 1.0, 2.0]
    assert task.context_mask[0].tolist() == [[True, False], [True, True], [True, True]]
    assert task.y_context[0].tolist() == [[1.0, 0.0], [4.0, 7.0], [2.0, 9.0]]
    # Two observations with variance two at one of three inputs: 1 - 1/k is one half there.
    assert scatter.flatten().tolist() == pytest.approx([(2.0 * 0.5 / 3) ** 0.5, 0.0])


def test_a_task_without_repeats_stays_as_it_is():
    task = Task.from_arrays([3.0, 1.0], [1.0, 2.0], [2.0])
    same, scatter = average_repeats(task)
    assert same is task
    assert scatter.tolist() == [[[0.0]]]


def test_tasks_of_a_batch_are_averaged_as_if_alone():
    tasks = [
        Task.from_arrays([0.0, 0.0, 1.0], [1.0, 3.0, 5.0], [0.5]),
        Task.from_arrays([2.0, 1.0, 0.0, 4.0], [1.0, 2.0, 3.0, 4.0], [0.5]),
        Task.from_arrays([7.0] * 5, [1.0, 2.0, 3.0, 4.0, 5.0], [0.5]),
    ]
    together, scatter = average_repeats(Task.stack(tasks))
    for i, task in enumerate(tasks):
        alone, own = average_repeats(task)
        seen = together.context_mask[i, :, 0]
        order = together.x_context[i, seen, 0].argsort()
        by_input = alone.x_context[0, :, 0].argsort()
        assert torch.equal(together.x_context[i, seen][order], alone.x_context[0][by_input])
        assert torch.equal(together.y_context[i, seen][order], alone.y_context[0][by_input])
        assert torch.equal(scatter[i], own[0])


def test_the_bands_of_repeated_observations_hold_new_ones():
    generator = np.random.default_rng(0)
    x = np.repeat(np.arange(60.0), 5)
    y = np.sin(x / 5) + 0.3 * generator.normal(size=len(x))
    at = np.arange(59.0) + 0.5
    with pytest.warns(ConvCNPWarning, match="value0: 240 of 300 values are not the first"):
        answer = convcnp.load("general-convcnp").predict((x, y), at)
    truth = np.sin(at / 5) + 0.3 * generator.normal(size=(200, len(at)))
    inside = (truth > answer["q05"]) & (truth < answer["q95"])
    assert 0.85 < inside.mean() < 0.97


@pytest.mark.parametrize("apart", [1e-9, 1e-6, 1e-3])
def test_inputs_much_closer_than_others_are_one(apart):
    x = (np.arange(20.0)[:, None] + apart * np.arange(3)).ravel()
    y = np.arange(60.0)
    task, scatter = average_repeats(Task.from_arrays(x, y, [0.5]))
    np.testing.assert_allclose(task.x_context.flatten(), np.arange(20.0) + apart, rtol=1e-12)
    np.testing.assert_allclose(task.y_context.flatten(), 3 * np.arange(20.0) + 1)
    assert scatter.item() == pytest.approx((2 / 3) ** 0.5)


def test_a_dense_series_with_a_far_away_point_does_not_become_one_point():
    x = np.append(np.arange(300.0), 1e5)  # the mean gap is 333, and 5 count as the same
    task, _ = average_repeats(Task.from_arrays(x, x, [0.5]))
    assert 45 < task.x_context.shape[1] < 65
    assert np.diff(np.sort(task.x_context.flatten())).min() > 3


def test_rows_given_twice_change_nothing():
    general = convcnp.load("general-convcnp")
    x, y, at = np.arange(20.0), np.sin(np.arange(20.0)), [4.5, 30.0]
    once = general.predict((x, y), at)
    with pytest.warns(ConvCNPWarning, match="20 of 40 values are not the first"):
        twice = general.predict((np.tile(x, 2), np.tile(y, 2)), at)
    for name in ("mean", "std"):
        np.testing.assert_allclose(twice[name], once[name], rtol=1e-5)


def test_times_that_are_close_by_chance_are_not_warned_of(recwarn):
    x = np.append(np.arange(40.0), 20.001)
    answer = convcnp.load("general-convcnp").predict((x, np.sin(x)), [4.5])
    assert np.isfinite(answer["mean"]).all()
    assert not recwarn.list


def test_samples_have_the_spread_of_the_bands():
    generator = np.random.default_rng(0)
    x = np.repeat(np.arange(40.0), 4)
    y = generator.normal(size=len(x))
    with pytest.warns(ConvCNPWarning, match="not the first"):
        answer = convcnp.load("general-convcnp").predict((x, y), [10.5, 20.5], samples=300)
    drawn = np.stack([answer[f"sample{i}"] for i in range(1, 301)])
    np.testing.assert_allclose(drawn.std(0), answer["std"], rtol=0.2)
