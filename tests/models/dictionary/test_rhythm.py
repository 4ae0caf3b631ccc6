"""What the dictionary says it saw: the period of a season, and how much it explains."""

import pytest
import torch

from convcnp.models.dictionary.model import GaussianProcessDictionary
from convcnp.models.dictionary.rhythm import described


def seen(y, x=None):
    x = torch.arange(len(y), dtype=torch.float64) if x is None else x
    model = GaussianProcessDictionary()

    return described(model.fit(x, y))


def test_a_season_is_found_with_its_share():
    x = torch.arange(96, dtype=torch.float64)
    noise = torch.randn(96, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found = seen(torch.sin(2 * torch.pi * x / 12) + 0.1 * noise)
    assert found.periods[0] == pytest.approx(12, rel=0.01)
    assert found.shares[0] > 0.8
    assert "rhythm" in found.kernel


def test_periods_are_in_the_units_of_time():
    x = torch.arange(96, dtype=torch.float64)
    found = seen(torch.sin(2 * torch.pi * x / 12), x=3600 * x + 1.7e9)
    assert found.periods[0] == pytest.approx(12 * 3600, rel=0.01)
    assert found.gap == pytest.approx(3600)


def test_a_walk_has_no_rhythm_to_speak_of():
    steps = torch.randn(120, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    found = seen(steps.cumsum(0))
    assert sum(found.shares) < 0.5


def test_what_does_not_come_round_is_no_rhythm():
    steps = torch.randn(3000, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert seen(steps.cumsum(0)).periods == ()
    x = torch.arange(40, dtype=torch.float64)
    assert all(period <= 19.5 for period in seen(torch.sin(2 * torch.pi * x / 30)).periods)


def test_nothing_observed_is_nothing_seen():

    assert described(None) is None


def test_periods_that_no_series_could_tell_apart_are_one():
    x = torch.arange(150, dtype=torch.float64)
    noise = torch.randn(150, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    wave = torch.sin(2 * torch.pi * x / 17.3) + 0.5 * torch.sin(4 * torch.pi * x / 17.3)
    found = seen(wave + 0.2 * noise)
    assert found.periods[0] == pytest.approx(17.3, rel=0.01)
    near = [p for p in found.periods if abs(1 / p - 1 / found.periods[0]) * 150 < 0.5]
    assert len(near) == 1
    assert found.shares[0] > 0.8


def test_a_rhythm_that_drifts_explains_what_comes_round():
    """Without noise its process follows every value, but one period later much is different."""
    generator = torch.Generator().manual_seed(1)
    shocks = torch.randn(300, dtype=torch.float64, generator=generator).tolist()
    y = [0.0, 0.0]
    for shock in shocks:
        y.append(1.586 * y[-1] - 0.96 * y[-2] + shock)
    drifting, steady = seen(torch.tensor(y[100:])), seen(torch.sin(torch.arange(200.0) / 2))
    assert drifting.periods[0] == pytest.approx(10, rel=0.15)
    assert 0.2 < drifting.shares[0] < 0.9
    assert steady.shares[0] > 0.98


def test_a_season_on_a_steep_trend_is_seen():
    x = torch.arange(80, dtype=torch.float64)
    noise = torch.randn(80, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found = seen(torch.exp(0.04 * x + 0.15 * torch.sin(torch.pi * x / 2) + 0.02 * noise))
    assert found.periods[0] == pytest.approx(4, rel=0.01)
    assert found.shares[0] > 0.5


def test_periods_that_one_window_could_not_tell_apart_are_one():
    x = torch.arange(6000, dtype=torch.float64)
    noise = torch.randn(6000, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    beats = torch.sin(2 * torch.pi * x / 24) + 0.5 * torch.sin(2 * torch.pi * x / 24.15)
    (period,) = seen(beats + 0.1 * noise).periods
    assert period == pytest.approx(24, rel=0.01)


def test_a_season_explains_what_is_no_outlier():
    x = torch.arange(96, dtype=torch.float64)
    noise = torch.randn(96, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    y = torch.sin(2 * torch.pi * x / 12) + 0.1 * noise
    y[[20, 50]] += 15.0
    found = seen(y)
    assert found.outliers == (20.0, 50.0)
    assert found.shares[0] > 0.8
