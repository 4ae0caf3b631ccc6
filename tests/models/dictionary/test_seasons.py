"""Exact seasons as waves of the mean of a long series."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from convcnp.core.task import Task
from convcnp.models.dictionary.bordered import Frame
from convcnp.models.dictionary.catalogue import ENDLESS, assembled
from convcnp.models.dictionary.evidence import Prior, factored, posterior
from convcnp.models.dictionary.kernels import EQ, MATERN12, Entries
from convcnp.models.dictionary.model import GaussianProcessDictionary
from convcnp.models.dictionary.rhythm import described
from convcnp.models.dictionary.seasons import apart
from convcnp.models.dictionary.series import Series, prepared
from convcnp.models.dictionary.windows import Fitted, weigh

LEVEL = (MATERN12, 20.0, math.inf, 0.0)


def entries(sharpness: float = 4.0, period: float = 11.0) -> Entries:
    """Return a season on a level, two seasons, and one that drifts."""
    season, other = (EQ, ENDLESS, period, sharpness), (EQ, ENDLESS, 7.0, 0.0)
    kernels = [
        ({season: 0.8, LEVEL: 0.2}, (0.1, 0.5)),
        ({season: 0.5, other: 0.3, LEVEL: 0.2}, (0.1,)),
        ({(EQ, 40.0, period, sharpness): 0.8, LEVEL: 0.2}, (0.1,)),
    ]
    return assembled(kernels, [0.0] * 3, [1] * 3)


def observed(n: int = 80) -> Series:
    generator = torch.Generator().manual_seed(0)
    x = (n * torch.rand(n, generator=generator, dtype=torch.float64)).sort().values
    noise = torch.randn(n, generator=generator, dtype=torch.float64)
    return prepared(x, 3 + torch.sin(2 * math.pi * x / 11) + 0.3 * noise)


@pytest.mark.parametrize("sharpness", [0.0, 1.0, 4.0, 20.0])
def test_waves_have_the_covariance_of_the_season(sharpness):
    found = entries(sharpness)
    beside, seasons = apart(found)
    x = torch.linspace(0, 100, 57).double()
    lag = (x[:, None] - x).abs()
    waves = seasons.waves(x)
    both = beside.kernels(lag)[beside.kernel] + waves.mT @ waves
    torch.testing.assert_close(both, found.kernels(lag)[found.kernel], atol=3e-4, rtol=0)


def test_what_drifts_is_no_wave():
    found = entries()
    beside, seasons = apart(found)
    assert (seasons.height[3] == 0).all()
    torch.testing.assert_close(beside.variance, torch.tensor([0.2, 0.2, 0.2, 1.0]).double())
    rest = found[torch.tensor([3])]
    assert apart(rest) == (rest, None)


def test_a_season_as_waves_of_the_mean_has_the_evidence_and_predictions_of_its_kernel():
    series, found, prior = observed(), entries(), Prior()
    beside, seasons = apart(found)
    frame = Frame.of(series)
    shared = replace(frame, seasons=seasons)
    one = factored(found, series, frame, prior)
    two = factored(beside, series, shared, prior)
    torch.testing.assert_close(
        two.summary.log_evidence(prior), one.summary.log_evidence(prior), atol=2e-3, rtol=0
    )
    at = torch.linspace(-5, 90, 41).double()
    fitted = weigh(series, found, prior)
    chosen = fitted.weighed.variants
    means, variances = posterior(two, beside, series, shared, at, chosen)
    expected = posterior(one, found, series, frame, at, chosen)
    torch.testing.assert_close(means, expected[0], atol=1e-3, rtol=0)
    torch.testing.assert_close(variances, expected[1], atol=1e-3, rtol=0)


def test_times_seen_from_elsewhere_have_the_same_waves():
    _, seasons = apart(entries())
    x = torch.linspace(0, 30, 7).double()
    torch.testing.assert_close(seasons.moved(12.5).waves(x - 12.5), seasons.waves(x))


def years(seed: int, level: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ten years of days: times, the truth without noise, and values."""
    rng = np.random.default_rng(seed)
    x = np.arange(3650.0)
    angle = 2 * np.pi * x / 365.25
    truth = 10 * np.sin(angle) + 3 * np.cos(2 * angle)
    truth = truth + 0.1 * np.cumsum(rng.standard_normal(len(x))) * (level == "wanders")
    return x, truth, truth + 3 * rng.standard_normal(len(x))


def fit(x: np.ndarray, y: np.ndarray) -> Fitted:
    return GaussianProcessDictionary().fit(torch.from_numpy(x), torch.from_numpy(y))


