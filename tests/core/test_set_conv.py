"""The set convolution against a double loop, and its two evaluations against each other."""

import itertools
import math

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor

from convcnp.core import set_conv
from convcnp.core.grid import Field, Grid
from convcnp.core.set_conv import SetConvDecoder, SetConvEncoder
from convcnp.errors import SettingError
from helpers import assert_equal

SPACING = 0.1
SHAPES = {1: (30,), 2: (14, 17)}
every_dim = pytest.mark.parametrize("dim", [1, 2])
both_ways = pytest.mark.parametrize("dense_weights", [2**62, 0], ids=["dense", "local"])


def drawn(*shape: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(shape, dtype=torch.float64, generator=generator)


def example(dim: int, channels: int = 2) -> tuple[Tensor, Tensor, Tensor, Grid]:
    """Return two tasks of seven points around a grid, two of them beyond it, and some masked."""
    origin = torch.tensor([[-0.3] * dim, [1e3] * dim], dtype=torch.float64)
    grid = Grid(origin, SPACING, SHAPES[dim])
    size = torch.tensor(grid.shape) * SPACING
    x = origin[:, None] + size * drawn(2, 7, dim, seed=dim)
    x[:, 0], x[:, 1] = origin - 0.25, origin + size + 0.15
    y = 4 * drawn(2, 7, channels, seed=10) - 2
    return x, y, drawn(2, 7, channels, seed=11) < 0.7, grid


def cells_of(grid: Grid, task: int) -> dict[tuple[int, ...], list[float]]:
    """Return the position of every cell, by its index."""
    return {
        index: [grid.origin[task, d].item() + i * grid.spacing for d, i in enumerate(index)]
        for index in itertools.product(*map(range, grid.shape))
    }


def psi(a: list[float], b: list[float], length_scale: float) -> float:
    return math.exp(-sum((p - q) ** 2 for p, q in zip(a, b, strict=True)) / (2 * length_scale**2))


def slowly_encoded(
    x: Tensor, y: Tensor, mask: Tensor, grid: Grid, length_scale: float, powers: int
) -> Tensor:
    """Evaluate the docstring's formula one cell, one channel and one point at a time."""
    tasks, points, channels = y.shape
    h = torch.zeros(tasks, *grid.shape, (1 + powers) * channels, dtype=torch.float64)
    for task in range(tasks):
        for index, position in cells_of(grid, task).items():
            for channel in range(channels):
                density, sums = 0.0, [0.0] * powers
                for n in range(points):
                    if mask[task, n, channel]:
                        weight = psi(position, x[task, n].tolist(), length_scale)
                        density += weight
                        for k in range(powers):
                            sums[k] += weight * y[task, n, channel].item() ** (k + 1)
                h[(task, *index, channel)] = density
                for k in range(powers):
                    h[(task, *index, (k + 1) * channels + channel)] = sums[k] / (density + 1e-8)
    return h


@every_dim
@both_ways
@pytest.mark.parametrize("powers", [1, 3])
def test_the_encoder_is_the_double_loop(monkeypatch, dim, dense_weights, powers):
    monkeypatch.setattr(set_conv, "DENSE_WEIGHTS", dense_weights)
    x, y, mask, grid = example(dim)
    encoder = SetConvEncoder(0.15, powers).double()
    expected = slowly_encoded(x, y, mask, grid, encoder.length_scale, powers)
    assert expected.std() > 0.1
    assert_equal(encoder(x, y, mask, grid), expected, 1e-9)


@every_dim
@both_ways
def test_the_decoder_is_the_double_loop(monkeypatch, dim, dense_weights):
    monkeypatch.setattr(set_conv, "DENSE_WEIGHTS", dense_weights)
    x, _, _, grid = example(dim)
    values = drawn(2, *grid.shape, 3, seed=3)
    decoder = SetConvDecoder(0.15).double()
    expected = torch.zeros(2, 7, 3, dtype=torch.float64)
    for task, point in itertools.product(range(2), range(7)):
        for index, position in cells_of(grid, task).items():
            weight = psi(position, x[task, point].tolist(), decoder.length_scale)
            expected[task, point] += weight * values[(task, *index)]
    nothing_beyond = Field(values, torch.zeros(3, dtype=torch.float64))
    assert_equal(decoder(nothing_beyond, x, grid), expected, 1e-9)


@every_dim
@both_ways
def test_the_decoder_continues_the_field_with_its_constant(monkeypatch, dim, dense_weights):
    """A stored piece, with the constant beyond it, equals a much larger stored grid."""
    monkeypatch.setattr(set_conv, "DENSE_WEIGHTS", dense_weights)
    x, _, _, grid = example(dim)
    beyond = torch.tensor([3.0, -1.0, 0.5], dtype=torch.float64)
    values = drawn(2, *grid.shape, 3, seed=3)
    more = 20
    larger = Grid(grid.origin - more * SPACING, SPACING, tuple(n + 2 * more for n in grid.shape))
    larger_values = beyond.expand(2, *larger.shape, 3).clone()
    larger_values[(slice(None), *(slice(more, more + n) for n in grid.shape))] = values
    decoder = SetConvDecoder(0.15).double()
    assert_equal(
        decoder(Field(values, beyond), x, grid),
        decoder(Field(larger_values, torch.zeros_like(beyond)), x, larger),
        1e-9,
    )


@every_dim
@both_ways
@pytest.mark.parametrize("distance", [10.0, -1e6])
def test_far_from_the_grid_the_decoder_returns_the_constant_times_the_kernel_s_sum(
    monkeypatch, dim, dense_weights, distance
):
    monkeypatch.setattr(set_conv, "DENSE_WEIGHTS", dense_weights)
    grid = Grid(torch.zeros(1, dim, dtype=torch.float64), SPACING, SHAPES[dim])
    field = Field(drawn(1, *grid.shape, 2, seed=3), torch.tensor([3.0, -1.0]).double())
    x = torch.full((1, 1, dim), distance, dtype=torch.float64)
    # With a length scale of 0.4 cells the sum depends on where between two cells a point lies.
    length_scale, offset = 0.4 * SPACING, 0.3 * SPACING
    along = sum(
        math.exp(-((n * SPACING - offset) ** 2) / 2 / length_scale**2) for n in range(-9, 9)
    )
    decoded = SetConvDecoder(length_scale).double()(field, x + offset, grid)
    assert_equal(decoded[0, 0], along**dim * field.beyond, 1e-6)


# --- Dense and local ------------------------------------------------------------------------------


def encoded_with_gradients(dim: int, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    x, y, mask, grid = example(dim)
    encoder = SetConvEncoder(0.15, 2).to(dtype)
    y = y.to(dtype).requires_grad_()
    h = encoder(x, y, mask, grid)
    (h * drawn(*h.shape, seed=5).to(dtype)).sum().backward()
    return [h.detach(), y.grad, encoder.log_length_scale.grad]


def decoded_with_gradients(dim: int, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    x, _, _, grid = example(dim)
    decoder = SetConvDecoder(0.15).to(dtype)
    values = drawn(2, *grid.shape, 3, seed=3).to(dtype).requires_grad_()
    beyond = torch.tensor([3.0, -1.0, 0.5], dtype=dtype, requires_grad=True)
    f = decoder(Field(values, beyond), x, grid)
    (f * drawn(*f.shape, seed=5).to(dtype)).sum().backward()
    return [f.detach(), values.grad, beyond.grad, decoder.log_length_scale.grad]


@every_dim
@pytest.mark.parametrize("computed", [encoded_with_gradients, decoded_with_gradients])
def test_dense_and_local_agree_in_values_and_gradients(monkeypatch, dim, computed):
    monkeypatch.setattr(set_conv, "DENSE_WEIGHTS", 2**62)
    dense = computed(dim)
    monkeypatch.setattr(set_conv, "DENSE_WEIGHTS", 0)
    local = computed(dim)
    for one, other in zip(local, dense, strict=True):
        assert one.abs().max() > 0.1
        assert_equal(one, other, 1e-6)


@every_dim
@pytest.mark.parametrize("computed", [encoded_with_gradients, decoded_with_gradients])
def test_dense_and_local_agree_in_float32(monkeypatch, dim, computed):
    monkeypatch.setattr(set_conv, "DENSE_WEIGHTS", 2**62)
    dense = computed(dim, torch.float32)
    monkeypatch.setattr(set_conv, "DENSE_WEIGHTS", 0)
    for one, other in zip(computed(dim, torch.float32), dense, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


@every_dim
@pytest.mark.parametrize("computed", [encoded_with_gradients, decoded_with_gradients])
def test_visiting_points_in_small_groups_changes_nothing(monkeypatch, dim, computed):
    monkeypatch.setattr(set_conv, "DENSE_WEIGHTS", 0)
    at_once = computed(dim)
    cells = (2 * math.ceil(9 * 0.15 / SPACING)) ** dim
    monkeypatch.setattr(set_conv, "LOCAL_WEIGHTS", 2 * 3 * cells)  # two tasks, three points each
    for one, other in zip(computed(dim), at_once, strict=True):
        assert_equal(one, other, 1e-12)


@pytest.mark.parametrize("local_weights, groups", [(2**22, 1), (1, 7)])
def test_small_groups_bound_the_points_visited_at_once(monkeypatch, local_weights, groups):
    monkeypatch.setattr(set_conv, "DENSE_WEIGHTS", 0)
    monkeypatch.setattr(set_conv, "LOCAL_WEIGHTS", local_weights)
    visited, local = [], SetConvEncoder._local

    def counted(self: SetConvEncoder, x: Tensor, grid: Grid) -> tuple[Tensor, Tensor]:
        visited.append(x.shape[1])
        return local(self, x, grid)

    monkeypatch.setattr(SetConvEncoder, "_local", counted)
    SetConvEncoder(0.15).double()(*example(1))
    assert visited == [7 // groups] * groups


@pytest.mark.parametrize("num_cells, is_dense", [(2**14, True), (2**16, False)])
def test_few_weights_are_evaluated_densely_and_many_locally(num_cells, is_dense):
    grid = Grid(torch.zeros(1, 1, dtype=torch.float64), SPACING, (num_cells,))
    assert SetConvEncoder(0.15)._is_dense(torch.zeros(1, 8, 1), grid) == is_dense


@both_ways
def test_an_empty_context_is_embedded_as_zeros(monkeypatch, dense_weights):
    monkeypatch.setattr(set_conv, "DENSE_WEIGHTS", dense_weights)
    x, y, mask, grid = example(2)
    h = SetConvEncoder(0.15).double()(x[:, :0], y[:, :0], mask[:, :0], grid)
    assert_equal(h, torch.zeros(2, *grid.shape, 4, dtype=torch.float64), 0)


# --- Masks ----------------------------------------------------------------------------------------


@both_ways
def test_every_channel_is_embedded_as_if_the_others_did_not_exist(monkeypatch, dense_weights):
    monkeypatch.setattr(set_conv, "DENSE_WEIGHTS", dense_weights)
    x, y, mask, grid = example(1)
    encoder = SetConvEncoder(0.15).double()
    together = encoder(x, y, mask, grid)
    assert (mask[..., 0] != mask[..., 1]).any()
    for channel in range(2):
        for task in range(2):
            seen = mask[task, :, channel]
            alone = encoder(
                x[task : task + 1, seen],
                y[task : task + 1, seen][..., [channel]],
                torch.ones(1, int(seen.sum()), 1, dtype=torch.bool),
                Grid(grid.origin[task : task + 1], SPACING, grid.shape),
            )
            assert_equal(together[task, ..., [channel, 2 + channel]], alone[0], 1e-9)


# --- Multiplicity ---------------------------------------------------------------------------------


def embedded(values: list[float], powers: int) -> Tensor:
    """Embed several observations at one input."""
    y = torch.tensor(values, dtype=torch.float64)[None, :, None]
    grid = Grid(torch.zeros(1, 1, dtype=torch.float64), SPACING, (12,))
    mask = torch.ones_like(y, dtype=torch.bool)
    return SetConvEncoder(0.15, powers).double()(torch.full_like(y, 0.53), y, mask, grid).detach()


multisets = st.integers(1, 4).flatmap(
    lambda size: st.tuples(*[st.lists(st.integers(-3, 3), min_size=size, max_size=size)] * 2)
)


@given(multisets)
@settings(max_examples=50, deadline=None, derandomize=True, database=None)
def test_powers_tell_apart_as_many_values_at_one_input(pair):
    one, other = pair
    assume(sorted(one) != sorted(other))
    difference = embedded(one, powers=len(one)) - embedded(other, powers=len(one))
    assert difference.abs().max() > 0.1


@given(
    st.lists(st.floats(-3, 3), min_size=1, max_size=5).flatmap(
        lambda values: st.tuples(st.just(values), st.permutations(values))
    )
)
@settings(max_examples=50, deadline=None, derandomize=True, database=None)
def test_the_order_of_values_at_one_input_does_not_matter(pair):
    one, other = pair
    powers = len(one)
    torch.testing.assert_close(embedded(one, powers), embedded(other, powers), atol=1e-9, rtol=1e-9)


def test_values_with_one_mean_need_a_second_power():
    assert_equal(embedded([0.0, 2.0], powers=1), embedded([1.0, 1.0], powers=1), 1e-12)
    assert (embedded([0.0, 2.0], powers=2) - embedded([1.0, 1.0], powers=2)).abs().max() > 0.9
    assert (embedded([1.0], powers=1) - embedded([1.0, 1.0], powers=1)).abs().max() > 0.9


# --- Precision ------------------------------------------------------------------------------------


@pytest.mark.parametrize("num_cells", [1_000, 16_000, 60_000, 1_000_000])
def test_a_long_domain_costs_float32_no_precision(num_cells):
    """Far from the grid's origin, embedding and decoding are as good as near it."""
    grid = Grid(torch.zeros(1, 1, dtype=torch.float64), 1 / 64, (num_cells + 40,))
    x = (num_cells + torch.tensor([0.3, 2.71])[None, :, None].double()) / 64
    y = torch.tensor([1.0, -2.0], dtype=torch.float64)[None, :, None]
    mask = torch.ones_like(y, dtype=torch.bool)

    def near(dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        h = SetConvEncoder(2 / 64).to(dtype)(x, y.to(dtype), mask, grid)
        wave = torch.sin(torch.arange(num_cells + 40) % 40).to(dtype)[None, :, None]
        f = SetConvDecoder(2 / 64).to(dtype)(Field(wave, wave.new_zeros(1)), x, grid)
        return h[:, -80:].detach().double(), f.detach().double()

    for rounded, exact in zip(near(torch.float32), near(torch.float64), strict=True):
        assert_equal(rounded, exact, 5e-6)


# --- Settings -------------------------------------------------------------------------------------


def test_the_length_scale_is_in_input_units_and_reaches_nine_times_as_far():
    encoder = SetConvEncoder(0.03)
    assert encoder.length_scale == pytest.approx(0.03)
    assert encoder.reach == pytest.approx(0.27)
    assert [parameter.numel() for parameter in encoder.parameters()] == [1]


@pytest.mark.parametrize("length_scale", [0.0, -1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("module", [SetConvEncoder, SetConvDecoder])
def test_a_length_scale_must_be_positive(module, length_scale):
    with pytest.raises(
        SettingError, match=r"length_scale must be a positive number, got .*above z"
    ):
        module(length_scale)


@pytest.mark.parametrize("powers", [0, -1])
def test_powers_must_be_positive(powers):
    with pytest.raises(
        SettingError, match=f"powers must be at least 1, got {powers}; 1 embeds the"
    ):
        SetConvEncoder(0.1, powers)
