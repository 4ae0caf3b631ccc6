"""Sums of waves have the kernel's covariances."""

import pytest
import torch

from convcnp.data.functions import GPSource
from convcnp.models.gaussian_process import EQ, Matern52
from convcnp.models.waves import Waves
from helpers import assert_equal


def covariance(waves: Waves, x: torch.Tensor, monkeypatch: pytest.MonkeyPatch) -> torch.Tensor:
    """Return the covariance at some inputs: functions are linear in the numbers that are drawn."""
    count = 2 * len(waves._amplitudes)
    each = torch.eye(count, dtype=torch.float64).view(count, -1, 1, 1, 2).transpose(0, 1)
    monkeypatch.setattr(torch, "randn", lambda *shape, **options: each.contiguous())
    functions = waves.sample(x.expand(count, -1, -1), torch.Generator())[..., 0]
    return functions.T @ functions


@pytest.mark.parametrize("length_scale", [0.05, 0.25, 3.0])
@pytest.mark.parametrize("low, high", [(-2.0, 2.0), (0.0, 1.0), (100.0, 110.0)])
def test_covariances_are_the_kernel_s_to_twelve_digits(length_scale, low, high, monkeypatch):
    x = torch.linspace(low, high, 50, dtype=torch.float64)[None, :, None]
    found = covariance(Waves(length_scale, high - low), x, monkeypatch)
    assert_equal(found, EQ(length_scale)(x, x)[0], 5e-12)


def test_a_shorter_span_would_not_do(monkeypatch):
    x = torch.linspace(-2, 2, 50, dtype=torch.float64)[None, :, None]
    found = covariance(Waves(0.25, span=3.0), x, monkeypatch)
    assert (found - EQ(0.25)(x, x)[0]).abs().max() > 1e-9


def test_channels_and_tasks_are_independent():
    x = torch.zeros(2_000, 1, 1, dtype=torch.float64)
    drawn = Waves(0.25, 4.0).sample(x, torch.Generator().manual_seed(0), channels=2)
    assert drawn.shape == (2_000, 1, 2)
    assert drawn.std() == pytest.approx(1, abs=0.05)
    correlation = torch.corrcoef(drawn[:, 0].T)[0, 1]
    assert abs(correlation) < 0.08


def test_only_what_is_learned_from_is_drawn_by_waves():
    source = GPSource()
    generator = torch.Generator().manual_seed(0)
    assert isinstance(source._waves, Waves)
    assert source.held_out("test")._waves is None
    assert source.for_curves()._waves is None
    assert GPSource(kernel=Matern52())._waves is None
    assert GPSource(dim_x=2)._waves is None
    assert GPSource(dim_y=3).draw(4, generator).y_context.shape[2] == 3
