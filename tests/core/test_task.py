"""Task: shapes, masks, batches, and a sentence for everything that can be wrong with them."""

import numpy as np
import pytest
import torch
from torch import Tensor

from convcnp.core.task import Task
from convcnp.errors import ConvCNPError, NonFiniteError, ShapeError
from helpers import assert_equal, random_task, rebuilt

nan, inf = float("nan"), float("inf")
FIELDS = [
    *("x_context", "y_context", "x_target", "y_target", "context_mask", "target_mask"),
    *("context_error", "target_error"),
]
KINDS = ("context", "target")


def zeros(*shape: int) -> Tensor:
    return torch.zeros(shape)


def fields_of(task: Task) -> dict[str, Tensor | None]:
    return {name: getattr(task, name) for name in FIELDS}


# --- Shapes ---------------------------------------------------------------------------------------


def test_a_task_knows_its_sizes():
    task = Task(zeros(4, 5, 2), zeros(4, 5, 3), zeros(4, 7, 2))
    assert (task.batch_size, task.dim_x, task.dim_y) == (4, 2, 3)
    assert task.y_target is None


def test_without_masks_everything_counts():
    task = Task(zeros(4, 5, 2), zeros(4, 5, 3), zeros(4, 7, 2))
    assert task.context_mask.shape == (4, 5, 3)
    assert task.target_mask.shape == (4, 7, 3)
    assert task.context_mask.all()
    assert task.target_mask.all()


def test_an_empty_context_is_legal():
    task = Task(zeros(1, 0, 1), zeros(1, 0, 2), zeros(1, 3, 1))
    assert task.context_mask.shape == (1, 0, 2)


def test_inputs_keep_their_precision():
    task = Task(zeros(1, 2, 1).double() + 1.7e9, zeros(1, 2, 1), zeros(1, 3, 1).double() + 1e-9)
    assert task.x_context.dtype == task.x_target.dtype == torch.float64
    assert task.y_context.dtype == torch.float32
    masked = rebuilt(task, context_mask=torch.tensor([[[True], [False]]]))
    assert masked.x_context.dtype == torch.float64
    assert masked.y_context.dtype == torch.float32


def test_nothing_is_left_of_what_a_mask_hides():
    mask = torch.tensor([[[True, False], [False, False]]])
    x, y = torch.tensor([[[1.0], [nan]]]), torch.tensor([[[2.0, inf], [nan, 3.0]]])
    task = Task(x, y, x, y, mask, mask)
    for values in (task.x_context, task.x_target):
        assert values.tolist() == [[[1.0], [0.0]]]
    for values in (task.y_context, task.y_target):
        assert values.tolist() == [[[2.0, 0.0], [0.0, 0.0]]]


def test_a_task_does_not_change_the_tensors_it_is_given():
    y = torch.tensor([[[nan], [1.0]]])
    Task(zeros(1, 2, 1), y, zeros(1, 1, 1), context_mask=~y.isnan())
    assert y.isnan().flatten().tolist() == [True, False]


# --- From plain arrays ----------------------------------------------------------------------------


def test_arrays_become_a_batch_of_one_in_float64():
    task = Task.from_arrays(
        [0, 1, 2], np.arange(6, dtype=np.float32).reshape(3, 2), [0.5], [[7, 8]]
    )
    assert task.x_context.shape == (1, 3, 1)
    assert task.y_context.tolist() == [[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]]
    assert task.y_target.tolist() == [[[7.0, 8.0]]]
    assert {values.dtype for values in (task.x_context, task.y_context)} == {torch.float64}


def test_nan_in_an_output_means_not_observed():
    y = [[1.0, nan], [nan, nan], [3.0, 4.0]]
    task = Task.from_arrays([0.0, nan, 2.0], y, [0.0, 1.0, 2.0], y)
    for mask in (task.context_mask, task.target_mask):
        assert mask.tolist() == [[[True, False], [False, False], [True, True]]]
    assert task.x_context.flatten().tolist() == [0.0, 0.0, 2.0]
    assert task.y_context.isfinite().all()


