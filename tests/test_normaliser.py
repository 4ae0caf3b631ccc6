"""Units that are learned from training data."""

import pytest
import torch

from convcnp.normaliser import Fixed, Normaliser, OwnLevel
from convcnp.predictive import GaussianPredictive
from helpers import random_task, rebuilt

LEARNED = Fixed(gap=(2.0, 4.0), level=(10.0, -1.0), scale=(3.0, 0.5))


def test_fixed_units_are_the_learned_ones_for_every_task():
    assert isinstance(LEARNED, Normaliser)
    task = random_task(2, 2, batch_size=3)
    seen = LEARNED.units(task).to_model(task)
    gap, level, scale = (torch.tensor(v).double() for v in ((2, 4), (10, -1), (3, 0.5)))
    torch.testing.assert_close(seen.x_context, task.x_context / gap)
    torch.testing.assert_close(seen.y_target.double(), (task.y_target - level) / scale)


def test_fixed_units_lead_back_to_the_users():
    task = random_task(2, 2)
    units = LEARNED.units(task)
    seen = units.to_model(task)
    one = torch.ones_like(seen.y_target)
    back = units.to_user(task.x_target, GaussianPredictive(seen.y_target, one, seen.target_mask))
    torch.testing.assert_close(back.mean, task.y_target, atol=1e-6, rtol=0)
    assert back.stddev[0, 0].tolist() == [3.0, 0.5]


def test_own_levels_follow_the_context_and_inputs_keep_the_learned_unit():
    task = random_task(2, 2, num_context=50)
    moved = rebuilt(task, y_context=100 * task.y_context + 7000)
    normaliser = OwnLevel(LEARNED)
    seen = normaliser.units(moved).to_model(moved)
    assert seen.y_context.mean(1).abs().max() < 1e-4
    assert seen.y_context.std(1).flatten().tolist() == pytest.approx([50 / 52] * 2, abs=1e-4)
    assert torch.equal(seen.x_context, LEARNED.units(task).to_model(task).x_context)


def test_what_is_learned_stands_in_where_the_context_shows_nothing():
    task = random_task(2, 2, num_context=2)
    few = OwnLevel(LEARNED).units(task)
    torch.testing.assert_close(few.level, task.y_context.mean(1, keepdim=True))
    assert few.scale.flatten().tolist() == [3.0, 0.5]
    nothing = rebuilt(task, context_mask=torch.zeros_like(task.context_mask))
    assert OwnLevel(LEARNED).units(nothing).level.flatten().tolist() == [10.0, -1.0]
    constant = random_task(2, 2)
    constant = rebuilt(constant, y_context=torch.full_like(constant.y_context, 5.0))
    assert OwnLevel(LEARNED).units(constant).scale.flatten().tolist() == [3.0, 0.5]
