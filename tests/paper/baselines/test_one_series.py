"""The observations of a task that holds a single series."""

import pytest

from convcnp.core.task import Task
from convcnp.errors import ShapeError
from convcnp.paper.baselines.one_series import one_series


def test_what_the_mask_hides_is_left_out():
    times, values = one_series(Task.from_arrays([0.0, 1.0, 2.0], [5.0, float("nan"), 7.0], [1.0]))
    assert times.tolist() == [0.0, 2.0]
    assert values.tolist() == [5.0, 7.0]


@pytest.mark.parametrize(
    "task",
    [
        Task.stack([Task.from_arrays([0.0], [1.0], [0.5])] * 2),
        Task.from_arrays([0.0], [[1.0, 2.0]], [0.5]),
        Task.from_arrays([[0.0, 1.0]], [1.0], [[0.5, 0.5]]),
    ],
)
def test_several_series_channels_or_inputs_are_refused(task):
    with pytest.raises(ShapeError, match=r"one series with one channel at a time: .*; split the"):
        one_series(task)
