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
both_ways = pytest.mark.parametrize("product_cells", [10**9, 0], ids=["product", "windows"])


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
def test_the_encoder_is_the_double_loop(monkeypatch, dim, product_cells, powers):
    monkeypatch.setattr(set_conv, "PRODUCT_CELLS", product_cells)
    x, y, mask, grid = example(dim)
    encoder = SetConvEncoder(0.15, powers).double()
    expected = slowly_encoded(x, y, mask, grid, encoder.length_scale, powers)
    assert expected.std() > 0.1
    assert_equal(encoder(x, y, mask, grid), expected, 1e-9)


@every_dim
@both_ways
def test_the_decoder_is_the_double_loop(monkeypatch, dim, product_cells):
    monkeypatch.setattr(set_conv, "PRODUCT_CELLS", product_cells)
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
def test_the_decoder_continues_the_field_with_its_constant(monkeypatch, dim, product_cells):
    """A stored piece, with the constant beyond it, equals a much larger stored grid."""
    monkeypatch.setattr(set_conv, "PRODUCT_CELLS", product_cells)
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
    monkeypatch, dim, product_cells, distance
):
    monkeypatch.setattr(set_conv, "PRODUCT_CELLS", product_cells)
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


# --- Gradients ------------------------------------------------------------------------------------


def kernel_weights(x: Tensor, grid: Grid, log_length_scale: Tensor) -> Tensor:
    """Return the weight of every point on every cell, without a reach: (B, K, cells)."""
    axes = torch.meshgrid(*(torch.arange(n).double() for n in grid.shape), indexing="ij")
    cells = torch.stack(axes, -1).flatten(0, -2) * grid.spacing  # (cells, Dx)
    away = (x - grid.origin[:, None])[:, :, None] - cells
    return torch.exp(-0.5 * (away**2).sum(-1) * torch.exp(-2 * log_length_scale))


def with_gradients(result: Tensor, *leaves: Tensor) -> list[Tensor]:
    (result * drawn(*result.shape, seed=5).to(result)).sum().backward()
    gradients = [leaf.grad for leaf in leaves]
    for leaf in leaves:
        leaf.grad = None
    return [result.detach(), *gradients]


@every_dim
@both_ways
def test_the_encoder_s_gradients_are_those_of_the_formula(monkeypatch, dim, product_cells):
    monkeypatch.setattr(set_conv, "PRODUCT_CELLS", product_cells)
    x, y, mask, grid = example(dim)
    encoder = SetConvEncoder(0.15, 2).double()
    leaves = (x.requires_grad_(), y.requires_grad_(), encoder.log_length_scale)
    found = with_gradients(encoder(x, y, mask, grid), *leaves)
    observed = mask.double()
    weights = kernel_weights(x, grid, encoder.log_length_scale)
    density, one, two = (weights.mT @ (observed * y**k) for k in range(3))
    h = torch.cat([density, one / (density + 1e-8), two / (density + 1e-8)], -1)
    for ours, exact in zip(found, with_gradients(h.unflatten(1, grid.shape), *leaves), strict=True):
        assert exact.abs().max() > 0.1
        assert_equal(ours, exact, 1e-9)


@every_dim
@both_ways
def test_the_decoder_s_gradients_are_those_of_the_formula(monkeypatch, dim, product_cells):
    monkeypatch.setattr(set_conv, "PRODUCT_CELLS", product_cells)
    # On a line, products are for gradients of many channels: here of three.
    monkeypatch.setattr(set_conv, "PRODUCT_WEIGHTS", product_cells)
    x, _, _, grid = example(dim)
    decoder = SetConvDecoder(0.15).double()
    values = drawn(2, *grid.shape, 3, seed=3).requires_grad_()
    beyond = torch.tensor([3.0, -1.0, 0.5], dtype=torch.float64, requires_grad=True)
    leaves = (x.requires_grad_(), values, beyond, decoder.log_length_scale)
    found = with_gradients(decoder(Field(values, beyond), x, grid), *leaves)
    more = 20
    larger = Grid(grid.origin - more * SPACING, SPACING, tuple(n + 2 * more for n in grid.shape))
    continued = torch.ones(2, *larger.shape, 1).double() * beyond
    continued[(slice(None), *(slice(more, more + n) for n in grid.shape))] = values
    weights = kernel_weights(x, larger, decoder.log_length_scale)
    for ours, exact in zip(
        found, with_gradients(weights @ continued.flatten(1, -2), *leaves), strict=True
    ):
        assert exact.abs().max() > 0.1
        assert_equal(ours, exact, 1e-9)


