"""Convolutions along a line are torch's, and so are their gradients."""

import copy

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from convcnp.core import line as module
from convcnp.core.cnn import UNet
from convcnp.core.convolution import Convolution, Image
from convcnp.core.grid import Field, Rim
from convcnp.core.line import Kernel, Line
from convcnp.core.reading import reading_of
from helpers import assert_equal, lively

STEPS = [("same", 6), ("same", 5), ("halved", 6), ("doubled", 6), ("doubled", 5)]
every_step = pytest.mark.parametrize(("step", "cells"), STEPS)
every_kernel = pytest.mark.parametrize("kernel_size", [1, 3, 5, 7])


def drawn(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=generator).requires_grad_()


def arguments(kernel_size: int, cells: int) -> list[Tensor]:
    return [
        drawn(2, cells, 2),
        drawn(2, seed=1),
        drawn(3, 2, 1, kernel_size, seed=2),
        drawn(3, seed=3),
    ]


def kernel(weight: Tensor, bias: Tensor) -> Kernel:
    conv = nn.Conv2d(*weight.shape[1::-1], weight.shape[2:])
    del conv.weight, conv.bias
    conv.weight, conv.bias = weight, bias
    return Kernel(conv, conv.kernel_size[1])


def along(values: Tensor, beyond: Tensor, weight: Tensor, bias: Tensor, *others: object) -> Field:
    return Line.of(Field(values, beyond)).convolved(kernel(weight, bias), *others).field()


def plainly(values, beyond, weight, bias, activation, step):
    """Repeat cells, continue the field by its constant, and let torch convolve."""
    reach = weight.shape[3] // 2
    h = values.transpose(1, 2).repeat_interleave(2 if step == "doubled" else 1, 2)
    ends = beyond[:, None].expand(len(h), -1, reach)
    stride = 2 if step == "halved" else 1
    h = functional.conv1d(torch.cat([ends, h, ends], 2), weight[:, :, 0], bias, stride=stride)
    function = {None: lambda h: h, "relu": torch.relu, "gelu": functional.gelu}[activation]
    return function(h.transpose(1, 2)), function(weight.sum((2, 3)) @ beyond + bias)


@every_kernel
@every_step
@pytest.mark.parametrize("activation", [None, "relu", "gelu"])
def test_a_convolution_along_a_line_is_torchs(step, cells, kernel_size, activation):
    given = arguments(kernel_size, cells)
    actual = along(*given, activation, step)
    expected = plainly(*given, activation, step)
    assert expected[0].std() > 0.1
    for found, wanted in zip(actual, expected, strict=True):
        assert_equal(found, wanted, 1e-12)
    with torch.no_grad():
        for found, wanted in zip(along(*given, activation, step), expected, strict=True):
            assert_equal(found, wanted, 1e-12)
    totals = ((values**2).sum() + beyond.sum() for values, beyond in (actual, expected))
    for found, wanted in zip(*(torch.autograd.grad(t, given) for t in totals), strict=True):
        assert_equal(found, wanted, 1e-9)


@every_kernel
@every_step
def test_gradients_along_a_line_are_those_of_differences(step, cells, kernel_size):
    given = arguments(kernel_size, cells)
    assert torch.autograd.gradcheck(lambda *given: tuple(along(*given, "gelu", step)), given)


def test_a_gradient_may_have_gaps_between_its_rows():
    values, beyond, weight, bias = given = arguments(5, 6)
    line = Line.of(Field(values, beyond))
    joined = line.convolved(kernel(weight, bias)).beside(line).field().values
    expected = torch.cat([plainly(*given, None, "same")[0], values], 2)
    totals = ((found**2).sum() for found in (joined, expected))
    for found, wanted in zip(*(torch.autograd.grad(t, given) for t in totals), strict=True):
        assert_equal(found, wanted, 1e-9)


