"""Sums of waves have the kernel's covariances."""

import pytest
import torch

from convcnp.data.functions import GPSource
from convcnp.data.waves import Waves
from convcnp.models.gaussian_process import EQ, GaussianProcess, Matern52
from helpers import assert_equal


def covariance(waves: Waves, x: torch.Tensor, monkeypatch: pytest.MonkeyPatch) -> torch.Tensor:
    """Return the covariance at some inputs: functions are linear in the numbers that are drawn."""
    drawn = 2 * waves.count
    each = torch.eye(drawn, dtype=torch.float64).view(drawn, waves.count, 1, 2).transpose(0, 1)
    with monkeypatch.context() as patch:
        patch.setattr(torch, "randn", lambda shape, **options: each.reshape(shape))
        functions = waves.sample(x.expand(drawn, -1, -1), torch.Generator())[..., 0]
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


def is_sum_of_waves(source: GPSource, low: float = -2.0, high: float = 2.0) -> bool:
    """Tell by the values at two inputs: Cholesky factors make others of the same seed."""
    x = torch.tensor([low, high], dtype=torch.float64)[None, :, None].expand(-1, -1, source.dim_x)
    found = source.values(x, torch.Generator().manual_seed(0))
    process = GaussianProcess(source.kernel, jitter=source.jitter)
    return not torch.equal(found, process.sample(x, torch.Generator().manual_seed(0), source.dim_y))


def test_smooth_functions_to_learn_from_are_drawn_by_waves_and_no_others():
    class Loud(EQ):
        def __call__(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return 100 * super().__call__(a, b)

    assert is_sum_of_waves(GPSource())
    assert is_sum_of_waves(GPSource(dim_y=3))
    assert not is_sum_of_waves(GPSource().held_out("test"))
    assert not is_sum_of_waves(GPSource().for_curves())
    for other in (
        {"kernel": Matern52()},
        {"kernel": Loud()},
        {"kernel": EQ(0.01)},  # of more waves than points
        {"max_points": 5},
        {"jitter": 0.1},
        {"dim_x": 2},
    ):
        assert not is_sum_of_waves(GPSource(**other))


def test_beyond_the_range_of_inputs_nothing_repeats_itself():
    assert not is_sum_of_waves(GPSource(), high=2.1)
    assert not is_sum_of_waves(GPSource(), low=-2.1)
