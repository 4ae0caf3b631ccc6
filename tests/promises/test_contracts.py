"""What every model and every source keeps, by being registered."""

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

import convcnp
from convcnp.core.cnn import UNet
from convcnp.core.heads import GaussianHead, MixtureHead
from convcnp.core.task import Task
from convcnp.data.functions import GPSource
from convcnp.data.source import FiniteSource, NamedSource, Source, seeded
from convcnp.errors import DataError, SettingError, ShapeError
from convcnp.models.attncnp import AttnCNP
from convcnp.models.base import Model
from convcnp.models.cnp import CNP
from convcnp.models.convcnp import ConvCNP
from convcnp.models.grid_convcnp import GridConvCNP
from convcnp.training.catalogue import MODELS, SOURCES
from helpers import assert_equal, lively, moments, random_images, random_task, rebuilt
from promises.symmetries import (
    assert_context_order_does_not_matter,
    assert_shift_does_not_matter,
    assert_target_order_permutes_predictions,
)

# --- Models ---------------------------------------------------------------------------------------


def registered(name: str) -> Model:
    """Build a model as an experiment file would, on as few input dimensions as it takes."""
    entry = MODELS[name]
    for dim_x in (1, 2):
        try:
            head = {} if entry.make_head is None else {"head": entry.make_head()}
            return entry.build(dim_x, 1, **head)
        except SettingError:
            continue
    raise AssertionError(f"{name} takes neither one nor two input dimensions")


def small_unet(dim_x: int, dim_y: int) -> ConvCNP:
    """Build a small `ConvCNP.xl`: in the plane its grid would have 384 x 384 cells."""
    return ConvCNP(UNet(dim_x, 8, (8, 16), (16, 8)), dim_y, points_per_unit=8.0)


VARIANTS: dict[str, Callable[[], Model]] = {
    "cnp-3-channels": lambda: CNP(1, 3),
    "cnp-2d": lambda: CNP(2, 2),
    "cnp-mixture": lambda: CNP(1, 2, head=MixtureHead(2)),
    "attncnp-3-channels": lambda: AttnCNP(1, 3),
    "attncnp-2d": lambda: AttnCNP(2, 2),
    "attncnp-self": lambda: AttnCNP(self_attention=2),
    "attncnp-self-2d": lambda: AttnCNP(2, 2, self_attention=2),
    "convcnp-3-channels": lambda: ConvCNP.small(1, 3),
    "convcnp-powers": lambda: ConvCNP.small(powers=3),
    "convcnp-zeros": lambda: ConvCNP.small(padding="zeros"),
    "convcnp-circular": lambda: ConvCNP.small(padding="circular"),
    "convcnp-positive-on-grid": lambda: ConvCNP.small(head=GaussianHead(positivity="grid")),
    "convcnp-mixture": lambda: ConvCNP.small(1, 2, head=MixtureHead(2)),
    "convcnp-2d": lambda: ConvCNP.small(2, 2, points_per_unit=8.0),
    "convcnpxl-3-channels": lambda: ConvCNP.xl(1, 3),
    "small-unet-2d": lambda: small_unet(2, 2),
    "grid-convcnp-3-channels": lambda: GridConvCNP.small(dim_y=3, channels=8),
}
BUILDERS: dict[str, Callable[[], Model]] = {
    **{name: lambda name=name: registered(name) for name in MODELS},
    **VARIANTS,
}


def takes_images(build: Callable[[], Model]) -> bool:
    """Tell whether a model takes nothing but images."""
    model = build()
    try:
        model(random_task(model.dim_x, model.dim_y))
    except ShapeError:
        return True
    return False


OF_POINTS = {name: build for name, build in BUILDERS.items() if not takes_images(build)}
# What looks no farther than a radius has no place of its own to look from.
LOCAL = {
    name: build for name, build in OF_POINTS.items() if build().receptive_radius < float("inf")
}
TRAINED = {name: build for name, build in BUILDERS.items() if build().num_parameters}
every_model = pytest.mark.parametrize("build", BUILDERS.values(), ids=BUILDERS.keys())
every_trained_model = pytest.mark.parametrize("build", TRAINED.values(), ids=TRAINED.keys())
every_model_of_points = pytest.mark.parametrize("build", OF_POINTS.values(), ids=OF_POINTS.keys())
every_local_model = pytest.mark.parametrize("build", LOCAL.values(), ids=LOCAL.keys())


