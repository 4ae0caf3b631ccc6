"""Parts of a data set, and points divided into context and targets."""

import torch

from convcnp.data.source import seeded
from convcnp.data.splits import PARTS, drawn_sizes, parts_by_name, split


def test_a_tenth_of_the_names_is_for_validation_and_a_tenth_for_test():
    parts = parts_by_name([f"name {i}" for i in range(50)])
    assert [(parts == PARTS.index(part)).sum() for part in PARTS] == [40, 5, 5]
    few = parts_by_name(["a", "b", "c"])
    assert sorted(few.tolist()) == [0, 1, 2]


def test_a_name_s_part_does_not_depend_on_the_order():
    names = [f"name {i}" for i in range(50)]
    there, back = parts_by_name(names), parts_by_name(names[::-1])
    assert there.tolist() == back[::-1].tolist()


def test_names_may_be_in_any_encoding():
    assert len(parts_by_name(["\udcff.png", "é.png", "plain.png"])) == 3


def test_sizes_are_drawn_for_a_batch_or_for_every_task():
    one = drawn_sizes(3, 5, 200, "batch", seeded(0))
    assert one.shape == (200,)
    assert len(one.unique()) == 1
    each = drawn_sizes(3, 5, 200, "task", seeded(0))
    assert each.unique().tolist() == [3, 4, 5]


def test_the_first_points_are_the_context_and_the_rest_are_asked_for():
    x = torch.arange(5.0, dtype=torch.float64)[None, :, None].expand(2, 5, 1)
    observed = torch.ones(2, 5, 1, dtype=torch.bool)
    observed[1, 0] = False
    task = split(x, 10 * x, torch.tensor([2, 4]), observed)
    seen = [task.x_context[i][task.context_mask[i, :, 0]].flatten().tolist() for i in range(2)]
    asked = [task.y_target[i][task.target_mask[i]].tolist() for i in range(2)]
    assert seen == [[0, 1], [1, 2, 3]]
    assert asked == [[20, 30, 40], [40]]
