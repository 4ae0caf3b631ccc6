"""What no input may change, and broken models on which every check fails.

Each property is a function `assert_...(model, task, ...)`. It must pass on every preset, and fail
on a model that was broken to violate it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from torch import Tensor

from convcnp.core.cnn import CNN, SimpleCNN, UNet
from convcnp.core.grid import Field, ranges
from convcnp.core.heads import GaussianHead
from convcnp.core.task import Task
from convcnp.models.cnp import CNP
from convcnp.models.convcnp import ConvCNP
from helpers import lively, moments, random_task, rebuilt
from promises.symmetries import (
    assert_another_task_does_not_matter,
    assert_context_order_does_not_matter,
    assert_empty_context_gives_finite_predictions,
    assert_far_predictions_are_those_without_context,
    assert_far_target_does_not_matter,
    assert_masked_channels_do_not_matter,
    assert_masked_points_do_not_matter,
    assert_predictions_depend_on_data,
    assert_shift_does_not_matter,
    assert_target_order_permutes_predictions,
    shifted,
)

UNIX_TIME = 1.7e9


# --- The models -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    preset: Callable[..., ConvCNP]
    dim_x: int
    examples: int

    @property
    def seeds(self) -> st.SearchStrategy[int]:
        """Where predictions are slow, stay with one task, so that they are computed once."""
        return st.integers(0, 99) if self.examples > 1 else st.just(0)

    @property
    def width(self) -> float:
        """Four grid cells or more between neighbours in 1-D, a dozen cells across in 2-D."""
        return 1.0 if self.dim_x == 1 else 3.0

    def model(self, dim_y: int = 1, **options: str) -> ConvCNP:
        return built(self.preset, self.dim_x, dim_y, **options)

    def task(self, seed: int, dim_y: int = 1, **options: int | float) -> Task:
        return drawn(self.dim_x, dim_y, seed=seed, **{"width": self.width, **options})

    def vectors(self, numbers: st.SearchStrategy[float]) -> st.SearchStrategy[list[float]]:
        return st.lists(numbers, min_size=self.dim_x, max_size=self.dim_x)

    def check(self, at_least: int = 1, **strategies: st.SearchStrategy) -> Callable:
        """Run a function on examples, the same ones every time."""

        def run(function: Callable[..., None]) -> None:
            limits = settings(
                max_examples=max(self.examples, at_least),
                phases=[Phase.generate],  # to look for a simpler example would take minutes
                deadline=None,
                derandomize=True,
                database=None,
            )
            limits(given(**strategies)(function))()

        return run


drawn = cache(random_task)


@cache
def built(preset: Callable[..., ConvCNP], dim_x: int, dim_y: int, **options: str) -> ConvCNP:
    points_per_unit = 64.0 if dim_x == 1 else 4.0
    return lively(preset(dim_x, dim_y, points_per_unit=points_per_unit, **options)).eval()


def small_ours(dim_x: int, dim_y: int = 1, **options: float | str) -> ConvCNP:
    """Build a small residual U-Net: the whole preset takes minutes in 2-D."""
    return ConvCNP(UNet(dim_x, 8, (8, 8), (8, 8), blocks=1), dim_y, **options)


def long_filters(dim_x: int, dim_y: int = 1, **options: float | str) -> ConvCNP:
    """Build a residual U-Net behind long filters."""
    return ConvCNP.residual(dim_x, dim_y, filters=2, **options)


# The last one works on 384 x 384 cells, and takes a second each time.
CASES = {
    "convcnp-1d": Case(ConvCNP.small, 1, 12),
    "convcnpxl-1d": Case(ConvCNP.xl, 1, 6),
    "convcnp-ours-1d": Case(ConvCNP.residual, 1, 3),
    "long-filters-1d": Case(long_filters, 1, 3),
    "convcnp-2d": Case(ConvCNP.small, 2, 4),
    "small-ours-2d": Case(small_ours, 2, 2),
    "convcnpxl-2d": Case(ConvCNP.xl, 2, 1),
}
every_preset = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def broken(model: ConvCNP) -> ConvCNP:
    """Give a broken model the weights of a lively one."""
    return lively(model).eval()


# --- What must hold -------------------------------------------------------------------------------


def orders(length: int) -> st.SearchStrategy[list[int]]:
    """All orders but the one that changes nothing."""
    return st.permutations(range(length)).filter(lambda order: order != sorted(order))


@every_preset
def test_predictions_depend_on_the_data(case):
    assert_predictions_depend_on_data(case.model(), case.task(seed=0))


@every_preset
def test_order_of_the_context_does_not_matter(case):
    @case.check(seed=case.seeds, order=orders(8))
    def _(seed, order):
        task = case.task(seed)
        assert_context_order_does_not_matter(case.model(), task, torch.tensor(order))


@every_preset
def test_order_of_the_targets_permutes_the_predictions(case):
    @case.check(seed=case.seeds, order=orders(6))
    def _(seed, order):
        task = case.task(seed)
        assert_target_order_permutes_predictions(case.model(), task, torch.tensor(order))


SHIFT = st.floats(-1e3, 1e3).filter(bool)


@every_preset
def test_any_shift_is_exact(case):
    @case.check(seed=case.seeds, shift=case.vectors(SHIFT))
    def _(seed, shift):
        assert_shift_does_not_matter(case.model(), case.task(seed), shift)


@pytest.mark.parametrize("padding", ["zeros", "circular"])
@pytest.mark.parametrize("preset", [ConvCNP.small, ConvCNP.xl])
def test_any_shift_is_exact_with_the_paper_s_paddings_too(preset, padding):
    case = Case(preset, 1, 4)

    @case.check(seed=case.seeds, shift=case.vectors(SHIFT))
    def _(seed, shift):
        assert_shift_does_not_matter(case.model(padding=padding), case.task(seed), shift)


def rounded_to_unix_time(task: Task) -> Task:
    """Round inputs to what float64 can hold at a Unix time stamp, 2.4e-7 apart."""
    return shifted(shifted(task, UNIX_TIME), -UNIX_TIME)


@cache
def in_float32(case: Case) -> ConvCNP:
    model = case.preset(case.dim_x, points_per_unit=case.model().spacing ** -1)
    model.load_state_dict(case.model().state_dict())
    return model.eval()


@every_preset
def test_a_unix_time_stamp_is_as_good_as_zero_in_float32(case):
    @case.check(seed=case.seeds)
    def _(seed):
        task = rounded_to_unix_time(case.task(seed))
        assert moments(in_float32(case), task).dtype == torch.float32
        assert_shift_does_not_matter(in_float32(case), task, UNIX_TIME, tolerance=1e-4)


FAR = st.floats(1, 1e6) | st.floats(-1e6, -1)


@pytest.mark.parametrize("preset", [ConvCNP.small, ConvCNP.xl])
def test_sigma_made_positive_on_the_grid_does_not_see_its_end(preset):
    case = Case(preset, 1, 4)

    @case.check(seed=case.seeds, distance=FAR, shift=SHIFT)
    def _(seed, distance, shift):
        model = case.model(head=GaussianHead(positivity="grid"))
        assert_far_target_does_not_matter(model, case.task(seed), [distance])
        assert_shift_does_not_matter(model, case.task(seed), shift)


@every_preset
def test_a_far_target_changes_no_other_prediction(case):
    # One step may be zero, so that a target is far in one dimension only.
    steps = [FAR] + [FAR | st.just(0.0)] * (case.dim_x - 1)

    @case.check(at_least=2, seed=case.seeds, distance=st.tuples(*steps))
    def _(seed, distance):
        assert_far_target_does_not_matter(case.model(), case.task(seed), list(distance))


@pytest.mark.parametrize("positivity", ["target", "grid"])
@pytest.mark.parametrize("name", [name for name in CASES if name != "convcnpxl-2d"])
def test_far_from_all_data_predictions_are_those_without_context(name, positivity):
    model = CASES[name].model(head=GaussianHead(positivity=positivity))
    assert_far_predictions_are_those_without_context(model, CASES[name].task(seed=0))


@pytest.mark.parametrize("padding", ["zeros", "circular"])
@pytest.mark.parametrize("preset", [ConvCNP.small, ConvCNP.xl])
def test_a_far_target_changes_nothing_with_the_paper_s_paddings_either(preset, padding):
    case = Case(preset, 1, 4)

    @case.check(seed=case.seeds, distance=st.floats(1, 20) | st.floats(-20, -1))
    def _(seed, distance):
        model = case.model(padding=padding)
        assert_far_target_does_not_matter(model, case.task(seed), [distance])


@pytest.mark.parametrize("preset", [ConvCNP.small, ConvCNP.xl])
def test_a_far_target_changes_nothing_when_there_is_no_context(preset):
    case = Case(preset, 1, 1)
    assert_far_target_does_not_matter(case.model(), case.task(0, num_context=0), [3.0])


@pytest.mark.parametrize("preset", [ConvCNP.small, ConvCNP.xl])
def test_without_context_targets_may_be_any_distance_apart(preset):
    case = Case(preset, 1, 1)
    assert_far_target_does_not_matter(case.model(), case.task(0, num_context=0), [1e6])


@every_preset
def test_another_task_in_the_batch_changes_no_prediction(case):
    others = {
        "num_context": st.integers(0, 12),
        "num_target": st.integers(1, 9),
        "width": st.floats(0.1, 12.0 if case.dim_x == 1 else 3.0),
    }

    @case.check(
        at_least=2,
        seed=case.seeds,
        other=st.builds(random_task, st.just(case.dim_x), seed=st.integers(100, 199), **others),
        shift=case.vectors(st.floats(-1e6, 1e6)),
    )
    def _(seed, other, shift):
        assert_another_task_does_not_matter(case.model(), case.task(seed), shifted(other, shift))


GARBAGE = st.floats(-1e6, 1e6) | st.sampled_from([float("nan"), float("inf"), -1e300])


@every_preset
def test_whatever_stands_at_a_masked_point_changes_nothing(case):
    @case.check(seed=case.seeds, hidden=st.lists(case.vectors(GARBAGE), min_size=1, max_size=3))
    def _(seed, hidden):
        points = torch.tensor([hidden], dtype=torch.float64)
        assert_masked_points_do_not_matter(case.model(), case.task(seed), points)


@every_preset
def test_whatever_stands_in_a_masked_channel_changes_nothing(case):
    @case.check(seed=case.seeds, garbage=GARBAGE)
    def _(seed, garbage):
        task = case.task(seed, dim_y=2, observed=0.7)
        assert_masked_channels_do_not_matter(case.model(dim_y=2), task, garbage)


@every_preset
def test_an_empty_context_gives_finite_predictions(case):
    assert_empty_context_gives_finite_predictions(case.model(), case.task(seed=0))


# --- Broken models, on which the checks must fail -------------------------------------------------


class DividesByContextIndex(ConvCNP):
    def raw(self, task: Task, anchor: Tensor | None = None) -> Tensor:
        index = torch.arange(1.0, task.x_context.shape[1] + 1)[:, None]
        return super().raw(rebuilt(task, y_context=task.y_context / index), anchor)


class AddsTargetIndex(ConvCNP):
    def raw(self, task: Task, anchor: Tensor | None = None) -> Tensor:
        return super().raw(task, anchor) + torch.arange(task.x_target.shape[1])[:, None]


class HangsItsGridOnTheOrigin(ConvCNP):
    def raw(self, task: Task, anchor: Tensor | None = None) -> Tensor:
        return super().raw(task, torch.zeros_like(ranges(task)[0][0]))


class HangsItsGridOnTheTargets(ConvCNP):
    def raw(self, task: Task, anchor: Tensor | None = None) -> Tensor:
        return super().raw(task, ranges(task)[1][0])


class HangsItsGridOnTheBatch(ConvCNP):
    def raw(self, task: Task, anchor: Tensor | None = None) -> Tensor:
        anchor = ranges(task)[0][0]
        return super().raw(task, anchor.amin(0).expand_as(anchor))


class RoundsInputsFirst(ConvCNP):
    def raw(self, task: Task, anchor: Tensor | None = None) -> Tensor:
        inputs = {name: getattr(task, name).float() for name in ("x_context", "x_target")}
        return super().raw(rebuilt(task, **inputs), anchor)


class IgnoresTheMask(ConvCNP):
    def raw(self, task: Task, anchor: Tensor | None = None) -> Tensor:
        everything = torch.ones_like(task.context_mask)
        return super().raw(rebuilt(task, context_mask=everything), anchor)


class DividesByNumberOfPoints(ConvCNP):
    def raw(self, task: Task, anchor: Tensor | None = None) -> Tensor:
        return super().raw(task, anchor) / task.context_mask.any(-1).sum(1)[:, None, None]


class ReadsGridIndex(SimpleCNN):
    def forward(self, field: Field, **options: int) -> Field:
        index = torch.arange(field.values.shape[1])[:, None]
        return super().forward(Field(field.values + 0.01 * index, field.beyond), **options)


class ForgetsWhatLiesBeyond(CNN):
    """Compute as if the field were zero far from data, where it is a constant."""

    def __init__(self, cnn: CNN) -> None:
        super().__init__(cnn.dim, cnn.padding)
        self.cnn = cnn
        self.multiple, self.receptive_radius = cnn.multiple, cnn.receptive_radius
        self.channels_in, self.channels_out = cnn.channels_in, cnn.channels_out

    def layers_forward(self, h: Tensor, beyond: Tensor) -> tuple[Tensor, Tensor]:
        return self.cnn.layers_forward(h, torch.zeros_like(beyond))


def task_that_hides_nothing(*fields: Tensor, **named: Tensor) -> Task:
    """Leave the values where the mask is false as they came."""
    names = ["x_context", "y_context", "x_target", "y_target", "context_mask", "target_mask"]
    named |= dict(zip(names, fields, strict=False))
    task = Task(
        **{name: t.nan_to_num() if t.is_floating_point() else t for name, t in named.items()}
    )
    vars(task).update(named)
    return task


BACKWARDS = torch.arange(5, -1, -1)
SMALL_TASK = random_task(num_context=6, num_target=6, seed=1)


def test_a_model_that_reads_the_context_s_order_is_found():
    model = broken(DividesByContextIndex(SimpleCNN()))
    with pytest.raises(AssertionError):
        assert_context_order_does_not_matter(model, SMALL_TASK, BACKWARDS)


def test_a_model_that_reads_the_targets_order_is_found():
    model = broken(AddsTargetIndex(SimpleCNN()))
    with pytest.raises(AssertionError):
        assert_target_order_permutes_predictions(model, SMALL_TASK, BACKWARDS)


@pytest.mark.parametrize(
    "model", [HangsItsGridOnTheOrigin(SimpleCNN()), CNP()], ids=["absolute-grid", "cnp"]
)
def test_a_model_that_reads_absolute_inputs_is_found(model):
    with pytest.raises(AssertionError):
        assert_shift_does_not_matter(lively(model).eval(), SMALL_TASK, 0.7)


def test_a_model_that_rounds_its_inputs_too_early_is_found():
    model = broken(RoundsInputsFirst(SimpleCNN())).float()
    task = rounded_to_unix_time(SMALL_TASK)
    with pytest.raises(AssertionError):
        assert_shift_does_not_matter(model, task, UNIX_TIME, tolerance=1e-4)


FAR_TARGET_BREAKS = {
    "grid-index": lambda: ConvCNP(ReadsGridIndex()),
    "grid-on-targets": lambda: HangsItsGridOnTheTargets(SimpleCNN()),
    "zeros-with-small-margin": lambda: ConvCNP.small(padding="zeros", margin=0.1),
    "circular-with-small-margin": lambda: ConvCNP.small(padding="circular", margin=0.1),
    "wrong-constant-beyond": lambda: ConvCNP(ForgetsWhatLiesBeyond(UNet())),
}


@pytest.mark.parametrize("build", FAR_TARGET_BREAKS.values(), ids=FAR_TARGET_BREAKS.keys())
def test_a_model_that_sees_the_end_of_its_grid_is_found_by_a_far_target(build):
    with pytest.raises(AssertionError):
        assert_far_target_does_not_matter(broken(build()), SMALL_TASK, [-1.03])


def test_a_model_that_forgets_what_lies_beyond_is_found_far_away():
    model = broken(ConvCNP(ForgetsWhatLiesBeyond(SimpleCNN())))
    with pytest.raises(AssertionError):
        assert_far_predictions_are_those_without_context(model, SMALL_TASK)


def test_a_network_that_reads_its_grid_index_is_not_found_by_shifts():
    # The grid travels with the data. This is why far targets and other tasks are needed as well.
    assert_shift_does_not_matter(broken(ConvCNP(ReadsGridIndex())), SMALL_TASK, 0.7)


BATCH_BREAKS = {
    "one-origin-for-all": lambda: HangsItsGridOnTheBatch(SimpleCNN()),
    "circular-with-small-margin": lambda: ConvCNP.small(padding="circular", margin=0.1),
}


@pytest.mark.parametrize("build", BATCH_BREAKS.values(), ids=BATCH_BREAKS.keys())
def test_a_model_that_mixes_the_tasks_of_a_batch_is_found(build):
    other = shifted(random_task(width=2.0, num_context=3, num_target=9, seed=2), -1.03)
    with pytest.raises(AssertionError):
        assert_another_task_does_not_matter(broken(build()), SMALL_TASK, other)


def test_a_model_that_ignores_the_mask_is_found():
    model, hidden = broken(IgnoresTheMask(SimpleCNN())), torch.full((1, 2, 1), 0.5).double()
    with pytest.raises(AssertionError):
        assert_masked_points_do_not_matter(model, SMALL_TASK, hidden)
    model, task = broken(IgnoresTheMask(SimpleCNN(), 2)), random_task(dim_y=2)
    with pytest.raises(AssertionError):
        assert_masked_channels_do_not_matter(model, task, 0.5)


def test_a_task_that_lets_masked_values_through_is_found():
    nan = float("nan")
    with pytest.raises(AssertionError):
        assert_masked_channels_do_not_matter(
            CASES["convcnp-1d"].model(dim_y=2),
            random_task(dim_y=2),
            nan,
            build=task_that_hides_nothing,
        )


def test_a_model_that_needs_a_context_is_found():
    model = broken(DividesByNumberOfPoints(SimpleCNN()))
    with pytest.raises(AssertionError):
        assert_empty_context_gives_finite_predictions(model, SMALL_TASK)


def test_a_model_whose_predictions_are_constant_is_found():
    model = CASES["convcnp-1d"].model()
    with pytest.raises(AssertionError):
        assert_predictions_depend_on_data(
            model, rebuilt(SMALL_TASK, y_context=torch.zeros(1, 6, 1))
        )