def test_empty_lists_make_an_empty_context():
    assert Task.from_arrays([], [], [1.0, 2.0]).x_context.shape == (1, 0, 1)
    assert Task.from_arrays(np.zeros((0, 2)), np.zeros((0, 3)), [[1.0, 2.0]]).dim_y == 3


@pytest.mark.parametrize("values", [np.arange(3.0)[::-1], np.arange(6.0)[::2]])
def test_arrays_may_be_views(values):
    assert Task.from_arrays(values, values, values).y_context.flatten().tolist() == values.tolist()


def test_arrays_may_be_read_only():
    values = np.arange(3.0)
    values.flags.writeable = False
    assert Task.from_arrays(values, values, values).x_target.flatten().tolist() == [0.0, 1.0, 2.0]


def test_a_task_does_not_change_with_the_arrays_it_was_built_from():
    values = np.arange(3.0)
    task = Task.from_arrays(values, values, values)
    values[:] = nan
    assert task.x_context.flatten().tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("bad", [1.0, np.zeros((2, 3, 1))])
def test_arrays_have_one_or_two_dimensions(bad):
    with pytest.raises(
        ShapeError, match=r"Arrays must have shape \(points,\) or \(points, dimens"
    ) as e:
        Task.from_arrays([0.0], [0.0], bad)
    assert str(np.shape(bad)) in str(e.value)
    assert "Task.stack" in str(e.value)


# --- Batches --------------------------------------------------------------------------------------


def test_tasks_of_different_sizes_share_a_batch():
    tasks = [
        random_task(2, 3, num_context=4, num_target=1, seed=1),
        random_task(2, 3, batch_size=2, num_context=0, num_target=5, seed=2),
        random_task(2, 3, num_context=6, num_target=2, seed=3, observed=0.5),
    ]
    stacked = Task.stack(tasks)
    assert stacked.batch_size == 4
    assert stacked.x_context.shape == (4, 6, 2)
    assert stacked.y_target.shape == (4, 5, 3)
    for name, row in zip(FIELDS[:6] * 3, [0] * 6 + [1] * 6 + [3] * 6, strict=True):
        task = tasks[min(row, 2)]
        points = getattr(task, name).shape[1]
        assert_equal(getattr(stacked, name)[row, :points], getattr(task, name)[0], 0)
        assert not getattr(stacked, name)[row, points:].any()  # nothing is observed there


def test_a_stack_without_outputs_to_predict_has_none():
    task = Task(zeros(1, 2, 1), zeros(1, 2, 1), zeros(1, 3, 1))
    assert Task.stack([task, task]).y_target is None


def test_a_stack_keeps_float64():
    task = Task(zeros(1, 2, 1).double(), zeros(1, 2, 1), zeros(1, 3, 1).double())
    assert Task.stack([task, task]).x_context.dtype == torch.float64


def test_a_stack_needs_a_task():
    with pytest.raises(
        ShapeError, match=r"needs at least one task, got none; pass a non-empty list\."
    ):
        Task.stack([])


@pytest.mark.parametrize(
    "other",
    [random_task(2), random_task(1, 2), Task(zeros(1, 2, 1), zeros(1, 2, 1), zeros(1, 3, 1))],
    ids=["inputs", "channels", "no-y_target"],
)
def test_a_stack_needs_tasks_of_one_form(other):
    with pytest.raises(
        ShapeError, match="needs tasks with the same Dx and Dy, all with y_t"
    ) as caught:
        Task.stack([random_task(), other])
    assert f"({other.dim_x}, {other.dim_y}, {other.y_target is not None})" in str(caught.value)
    assert str(caught.value).endswith("bring them to one form first.")


