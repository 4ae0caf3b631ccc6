"""What simulated series and fields have in common."""

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch

from convcnp.core.task import Task
from convcnp.data.simulated import FEWEST, Simulated, drawn_kind
from convcnp.data.source import seeded
from convcnp.errors import SettingError


@dataclass(frozen=True)
class Ramps(Simulated):
    """Ramps of which the upper half is hidden, with one far-off value in it."""

    inputs: ClassVar[int] = 1

    def _drawn(self, random, batch_size):
        x = np.arange(self._log_uniform(random.uniform()) // 1)
        y = x.copy()
        y[-1] = 1e6
        return [self._split(random, x, y, x >= len(x) // 2) for _ in range(batch_size)]


def test_hidden_points_are_asked_for_and_far_off_values_count_for_nothing():
    task = Ramps(max_points=60, max_targets=100).draw(3, seeded(1))
    assert isinstance(task, Task) and len(task) == 3
    assert (task.x_target[task.target_mask].min() > task.x_context.max()).item()
    assert (task.target_mask.sum(1) == task.x_target.shape[1] - 1).all()
    assert torch.equal(task.y_target[task.target_mask], task.x_target[task.target_mask])
    assert Ramps(max_targets=2).draw(1, seeded(1)).x_target.shape[1] == 2


def test_numbers_of_points_go_from_the_fewest_to_the_most():
    source = Ramps(max_points=96)
    assert [source._log_uniform(share) for share in (0, 0.5, 1)] == [FEWEST, 24, 96]


@pytest.mark.parametrize("options", [{"max_points": 5}, {"max_targets": 0}, {"dim_x": 2}])
def test_impossible_settings_are_refused(options):
    with pytest.raises(SettingError, match="Expected max_points of at least 6, a target, dim_x"):
        Ramps(**options)


def test_kinds_are_drawn_as_often_as_they_are_wanted():
    random = np.random.default_rng(0)
    kinds = {"often": (lambda random, x: x, 3.0), "seldom": (lambda random, x: x, 1.0)}
    found = Counter(drawn_kind(random, kinds) for _ in range(400))
    assert 270 < found["often"] < 330
