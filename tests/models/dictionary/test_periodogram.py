import math

import numpy as np
import pytest
import torch

from convcnp.models.dictionary.periodogram import Periodogram, find_periods, power, without
from helpers import assert_equal


def times(n: int = 120, seed: int = 0, irregular: bool = True) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    x = torch.arange(n).double()
    if irregular:
        x = x + 0.8 * torch.rand(n, generator=generator, dtype=torch.float64)
    return x - x[0]


def noisy(x: torch.Tensor, period: float, seed: int = 1) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(len(x), generator=generator, dtype=torch.float64)
    return (torch.sin(2 * math.pi * x / period + 1) + 0.5 * noise)[None]


def scipys(x: torch.Tensor, y: torch.Tensor, frequency: np.ndarray) -> np.ndarray:
    signal = pytest.importorskip("scipy.signal")
    angular = 2 * np.pi * frequency
    return signal.lombscargle(
        *(x.numpy(), (y[0] - y[0].mean()).numpy(), angular), normalize=True, floating_mean=True
    )


def test_the_power_is_scipys():
    x = times()
    y, frequency = noisy(x, 9.0), torch.linspace(0.01, 0.45, 300).double()
    found = power(x.numpy(), y.numpy(), frequency.numpy())[0]
    np.testing.assert_allclose(found, scipys(x, y, frequency.numpy()), atol=1e-9, rtol=0)


def test_on_a_lattice_the_fft_is_scipys_too():
    x = times(irregular=False)
    kept = torch.ones(len(x), dtype=torch.bool)
    kept[40:61:3] = False
    x = x[kept]
    y, spectrum = noisy(x, 9.0), Periodogram(x.numpy(), 1.0)
    expected = scipys(x, y, spectrum.frequency)
    np.testing.assert_allclose(spectrum(y.numpy())[0], expected, atol=1e-9, rtol=0)


def test_off_a_lattice_the_fft_is_close():
    x = times()
    y, spectrum = noisy(x, 9.0), Periodogram(x.numpy(), None)
    slow = spectrum.frequency < 0.2
    difference = np.abs(spectrum(y.numpy())[0] - scipys(x, y, spectrum.frequency))
    assert difference[slow].max() < 0.02
    assert difference.max() < 0.1


@pytest.mark.parametrize("irregular", [False, True])
@pytest.mark.parametrize("period", [3.2, 7.0, 12.0, 31.4, 55.0])
def test_the_period_of_a_sine_is_found_through_a_gap(period, irregular):
    x = times(irregular=irregular)
    x = x[(x < 50) | (x > 66)]
    y = torch.sin(2 * math.pi * x / period)[None]
    found = find_periods(x, y, None if irregular else 1.0)
    assert found[0] == pytest.approx(period, rel=0.01)


def test_the_second_period_is_no_harmonic_of_the_first():
    x = times(200, irregular=False)
    week, month = 2 * math.pi * x / 7, 2 * math.pi * x / 30.4
    y = (torch.sin(month) + 0.6 * torch.sin(2 * month) + 0.4 * torch.sin(week))[None]
    found = find_periods(x, y, 1.0)
    assert found[0] == pytest.approx(30.4, rel=0.01)
    assert any(period == pytest.approx(7, rel=0.01) for period in found[1:])


@pytest.mark.parametrize("irregular", [False, True])
@pytest.mark.parametrize("period", [7.0, 12.0, 40.0])
def test_a_season_is_found_by_its_harmonics(period, irregular):
    x = times(160, irregular=irregular)
    angle = 2 * math.pi * x / period
    y = 0.4 * torch.sin(angle) + torch.sin(2 * angle) + 0.6 * torch.cos(3 * angle)
    wandering = torch.sin(x / 30) + 0.1 * noisy(x, 50.0)[0]
    found = find_periods(x, (y + wandering)[None], None if irregular else 1.0)
    assert any(each == pytest.approx(period, rel=0.01) for each in found[:2])
    assert len(found) == len(set(found))


@pytest.mark.parametrize("n", range(8, 40))
def test_few_points_have_periods_too(n):
    assert all(
        math.isfinite(p) and p > 0 for p in find_periods(times(n), noisy(times(n), 3.0), None)
    )


def test_noise_around_a_sine_is_no_longer_season():
    x = times(120, irregular=False)
    for seed in range(20):
        noise = torch.randn(120, dtype=x.dtype, generator=torch.Generator().manual_seed(seed))
        y = (torch.sin(2 * math.pi * x / 12) + 0.3 * noise)[None]
        assert find_periods(x, y, 1.0)[0] == pytest.approx(12, rel=0.01)


@pytest.mark.parametrize("height", [0.5, 0.25])
def test_a_period_of_many_points_is_told_by_all_of_them(height):
    """The middle tells the frequency to hundredths of a cycle: the whole has 25 times as many."""
    x = times(100_000, irregular=False)
    noise = torch.randn(len(x), dtype=x.dtype, generator=torch.Generator().manual_seed(0))
    y = (height * torch.sin(2 * math.pi * x / 37.3) + noise)[None]
    cycles = [len(x) / period for period in find_periods(x, y, 1.0)]
    assert cycles[0] == pytest.approx(len(x) / 37.3, abs=0.1)


def test_a_few_points_have_no_period():
    assert find_periods(times(7), noisy(times(7), 3.0), None) == []


def test_what_comes_round_slowly_and_what_quickly_are_both_found():
    x = times(26_298, irregular=False)
    noise = torch.randn(len(x), dtype=x.dtype, generator=torch.Generator().manual_seed(0))
    y = 5 * torch.sin(2 * math.pi * x / 8766) + torch.sin(2 * math.pi * x / 24) + noise
    found = find_periods(x, y[None], 1.0)
    assert found[0] == pytest.approx(8766, rel=0.01)
    assert any(period == pytest.approx(24, rel=1e-4) for period in found)


def test_two_quick_periods_are_followed_through_all_of_a_series():
    """The second one's frequency is found beside the first; a period of eight meets no comb."""
    x = times(40_000, irregular=False)
    noise = torch.randn(len(x), dtype=x.dtype, generator=torch.Generator().manual_seed(1))
    y = 30 * torch.sin(2 * math.pi * x / 25.003) + 0.5 * torch.sin(2 * math.pi * x / 8.0013) + noise
    cycles = sorted(len(x) / period for period in find_periods(x, y[None], 1.0))
    for expected in (len(x) / 25.003, len(x) / 8.0013):
        assert min(abs(found - expected) for found in cycles) < 0.1


def test_bursts_far_apart_take_no_more_cells_than_cycles_need():
    x = torch.cat([torch.arange(50.0), 1e6 + torch.arange(50.0)]).double()
    assert Periodogram(x.numpy(), None).length <= 2**19


def test_of_what_was_observed_at_once_the_mean_is_taken_out():
    found = without(torch.zeros(3).double(), torch.tensor([[1.0, 2.0, 6.0]]).double())
    assert_equal(found, torch.tensor([[-2.0, -1.0, 3.0]]).double(), 1e-6)