def test_a_slice_takes_tasks_out_of_the_batch():
    task = random_task(batch_size=4, observed=0.5)
    errors = {f"{kind}_error": getattr(task, f"{kind}_mask").double() for kind in KINDS}
    task = rebuilt(task, **errors)
    part = task[1:3]
    assert part.batch_size == 2
    for name, values in fields_of(part).items():
        assert_equal(values, getattr(task, name)[1:3], 0)
    assert Task(zeros(2, 1, 1), zeros(2, 1, 1), zeros(2, 1, 1))[:1].y_target is None


def test_moving_a_task_moves_every_tensor_and_keeps_precisions():
    task = Task(
        *(zeros(1, 2, 1).double(), zeros(1, 2, 1), zeros(1, 3, 1).double(), zeros(1, 3, 1)),
        context_error=zeros(1, 2, 1),
        target_error=zeros(1, 3, 1).double(),
    )
    moved = task.to("meta")
    for name, values in fields_of(moved).items():
        assert values.device.type == "meta"
        assert values.dtype == getattr(task, name).dtype
    assert task.x_context.device.type == "cpu"
    assert task.to(torch.device("cpu")).y_target is not None


# --- Bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x_context", "y_context", "x_target", "y_target"])
@pytest.mark.parametrize(
    "bad, found",
    [
        (zeros(2, 1), r"torch\.float32 of shape \(2, 1\)"),
        (zeros(1, 2, 1).long(), r"torch\.int64 of"),
    ],
    ids=["missing-dimension", "integers"],
)
def test_fields_are_floating_point_tensors_with_three_dimensions(name, bad, found):
    task = fields_of(random_task(num_context=2, num_target=2))
    expected = rf"{name} must be a floating-point tensor \(tasks, points, dimensions\), got {found}"
    with pytest.raises(ShapeError, match=expected) as caught:
        Task(**{**task, name: bad})
    assert "Task.from_arrays" in str(caught.value)


@pytest.mark.parametrize("name", ["x_context", "y_context", "x_target", "y_target"])
@pytest.mark.parametrize("bad", [np.zeros((1, 2, 1)), [[[0.0], [0.0]]]], ids=["numpy", "list"])
def test_fields_are_tensors(unchecked, name, bad):
    task = fields_of(random_task(num_context=2, num_target=2))
    with pytest.raises(
        ShapeError, match=f"{name} must be .*, got {type(bad).__name__}; Task.from_arr"
    ):
        Task(**{**task, name: bad})


@pytest.mark.parametrize("y_shape", [(1, 3, 1), (2, 2, 1)])
def test_inputs_and_outputs_hold_the_same_points(y_shape):
    expected = (
        "x_context and y_context must hold the same points: expected .*give one output row per"
    )
    with pytest.raises(ShapeError, match=expected) as caught:
        Task(zeros(1, 2, 1), zeros(*y_shape), zeros(1, 2, 1))
    assert f"got (1, 2, 1) and {y_shape}" in str(caught.value)


@pytest.mark.parametrize("shape", [(2, 4, 1), (1, 4, 2)])
def test_targets_belong_to_the_tasks_and_the_space_of_the_context(shape):
    expected = r"x_target must belong to the same tasks .*: expected \(1, M, 1\), got .*; ask every"
    with pytest.raises(ShapeError, match=expected) as caught:
        Task(zeros(1, 2, 1), zeros(1, 2, 1), zeros(*shape))
    assert f"got {shape}" in str(caught.value)


@pytest.mark.parametrize(
    "x, y, x_target",
    [
        ((1, 2, 1), (1, 2, 1), (1, 0, 1)),
        ((0, 2, 1), (0, 2, 1), (0, 3, 1)),
        ((1, 2, 0), (1, 2, 1), (1, 3, 0)),
        ((1, 2, 1), (1, 2, 0), (1, 3, 1)),
    ],
    ids=["targets", "tasks", "dimensions", "channels"],
)
def test_nothing_may_be_missing_but_the_context(x, y, x_target):
    expected = "needs at least one target, input dimension and output channel, got x_context"
    with pytest.raises(ShapeError, match=expected) as caught:
        Task(zeros(*x), zeros(*y), zeros(*x_target))
    assert f"x_target {x_target}" in str(caught.value)
    assert str(caught.value).endswith("ask for at least one point.")


