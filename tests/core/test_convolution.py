"""A convolution, and what it continues the field with."""

import pytest
import torch
from torch import Tensor, nn

from convcnp.core.convolution import (
    Convolution,
    Image,
    Pointwise,
    ResidualBlocks,
    check_kernel,
    check_layer,
    wrapped,
)
from convcnp.core.grid import Padding
from convcnp.errors import SettingError
from helpers import assert_equal, lively


def drawn(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=generator)


def convolution(padding: Padding, stride: int = 1) -> Convolution:
    """Return the filter (1, 2, 4) with bias 10."""
    layer = Convolution(1, 1, 1, kernel_size=3, padding=padding, stride=stride).double()
    with torch.no_grad():
        layer.conv.weight.copy_(torch.tensor([1.0, 2.0, 4.0]))
        layer.conv.bias.fill_(10.0)
    return layer


@pytest.mark.parametrize(
    "padding, ends",
    # The field is 1, 2, 3, 4; to its left and right stand 5 and 5, 0 and 0, or 4 and 1.
    [("unobserved", (5 + 2 + 8, 3 + 8 + 20)), ("zeros", (2 + 8, 3 + 8)), ("circular", (14, 15))],
)
def test_a_convolution_continues_the_field_as_its_padding_says(padding, ends):
    h = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64)[None, None, None]
    out, beyond = convolution(padding)(Image(h, torch.tensor([5.0]).double()))
    expected = [ends[0], 1 + 4 + 12, 2 + 6 + 16, ends[1]]
    assert_equal(out.flatten(), torch.tensor(expected).double() + 10, 1e-12)
    assert beyond.item() == pytest.approx(7 * 5 + 10)


def test_a_stride_keeps_every_second_cell_beginning_with_the_first():
    h, beyond = drawn(1, 1, 1, 6), drawn(1)
    out, constant = convolution("unobserved", stride=2)(Image(h, beyond))
    full, same = convolution("unobserved")(Image(h, beyond))
    assert_equal(out, full[..., ::2], 1e-12)
    assert_equal(constant, same, 0)


@pytest.mark.parametrize(
    ("activation", "function"), [("relu", torch.relu), ("gelu", torch.nn.functional.gelu)]
)
def test_residual_blocks_add_to_what_they_read(activation, function):
    options = {"kernel_size": 5, "padding": "zeros", "activation": activation}
    blocks = lively(ResidualBlocks(2, 1, 3, **options))
    h, beyond = drawn(1, 3, 1, 8), drawn(3)
    expected, constant = h, beyond
    for layer in blocks.layers:
        change = layer.conv(expected)
        constant_change = layer.conv.weight.sum((2, 3)) @ constant + layer.conv.bias
        expected, constant = expected + function(change), constant + function(constant_change)
    actual, actual_constant = blocks(Image(h.clone(), beyond.clone()))
    assert (actual - h).abs().max() > 0.1
    assert_equal(actual, expected, 1e-12)
    assert_equal(actual_constant, constant, 1e-12)
    nothing = ResidualBlocks(0, 1, 3, **options)
    assert_equal(nothing(Image(h, beyond)).h, h, 0)


@pytest.mark.parametrize("padding", ["unobserved", "zeros", "circular"])
@pytest.mark.parametrize("dim", [1, 2])
def test_doubling_repeats_every_cell_and_convolves(padding, dim):
    layer = lively(Convolution(dim, 2, 3, kernel_size=5, padding=padding))
    image = Image(drawn(2, 2, 1 if dim == 1 else 4, 6), drawn(2, seed=1))
    h = image.h.repeat_interleave(2, 3)
    repeated = layer(Image(h if dim == 1 else h.repeat_interleave(2, 2), image.beyond))
    assert_equal(layer(image, "doubled").h, repeated.h, 1e-12)
    assert_equal(layer(image, "doubled").beyond, repeated.beyond, 1e-12)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_without_gradients_nothing_changes_but_what_is_needed_nowhere_else(activation):
    options = {"kernel_size": 5, "padding": "unobserved", "activation": activation}
    blocks = lively(ResidualBlocks(2, 1, 3, **options))
    image = Image(drawn(2, 3, 1, 6), drawn(3, seed=1))
    before = image.h.clone()
    expected = blocks(image)
    with torch.no_grad():
        assert_equal(blocks(image).h, expected.h.detach(), 1e-12)
    assert_equal(image.h, before, 0)


@pytest.mark.parametrize(
    ("step", "stride"), [("same", 1), ("halved", 2), ("same", 3), ("doubled", 1)]
)
@pytest.mark.parametrize("kernel_size", [1, 3, 5, 7])
@pytest.mark.parametrize("cells", [1, 2, 3, 8, 13])
def test_without_gradients_only_the_ends_of_a_line_are_told_what_lies_beyond(
    step, stride, kernel_size, cells
):
    options = {"kernel_size": kernel_size, "padding": "unobserved", "stride": stride}
    layer = lively(Convolution(1, 2, 3, **options))
    image = Image(drawn(2, 2, 1, cells), drawn(2, seed=1))
    expected = layer(image, step)
    with torch.no_grad():
        found = layer(image, step)
    assert_equal(found.h, expected.h.detach(), 1e-12)
    assert_equal(found.beyond, expected.beyond.detach(), 0)


def test_what_lies_beyond_a_ring_is_its_other_side():
    image = torch.arange(6.0).view(1, 2, 3, 1)
    around = wrapped(image, 1, 2)[0, ..., 0]
    assert around.shape == (4, 7)
    assert around[1].tolist() == [1, 2, 0, 1, 2, 0, 1]
    assert around[0].tolist() == around[2].tolist()


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: check_layer(3, 5, "zeros", 8), "dim must be 1 or 2, got 3"),
        (lambda: check_layer(1, 5, "zeros", 0), "got 0"),
        (lambda: check_kernel(4, "zeros"), "kernel_size must be .*, got 4"),
        (lambda: check_kernel(5, "mirror"), "got 'mirror'"),
    ],
)
def test_impossible_layers_are_refused(check, message, unchecked):
    with pytest.raises(SettingError, match=message):
        check()


@pytest.mark.parametrize("shape", [(3,), (5, 3), (2, 7, 3), (2, 4, 6, 3)])
def test_a_pointwise_map_is_a_linear_one(shape):
    """The same values and gradients, for the cells of any grid and for the constant beyond them."""
    pointwise = Pointwise(3, 2).double()
    linear = nn.Linear(3, 2).double()
    linear.load_state_dict(pointwise.state_dict())
    found = []
    for layer in (pointwise, linear):
        h = drawn(*shape).requires_grad_()
        out = layer(h)
        out.square().sum().backward()
        found.append([out.detach(), h.grad, layer.weight.grad, layer.bias.grad])
    for one, other in zip(*found, strict=True):
        assert_equal(one, other, 1e-12)
