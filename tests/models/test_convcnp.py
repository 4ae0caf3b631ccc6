"""The ConvCNP: Algorithm 1 by hand, and what its settings mean."""

import math

import pytest
import torch
from torch.nn import functional

from convcnp.core.heads import GaussianHead
from convcnp.core.task import Task
from convcnp.errors import SettingError
from convcnp.models.convcnp import ConvCNP
from helpers import assert_equal, lively, moments, random_task

nan = float("nan")


@pytest.mark.parametrize(
    ("build", "count"), [(ConvCNP.small, 6_516), (ConvCNP.xl, 50_580), (ConvCNP.residual, 45_300)]
)
def test_parameter_counts_are_the_published_ones(build, count):
    assert build().num_parameters == count


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


def test_the_large_preset_of_the_plane_has_finite_gradients():
    model = lively(ConvCNP.xl(2, 2, points_per_unit=8.0, training_margin=0.5)).train()
    task = random_task(2, 2)
    assert model.covering_grid(task).shape == (128, 128)
    (-model(task).log_likelihood(task.y_target)).mean().backward()
    assert all(p.grad.isfinite().all() and p.grad.any() for p in model.parameters())


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


@pytest.mark.parametrize("preset", [ConvCNP.small, ConvCNP.xl])
def test_a_convcnp_has_channels_and_one_or_two_input_dimensions(preset):
    with pytest.raises(SettingError, match="dim_y must be a positive number, got 0"):
        preset(dim_y=0)
    with pytest.raises(SettingError, match="dim must be 1 or 2, got 3"):
        preset(3)