@pytest.mark.parametrize("shape", [(1, 2, 1), (1, 3, 2), (2, 3, 1)])
def test_outputs_to_predict_fit_the_targets_and_the_channels(shape):
    expected = (
        r"y_target must have one row per target .*: expected \(1, 3, 1\), got .*; reshape it\."
    )
    with pytest.raises(ShapeError, match=expected) as caught:
        Task(zeros(1, 2, 1), zeros(1, 2, 1), zeros(1, 3, 1), zeros(*shape))
    assert f"got {shape}" in str(caught.value)


@pytest.mark.parametrize("name", ["context_mask", "target_mask"])
@pytest.mark.parametrize(
    "bad, found",
    [
        (torch.ones(1, 2, 1), r"torch\.float32 of shape \(1, 2, 1\)"),
        (torch.ones(1, 2, 1, dtype=torch.uint8), r"torch\.uint8 of shape \(1, 2, 1\)"),
        (torch.ones(1, 2, dtype=torch.bool), r"torch\.bool of shape \(1, 2\)"),
        (torch.ones(1, 3, 1, dtype=torch.bool), r"torch\.bool of shape \(1, 3, 1\)"),
        (torch.ones(1, 2, 2, dtype=torch.bool), r"torch\.bool of shape \(1, 2, 2\)"),
    ],
    ids=["floats", "bytes", "missing-dimension", "points", "channels"],
)
def test_masks_are_boolean_with_one_entry_per_point_and_channel(name, bad, found):
    expected = (
        rf"{name} must be boolean, .* expected torch\.bool of shape \(1, 2, 1\), got {found};"
    )
    with pytest.raises(ShapeError, match=expected) as caught:
        Task(zeros(1, 2, 1), zeros(1, 2, 1), zeros(1, 2, 1), **{name: bad})
    assert f"{name}.bool()" in str(caught.value)


@pytest.mark.parametrize("name", ["context_mask", "target_mask"])
@pytest.mark.parametrize(
    "bad", [np.ones((1, 2, 1), bool), [[[True], [True]]]], ids=["numpy", "list"]
)
def test_masks_are_tensors(unchecked, name, bad):
    with pytest.raises(ShapeError, match=f"{name} must be boolean"):
        Task(zeros(1, 2, 1), zeros(1, 2, 1), zeros(1, 2, 1), **{name: bad})


@pytest.mark.parametrize("name", ["x_context", "y_context", "x_target", "y_target"])
@pytest.mark.parametrize("bad", [nan, inf, -inf])
def test_what_is_observed_is_finite(name, bad):
    task = random_task(batch_size=3, num_context=4, num_target=4)
    values = getattr(task, name).clone()
    values[2, 1] = bad
    expected = (
        rf"{name} must be finite wherever its mask is true, got \[{bad}\] at point 1 of task 2;"
    )
    with pytest.raises(NonFiniteError, match=expected) as caught:
        rebuilt(task, **{name: values})
    assert str(caught.value).endswith("mask or remove it.")


@pytest.mark.parametrize("name", ["x_context", "x_target"])
def test_inputs_are_finite_wherever_one_channel_is_observed(name):
    task = random_task(dim_y=2, num_context=2, num_target=2)
    mask = torch.tensor([[[True, False], [True, True]]])
    bad = torch.tensor([[[nan], [0.0]]])
    with pytest.raises(NonFiniteError, match=f"{name} must be finite .* at point 0 of task 0"):
        rebuilt(task, context_mask=mask, target_mask=mask, **{name: bad})


def test_infinity_in_an_array_is_no_missing_value():
    with pytest.raises(NonFiniteError, match=r"y_context must be finite .* got \[inf\] at point 1"):
        Task.from_arrays([0.0, 1.0], [0.0, inf], [0.5])


