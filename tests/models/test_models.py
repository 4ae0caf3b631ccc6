"""The contract every model keeps, and what each promises of its own."""

import math
from collections.abc import Callable

import pytest
import torch
from torch.nn import functional

from convcnp.core.cnn import UNet
from convcnp.core.heads import GaussianHead
from convcnp.core.task import Task
from convcnp.errors import ConvCNPError, SettingError, ShapeError
from convcnp.models.attncnp import Attention, AttnCNP
from convcnp.models.base import Model
from convcnp.models.cnp import CNP
from convcnp.models.convcnp import ConvCNP
from helpers import assert_equal, lively, moments, random_task, rebuilt

nan = float("nan")


def self_attending(dim_x: int = 1, dim_y: int = 1) -> AttnCNP:
    return AttnCNP(dim_x, dim_y, self_attention=2)


def small_unet(dim_x: int, dim_y: int) -> ConvCNP:
    """Build a small `ConvCNP.xl`: in the plane its grid would have 384 x 384 cells."""
    return ConvCNP(UNet(dim_x, 8, (8, 16), (16, 8)), dim_y, points_per_unit=8.0)


MODELS: dict[str, Callable[[], Model]] = {
    "cnp": CNP,
    "cnp-3-channels": lambda: CNP(1, 3),
    "cnp-2d": lambda: CNP(2, 2),
    "attncnp": AttnCNP,
    "attncnp-3-channels": lambda: AttnCNP(1, 3),
    "attncnp-2d": lambda: AttnCNP(2, 2),
    "attncnp-self": self_attending,
    "attncnp-self-2d": lambda: self_attending(2, 2),
    "convcnp": ConvCNP.small,
    "convcnp-3-channels": lambda: ConvCNP.small(1, 3),
    "convcnp-powers": lambda: ConvCNP.small(powers=3),
    "convcnp-zeros": lambda: ConvCNP.small(padding="zeros"),
    "convcnp-circular": lambda: ConvCNP.small(padding="circular"),
    "convcnp-positive-on-grid": lambda: ConvCNP.small(head=GaussianHead(positivity="grid")),
    "convcnp-2d": lambda: ConvCNP.small(2, 2, points_per_unit=8.0),
    "convcnpxl": ConvCNP.xl,
    "convcnpxl-3-channels": lambda: ConvCNP.xl(1, 3),
    "convcnp-ours": ConvCNP.residual,
    "small-unet-2d": lambda: small_unet(2, 2),
}
every_model = pytest.mark.parametrize("build", MODELS.values(), ids=MODELS.keys())


def task_for(model: Model, **options: int | float) -> Task:
    return random_task(model.dim_x, model.dim_y, **{"batch_size": 3, "observed": 0.7, **options})


def without_context(task: Task) -> dict[str, Task]:
    """Return the task without points, and with all of them masked."""
    nothing = rebuilt(
        task,
        x_context=task.x_context[:, :0],
        y_context=task.y_context[:, :0],
        context_mask=task.context_mask[:, :0],
    )
    masked = rebuilt(task, context_mask=torch.zeros_like(task.context_mask))
    return {"empty": nothing, "masked": masked}


# --- The contract ---------------------------------------------------------------------------------


@every_model
def test_the_output_has_the_shape_of_the_targets(build):
    model = build()
    task = task_for(model, num_target=5)
    mask = torch.rand(task.target_mask.shape) < 0.5
    predictive = model(rebuilt(task, target_mask=mask))
    assert predictive.mean.shape == predictive.stddev.shape == (3, 5, model.dim_y)
    assert (predictive.stddev > 0).all()
    assert torch.equal(predictive.mask, mask)
    assert predictive.log_likelihood(task.y_target).shape == (3,)


@every_model
def test_every_parameter_has_a_finite_gradient(build):
    model = lively(build())
    task = task_for(model)
    (-model(task).log_likelihood(task.y_target)).mean().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.any(), name


def test_the_large_preset_of_the_plane_has_finite_gradients():
    model = lively(ConvCNP.xl(2, 2, points_per_unit=8.0, training_margin=0.5)).train()
    task = random_task(2, 2)
    assert model.covering_grid(task).shape == (128, 128)
    (-model(task).log_likelihood(task.y_target)).mean().backward()
    assert all(p.grad.isfinite().all() and p.grad.any() for p in model.parameters())