@every_dim
def test_in_float32_both_ways_agree(monkeypatch, dim):
    x, y, mask, grid = example(dim)
    values = drawn(2, *grid.shape, 3, seed=3).float()
    found = []
    for product_cells in (10**9, 0):
        monkeypatch.setattr(set_conv, "PRODUCT_CELLS", product_cells)
        encoder, decoder = SetConvEncoder(0.15), SetConvDecoder(0.15)
        h = encoder(x, y.float(), mask, grid)
        f = decoder(Field(values, values.new_ones(3)), x, grid)
        found.append((h, f))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(
    "num_points, num_cells, is_product", [(50, 100, True), (50, 1000, False), (50_000, 100, False)]
)
def test_small_planes_are_products_and_large_ones_windows(num_points, num_cells, is_product):
    x = torch.zeros(1, num_points, 2)
    grid = Grid(torch.zeros(1, 2, dtype=torch.float64), SPACING, (num_cells, num_cells))
    assert SetConvEncoder(0.15)._is_product(x, grid) == is_product
    line = Grid(torch.zeros(1, 1, dtype=torch.float64), SPACING, (num_cells,))
    assert not SetConvEncoder(0.15)._is_product(x[..., :1], line)


def test_a_gradient_of_many_channels_on_a_line_is_found_by_a_product(monkeypatch):
    x, _, _, grid = example(1)
    decoder, found = SetConvDecoder(0.15).double(), []
    field = Field(drawn(2, *grid.shape, 3, seed=3), drawn(3, seed=4))
    assert decoder._learns_by_product(field, x, grid)
    few, many = Field(field.values[..., :1], field.beyond[:1]), x.repeat(1, 20_000, 1)
    assert not decoder._learns_by_product(few, x, grid)
    assert not decoder._learns_by_product(field, many, grid)
    with torch.no_grad():
        assert not decoder._learns_by_product(field, x, grid)
    for limit in (set_conv.PRODUCT_WEIGHTS, 0):
        monkeypatch.setattr(set_conv, "PRODUCT_WEIGHTS", limit)
        leaves = (x.clone().requires_grad_(), field.values.clone().requires_grad_())
        leaves = (*leaves, decoder.log_length_scale)
        decoded = decoder(Field(leaves[1], field.beyond), leaves[0], grid)
        found.append(with_gradients(decoded, *leaves))
    for product, windows in zip(*found, strict=True):
        assert_equal(product, windows, 1e-9)


@both_ways
def test_an_empty_context_is_embedded_as_zeros(monkeypatch, product_cells):
    monkeypatch.setattr(set_conv, "PRODUCT_CELLS", product_cells)
    x, y, mask, grid = example(2)
    h = SetConvEncoder(0.15).double()(x[:, :0], y[:, :0], mask[:, :0], grid)
    assert_equal(h, torch.zeros(2, *grid.shape, 4, dtype=torch.float64), 0)


# --- Masks ----------------------------------------------------------------------------------------


@both_ways
def test_every_channel_is_embedded_as_if_the_others_did_not_exist(monkeypatch, product_cells):
    monkeypatch.setattr(set_conv, "PRODUCT_CELLS", product_cells)
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
