"""Where the grid lies, how far it goes, and when it is refused."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from convcnp.core import grid
from convcnp.core.grid import Field, Grid, Margin, covering_grid, ranges
from convcnp.core.task import Task
from convcnp.errors import ConvCNPError, GridTooLargeError
from convcnp.models.convcnp import ConvCNP
from helpers import assert_equal, random_task, rebuilt

SPACING = 1 / 64


def margin(**changes: Any) -> Margin:
    settings = {"encoder_reach": 0.3, "decoder_reach": 0.2, "radius": 1.0, "padding": "unobserved"}
    return Margin(**{**settings, **changes})


NO_MARGIN = margin(encoder_reach=0.0, decoder_reach=0.0, radius=0.0)


def tensor(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def ends_of(grid: Grid) -> tuple[Tensor, Tensor]:
    """Return the positions of the first and the last cell."""
    return grid.origin, grid.origin + (torch.tensor(grid.shape) - 1) * grid.spacing


def contexts_and_targets(context: list[float], target: list[float]) -> Task:
    return Task.from_arrays(context, context, target)


tasks = st.builds(
    random_task,
    dim_x=st.integers(1, 2),
    batch_size=st.integers(1, 3),
    num_context=st.integers(0, 5),
    num_target=st.integers(1, 5),
    width=st.floats(0.01, 3.0),
    seed=st.integers(0, 999),
    observed=st.sampled_from([0.3, 1.0]),
)
with_examples = settings(max_examples=40, deadline=None, derandomize=True, database=None)


# --- Where the grid lies --------------------------------------------------------------------------


@given(tasks, st.sampled_from([1, 4, 64]))
@with_examples
def test_the_grid_hangs_on_the_smallest_context_input(task, multiple):
    grid = covering_grid(task, SPACING, margin(), multiple=multiple)
    steps = (ranges(task)[0][0] - grid.origin) / (SPACING * multiple)
    assert_equal(steps, steps.round(), 1e-9)
    assert all(length % multiple == 0 and length > 0 for length in grid.shape)
    assert grid.spacing == SPACING
    assert grid.origin.dtype == torch.float64


def arrays(task: Task) -> list[list[np.ndarray]]:
    return [[end.numpy() for end in ends] for ends in ranges(task)]


@given(tasks, st.sampled_from([1, 4, 64]), st.sampled_from(["unobserved", "zeros"]))
@with_examples
def test_the_grid_covers_context_and_targets_with_their_margin(task, multiple, padding):
    wide = margin(padding=padding)
    grid = covering_grid(task, SPACING, wide, multiple=multiple)
    (context_low, context_high), (target_low, target_high) = arrays(task)
    low, high = (end.numpy() for end in ends_of(grid))
    assert (low <= -wide.end(-context_low, -target_low) + 1e-9).all()
    assert (high + SPACING >= wide.end(context_high, target_high) - 1e-9).all()
    assert (low <= context_low).all()
    assert (high >= context_high).all()


@given(tasks, st.sampled_from([1, 4, 64]))
@with_examples
def test_the_grid_is_no_longer_than_it_must_be(task, multiple):
    grid = covering_grid(task, SPACING, margin(), multiple=multiple)
    (context_low, context_high), (target_low, target_high) = arrays(task)
    needed = margin().end(context_high, target_high) + margin().end(-context_low, -target_low)
    spare = np.array(grid.shape) * SPACING - needed.max(0)
    assert (spare <= 2 * multiple * SPACING + 1e-9).all()


def test_positions_are_counted_in_cells_from_the_origin_in_float64():
    grid = Grid(tensor(1e9, -2.0)[:, None], 0.5, (8,))
    cells = grid.cells(tensor(1e9 + 1.25, -2.5)[:, None, None])
    assert cells.dtype == torch.float64
    assert cells.flatten().tolist() == [2.5, -1.0]


def test_a_worked_example():
    # Data from 0 to 1, targets from -0.4 to 1.2. To the left the data ends at 0.3 and targets at
    # 0.6, so the grid goes (0.3 + 0.6 + 1) / 2 = 0.95 beyond 0; to the right (1.3 + 1.4 + 1) / 2.
    task = contexts_and_targets([0.0, 1.0], [-0.4, 1.2])
    grid = covering_grid(task, 0.125, margin(), multiple=2)
    assert grid.origin.tolist() == [[-1.0]]  # 0.95 is less than four blocks of 0.25
    assert grid.shape == (2 * (4 + 8),)  # 1.85 is less than eight


def test_another_anchor_gives_the_same_phase_to_a_part():
    whole = contexts_and_targets([0.1, 5.0], [3.0])
    part = contexts_and_targets([5.0], [3.0])
    grid = covering_grid(part, SPACING, margin(), multiple=4, anchor=tensor(0.1)[:, None])
    steps = (grid.origin - covering_grid(whole, SPACING, margin(), multiple=4).origin) / SPACING / 4
    assert_equal(steps, steps.round(), 1e-9)
    own = covering_grid(part, SPACING, margin(), multiple=4)
    assert abs(((own.origin - grid.origin) / SPACING / 4 % 1).item() - 0.5) < 0.49


def test_each_task_has_its_own_origin_and_all_share_a_shape():
    near, far = contexts_and_targets([0.0, 3.0], [1.0]), contexts_and_targets([1e6], [1e6])
    both = covering_grid(Task.stack([near, far]), SPACING, margin())
    for i, task in enumerate([near, far]):
        assert_equal(both.origin[i : i + 1], covering_grid(task, SPACING, margin()).origin, 0)
    assert both.shape == covering_grid(near, SPACING, margin()).shape


@pytest.mark.parametrize("preset", [ConvCNP.small, ConvCNP.xl])
@pytest.mark.parametrize("dim_x", [1, 2])
def test_models_ask_for_the_grid_their_network_needs(preset, dim_x):
    model = preset(dim_x).eval()
    grid = model.covering_grid(random_task(dim_x))
    assert grid.spacing == 1 / 64
    assert len(grid.shape) == dim_x
    multiple = 1 if grid.lead is None else 16
    assert all(length % multiple == 0 for length in grid.shape)
    assert (grid.lead is not None) == model.cnn.takes_tight_grids


def test_training_may_use_a_smaller_margin_than_prediction():
    model, task = ConvCNP.xl(training_margin=0.1), random_task()
    trained, predicted = model.covering_grid(task), model.eval().covering_grid(task)
    assert trained.shape == (128,)
    assert predicted.shape == (160,)


# --- How far it goes ------------------------------------------------------------------------------


def test_the_margin_for_zeros_is_the_radius_beyond_the_outermost_target():
    zeros = margin(padding="zeros")
    # Context ends at 1, targets at 4: 4 + 0.2 + 1.
    assert zeros.end(np.array([1.0]), np.array([4.0])).item() == pytest.approx(5.2)
    # Targets end well before the context: the grid holds the context, though it cannot matter.
    assert zeros.end(np.array([4.0]), np.array([1.0])).item() == pytest.approx(5.0)
    assert margin(padding="circular").end(np.array([1.0]), np.array([4.0])).item() == pytest.approx(
        5.2
    )


@pytest.mark.parametrize(
    "context, target, end",
    [
        (0.0, 0.0, (0.3 + 0.3 + 1) / 2),  # targets end before the data's reach
        (0.0, 0.5, (0.3 + 0.7 + 1) / 2),
        (0.0, 1.1, 1.3),  # from here on nothing but the constant is asked for
        (0.0, 1e6, 1.3),
        (5.0, -1e6, (5.3 + 5.3 + 1) / 2),
    ],
)
def test_the_margin_for_unobserved_is_half_the_way_of_a_signal_that_comes_back(
    context, target, end
):
    assert margin().end(np.array([context]), np.array([target])).item() == pytest.approx(end)


@pytest.mark.parametrize(
    "context, target, end",
    [(0.0, -5.0, 0.3), (0.0, 0.0, 0.3), (0.0, 0.5, 0.7), (0.0, 1e6, 1.3)],
)
def test_a_grid_that_is_continued_ends_where_what_is_seen_and_asked_for_does(context, target, end):
    tight = margin(is_continued=True)
    assert tight.end(np.array([context]), np.array([target])).item() == pytest.approx(end)
    assert not margin(is_continued=True, fixed=0.1).is_tight


def test_tight_grids_begin_in_one_phase_and_cover_all():
    task = contexts_and_targets([0.0, 1.0, 2.0], [-1.0, 0.5, 2.5])
    tight = margin(is_continued=True)
    grid = covering_grid(task, SPACING, tight, multiple=8)
    assert grid.lead == tight.lead(SPACING) == 20  # the reach of 0.3 is 19.2 cells
    steps = grid.origin / SPACING + grid.lead
    assert steps.item() % 8 == 0
    assert -8 <= grid.origin.item() / SPACING + 64 * 1.2 <= 0
    last = grid.origin.item() + (grid.shape[0] - 1) * SPACING
    assert 2.7 - SPACING <= last <= 2.7 + 16 * SPACING
    assert covering_grid(task, SPACING, margin(), multiple=8).lead is None


@pytest.mark.parametrize(
    "padding, target, end",
    [("zeros", 2.0, 2.1), ("zeros", -2.0, 1.1), ("unobserved", 1.5, 1.6), ("unobserved", 9.0, 2.2)],
)
def test_a_fixed_margin_is_measured_from_the_outermost_point_that_matters(padding, target, end):
    # Unobserved: beyond 1 + 0.3 + 1 = 2.3 nothing was observed, and a target looks 0.2 around it.
    fixed = margin(padding=padding, fixed=0.1)
    assert fixed.end(np.array([1.0]), np.array([target])).item() == pytest.approx(end)


# --- What the range of a task is ------------------------------------------------------------------


def test_masked_points_do_not_stretch_the_grid():
    task = random_task(num_context=5, num_target=5)
    x_context, x_target = task.x_context.clone(), task.x_target.clone()
    x_context[:, 2], x_target[:, 3] = 1e5, float("nan")
    context_mask, target_mask = task.context_mask.clone(), task.target_mask.clone()
    context_mask[:, 2], target_mask[:, 3] = False, False
    masked = rebuilt(
        task,
        x_context=x_context,
        x_target=x_target,
        context_mask=context_mask,
        target_mask=target_mask,
    )
    keep = [0, 1, 3, 4]
    removed = Task(task.x_context[:, keep], task.y_context[:, keep], task.x_target[:, [0, 1, 2, 4]])
    grids = [covering_grid(t, SPACING, margin()) for t in (masked, removed)]
    assert_equal(grids[0].origin, grids[1].origin, 0)
    assert grids[0].shape == grids[1].shape


def test_a_point_counts_if_any_channel_is_observed():
    task = Task(
        tensor(0.0, 7.0)[None, :, None],
        torch.zeros(1, 2, 2),
        tensor(1.0)[None, :, None],
        context_mask=torch.tensor([[[True, True], [False, True]]]),
    )
    assert ranges(task)[0][1].item() == 7.0


def test_without_context_the_grid_hangs_on_the_targets():
    task = contexts_and_targets([], [5.0, 4.0])
    (context_low, _), (target_low, target_high) = ranges(task)
    assert context_low.item() == 4.0
    assert (target_low.item(), target_high.item()) == (4.0, 5.0)
    assert covering_grid(task, SPACING, margin()).shape[0] < 64 * 5


def test_without_any_target_that_counts_the_context_stands_in():
    task = rebuilt(random_task(), target_mask=torch.zeros(1, 6, 1, dtype=torch.bool))
    context, target = ranges(task)
    assert context == target
    nothing = rebuilt(task, context_mask=torch.zeros(1, 8, 1, dtype=torch.bool))
    assert [end.item() for both in ranges(nothing) for end in both] == [0.0] * 4


def test_targets_beyond_reach_do_not_lengthen_an_unobserved_grid():
    near, far = contexts_and_targets([0.0], [3.0]), contexts_and_targets([0.0], [1e9])
    near, far = (covering_grid(task, SPACING, margin()) for task in (near, far))
    assert near.shape == far.shape
    assert_equal(near.origin, far.origin, 0)


# --- When it is refused ---------------------------------------------------------------------------


def test_a_grid_that_would_not_fit_is_refused_with_its_size_and_a_way_out():
    task = contexts_and_targets([0.0, 1e6], [0.5])
    with pytest.raises(GridTooLargeError) as caught:
        covering_grid(task, SPACING, NO_MARGIN)
    message = str(caught.value)
    assert "at most 16,777,216 cells" in message
    assert "got 64,000,001 cells of 0.015625 for 1 task(s)" in message
    assert "64,000,001 in all" in message
    assert f"about {64_000_001 * 32 * 4 * 3 / 1e9:,.1f} GB" in message
    assert "predict_in_tiles, fewer tasks at once, fewer points per unit, or rescale" in message
    assert message.endswith(".")
    assert isinstance(caught.value, ConvCNPError)
    assert isinstance(caught.value, MemoryError)


def test_cells_are_counted_over_the_whole_batch_and_all_dimensions(monkeypatch):
    task = random_task(2, batch_size=3)
    shape = covering_grid(task, SPACING, margin()).shape
    cells = 3 * math.prod(shape)
    monkeypatch.setattr(grid, "MAX_CELLS", cells)
    assert covering_grid(task, SPACING, margin()).shape == shape
    monkeypatch.setattr(grid, "MAX_CELLS", cells - 1)
    with pytest.raises(GridTooLargeError, match=rf"{shape[0]} x {shape[1]} cells .* for 3 task"):
        covering_grid(task, SPACING, margin())


@pytest.mark.parametrize("far", [1e18, 1e300])
def test_absurd_domains_are_refused_and_not_overflown(far):
    with pytest.raises(GridTooLargeError, match="rescale the inputs"):
        covering_grid(contexts_and_targets([-far, far], [0.0]), SPACING, margin())


def test_a_model_refuses_a_grid_above_the_limit(monkeypatch):
    task = contexts_and_targets([0.0, 10.0], [0.5])
    monkeypatch.setattr(grid, "MAX_CELLS", 1000)
    ConvCNP.small()(task)
    monkeypatch.setattr(grid, "MAX_CELLS", 500)
    with pytest.raises(GridTooLargeError, match="at most 500 cells"):
        ConvCNP.small()(task)


def test_a_field_maps_its_values_and_its_constant_alike():
    field = Field(torch.ones(1, 4, 2), torch.zeros(2)).map(lambda h: h + 3)
    assert field.values.unique().tolist() == [4.0]
    assert field.beyond.tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    ("ends", "lengths"), [((4.0, 1.0, 2.1), (42, 14, 24)), ((4.0, 3.9, 3.8), None)]
)
def test_a_line_knows_what_each_task_needs_where_that_is_much_less(ends, lengths):
    """In pairs of cells, as far as the longest task goes."""
    x = torch.tensor([[0.0, end] for end in ends])[..., None].double()
    found = covering_grid(Task(x, torch.zeros(3, 2, 1), x), 0.1, margin(fixed=0.1))
    assert found.lengths == lengths
