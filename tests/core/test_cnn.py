"""What a network sees, what it makes of constants, and that the grid's end cannot be seen."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from convcnp.core import convolution
from convcnp.core.cnn import CNN, ResNet, SimpleCNN, UNet
from convcnp.core.grid import Field, Padding
from convcnp.errors import SettingError
from helpers import assert_equal, lively

Build = Callable[..., CNN]


def simple(dim: int = 1, padding: Padding = "unobserved", kernel_size: int = 5) -> SimpleCNN:
    return SimpleCNN(dim, (2, 3, 4, 2), kernel_size=kernel_size, padding=padding)


def unet(dim: int = 1, padding: Padding = "unobserved", kernel_size: int = 5) -> UNet:
    return UNet(dim, 2, (3, 4), (4, 3), kernel_size=kernel_size, padding=padding)


def residual(dim: int = 1, padding: Padding = "unobserved", kernel_size: int = 5) -> UNet:
    options = {"kernel_size": kernel_size, "padding": padding}
    return UNet(dim, 2, (3, 4), (4, 3), blocks=1, activation="gelu", **options)


def resnet(dim: int = 1, padding: Padding = "unobserved", kernel_size: int = 5) -> ResNet:
    return ResNet(dim, 2, blocks=2, layers=2, kernel_size=kernel_size, padding=padding)


every_network = pytest.mark.parametrize("build", [simple, unet, residual, resnet])
every_dim = pytest.mark.parametrize("dim", [1, 2])
every_padding = pytest.mark.parametrize("padding", ["unobserved", "zeros", "circular"])


def drawn(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=generator)


def all_positive(cnn: CNN) -> CNN:
    """Make every weight positive, so that no ReLU hides what a layer sees."""
    with torch.no_grad():
        for parameter in cnn.double().parameters():
            parameter.abs_().add_(0.01)
    return cnn


def num_parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


# --- Sizes ----------------------------------------------------------------------------------------


def test_parameter_counts_are_those_of_the_paper_s_networks():
    assert num_parameters(SimpleCNN()) == 6_472
    assert num_parameters(UNet()) == 50_520
    assert num_parameters(ResNet()) == 79_360
    assert num_parameters(ResNet(blocks=6, layers=2, kernel_size=11)) == 385_536


@every_padding
@every_dim
@every_network
def test_a_field_comes_out_on_the_same_grid(build, dim, padding):
    cnn = build(dim, padding)
    grid = (16, 24)[:dim]
    field = cnn(Field(torch.zeros(3, *grid, cnn.channels_in), torch.zeros(cnn.channels_in)))
    assert field.values.shape == (3, *grid, cnn.channels_out)
    assert field.beyond.shape == (cnn.channels_out,)


def test_the_presets_networks_report_what_they_need():
    small, large = SimpleCNN(), UNet()
    assert (small.multiple, small.receptive_radius) == (1, 8)
    assert (large.multiple, large.receptive_radius) == (64, 315)
    assert (small.channels_in, small.channels_out) == (8, 8)
    assert (large.channels_in, large.channels_out) == (8, 16)


def test_a_unet_concatenates_its_input_to_its_output():
    values = drawn(1, 16, 2)
    out = lively(unet())(Field(values, torch.zeros(2).double())).values
    assert_equal(out[..., :2], values, 0)


# --- Worked examples ------------------------------------------------------------------------------


def test_a_block_of_a_resnet_adds_to_what_it_reads():
    (block,) = lively(ResNet(2, 3, blocks=1, layers=2, kernel_size=3)).blocks
    h, beyond = drawn(1, 3, 6, 6), drawn(3)
    change, change_beyond = block.layers[1](*block.layers[0](h, beyond))
    actual, constant = block(h, beyond)
    assert change.abs().max() > 0.1
    assert_equal(actual, h + change, 1e-12)
    assert_equal(constant, beyond + change_beyond, 1e-12)


# --- The receptive field --------------------------------------------------------------------------


def seen_by(cnn: CNN, size: int, output: int, dim: int) -> Tensor:
    """Return distances, in cells along the first axis, of the inputs that one output depends on."""
    shape = (size,) if dim == 1 else (size, size)
    values = drawn(1, *shape, cnn.channels_in).abs().requires_grad_()
    field = cnn(Field(values, torch.zeros(cnn.channels_in).double()))
    field.values[(0, *[output] * dim)].sum().backward()
    touched = values.grad[0].abs().sum(-1)  # (*G,)
    if dim == 2:
        # Both axes must agree: the kernel is square.
        assert torch.equal(touched.sum(0) > 0, touched.sum(1) > 0)
        touched = touched.sum(1)
    return torch.nonzero(touched).flatten() - output


@every_dim
@pytest.mark.parametrize("kernel_size", [1, 3, 5])
@pytest.mark.parametrize("build, layers", [(simple, 3), (resnet, 4)])
def test_a_cnn_of_stride_one_sees_exactly_its_receptive_radius(build, layers, dim, kernel_size):
    cnn = all_positive(build(dim, kernel_size=kernel_size))
    distances = seen_by(cnn, size=40, output=20, dim=dim)
    assert cnn.receptive_radius == layers * (kernel_size // 2)
    assert (distances.min(), distances.max()) == (-cnn.receptive_radius, cnn.receptive_radius)
    assert len(distances) == 2 * cnn.receptive_radius + 1


@every_dim
@pytest.mark.parametrize("kernel_size", [3, 5])
@pytest.mark.parametrize("build, size", [(unet, 48), (residual, 96)])
def test_a_unet_sees_no_farther_than_its_receptive_radius(build, size, dim, kernel_size):
    cnn = all_positive(build(dim, kernel_size=kernel_size))
    seen = torch.cat([seen_by(cnn, size, size // 2 + i, dim) for i in range(cnn.multiple)])
    # Repeating cells looks farther to one side; there the radius is attained.
    assert seen.abs().max() == cnn.receptive_radius


def test_the_preset_unet_sees_no_farther_than_its_receptive_radius():
    cnn = all_positive(UNet())
    # Of its 64 phases the one at 61 looks farthest.
    seen = torch.cat([seen_by(cnn, 1024, 512 + phase, 1) for phase in range(1, 64, 10)])
    assert seen.abs().max() == cnn.receptive_radius


# --- Constants and ends ---------------------------------------------------------------------------


@every_dim
@every_network
def test_a_constant_gives_a_constant_which_is_what_lies_beyond(build, dim):
    cnn, constant = lively(build(dim)), drawn(2)
    field = cnn(Field(constant.expand(2, *(16,) * dim, 2), constant))
    assert field.beyond.abs().max() > 0.1
    assert_equal(field.values, field.beyond.expand_as(field.values), 1e-12)


def test_the_preset_unet_keeps_constants():
    cnn, constant = lively(UNet()), drawn(8)
    field = cnn(Field(constant.expand(1, 128, 8), constant))
    assert_equal(field.values, field.beyond.expand_as(field.values), 1e-12)


def at_margins(cnn: CNN, margin: int, data: int = 16, long: int = 200) -> tuple[Tensor, Tensor]:
    """Put the same data on a short and on a long grid; return both outputs where the data is.

    Margins are rounded up to what the network can take, and the phase of the data is the same.
    """
    beyond = drawn(cnn.channels_in, seed=1)
    values = drawn(1, *(data,) * cnn.dim, cnn.channels_in, seed=2)

    def output(margin: int) -> Tensor:
        margin = -(-margin // cnn.multiple) * cnn.multiple
        field = beyond.expand(1, *(data + 2 * margin,) * cnn.dim, cnn.channels_in).clone()
        inside = (slice(None), *[slice(margin, margin + data)] * cnn.dim)
        field[inside] = values
        return cnn(Field(field, beyond)).values[inside]

    return output(margin), output(long)


@every_padding
@every_network
def test_a_network_changes_neither_its_input_nor_its_gradients(build, padding):
    """Rectifying in place must not touch what is needed elsewhere."""
    cnn, values = lively(build(1, padding)), drawn(1, 8, 2).requires_grad_()
    before = values.detach().clone()
    beyond = drawn(2).requires_grad_()
    assert torch.autograd.gradcheck(lambda *field: tuple(cnn(Field(*field))), (values, beyond))
    assert_equal(values.detach(), before, 0)


def test_gradients_of_a_unets_activations_have_no_gaps(monkeypatch):
    """Where they have, derivatives of activations take several times as long."""
    seen: list[Tensor] = []
    activation = nn.functional.gelu

    def watched(h: Tensor) -> Tensor:
        found = activation(h)
        if found.dim() == 4:
            found.register_hook(seen.append)
        return found

    monkeypatch.setattr(convolution.functional, "gelu", watched)
    cnn = UNet(2, 4, (4, 8), (8, 4), blocks=1, activation="gelu")
    field = cnn(Field(torch.zeros(2, 16, 16, 4), beyond=torch.zeros(4)))
    field.values.sum().backward()
    assert len(seen) == 8
    assert all(grad.is_contiguous() for grad in seen)  # of images whose channels come last


def half_radius(cnn: CNN) -> int:
    """Return DESIGN's margin: a signal has to leave the grid and come back to be wrong."""
    return -(-cnn.receptive_radius // 2)


@every_network
@every_dim
def test_unobserved_padding_is_exact_from_half_the_receptive_radius(build, dim):
    cnn = lively(build(dim))
    short, long = at_margins(cnn, half_radius(cnn), long=60)
    assert_equal(short, long, 1e-12)


def test_unobserved_padding_of_the_preset_unet_is_exact_from_half_the_receptive_radius():
    cnn = lively(UNet())
    short, long = at_margins(cnn, half_radius(cnn), data=64, long=512)
    assert_equal(short, long, 1e-12)


def on_tight_and_long_grids(cnn: UNet, first: int, data: int = 20) -> tuple[Tensor, Tensor]:
    """Return outputs of data on a grid that ends with it, and on a long one in the same phase."""
    beyond = drawn(cnn.channels_in, seed=1)
    values = drawn(1, *(data,) * cnn.dim, cnn.channels_in, seed=2)
    before = -((first - cnn.receptive_radius) // cnn.multiple) * cnn.multiple + first
    size = before + data + cnn.receptive_radius
    size += -size % cnn.multiple
    field = beyond.expand(1, *(size,) * cnn.dim, cnn.channels_in).clone()
    inside = (slice(None), *[slice(before, before + data)] * cnn.dim)
    field[inside] = values
    return cnn(Field(values, beyond), first=first).values, cnn(Field(field, beyond)).values[inside]


@pytest.mark.parametrize("build", [unet, residual])
@pytest.mark.parametrize("kernel_size", [3, 5, 7])
@pytest.mark.parametrize("first", [0, -2, -12])
@every_dim
def test_a_unet_continues_a_tight_grid_as_far_as_signals_go(build, kernel_size, first, dim):
    cnn = lively(build(dim, kernel_size=kernel_size))
    assert cnn.takes_tight_grids
    assert_equal(*on_tight_and_long_grids(cnn, first), 1e-12)


def test_the_preset_unet_continues_a_tight_grid_and_no_farther_than_it_has_to():
    cnn = all_positive(UNet())
    tight, long = on_tight_and_long_grids(cnn, first=-18, data=100)
    assert_equal(tight / long, torch.ones_like(long), 1e-9)
    cnn._spread -= 1
    tight, long = on_tight_and_long_grids(cnn, first=-18, data=100)
    assert (tight / long - 1).abs().max() > 1e-6


def test_tight_grids_are_for_networks_that_continue_them():
    assert simple().takes_tight_grids
    others = [simple(2), simple(padding="zeros"), resnet(), unet(padding="zeros")]
    assert not any(cnn.takes_tight_grids for cnn in others)


def test_where_a_grid_of_one_resolution_begins_does_not_matter():
    cnn = lively(simple()).eval()
    field = Field(torch.randn(1, 9, 2, dtype=torch.float64), torch.ones(2, dtype=torch.float64))
    assert_equal(cnn(field, first=-3).values, cnn(field).values, 0)


@pytest.mark.parametrize("margin", [0, 1, 2, 3])
def test_unobserved_padding_needs_half_the_receptive_radius(margin):
    cnn = all_positive(SimpleCNN(2, (2, 3, 4, 3, 2)))  # half its radius of 8 is 4
    short, long = at_margins(cnn, margin, long=30)
    assert (short / long - 1).abs().max() > 1e-6
    assert_equal(*(each / long for each in at_margins(cnn, 4, long=30)), 1e-9)


def test_along_a_line_layers_of_one_resolution_need_no_margin():
    cnn = all_positive(SimpleCNN(1, (2, 3, 4, 3, 2)))
    short, long = at_margins(cnn, 0)
    assert_equal(short / long, torch.ones_like(long), 1e-9)


@every_network
@every_dim
def test_zeros_need_the_whole_receptive_radius(build, dim):
    cnn = lively(build(dim, "zeros"))
    short, long = at_margins(cnn, half_radius(cnn), long=60)
    assert (short - long).abs().max() > 1e-3
    assert_equal(*at_margins(cnn, cnn.receptive_radius, long=60), 1e-12)


@every_network
@every_dim
def test_circular_padding_needs_half_the_radius_on_both_sides(build, dim):
    cnn = lively(build(dim, "circular"))
    short, long = at_margins(cnn, 0, long=40)
    assert (short - long).abs().max() > 1e-3
    assert_equal(*at_margins(cnn, half_radius(cnn), long=60), 1e-12)


@every_network
@every_dim
def test_zeros_are_seen_near_the_edge_and_not_farther_away(build, dim):
    cnn = lively(build(dim, "zeros"))
    constant = drawn(2).abs() + 1
    size = 2 * (cnn.receptive_radius + cnn.multiple)
    size += -size % cnn.multiple
    field = cnn(Field(constant.expand(1, *(size,) * dim, 2), constant))
    error = (field.values - field.beyond).abs().amax(-1)[0]  # (*G,)
    assert error[(0,) * dim] > 1e-3
    middle = slice(cnn.receptive_radius, size - cnn.receptive_radius)
    assert error[(middle,) * dim].max() < 1e-12


@every_network
@every_dim
def test_circular_padding_commutes_with_rolling_the_grid(build, dim):
    cnn = lively(build(dim, "circular"))
    values, beyond = drawn(1, *(16,) * dim, 2), torch.zeros(2).double()
    axis, steps = dim, 3 * cnn.multiple
    rolled_first = cnn(Field(values.roll(steps, axis), beyond)).values
    rolled_last = cnn(Field(values, beyond)).values.roll(steps, axis)
    assert rolled_last.std() > 0.1
    assert_equal(rolled_first, rolled_last, 1e-12)


@pytest.mark.parametrize("padding", ["unobserved", "zeros"])
@every_network
def test_other_paddings_do_not_commute_with_rolling(build, padding):
    cnn = lively(build(1, padding))
    values, beyond = drawn(1, 16, 2), torch.zeros(2).double()
    rolled_first = cnn(Field(values.roll(cnn.multiple, 1), beyond)).values
    assert (
        rolled_first - cnn(Field(values, beyond)).values.roll(cnn.multiple, 1)
    ).abs().max() > 0.1


# --- Settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize("build", [SimpleCNN, UNet, ResNet])
@pytest.mark.parametrize("dim", [0, 3])
def test_a_network_has_one_or_two_dimensions(build, dim):
    with pytest.raises(SettingError, match=f"dim must be 1 or 2, got {dim}; other grids"):
        build(dim)


@pytest.mark.parametrize("build", [SimpleCNN, UNet, ResNet])
@pytest.mark.parametrize("kernel_size", [0, -1, 4])
def test_a_kernel_has_a_centre(build, kernel_size):
    with pytest.raises(
        SettingError, match=f"kernel_size must be odd and positive, got {kernel_size};"
    ):
        build(kernel_size=kernel_size)


@pytest.mark.parametrize(
    "build",
    [
        lambda: SimpleCNN(1, (8, 0, 8)),
        lambda: UNet(1, 0),
        lambda: UNet(1, 8, (8,), (-1,)),
        lambda: ResNet(2, 0),
    ],
)
def test_a_layer_has_channels(build):
    with pytest.raises(SettingError, match=r"channels must be positive, got .*; use at least 1\."):
        build()


@pytest.mark.parametrize("channels", [(), (8,)])
def test_a_simple_cnn_has_a_layer(channels):
    with pytest.raises(SettingError, match="channels"):
        SimpleCNN(1, channels)


@pytest.mark.parametrize("down, up", [((), ()), ((8,), (8, 8))])
def test_a_unet_goes_up_as_often_as_down(down, up):
    with pytest.raises(
        SettingError, match=r"down and up must have the same number .*needs a doubling"
    ):
        UNet(1, 8, down, up)


def test_a_number_of_blocks_is_not_negative():
    with pytest.raises(SettingError, match="blocks must be zero or positive, got -1"):
        UNet(blocks=-1)


def test_a_padding_is_known(unchecked):
    with pytest.raises(
        SettingError, match=r"padding must be 'unobserved', .*got 'reflect'; choose"
    ):
        SimpleCNN(padding="reflect")