def task_for(model: Model, **options: int | float) -> Task:
    """Draw three tasks of the kind that a model takes, with some values missing."""
    if isinstance(model, GridConvCNP):
        return random_images(model.dim_y, batch_size=3, height=10, width=9)
    return random_task(model.dim_x, model.dim_y, **{"batch_size": 3, "observed": 0.7, **options})


def without_context(task: Task) -> dict[str, Task]:
    """Return the task with all its points masked and, where it can be, without them."""
    nothing = {
        name: getattr(task, name)[:, :0] for name in ("x_context", "y_context", "context_mask")
    }
    masked = rebuilt(task, context_mask=torch.zeros_like(task.context_mask))
    return {"masked": masked} | (
        {} if hasattr(task, "height") else {"empty": rebuilt(task, **nothing)}
    )


@every_model
def test_the_output_has_the_shape_of_the_targets(build):
    model = build()
    task = task_for(model, num_target=5)
    mask = torch.rand(task.target_mask.shape) < 0.5
    predictive = model(rebuilt(task, target_mask=mask))
    assert predictive.mean.shape == predictive.stddev.shape == task.y_target.shape
    assert (predictive.stddev > 0).all()
    assert torch.equal(predictive.mask, mask)
    assert predictive.log_likelihood(task.y_target).shape == (3,)


@every_trained_model
def test_every_parameter_has_a_finite_gradient(build):
    model = lively(build())
    task = task_for(model)
    if model.knows_errors:  # what it learns of errors needs some
        task = rebuilt(task, context_error=torch.full_like(task.y_context, 0.3))
    (-model(task).log_likelihood(task.y_target)).mean().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.any(), name


@every_trained_model
def test_weights_make_a_round_trip(build):
    model, other = lively(build(), seed=1).eval(), lively(build(), seed=2).eval()
    task = task_for(model)
    assert (moments(other, task) - moments(model, task)).abs().max() > 1e-3
    other.load_state_dict(model.state_dict())
    assert_equal(moments(other, task), moments(model, task), 0)
    parameters = {name for name, _ in model.named_parameters()}
    assert set(model.state_dict()) == parameters


@every_model
def test_tasks_of_a_batch_do_not_know_of_each_other(build):
    model = lively(build()).eval()
    task = task_for(model)
    together = moments(model, task)
    for i in range(3):
        assert_equal(together[:, i : i + 1], moments(model, task[i : i + 1]))


@every_model
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_output_has_the_precision_of_the_weights(build, dtype):
    model = build().to(dtype)
    assert model.dtype in (dtype, torch.float64)  # a dictionary has its own
    task = task_for(model)
    assert moments(model, task).dtype == model.dtype
    single = {
        name: t.float()
        for name, t in vars(task).items()
        if isinstance(t, Tensor) and t.is_floating_point()
    }
    assert moments(model, rebuilt(task, **single)).dtype == model.dtype


@every_model
def test_float32_is_close_to_float64(build):
    model, exact = build().eval(), build().double().eval()
    exact.load_state_dict(model.state_dict())
    task = task_for(model)
    assert_equal(moments(model, task).double(), moments(exact, task), 1e-4)


@every_model
def test_predicting_has_no_side_effects(build):
    model = lively(build()).train()
    task = task_for(model)
    state = {name: values.clone() for name, values in model.state_dict().items()}
    assert_equal(moments(model, task), moments(model, task), 0)
    assert model.training
    for name, values in model.state_dict().items():
        assert_equal(values, state[name], 0)


@every_model
def test_the_same_weights_predict_the_same_again(build):
    model = lively(build()).eval()
    assert_equal(moments(model, task_for(model)), moments(model, task_for(model)), 0)


@every_trained_model
def test_nothing_observed_gives_finite_predictions_and_gradients(build):
    model = lively(build())
    first, *others = without_context(task_for(model)).values()
    prediction = moments(model, first)
    assert prediction.isfinite().all()
    for task in others:
        assert_equal(moments(model, task), prediction)
    for task in (first, *others):
        model.zero_grad()
        (-model(task).log_likelihood(task.y_target)).mean().backward()
        for name, parameter in model.named_parameters():
            assert parameter.grad is None or parameter.grad.isfinite().all(), name