@pytest.mark.parametrize("level", ["stays", "wanders"])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_year_of_days_is_carried_through_months_by_the_other_years(seed, level):
    """No window of the series is longer than 19 months: one year alone tells little of a year."""
    x, truth, y = years(seed, level)
    hidden = (x >= 1800) & (x < 2100)
    task = Task.from_arrays(x[~hidden], y[~hidden], x[hidden], y[hidden])
    found = GaussianProcessDictionary()(task)
    away = found.mean[0, :, 0].numpy() - truth[hidden]
    assert (away**2).mean() < 0.1 * truth[hidden].var()
    assert found.covers(task.y_target).double().mean() > 0.8


def test_the_year_is_told_of_and_explains_its_share():
    x, truth, y = years(0, "stays")
    seen = described(fit(x, y))
    assert seen.periods[0] == pytest.approx(365.25, abs=1)
    assert seen.shares[0] == pytest.approx(truth.var() / y.var(), abs=0.03)


@pytest.mark.parametrize("seed", [1, 4])
def test_a_year_of_weather_is_a_year_and_nothing_else(seed):
    """Weather that lasts for days once passed for a second rhythm, or hid the year."""
    rng = np.random.default_rng(seed)
    x = np.arange(900.0)
    weather = np.zeros(900)
    for day in range(1, 900):
        weather[day] = 0.8 * weather[day - 1] + 2 * rng.standard_normal()
    season = 8 * np.sin(2 * np.pi * x / 365.25)
    seen = described(fit(x, season + weather))
    assert seen.periods == pytest.approx([365], abs=15)
    assert seen.shares == pytest.approx([season.var() / (season + weather).var()], abs=0.2)


@pytest.mark.parametrize("period", [4, 12])
def test_a_season_of_few_phases_explains_its_share(period):
    """At quarters three waves are alike: their heights add up, and not their squares."""
    rng = np.random.default_rng(0)
    years = 3 * rng.standard_normal(period) + rng.standard_normal((1200 // period, period))
    seen = described(fit(np.arange(1200.0), years.ravel()))
    assert sum(seen.shares) == pytest.approx(years.mean(0).var() / years.var(), abs=0.02)


def test_of_two_exact_seasons_each_explains_its_own_share():
    rng = np.random.default_rng(0)
    x = np.arange(2000.0)
    day, week = 2 * np.sin(2 * np.pi * x / 24), np.sin(2 * np.pi * x / 168)
    seen = described(fit(x, day + week + 0.5 * rng.standard_normal(len(x))))
    total = (day + week).var() + 0.25
    assert seen.periods == pytest.approx([24, 168], rel=0.01)
    assert seen.shares == pytest.approx([day.var() / total, week.var() / total], abs=0.03)


def wandering(length: float, deviation: float, n: int, seed: int) -> np.ndarray:
    """Return what forgets itself over so many steps."""
    rng = np.random.default_rng(seed)
    kept = math.exp(-1 / length)
    steps = deviation * math.sqrt(1 - kept**2) * rng.standard_normal(n)
    found = np.zeros(n)
    for i in range(1, n):
        found[i] = kept * found[i - 1] + steps[i]
    return found


def score(x: np.ndarray, y: np.ndarray, hidden: np.ndarray) -> tuple[float, float]:
    """Return the mean error of what is hidden, and the share of it in the band."""
    task = Task.from_arrays(x[~hidden], y[~hidden], x[hidden], y[hidden])
    found = GaussianProcessDictionary()(task)
    away = (found.mean - task.y_target).abs().mean()
    return float(away), float(found.covers(task.y_target).double().mean())


@pytest.mark.parametrize("seed", [0, 1])
def test_hours_know_the_year_through_weeks_that_are_missing(seed):
    """No window sees more than a month and a half, and no part that is searched half a year."""
    x = np.arange(3 * 8766.0)
    year = 11 * np.cos(2 * np.pi * (x / 8766 - 0.55))
    y = year + 4 * np.sin(2 * np.pi * x / 24) + wandering(60, 2.0, len(x), seed)
    hidden = (x >= 13_000) & (x < 14_080) & (np.arange(len(x)) % 9 == 0)
    seen = (x < 13_000) | (x >= 14_080)
    away, held = score(x[seen | hidden], y[seen | hidden], hidden[seen | hidden])
    assert away < 3.5  # the weather alone has 1.6 on average; the mean of all days is 10 away
    assert held > 0.7


@pytest.mark.parametrize("seed", [0, 2])
def test_minutes_know_the_day(seed):
    """The stretch that is searched for a rhythm is shorter than three days."""
    x = np.arange(9000.0)
    day = 15 * np.sin(2 * np.pi * x / 1440) + 5 * np.sin(4 * np.pi * x / 1440 + 1)
    y = day + wandering(1000, 3.0, len(x), seed) + np.random.default_rng(1).standard_normal(len(x))
    hidden = (x >= 4500) & (x < 5940) & (np.arange(len(x)) % 9 == 0)
    seen = (x < 4500) | (x >= 5940)
    away, held = score(x[seen | hidden], y[seen | hidden], hidden[seen | hidden])
    assert away < 4  # what wanders and the noise have 2.5; before, it was 5 to 16
    assert held > 0.8
