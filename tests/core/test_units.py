"""Units: what a model sees does not depend on the user's, and the way back is exact."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from convcnp.core.predictive import GaussianPredictive
from convcnp.core.task import Task
from convcnp.core.units import (
    AsIs,
    Fixed,
    Normaliser,
    OwnLevel,
    OwnSize,
    PerSeries,
    Units,
    typical_gap,
)
from helpers import assert_equal, random_task, rebuilt

LEARNED = Fixed(gap=(2.0, 4.0), level=(10.0, -1.0), scale=(3.0, 0.5))


def series(count=12, seed=0):
    return random_task(num_context=count, num_target=4, width=count, seed=seed)


def in_other_units(task, x_scale, x_shift, y_scale, y_shift):
    return rebuilt(
        task,
        x_context=task.x_context * x_scale + x_shift,
        x_target=task.x_target * x_scale + x_shift,
        y_context=task.y_context * y_scale + y_shift,
        y_target=task.y_target * y_scale + y_shift,
    )


@given(
    x_scale=st.floats(1e-6, 1e6),
    x_shift=st.floats(-1e3, 1e3),
    y_scale=st.floats(1e-6, 1e6),
    y_shift=st.floats(-1e3, 1e3),
)
@settings(max_examples=30, deadline=None)
def test_a_model_sees_the_same_series_in_any_units(x_scale, x_shift, y_scale, y_shift):
    task = series()
    other = in_other_units(task, x_scale, x_shift * x_scale, y_scale, y_shift * y_scale)
    seen, seen_other = (PerSeries().units(t).to_model(t) for t in (task, other))
    for name in ("x_context", "y_context", "x_target", "y_target"):
        assert_equal(getattr(seen_other, name), getattr(seen, name), 2e-6)


def test_the_way_back_undoes_the_way_there():
    task = in_other_units(series(), 3600.0, 1.7e9, 20.0, 300.0)
    units = PerSeries().units(task)
    there = (task.y_target - units.trend(task.x_target)) / units.scale
    predictive = GaussianPredictive(there, torch.ones_like(there), task.target_mask)
    back = units.to_user(task.x_target, predictive)
    torch.testing.assert_close(back.mean, task.y_target, rtol=1e-14, atol=0)
    assert torch.equal(back.stddev, units.scale.expand_as(back.stddev))
    assert_equal(units.inputs(task.x_target) * units.gap + units.origin, task.x_target, 1e-6)


def test_what_is_not_observed_changes_no_unit():
    task = series(10)
    mask = torch.arange(10)[None, :, None] < 7
    hidden = rebuilt(task, context_mask=mask)
    short = Task(task.x_context[:, :7], task.y_context[:, :7], task.x_target)
    for name in ("origin", "gap", "level", "slope", "scale"):
        units = [getattr(PerSeries().units(t), name) for t in (hidden, short)]
        assert_equal(units[0], units[1], 1e-12)


def test_a_line_is_taken_out_and_pure_noise_is_not_tilted():
    x = torch.arange(40, dtype=torch.float64)[None, :, None]
    line = PerSeries().units(Task(x, 5 + 3 * x, x))
    assert_equal(line.slope, torch.full_like(line.slope, 3 * 38 / 42))  # of 38 degrees of freedom
    swing = PerSeries().units(Task(x, (-1.0) ** x, x))
    assert_equal(swing.slope, torch.zeros_like(swing.slope), 0)


@pytest.mark.parametrize("values", [[0.1] * 7, [0.0] * 3, [5.0], [-1e9] * 4])
def test_a_constant_has_a_width_that_shrinks_with_its_rows(values):
    y = torch.tensor(values, dtype=torch.float64)[None, :, None]
    x = torch.arange(len(values), dtype=torch.float64)[None, :, None]
    scale = PerSeries().units(Task(x, y, x)).scale.item()
    assert scale == pytest.approx((abs(values[0]) or 1.0) / len(values))


def test_small_changes_of_large_values_are_not_taken_for_a_constant():
    task = series()
    units = PerSeries().units(in_other_units(task, 1.0, 0.0, 1e-3, 1e9))
    assert units.scale.item() == pytest.approx(
        1e-3 * PerSeries().units(task).scale.item(), rel=0.01
    )


def gap_of(*x):
    points = torch.tensor(x, dtype=torch.float64)[None, :, None]
    return typical_gap(points, torch.ones_like(points, dtype=torch.bool)).item()


def test_the_typical_gap_is_a_median_that_bursts_cannot_make_tiny():
    assert gap_of(0.0, 2.0, 3.0, 100.0, 102.0) == 2.0
    assert gap_of(4.0, 0.0, 2.0, 2.0, 2.0) == 2.0  # order and repeated times do not matter
    assert gap_of(3.0) == gap_of(3.0, 3.0) == 1.0
    assert gap_of(0.0, 1e-6, 2e-6, 3e-6, 160.0) == pytest.approx(160 / 4 / 16)


def test_as_is_leaves_everything_as_it_is():
    task = random_task(2, 3, batch_size=2)
    units = AsIs().units(task)
    assert isinstance(units, Units)
    seen = units.to_model(task)
    assert torch.equal(seen.x_context, task.x_context)
    assert torch.equal(seen.y_context, task.y_context)
    back = units.to_user(
        task.x_target, GaussianPredictive(seen.y_target, seen.y_target.abs(), task.target_mask)
    )
    assert torch.equal(back.mean, seen.y_target.double())


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


def test_errors_are_in_the_units_of_outputs():
    task = Task.from_arrays(
        [0.0, 1.0], [[1.0, 2.0]] * 2, [0.5], None, [[3.0, 1.0]] * 2, [[6.0, 0.5]]
    )
    seen = Fixed(gap=(1.0,), level=(10.0, -1.0), scale=(3.0, 0.5)).units(task).to_model(task)
    assert seen.context_error[0, 0].tolist() == [1.0, 2.0]
    assert seen.target_error[0, 0].tolist() == [2.0, 1.0]


def test_an_own_size_is_that_of_all_channels_and_of_nothing_else():
    task = Task.from_arrays([0.0, 9.0], [[3.0, float("nan")], [float("nan"), -4.0]], [1.0])
    units = OwnSize(gap=(2.0,), typical=7.0, origin=(1.0,)).units(task)
    assert units.scale.flatten().tolist() == pytest.approx([12.5**0.5] * 2)
    assert units.level.flatten().tolist() == [0.0, 0.0]
    assert units.inputs(task.x_target).item() == 0.0
    brighter = rebuilt(task, y_context=1e4 * task.y_context)
    seen, seen_brighter = (
        OwnSize(gap=(2.0,), typical=7.0).units(t).to_model(t) for t in (task, brighter)
    )
    torch.testing.assert_close(seen.y_context, seen_brighter.y_context)
    nothing = rebuilt(task, context_mask=torch.zeros_like(task.context_mask))
    assert OwnSize(gap=(1.0,), typical=7.0).units(nothing).scale.flatten().tolist() == [7.0, 7.0]