@every_model_of_points
def test_padding_to_the_size_of_a_larger_task_changes_nothing(build):
    model = lively(build()).eval()
    small = task_for(model, batch_size=1, num_context=3, num_target=2)
    large = task_for(model, batch_size=2, num_context=9, num_target=7, seed=1)
    together = moments(model, Task.stack([small, large]))
    assert_equal(together[:, :1, :2], moments(model, small))
    assert_equal(together[:, 1:], moments(model, large))


@every_model_of_points
def test_order_does_not_matter(build):
    model = lively(build()).eval()
    task = task_for(model)
    assert_context_order_does_not_matter(model, task, torch.arange(7, -1, -1))
    assert_target_order_permutes_predictions(model, task, torch.arange(5, -1, -1))


@every_model_of_points
def test_a_target_does_not_know_of_the_others(build):
    model = lively(build()).eval()
    task = task_for(model)
    alone = rebuilt(
        task,
        x_target=task.x_target[:, 2:3],
        y_target=task.y_target[:, 2:3],
        target_mask=task.target_mask[:, 2:3],
    )
    assert_equal(moments(model, alone), moments(model, task)[:, :, 2:3])


@every_model_of_points
def test_predictions_depend_on_every_observed_value_and_on_the_inputs(build):
    model = lively(build()).eval()
    task = task_for(model, observed=1.0, num_target=8)
    task = rebuilt(task, x_target=task.x_context + 0.01)
    before = moments(model, task)
    for name in ("x_context", "y_context"):
        values = getattr(task, name).clone()
        values[:, 3] += 0.5
        change = moments(model, rebuilt(task, **{name: values})) - before
        assert (change.abs().amax((2, 3)) > 1e-4).all()  # means and deviations of every task


@every_model_of_points
def test_one_empty_context_in_a_batch_is_as_good_as_alone(build):
    model = lively(build()).eval()
    task = task_for(model)
    mask = task.context_mask.clone()
    mask[1] = False
    half_empty = rebuilt(task, context_mask=mask)
    alone = without_context(task)["empty"][1:2]
    assert_equal(moments(model, half_empty)[:, 1:2], moments(model, alone))


@every_local_model
def test_a_shift_does_not_matter(build):
    model = lively(build()).eval()
    assert_shift_does_not_matter(model, task_for(model), 0.7)


def test_there_are_models_that_promise_a_shift_not_to_matter_and_models_that_do_not():
    assert set(LOCAL) & set(MODELS) == {"convcnp", "convcnpxl", "convcnp-ours", "convcnp-measured"}
    assert {"cnp", "attncnp"} <= set(OF_POINTS) - set(LOCAL)
    assert not {"grid-convcnp", "grid-convcnpxl"} & set(OF_POINTS)


class ReadsOrderAndPlace(CNP):
    """A broken model: it weighs observations by their number, and reads absolute inputs."""

    def raw(self, task):
        index = torch.arange(1.0, task.x_context.shape[1] + 1)[:, None]
        return super().raw(rebuilt(task, y_context=task.y_context / index))


def test_a_model_that_reads_order_and_place_is_found():
    model = lively(ReadsOrderAndPlace()).eval()
    task = task_for(model)
    with pytest.raises(AssertionError):
        assert_context_order_does_not_matter(model, task, torch.arange(7, -1, -1))
    with pytest.raises(AssertionError):
        assert_shift_does_not_matter(model, task, 0.7)


# --- Sources --------------------------------------------------------------------------------------


@pytest.fixture(params=SOURCES)
def source(request: pytest.FixtureRequest) -> NamedSource:
    """Return each registered source, where its data is at hand."""
    name = request.param
    if name in ("table", "image-folder"):  # made of a user's files
        own: Path = request.getfixturevalue("own_series" if name == "table" else "own_images")
        return convcnp.load(own / "model").experiment.source()
    found = SOURCES[name]
    try:
        found.draw(1, seeded(0))
    except DataError as error:
        pytest.skip(str(error))
    return found


def tensors(task: Task) -> list[Tensor]:
    return [value for value in vars(task).values() if isinstance(value, Tensor)]


