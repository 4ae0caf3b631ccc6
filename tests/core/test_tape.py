"""A network on a tape is the one along a line, and so are its gradients."""

import copy
import gc

import pytest
import torch
from torch import Tensor

from convcnp.core import compiling, tape
from convcnp.core.cnn import SimpleCNN, UNet
from convcnp.core.convolution import Convolution, Pointwise
from convcnp.core.grid import Field, Rim
from convcnp.core.line import Line
from convcnp.core.tape import TapedLine
from helpers import assert_equal, lively


def drawn(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=generator).requires_grad_()


def learnt(cnn, field: Field, **options: int) -> list[Tensor]:
    """Return what a network answers, and the gradients of all that it was given."""
    given = [*field, *cnn.parameters()]
    found = cnn(field, **options)
    total = (found.values**2).sum() + (found.beyond**3).sum()
    return [*found, *torch.autograd.grad(total, given)]


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("blocks", [0, 1])
@pytest.mark.parametrize("first", [None, -6])
@pytest.mark.parametrize("cells", [16, 20, 24])
def test_a_unet_on_a_tape_is_the_one_along_a_line(monkeypatch, cells, first, blocks, activation):
    """With an odd number of cells at the bottom as well, where rows of two do not fit."""
    cnn = lively(UNet(1, 2, (3, 4), (4, 3), blocks=blocks, activation=activation)).train()
    field = Field(drawn(2, cells, 2), drawn(2, seed=1))
    options = {} if first is None else {"first": first}
    taped = learnt(cnn, field, **options)
    monkeypatch.setattr(tape, "multiplies", lambda: False)
    for one, other in zip(taped, learnt(cnn, field, **options), strict=True):
        assert other.abs().max() > 1e-3
        assert_equal(one, other, 1e-9 * max(1.0, other.abs().max().item()))


@pytest.mark.parametrize("kernel_size", [1, 3, 5])
@pytest.mark.parametrize("cells", [3, 7, 8])
def test_a_network_of_one_resolution_on_a_tape_is_the_one_on_images(
    monkeypatch, cells, kernel_size
):
    """On a grid without any margin, too: what is seen may leave it and come back."""
    cnn = lively(SimpleCNN(1, (2, 3, 4, 2), kernel_size=kernel_size)).train()
    field = Field(drawn(3, cells, 2), drawn(2, seed=1))
    taped = learnt(cnn, field)
    assert all(tensor.abs().max() > 1e-3 for tensor in taped[2:])
    monkeypatch.setattr(tape, "multiplies", lambda: False)
    for one, other in zip(taped, learnt(cnn, field), strict=True):
        assert_equal(one, other, 1e-9 * max(1.0, other.abs().max().item()))


@pytest.mark.parametrize(
    ("cnn", "lengths"),
    [
        (UNet(1, 2, (3, 4), (4, 3), blocks=1, activation="gelu"), (8, 16, 4)),
        (SimpleCNN(1, (2, 3, 4, 2)), (5, 9, 2)),
    ],
)
def test_tasks_of_different_lengths_are_each_computed_by_itself(cnn, lengths):
    """And hold the constant elsewhere, whose gradient is the sum of all its places."""
    cnn = lively(copy.deepcopy(cnn)).train()
    field = Field(drawn(3, max(lengths) + 4, 2), drawn(2, seed=1))
    given = [*field, *cnn.parameters()]

    def learnt_of(found: Field) -> list[Tensor]:
        total = (found.values**2).sum() + (found.beyond**3).sum()
        return [*found, *torch.autograd.grad(total, given)]

    together = learnt_of(cnn(field, lengths=lengths))
    alone = [
        cnn(Field(field.values[i : i + 1, :length], field.beyond))
        for i, length in enumerate(lengths)
    ]
    values = [
        torch.cat([one.values[0], one.beyond.expand(field.values.shape[1] - length, -1)])
        for one, length in zip(alone, lengths, strict=True)
    ]
    for one, other in zip(
        together, learnt_of(Field(torch.stack(values), alone[0].beyond)), strict=True
    ):
        assert other.abs().max() > 1e-3
        assert_equal(one, other, 1e-9 * max(1.0, other.abs().max().item()))


def test_gradients_on_a_tape_are_those_of_differences():
    cnn = lively(UNet(1, 2, (3,), (2,), blocks=1, activation="gelu")).train()
    values, beyond = drawn(2, 4, 2), drawn(2, seed=1)
    assert torch.autograd.gradcheck(lambda *field: tuple(cnn(Field(*field))), (values, beyond))


def test_single_precision_is_that_of_a_line(monkeypatch):
    cnn = UNet().train()
    field = Field(drawn(4, 64, 8).float().detach(), drawn(8).float().detach())
    taped = cnn(field)
    monkeypatch.setattr(tape, "multiplies", lambda: False)
    assert taped.values.dtype == torch.float32
    assert_equal(taped.values, cnn(field).values, 1e-5)