@every_model
@pytest.mark.parametrize("kind", ["empty", "masked"])
def test_gradients_are_finite_without_context(build, kind):
    model = lively(build())
    task = without_context(task_for(model))[kind]
    (-model(task).log_likelihood(task.y_target)).mean().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is None or parameter.grad.isfinite().all(), name


@every_model
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
def test_padding_to_the_size_of_a_larger_task_changes_nothing(build):
    model = lively(build()).eval()
    small = task_for(model, batch_size=1, num_context=3, num_target=2)
    large = task_for(model, batch_size=2, num_context=9, num_target=7, seed=1)
    together = moments(model, Task.stack([small, large]))
    assert_equal(together[:, :1, :2], moments(model, small))
    assert_equal(together[:, 1:], moments(model, large))


@every_model
def test_the_order_of_the_context_does_not_matter(build):
    model = lively(build()).eval()
    task = task_for(model)
    names = ("x_context", "y_context", "context_mask")
    backwards = rebuilt(task, **{name: getattr(task, name).flip(1) for name in names})
    assert_equal(moments(model, backwards), moments(model, task))


@every_model
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


@every_model
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


@every_model
def test_an_empty_context_gives_finite_predictions(build):
    model = lively(build()).eval()
    empty, masked = without_context(task_for(model)).values()
    prediction = moments(model, empty)
    assert prediction.isfinite().all()
    assert_equal(moments(model, masked), prediction)


@every_model
def test_one_empty_context_in_a_batch_is_as_good_as_alone(build):
    model = lively(build()).eval()
    task = task_for(model)
    mask = task.context_mask.clone()
    mask[1] = False
    half_empty = rebuilt(task, context_mask=mask)
    alone = without_context(task)["empty"][1:2]
    assert_equal(moments(model, half_empty)[:, 1:2], moments(model, alone))


@every_model
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_output_has_the_precision_of_the_weights(build, dtype):
    model = build().to(dtype)
    task = task_for(model)
    assert moments(model, task).dtype == dtype
    single = {name: t.float() for name, t in vars(task).items() if t.is_floating_point()}
    assert moments(model, rebuilt(task, **single)).dtype == dtype


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


@pytest.mark.parametrize(
    "build, count",
    [
        (CNP, 66_818),
        (AttnCNP, 149_250),
        (ConvCNP.small, 6_516),
        (ConvCNP.xl, 50_580),
        (ConvCNP.residual, 45_300),
    ],
)
def test_parameter_counts_are_the_published_ones(build, count):
    assert build().num_parameters == count


# --- ConvCNP --------------------------------------------------------------------------------------


@pytest.mark.parametrize("positivity", ["target", "grid"])
def test_a_convcnp_is_algorithm_1(positivity):
    """Follow the paper line by line, on a long grid and with zeros beyond it."""
    model = lively(
        ConvCNP.small(padding="zeros", head=GaussianHead(0.01, positivity=positivity))
    ).eval()
    task = random_task()
    origin = task.x_context.min().item()
    t = origin + torch.arange(-256, 257).double() / 64  # (G,)
    x, y = task.x_context.flatten(), task.y_context.flatten()
    psi = torch.exp(-0.5 * ((t[:, None] - x) / model.encoder.length_scale) ** 2)  # (G, N)
    density = psi.sum(1)
    h = torch.stack([density, psi @ y / (density + 1e-8)])  # (2, G)
    h = (model.embedding.weight @ h + model.embedding.bias[:, None])[None]  # (1, C, G)
    for layer in model.cnn.layers:
        weight, bias = layer.conv.weight[:, :, 0], layer.conv.bias
        h = functional.conv1d(h, weight, bias, padding=2).relu()
    f = model.head.weight @ h[0] + model.head.bias[:, None]  # (2, G)
    if positivity == "grid":
        f = torch.stack([f[0], f[1].exp().log1p()])
    distance = (task.x_target.flatten()[:, None] - t) / model.decoder.length_scale
    mean, scale = f @ torch.exp(-0.5 * distance**2).T  # (M,) each
    if positivity == "target":
        scale = scale.exp().log1p()
    expected = torch.stack([mean, scale + 0.01])
    assert_equal(moments(model, task).flatten(1), expected.detach())


def test_kernels_begin_with_two_grid_cells():
    model = ConvCNP.small(points_per_unit=20.0)
    assert model.encoder.length_scale == pytest.approx(0.1)
    assert model.decoder.length_scale == pytest.approx(0.1)