def test_missing_inputs_of_observed_outputs_are_refused():
    with pytest.raises(NonFiniteError, match=r"x_context must be finite .* got \[nan\] at point 0"):
        Task.from_arrays([nan, 1.0], [0.0, 1.0], [0.5])
    with pytest.raises(NonFiniteError, match=r"x_target must be finite .* got \[nan\] at point 0"):
        Task.from_arrays([0.0, 1.0], [0.0, 1.0], [nan])


def test_our_errors_are_ours_and_the_builtin_s_they_resemble():
    for error in (ShapeError, NonFiniteError):
        assert issubclass(error, ConvCNPError)
        assert issubclass(error, ValueError)


def test_a_batch_is_a_sequence_of_batches_of_one():
    task = random_task(batch_size=3)
    assert len(task) == 3
    assert [single.x_context.shape for single in task] == [(1, 8, 1)] * 3
    assert torch.equal(task[-1].y_context, task.y_context[2:])
    with pytest.raises(IndexError):
        task[3]


# --- Standard errors ------------------------------------------------------------------------------


def with_errors(**options):
    return Task.from_arrays(
        [0.0, 1.0, 2.0], [1.0, 2.0, 3.0], [0.5, 1.5], context_error=[0.1, 0.2, 0.3], **options
    )


def test_errors_are_unknown_unless_given():
    task = Task.from_arrays([0.0], [1.0], [0.5])
    assert task.context_error is None
    assert task.target_error is None


def test_an_infinite_error_says_that_nothing_was_observed():
    task = Task.from_arrays(
        [0.0, 1.0], [1.0, nan], [2.0, 3.0], context_error=[inf, nan], target_error=[inf, 0.5]
    )
    assert not task.context_mask.any()
    assert task.y_context.flatten().tolist() == [0.0, 0.0]
    assert task.context_error.flatten().tolist() == [0.0, 0.0]
    assert task.target_mask.flatten().tolist() == [False, True]


@pytest.mark.parametrize("error", [-1.0, nan])
def test_an_error_that_is_none_is_refused(error):
    with pytest.raises(NonFiniteError, match=r"context_error must be zero or larger .* point 1"):
        Task.from_arrays([0.0, 1.0], [1.0, 2.0], [2.0], context_error=[0.1, error])


def test_errors_have_the_shape_of_the_outputs(unchecked):
    with pytest.raises(ShapeError, match=r"target_error must be .*\(1, 2, 1\), got .*\(1, 1, 1\)"):
        with_errors(target_error=[0.1])
    with pytest.raises(ShapeError, match=r"context_error .* got list"):
        Task(zeros(1, 1, 1), zeros(1, 1, 1), zeros(1, 1, 1), context_error=[0.1])


def test_errors_go_where_their_points_go():
    task = with_errors(target_error=[0.4, 0.5])
    hidden = rebuilt(task, context_mask=torch.tensor([[[False], [True], [True]]]))
    assert hidden.packed().context_error.flatten().tolist() == [0.2, 0.3]
    assert task[0].target_error.flatten().tolist() == [0.4, 0.5]
    last = task.of_context(lambda t: t[:, 2:]).of_targets(lambda t: t[:, :1])
    assert last.context_error.flatten().tolist() == [0.3]
    assert last.target_error.flatten().tolist() == [0.4]
    assert last.x_target.flatten().tolist() == [0.5]
    none = task.without_errors()
    assert none.context_error is none.target_error is None
    assert task.context_error is not None


def test_stacking_pads_errors_and_takes_none_for_zero():
    short = Task.from_arrays([0.0], [1.0], [0.5])
    both = Task.stack([short, with_errors()])
    assert both.context_error[..., 0].tolist() == [[0.0] * 3, [0.1, 0.2, 0.3]]
    assert both.target_error is None
    assert Task.stack([short, short]).context_error is None