def test_gradients_can_be_found_twice():
    cnn = lively(UNet(1, 2, (3,), (2,))).train()
    total = cnn(Field(drawn(2, 8, 2), drawn(2, seed=1))).values.square().sum()
    first, second = (
        torch.autograd.grad(total, list(cnn.parameters()), retain_graph=True) for _ in range(2)
    )
    for one, other in zip(first, second, strict=True):
        assert_equal(one, other, 0)


def test_nothing_of_a_step_is_left_in_a_circle():
    """What is, stays in memory until Python looks for circles, and no step finds warm memory."""
    cnn = lively(UNet(1, 2, (3, 4), (4, 3), blocks=1)).train()
    field = Field(drawn(2, 16, 2), drawn(2, seed=1))
    gc.collect()
    gc.disable()
    try:
        cnn(field).values.sum().backward()
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_maps_before_and_after_a_network_are_on_its_tape(monkeypatch):
    cnn = lively(SimpleCNN(1, (2, 3, 2))).train()
    before, after = lively(Pointwise(3, 2)).train(), lively(Pointwise(2, 4)).train()
    field = Field(drawn(2, 7, 3), drawn(3, seed=1))
    given = [*field, *before.parameters(), *cnn.parameters(), *after.parameters()]

    def learnt_between() -> list[Tensor]:
        found = cnn(field, before=before, after=after)
        total = (found.values**2).sum() + (found.beyond**3).sum()
        return [*found, *torch.autograd.grad(total, given)]

    taped = learnt_between()
    monkeypatch.setattr(tape, "multiplies", lambda: False)
    for one, other in zip(taped, learnt_between(), strict=True):
        assert other.abs().max() > 1e-3
        assert_equal(one, other, 1e-9)


def test_every_part_of_a_line_can_be_added_cut_and_convolved():
    """Also in an order that no network here has."""
    layer = lively(Convolution(1, 4, 4, kernel_size=5, padding="unobserved", activation="relu"))
    rim = Rim((0, 0), (2, 2))

    def strange(line):
        both = line.beside(line)
        return both.plus(layer(both)).beside(line).without(rim)

    field = Field(drawn(2, 8, 2), drawn(2, seed=1))
    parameters = list(layer.parameters())
    results = []
    for found in (tape.applied(strange, field, parameters), strange(Line.of(field)).field()):
        total = (found.values**2).sum() + found.beyond.sum()
        results.append([*found, *torch.autograd.grad(total, [*field, *parameters])])
    for one, other in zip(*results, strict=True):
        assert_equal(one, other, 1e-10)


def test_a_layer_that_is_used_twice_has_the_sum_of_both_gradients():
    layer = lively(Convolution(1, 2, 2, kernel_size=3, padding="unobserved"))
    field, parameters = Field(drawn(1, 6, 2), drawn(2, seed=1)), list(layer.parameters())

    def twice(line):
        return layer(layer(line))

    taped, plain = (
        torch.autograd.grad(found.values.square().sum(), parameters)
        for found in (tape.applied(twice, field, parameters), twice(Line.of(field)).field())
    )
    for one, other in zip(taped, plain, strict=True):
        assert_equal(one, other, 1e-10)


def test_a_parameter_without_use_has_no_gradient():
    layer = lively(Convolution(1, 2, 2, kernel_size=3, padding="unobserved"))
    unused = copy.deepcopy(layer)
    parameters = [*layer.parameters(), *unused.parameters()]
    tape.applied(layer, Field(drawn(1, 6, 2), drawn(2)), parameters).values.sum().backward()
    assert all(parameter.grad is not None for parameter in layer.parameters())
    assert all(parameter.grad is None for parameter in unused.parameters())


def test_a_tape_is_kept_in_training_alone(monkeypatch):
    kept: list[TapedLine] = []
    along = UNet.along
    monkeypatch.setattr(
        UNet, "along", lambda self, line, **o: kept.append(line) or along(self, line)
    )
    cnn, field = UNet(1, 2, (3,), (2,)).double(), Field(drawn(1, 8, 2), drawn(2))
    cnn.train()(field)
    cnn.eval()(field)
    with torch.no_grad():
        cnn.train()(field)
    assert [type(line) for line in kept] == [TapedLine, Line, Line]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_loops_know_two_precisions(dtype):
    assert not tape.takes(Field(torch.zeros(1, 8, 2, dtype=dtype), torch.zeros(2, dtype=dtype)))
    assert tape.takes(Field(torch.zeros(1, 8, 2), torch.zeros(2))) == compiling.multiplies()