def test_a_source_is_what_files_can_name(source):
    assert isinstance(source, NamedSource)
    assert is_dataclass(source)
    assert {field.name for field in fields(source)} >= set(source.options)
    assert source.takes in ("tables", "images")
    low, high = source.familiar.gaps
    assert 0 < low <= high
    for part in ("validation", "test"):
        held_out = source.held_out(part)
        assert isinstance(held_out, type(source))
        assert (held_out.dim_x, held_out.dim_y) == (source.dim_x, source.dim_y)


@pytest.mark.parametrize("part", ["training", "test"])
def test_a_batch_has_the_shapes_of_the_source_and_finite_values(source, part):
    drawn = (source if part == "training" else source.held_out("test")).draw(3, seeded(1))
    assert isinstance(drawn, Task)
    assert (drawn.batch_size, drawn.dim_x, drawn.dim_y) == (3, source.dim_x, source.dim_y)
    assert drawn.context_mask.shape == drawn.y_context.shape
    assert drawn.target_mask.shape == drawn.y_target.shape
    assert drawn.target_mask.any()
    assert all(tensor.isfinite().all() for tensor in tensors(drawn))
    assert drawn.y_target.is_floating_point()


def assert_deterministic(source: Source) -> None:
    """The same state of the generator gives the same tasks, whatever was drawn before."""
    first = source.draw(3, seeded(1, 2))
    other = source.draw(3, seeded(1, 3))
    again = source.draw(3, seeded(1, 2))
    for one, two in zip(tensors(first), tensors(again), strict=True):
        assert torch.equal(one, two)
    pairs = list(zip(tensors(first), tensors(other), strict=True))
    assert any(one.shape != two.shape or not torch.equal(one, two) for one, two in pairs)


def test_the_same_state_of_the_generator_gives_the_same_tasks(source):
    assert_deterministic(source)
    assert_deterministic(source.held_out("test"))


def test_drawing_leaves_the_global_generator_alone(source):
    before = torch.get_rng_state()
    source.draw(2, seeded(1))
    assert torch.equal(torch.get_rng_state(), before)


def contents(source: FiniteSource, count: int = 8) -> set[tuple[tuple[float, ...], ...]]:
    """Return what can be known of some objects: their points, each with its values."""
    objects = torch.arange(min(count, len(source)))
    task = source.take(objects, seeded(5))
    found = set()
    for i in range(len(objects)):
        one = task[i : i + 1]
        points = [
            torch.cat([x, torch.where(mask, y, 0)], -1)[mask.any(-1)]
            for x, y, mask in (
                (one.x_context, one.y_context, one.context_mask),
                (one.x_target, one.y_target, one.target_mask),
            )
        ]
        found.add(tuple(map(tuple, torch.cat(points).unique(dim=0).tolist())))
    return found


def assert_parts_are_disjoint(source: NamedSource) -> None:
    """No object that chooses or judges a model is among those that train it."""
    parts = [source, source.held_out("validation"), source.held_out("test")]
    training, validation, test = map(contents, parts)
    assert all(len(part) for part in parts)
    assert not training & validation
    assert not training & test
    assert not validation & test


def test_parts_of_a_finite_source_are_disjoint(source):
    if isinstance(source, FiniteSource):
        assert_parts_are_disjoint(source)


# --- Broken sources, on which the checks must fail ------------------------------------------------


@dataclass(frozen=True)
class IgnoresItsGenerator(GPSource):
    def draw(self, batch_size, generator):
        return super().draw(batch_size, torch.Generator().manual_seed(torch.seed() % 2**31))


@dataclass(frozen=True)
class AlwaysTheSame(GPSource):
    def draw(self, batch_size, generator):
        return super().draw(batch_size, torch.Generator().manual_seed(0))


@dataclass(frozen=True)
class SharesObjects(GPSource):
    part: str = "training"

    def __len__(self):
        return 6

    def take(self, objects, generator):
        batches = [self.draw(1, seeded(int(i))) for i in objects]
        return Task.stack(batches)

    def held_out(self, part):
        return replace(self, part=part)


@pytest.mark.parametrize("broken", [IgnoresItsGenerator, AlwaysTheSame])
def test_a_source_that_does_not_follow_its_generator_is_found(broken):
    with torch.random.fork_rng(), pytest.raises(AssertionError):
        assert_deterministic(broken())


def test_parts_that_share_objects_are_found():
    source = SharesObjects()
    assert isinstance(source, FiniteSource)
    with pytest.raises(AssertionError):
        assert_parts_are_disjoint(source)