def test_the_encoder_may_begin_wider():
    model = ConvCNP.small(points_per_unit=20.0, length_scale=0.5)
    assert model.encoder.length_scale == pytest.approx(0.5)
    assert model.decoder.length_scale == pytest.approx(0.1)


def test_the_density_says_that_and_not_what_was_observed():
    model = lively(ConvCNP.small()).eval()
    zero = Task.from_arrays([0.5], [0.0], [0.5])
    assert (
        moments(model, zero) - moments(model, Task.from_arrays([], [], [0.5]))
    ).abs().max() > 0.01


@pytest.mark.parametrize("preset", [ConvCNP.small, ConvCNP.xl])
def test_an_observation_beyond_the_receptive_radius_does_not_matter(preset):
    model = lively(preset()).eval()
    distances = [model.receptive_radius, model.receptive_radius / 4]

    def change(distance: float) -> float:
        # A first point fixes the grid. Seen from the target at 0, the other one is far or near.
        tasks = (Task.from_arrays([-1.0, distance], [1.0, y], [0.0]) for y in (-2.0, 2.0))
        one, other = (moments(model, task) for task in tasks)
        return (one - other).abs().max().item()

    far, near = map(change, distances)
    assert far < 1e-9
    assert near > 1e-6


def test_powers_tell_repeated_observations_apart():
    one, other = (Task.from_arrays([0.5, 0.5], y, [0.4, 0.6]) for y in ([0.0, 2.0], [1.0, 1.0]))
    blind, seeing = (lively(ConvCNP.small(powers=powers)).eval() for powers in (1, 2))
    assert_equal(moments(blind, one), moments(blind, other), 1e-12)
    assert (moments(seeing, one) - moments(seeing, other)).abs().max() > 1e-3


def test_an_anchor_moves_the_grid_and_with_it_a_unet_s_phase():
    model, task = lively(ConvCNP.xl()).eval(), random_task()
    first = task.x_context.amin(1)
    same = torch.stack([model(task, anchor=first).mean, model(task, anchor=first).stddev])
    assert_equal(same.detach(), moments(model, task), 1e-12)
    block = first + model.cnn.multiple * model.spacing
    assert_equal(model(task, anchor=block).mean.detach(), moments(model, task)[0])
    moved = model(task, anchor=first + 0.3).mean.detach()
    assert (moved - moments(model, task)[0]).abs().max() > 1e-3


@pytest.mark.parametrize("build", [CNP, AttnCNP, ConvCNP.small, ConvCNP.xl])
def test_sigma_has_a_floor(build):
    model = build(head=GaussianHead(0.1)).eval()
    with torch.no_grad():
        last = model.decoder[-1] if isinstance(model, CNP) else model.head
        last.bias.fill_(-100.0)
    stddev = moments(model, random_task())[1]
    assert stddev.max().item() == pytest.approx(0.1, abs=1e-6)


# --- CNP and AttnCNP ------------------------------------------------------------------------------


def test_a_cnp_decodes_the_mean_of_the_embedded_points():
    model, task = lively(CNP()).eval(), random_task(num_context=4)
    embedded = [
        model.encoder(torch.stack([task.x_context[0, n, 0], task.y_context[0, n, 0]]))
        for n in range(4)
    ]
    code = sum(embedded) / 4
    for m in range(6):
        mean, scale = model.decoder(torch.cat([task.x_target[0, m], code])).tolist()
        assert moments(model, task)[0, 0, m].item() == pytest.approx(mean)
        assert moments(model, task)[1, 0, m].item() == pytest.approx(math.log1p(math.exp(scale)))


def test_attention_is_a_softmax_over_present_points():
    attention = lively(Attention(width=6, num_heads=2))
    generator = torch.Generator().manual_seed(0)
    queries, keys, values = (
        torch.randn(1, n, 6, dtype=torch.float64, generator=generator) for n in (3, 4, 4)
    )
    present = torch.tensor([[True, False, True, True]])
    expected = []
    for query in attention.query(queries)[0]:
        mixed = []
        for head in (slice(0, 3), slice(3, 6)):
            scores = attention.key(keys)[0, present[0], head] @ query[head] / math.sqrt(3)
            weights = scores.exp() / scores.exp().sum()
            mixed.append(weights @ attention.value(values)[0, present[0], head])
        expected.append(attention.output(torch.cat(mixed)))
    assert_equal(attention(queries, keys, values, present)[0], torch.stack(expected))


