"""Restless at some times, calm at others: bands follow, and nothing changes where nothing is."""

import numpy as np
import pytest
import torch

from convcnp.core.task import Task
from convcnp.models.dictionary.model import GaussianProcessDictionary
from convcnp.models.dictionary.volatility import CALM, Places, Scale, View, volatility

DAY = 24.0


@pytest.fixture(scope="module")
def model() -> GaussianProcessDictionary:
    return GaussianProcessDictionary()


def drawn(points: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=points)


def places(points: int) -> Places:
    return Places(torch.arange(float(points)).double(), torch.zeros(points).double())


def found(score: np.ndarray, periods: tuple[float, ...] = (DAY,)) -> torch.Tensor:
    """Return how deviations compare at the observations of a series of hours."""
    seen = places(len(score))
    return volatility(seen, torch.from_numpy(score), periods, len(score) - 1.0)(seen)


def test_scores_that_are_alike_everywhere_say_next_to_nothing():
    for seed in range(20):
        change = found(drawn(240, seed))
        assert float(change.log().abs().max()) < 0.4
        assert float(change.log().abs().mean()) < 0.1


def test_phases_of_a_period_are_told_apart():
    hours = np.arange(480) % 24
    deviation = np.where((hours > 6) & (hours < 18), 2.0, 0.5)
    change = found(deviation * drawn(480)).numpy()
    ratio = np.median(change[hours == 12]) / np.median(change[hours == 0])
    assert 3 < ratio < 5.5
    # Its other phases are as they were, where a period comes round too seldom to tell.
    few = found((deviation * drawn(480))[:90]).numpy()
    assert np.median(few[hours[:90] == 12]) / np.median(few[hours[:90] == 0]) < 3


def test_a_restless_stretch_is_told_from_the_rest():
    deviation = np.ones(300)
    deviation[100:180] = 4.0
    change = found(deviation * drawn(300), periods=()).numpy()
    assert 2 < np.median(change[115:165]) / np.median(change[220:]) < 5


def test_what_is_restless_at_the_end_need_not_stay_so():
    deviation = np.where(np.arange(300) < 250, 1.0, 5.0)
    seen = places(300)
    swing = volatility(seen, torch.from_numpy(deviation * drawn(300)), (), 299.0)
    ahead = Places(torch.tensor([290.0, 350.0, 1e6]).double(), torch.zeros(3).double())
    now, later, far = swing(ahead).tolist()
    assert now > 1.5 * later
    assert abs(later - 1) < 0.3
    assert far == pytest.approx(1.0, abs=0.01)


def test_values_tell_as_well():
    """Where much is foreseen, much is missed: of peaks on a flat baseline."""
    score = drawn(200)
    value = torch.rand(200, generator=torch.Generator().manual_seed(0)).double()
    seen = Places(torch.arange(200.0).double(), value)
    high = value > 0.5
    change = volatility(seen, torch.from_numpy(score) * (1 + 3 * high), (), 199.0)(seen)
    assert 2.5 < float(change[high].median() / change[~high].median()) < 6


def test_few_observations_say_nothing():
    assert volatility(places(20), torch.from_numpy(drawn(20)), (DAY,), 19.0) == CALM
    assert CALM(places(5)).tolist() == [1.0] * 5


def test_an_observation_is_told_by_the_others_alone():
    """Of one that is far away and none beside it, its own square would tell all."""
    squares = torch.zeros(128, dtype=torch.float64)
    squares[15] = 30.0
    seen = Places(torch.arange(128).double() + 0.5, torch.zeros(128).double())
    (view,) = View.along(Scale(0.0, 128.0), [1e-3], seen, squares)
    assert float(view.log_variance[15].exp()) == pytest.approx(31 / 2)
    # Itself left out, nothing is known there but that all are alike: nothing is gained.
    assert view.gain == pytest.approx(0.0, abs=1e-9)