def test_a_line_changes_nothing_that_others_need():
    values, beyond, weight, bias = arguments(5, 6)
    line = Line.of(Field(values, beyond))
    before = line.rows.detach().clone()
    found = line.convolved(kernel(weight, bias), "relu")
    kept = found.rows.detach().clone()
    found.convolved(kernel(drawn(3, 3, 1, 5), bias), "relu").field().values.sum().backward()
    assert_equal(line.rows.detach(), before, 0)
    assert_equal(found.rows.detach(), kept, 0)


@pytest.mark.parametrize("ends", [(2, 4), (4, 2)])
def test_a_rim_is_read_by_halving_and_left_out_afterwards(ends):
    values, beyond, weight, bias = arguments(5, 6)
    line = Line.of(Field(values, beyond))
    rim = Rim((0, 0), ends)
    before, after = (beyond.expand(2, n, 2) for n in ends)
    long = Line.of(Field(torch.cat([before, values, after], 1), beyond))
    found = line.convolved(kernel(weight, bias), "relu", "halved", rim).field()
    for actual, wanted in zip(
        found, long.convolved(kernel(weight, bias), "relu", "halved").field(), strict=True
    ):
        assert_equal(actual, wanted, 1e-12)
    assert_equal(long.without(rim).rows, line.rows, 0)


def test_fields_are_added_and_joined_with_what_lies_beyond():
    values, beyond = drawn(2, 5, 3), drawn(3, seed=1)
    line = Line.of(Field(values, beyond))
    both = line.beside(line.plus(line)).field()
    assert_equal(both.values, torch.cat([values, 2 * values], 2), 0)
    assert_equal(both.beyond, torch.cat([beyond, 2 * beyond]), 0)


@pytest.mark.parametrize("first", [None, -6])
@pytest.mark.parametrize("cells", [16, 20, 24])
def test_a_unet_along_a_line_is_the_one_on_images(cells, first):
    """With an odd number of cells at the bottom as well, where rows of two do not fit."""
    cnn = lively(UNet(1, 2, (3, 4), (4, 3), blocks=1, activation="gelu"))
    field = Field(drawn(2, cells, 2), drawn(2, seed=1))
    assert cnn.goes_along_lines
    found = cnn(field, **({} if first is None else {"first": first}))
    image = Image(field.values[:, None].movedim(-1, 1), field.beyond)
    h, beyond = cnn.layers_forward(*image, first=first)
    assert_equal(found.values, h.movedim(1, -1)[:, 0], 1e-12)
    assert_equal(found.beyond, beyond, 1e-12)


def test_one_precision_on_a_processor_goes_along_a_line():
    field = Field(torch.zeros(1, 8, 2), torch.zeros(2))
    assert Line.takes(field)
    assert not Line.takes(Field(field.values.bfloat16(), field.beyond))
    assert not Line.takes(Field(field.values.to("meta"), field.beyond))
    assert not UNet(2).goes_along_lines
    assert not UNet(padding="zeros").goes_along_lines


def test_many_cells_that_are_predicted_go_on_images(monkeypatch):
    """What is read for so many would leave the cache; gradients along a line are still quicker."""
    monkeypatch.setattr(module, "MOST_CELLS", 64)
    values, beyond = torch.zeros(4, 16, 2), torch.zeros(2)
    assert Line.takes(Field(values, beyond))
    with torch.no_grad():
        assert not Line.takes(Field(values, beyond))
        assert Line.takes(Field(values[:3], beyond))


def test_many_cells_are_predicted_as_few_are(monkeypatch):
    cnn = lively(UNet(1, 2, (3, 4), (4, 3), blocks=1, activation="gelu"))
    field = Field(drawn(2, 16, 2).detach(), drawn(2, seed=1).detach())
    before = field.values.clone()
    with torch.no_grad():
        few = cnn(field, first=-6)
        monkeypatch.setattr(module, "MOST_CELLS", 0)
        many = cnn(field, first=-6)
    assert_equal(many.values, few.values, 1e-12)
    assert_equal(many.beyond, few.beyond, 1e-12)
    assert_equal(field.values, before, 0)