def test_self_attention_lets_context_points_know_of_each_other():
    model = lively(self_attending()).eval()
    assert len(model.self_attention) == 2
    layer, points = model.self_attention[0], torch.randn(1, 3, 128).double()
    changed = points.clone()
    changed[0, 1] += 1
    everyone = torch.ones(1, 3, dtype=torch.bool)
    assert (layer(changed, everyone) - layer(points, everyone))[0, 0].abs().max() > 1e-3
    without = torch.tensor([[True, False, True]])
    assert_equal(layer(changed, without)[:, [0, 2]], layer(points, without)[:, [0, 2]])


# --- Bad input ------------------------------------------------------------------------------------


@every_model
def test_a_task_of_other_dimensions_is_refused(build):
    model = build()
    for dim_x, dim_y in [(model.dim_x + 1, model.dim_y), (model.dim_x, model.dim_y + 1)]:
        expected = (
            rf"This model takes tasks with Dx = {model.dim_x} .* and Dy = {model.dim_y} .*, "
            rf"got Dx = {dim_x} and Dy = {dim_y}; choose the columns to match"
        )
        with pytest.raises(ShapeError, match=expected):
            model(random_task(dim_x, dim_y))


@pytest.mark.parametrize("name", ["points_per_unit", "length_scale"])
@pytest.mark.parametrize("value", [0, -1])
@pytest.mark.parametrize("preset", [ConvCNP.small, ConvCNP.xl])
def test_settings_of_the_grid_are_positive(preset, name, value):
    expected = rf"{name} must be a positive number, got {value}; choose one above zero\."
    with pytest.raises(SettingError, match=expected):
        preset(**{name: value})


@pytest.mark.parametrize("value", [nan, math.inf])
def test_points_per_unit_are_finite(value):
    with pytest.raises(
        SettingError, match=f"points_per_unit must be a positive number, got {value}"
    ):
        ConvCNP.small(points_per_unit=value)


@pytest.mark.parametrize("name", ["margin", "training_margin"])
@pytest.mark.parametrize("value", [-0.1, nan, math.inf])
def test_margins_are_not_negative(name, value):
    expected = rf"{name} must be zero or positive, got {value}; leave it out if unsure\."
    with pytest.raises(SettingError, match=expected):
        ConvCNP.small(**{name: value})


def test_margins_may_be_zero():
    model = ConvCNP.small(margin=0.0, training_margin=0.0).eval()
    assert model.covering_grid(Task.from_arrays([0.0, 1.0], [0.0, 1.0], [0.5])).shape == (65,)


@pytest.mark.parametrize("powers", [0, -1])
def test_powers_are_positive(powers):
    with pytest.raises(SettingError, match=f"powers must be at least 1, got {powers}"):
        ConvCNP.small(powers=powers)


@pytest.mark.parametrize("build", [CNP, AttnCNP])
@pytest.mark.parametrize("dims, name", [((0, 1), "dim_x"), ((1, 0), "dim_y"), ((1, -1), "dim_y")])
def test_dimensions_are_positive(build, dims, name):
    with pytest.raises(SettingError, match=f"{name} must be a positive number, got .*above zero"):
        build(*dims)


@pytest.mark.parametrize("preset", [ConvCNP.small, ConvCNP.xl])
def test_a_convcnp_has_channels_and_one_or_two_input_dimensions(preset):
    with pytest.raises(SettingError, match="dim_y must be a positive number, got 0"):
        preset(dim_y=0)
    with pytest.raises(SettingError, match="dim must be 1 or 2, got 3"):
        preset(3)


@pytest.mark.parametrize("width, num_heads", [(128, 0), (128, -2), (10, 4)])
def test_heads_divide_the_width(width, num_heads):
    expected = f"width must be a multiple of num_heads, got {width} and {num_heads}; 128 and 8"
    with pytest.raises(SettingError, match=expected):
        AttnCNP(width=width, num_heads=num_heads)


@pytest.mark.parametrize("build", [CNP, AttnCNP])
@pytest.mark.parametrize("width", [0, -8])
def test_a_width_is_positive(build, width):
    with pytest.raises(SettingError, match=f"width must be a positive number, got {width}"):
        build(width=width)


def test_a_number_of_self_attention_layers_is_not_negative():
    with pytest.raises(SettingError, match=r"self_attention must be .*, got -1"):
        AttnCNP(self_attention=-1)


def test_a_user_catches_all_of_these_as_ours_or_as_value_errors():
    for error in (ShapeError, SettingError):
        assert issubclass(error, ConvCNPError)
        assert issubclass(error, ValueError)