def test_between_bins_nothing_jumps():
    fine = Places(torch.linspace(0, 48, 10_001).double(), torch.zeros(10_001).double())
    seen = places(240)
    squares = torch.from_numpy(drawn(240) ** 2)
    (view,) = View.along(Scale(0.0, DAY, comes_round=True), [0.05], seen, squares)
    around = view.scale.between(view.log_variance, fine)
    assert float(around.diff().abs().max()) < 0.01
    assert float((around[0] - around[-1]).abs()) < 1e-9


def sunshine(days: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Make hours of clouds by day, and nothing at night."""
    random = np.random.default_rng(seed)
    x = np.arange(days * 24.0)
    sun = np.clip(np.sin(np.pi * (x % 24 - 6) / 12), 0, None) * (x % 24 < 18)
    clouds = np.repeat(random.normal(0, 1.5, days), 24) + random.normal(size=len(x))
    return x, 800 * sun / (1 + np.exp(-clouds))


def test_days_have_wider_bands_than_nights_and_hold_what_they_promise(model):
    inside, widths = [], []
    for seed in range(3):
        x, y = sunshine(20, seed)
        hidden = np.random.default_rng(seed).uniform(size=len(x)) < 0.2
        hidden[[0, -1]] = False
        predictive = model(Task.from_arrays(x[~hidden], y[~hidden], x[hidden]))
        low, high = (predictive.quantile(level)[0, :, 0].numpy() for level in (0.05, 0.95))
        hour = x[hidden] % 24
        noon, night = (hour > 9) & (hour < 15), (hour > 20) | (hour < 4)
        within = (low <= y[hidden]) & (y[hidden] <= high)
        inside.append(within[noon].mean())
        widths.append(np.median((high - low)[noon]) / np.median((high - low)[night]))
    assert 0.8 < np.mean(inside) < 0.99
    assert min(widths) > 4


def test_bands_do_not_move_with_the_series(model):
    x, y = sunshine(8)
    near, far = (
        model(Task.from_arrays(x + shift, scale * y, x[3:9] + shift + 0.5))
        for shift, scale in ((0.0, 1.0), (1e7, 1e-3))
    )
    assert far.stddev.numpy() == pytest.approx(1e-3 * near.stddev.numpy(), rel=1e-5)


def test_drawn_curves_are_as_restless_as_bands_say(model):
    x, y = sunshine(10)
    task = Task.from_arrays(x[:200], y[:200], x[203:227])
    curves = model.draw(task, 400, torch.Generator().manual_seed(0))
    assert curves is not None
    predictive = model(task)
    low, high = (predictive.quantile(level)[0] for level in (0.05, 0.95))
    held = ((low <= curves) & (curves <= high)).double().mean(0)
    assert 0.8 < float(held.mean()) < 0.97
    assert float(held.min()) > 0.7


def test_what_is_restless_is_found_and_what_is_calm_is_not(model):
    random, x = np.random.default_rng(0), np.arange(480.0)
    calm = np.sin(2 * np.pi * x / 24) + random.normal(0, 0.3, 480)
    restless = calm + np.where(x % 24 < 8, 2.0, 0.1) * random.normal(size=480)
    found = [
        model.findings(Task.from_arrays(3600 * x, y, x[:1]))[0][0].restlessness
        for y in (restless, calm)
    ]
    assert found[1] is None
    assert found[0].along == "phases"
    assert found[0].period == pytest.approx(24 * 3600, rel=0.05)
    assert 2 < found[0].ratio < 10


def test_a_long_series_is_looked_at_in_some_of_its_windows(model):
    x, y = sunshine(250)
    fitted = model.fit(torch.from_numpy(x), torch.from_numpy(y))
    seen = fitted.left_out.deviation > 0
    assert 0.2 < float(seen.double().mean()) < 0.6
    noon, night = (
        fitted.volatility(Places(torch.tensor([hour]).double(), torch.zeros(1).double()))
        for hour in (12.0, 0.0)
    )
    assert float(noon / night) > 2
