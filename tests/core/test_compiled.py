"""Compiled loops against windows: the same sums and gradients, and where they are taken."""

import pytest
import torch
from torch import Tensor

from convcnp.core import compiled
from convcnp.core.grid import Field, Grid
from convcnp.core.set_conv import SetConvDecoder, SetConvEncoder
from convcnp.core.task import Task
from convcnp.models.convcnp import ConvCNP
from helpers import assert_equal

SPACING = 0.1


def drawn(*shape: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(shape, dtype=torch.float64, generator=generator)


def example(points: int = 9) -> tuple[Tensor, Grid]:
    """Return two tasks' points around a grid, of which some lie beyond it and one far away."""
    origin = torch.tensor([[-0.3], [1e6]], dtype=torch.float64)
    grid = Grid(origin, SPACING, (40,))
    x = origin[:, None] + 4.0 * drawn(2, points, 1, seed=1)
    if points:
        x[:, 0], x[:, 1], x[:, 2] = origin - 0.25, origin + 4.15, origin + 1e12
    return x, grid


def encoded(length_scale: float, channels: int, points: int, dtype: torch.dtype) -> list[Tensor]:
    """Return an encoder's answer, and the gradients of its length scale and of the weights."""
    x, grid = example(points)
    encoder = SetConvEncoder(length_scale, powers=2).to(dtype)
    y = (4 * drawn(2, points, channels, seed=2) - 2).to(dtype)
    mask = drawn(2, points, channels, seed=3) < (0.7 if channels < 3 else 0.2)
    weight = (mask * drawn(2, points, channels, seed=4)).to(dtype).requires_grad_()
    h = encoder(x, y, mask, grid, weight=weight)
    (h * drawn(*h.shape, seed=5).to(dtype)).sum().backward()
    return [h.detach(), encoder.log_length_scale.grad, weight.grad * mask]


def decoded(length_scale: float, channels: int, points: int, dtype: torch.dtype) -> list[Tensor]:
    """Return a decoder's answer, and the gradients of its length scale and of the field."""
    x, grid = example(points)
    decoder = SetConvDecoder(length_scale).to(dtype)
    values = drawn(2, 40, channels, seed=6).to(dtype).requires_grad_()
    beyond = drawn(channels, seed=7).to(dtype).requires_grad_()
    found = decoder(Field(values, beyond), x, grid)
    (found * drawn(*found.shape, seed=8).to(dtype)).sum().backward()
    return [found.detach(), decoder.log_length_scale.grad, values.grad, beyond.grad]


@pytest.mark.parametrize("convolved", [encoded, decoded])
@pytest.mark.parametrize("length_scale", [0.2, 0.05, 0.02, 0.001])  # the last two are steep
@pytest.mark.parametrize("channels", [1, 2, 6])
@pytest.mark.parametrize("points", [0, 9])
def test_loops_give_the_sums_and_gradients_of_windows(
    monkeypatch, convolved, length_scale, channels, points
):
    looped = convolved(length_scale, channels, points, torch.float64)
    monkeypatch.setattr(compiled, "numba", lambda: None)
    windowed = convolved(length_scale, channels, points, torch.float64)
    for one, other in zip(looped, windowed, strict=True):
        # Windows round weights below exp(-60) up to it.
        assert_equal(one, other, 1e-10 * max(1.0, other.abs().max().item() if points else 1.0))


@pytest.mark.parametrize("convolved", [encoded, decoded])
def test_single_precision_is_as_good_far_from_zero(convolved):
    single, double = (convolved(0.2, 2, 9, dtype) for dtype in (torch.float32, torch.float64))
    for one, other in zip(single, double, strict=True):
        assert one.dtype == torch.float32
        assert_equal(one.double(), other, 2e-6 * max(1.0, other.abs().max().item()))


def test_a_step_of_a_model_is_that_of_windows(monkeypatch):
    def gradients() -> list[Tensor]:
        torch.manual_seed(0)
        model = ConvCNP.xl(dim_y=2).double()
        task = compiled_task()
        (-model(task).log_likelihood(task.y_target).mean()).backward()
        return [parameter.grad for parameter in model.parameters()]

    looped = gradients()
    monkeypatch.setattr(compiled, "numba", lambda: None)
    for one, other in zip(looped, gradients(), strict=True):
        assert_equal(one, other, 1e-10)


def compiled_task() -> Task:
    return Task(*(drawn(3, 8, n, seed=9 + i) for i, n in enumerate((1, 2, 1, 2))))


def is_taken(x: Tensor, dtype: torch.dtype = torch.float32) -> bool:
    return compiled.takes(x, torch.zeros((), dtype=dtype))


def test_loops_are_for_gradients_along_a_line_on_a_processor():
    x = torch.zeros(1, 3, 1)
    assert is_taken(x)
    assert not is_taken(torch.zeros(1, 3, 2))
    assert not is_taken(x.clone().requires_grad_())
    assert not is_taken(x, dtype=torch.bfloat16)
    assert not is_taken(torch.zeros(1, 3, 1, device="meta"))
    with torch.no_grad():
        assert not is_taken(x)


def test_nobody_waits_for_a_compiler_to_predict(monkeypatch):
    def refuse() -> None:
        raise AssertionError("The compiler was asked for.")

    monkeypatch.setattr(compiled, "numba", refuse)
    model, task = ConvCNP.small(dim_y=2).eval(), compiled_task()
    assert model(task).mean.requires_grad  # gradients alone do not ask for it
    with pytest.raises(AssertionError, match="compiler"):
        model.train()(task)


def test_without_numba_windows_are_taken(monkeypatch):
    monkeypatch.setattr(compiled, "numba", lambda: None)
    assert ConvCNP.small(dim_y=2)(compiled_task()).mean.shape == (3, 8, 2)
