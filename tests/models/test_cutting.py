"""Where a domain larger than memory is cut."""

import torch

from convcnp.models.cutting import cut, parts_of
from helpers import random_task


def test_every_target_is_in_one_part_with_all_that_is_near():
    task = random_task(num_context=60, num_target=40, width=20.0)
    parts = list(parts_of(task, torch.zeros(1).double(), width=3.0, halo=1.5))
    assert len(parts) > 5
    targets = torch.cat([targets for targets, _ in parts])
    assert targets.sort().values.tolist() == list(range(40))
    for own, part in parts:
        x = task.x_target[0, own, 0]
        assert torch.equal(part.x_target[0, :, 0], x)
        assert x.max() - x.min() <= 3.0
        context = task.x_context[0, :, 0]
        near = (context >= x.min() - 1.5) & (context <= x.max() + 1.5)
        assert (
            part.x_context[0, :, 0].sort().values.tolist() == context[near].sort().values.tolist()
        )


def test_in_the_plane_a_part_is_near_in_both_directions():
    task = random_task(2, num_context=80, num_target=50, width=9.0)
    for own, part in parts_of(task, torch.zeros(2).double(), width=3.0, halo=1.0):
        x = task.x_target[0, own]
        low, high = x.amin(0) - 1.0, x.amax(0) + 1.0
        inside = ((task.x_context[0] >= low) & (task.x_context[0] <= high)).all(-1)
        assert part.x_context.shape[1] == inside.sum()


def test_a_cut_begins_at_a_multiple_and_holds_all_within_the_radius():
    for start in range(0, 60, 7):
        around, inner = cut(start, 7, 5, 61, wraps=False, multiple=4)
        assert around[0] % 4 == 0
        assert around[0] <= max(start - 5, 0)
        assert around[0] > start - 5 - 4 or around[0] == 0
        assert around[-1] == min(start + 7 + 5, 61) - 1
        assert around[inner].tolist() == list(range(start, min(start + 7, 61)))