@pytest.mark.parametrize("few", [0, 10**9])
def test_gelu_of_few_numbers_is_that_of_many(few, monkeypatch):
    monkeypatch.setattr(module, "FEW_NUMBERS", few)
    given = arguments(5, 6)
    actual, expected = along(*given, "gelu"), plainly(*given, "gelu", "same")
    assert_equal(actual.values, expected[0], 1e-12)
    totals = ((values**2).sum() + beyond.sum() for values, beyond in (actual, expected))
    for found, wanted in zip(*(torch.autograd.grad(t, given) for t in totals), strict=True):
        assert_equal(found, wanted, 1e-9)
    with torch.no_grad():
        assert_equal(along(*given, "gelu").values, expected[0], 1e-12)


def test_a_layer_takes_lines_and_images_alike():
    layer = lively(Convolution(1, 2, 3, kernel_size=5, padding="unobserved", activation="gelu"))
    values, beyond = drawn(2, 6, 2), drawn(2, seed=1)
    found = layer(Line.of(Field(values, beyond)), "doubled").field()
    image = layer(Image(values[:, None].movedim(-1, 1), beyond), "doubled")
    assert_equal(found.values, image.h.movedim(1, -1)[:, 0], 1e-12)
    assert_equal(found.beyond, image.beyond, 1e-12)


def test_a_matrix_is_kept_until_its_weights_change():
    layer = lively(Convolution(1, 2, 3, kernel_size=5, padding="unobserved"))
    line = Line.of(Field(drawn(2, 6, 2), drawn(2, seed=1)))
    made: list[Tensor] = []

    @torch.no_grad()
    def found() -> Tensor:
        reading = reading_of("same", 5, 2, 6, (0, 0), torch.float64)
        made.append(layer._kernel.matrix(reading)[0])
        return layer(line).rows

    first = found()
    assert_equal(found(), first, 0)
    assert made[0] is made[1]
    for change in (lambda: layer.conv.weight.mul_(2), lambda: layer.conv.bias.mul_(2)):
        with torch.no_grad():
            change()
        assert_equal(found(), layer(line).rows.detach(), 1e-12)
    with torch.no_grad():
        layer.load_state_dict({name: 3 * part for name, part in layer.state_dict().items()})
    assert_equal(found(), layer(line).rows.detach(), 1e-12)
    layer.conv.weight.data = layer.conv.weight.data.clone().neg()
    assert_equal(found(), layer(line).rows.detach(), 1e-12)


def test_weights_made_for_predictions_alone_are_read_anew():
    with torch.inference_mode():
        layer = lively(Convolution(1, 2, 3, kernel_size=5, padding="unobserved"))
        line = Line.of(Field(drawn(2, 6, 2), drawn(2, seed=1)))
        before = layer(line).rows
        layer.conv.weight.mul_(2)
        assert (layer(line).rows - before).abs().max() > 0.1


def test_a_copied_layer_has_a_kernel_of_its_own():
    layer = lively(Convolution(1, 2, 3, kernel_size=5, padding="unobserved"))
    line = Line.of(Field(drawn(2, 6, 2), drawn(2, seed=1)))
    with torch.no_grad():
        before = layer(line).rows
        copied = copy.deepcopy(layer)
        copied.conv.weight.mul_(2)
        assert (copied(line).rows - before).abs().max() > 0.1
        assert_equal(layer(line).rows, before, 0)


def test_loops_see_the_weights_that_a_layer_has():
    """Of a copy, and after they were replaced, as well."""
    conv = torch.nn.Conv2d(2, 3, (1, 5))
    kernel = Kernel(conv, conv.kernel_size[1])
    first = kernel.arrays()
    assert kernel.arrays() is first
    twin = copy.deepcopy(kernel)
    conv.weight.data = conv.weight.data.clone()
    for each in (kernel, twin):
        with torch.no_grad():
            each.layer.weight.fill_(7.0)
            each.layer.bias.fill_(8.0)
        weight, bias = each.arrays()
        assert (weight == 7).all() and weight.shape == (3, 2, 5)
        assert (bias == 8).all()
