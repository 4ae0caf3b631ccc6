import math

import numpy as np
import pytest
import torch

from convcnp.models.dictionary.periodogram import Periodogram, find_periods, power


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


def scipys(x: torch.Tensor, y: torch.Tensor, frequency: torch.Tensor) -> torch.Tensor:
    signal = pytest.importorskip("scipy.signal")
    angular = 2 * np.pi * frequency.numpy()
    found = signal.lombscargle(
        *(x.numpy(), (y[0] - y[0].mean()).numpy(), angular), normalize=True, floating_mean=True
    )
    return torch.from_numpy(np.asarray(found))


def test_the_power_is_scipys():
    x = times()
    y, frequency = noisy(x, 9.0), torch.linspace(0.01, 0.45, 300).double()
    torch.testing.assert_close(
        power(x, y, frequency)[0], scipys(x, y, frequency), atol=1e-9, rtol=0
    )


def test_on_a_lattice_the_fft_is_scipys_too():
    x = times(irregular=False)
    kept = torch.ones(len(x), dtype=torch.bool)
    kept[40:61:3] = False
    x = x[kept]
    y, spectrum = noisy(x, 9.0), Periodogram(x, 1.0)
    torch.testing.assert_close(spectrum(y)[0], scipys(x, y, spectrum.frequency), atol=1e-9, rtol=0)


def test_off_a_lattice_the_fft_is_close():
    x = times()
    y, spectrum = noisy(x, 9.0), Periodogram(x, None)
    slow = spectrum.frequency < 0.2
    difference = spectrum(y)[0] - scipys(x, y, spectrum.frequency)
    assert difference[slow].abs().max() < 0.02
    assert difference.abs().max() < 0.1


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
    assert sorted(find_periods(x, y, 1.0)) == pytest.approx([7, 30.4], rel=0.01)


def test_a_few_points_have_no_period():
    assert find_periods(times(7), noisy(times(7), 3.0), None) == []
