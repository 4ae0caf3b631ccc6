import math
from itertools import pairwise

import numpy as np
import pytest
import torch

from convcnp.core.task import Task
from convcnp.models.dictionary.bordered import Bordered, Frame
from convcnp.models.dictionary.catalogue import assembled
from convcnp.models.dictionary.evidence import Prior, pooled, summarised
from convcnp.models.dictionary.kernels import EQ, MATERN12
from convcnp.models.dictionary.model import GaussianProcessDictionary
from convcnp.models.dictionary.series import prepared
from convcnp.models.dictionary.windows import Fitted, chained, weigh, windows


def long_series(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = np.cumsum(rng.uniform(0.5, 1.5, n))
    return x, np.sin(x / 2) + 0.02 * np.cumsum(rng.standard_normal(n)) + rng.normal(0, 0.2, n)


@pytest.mark.parametrize("n", [577, 1000, 1003, 5000])
def test_shares_of_all_windows_add_up_to_one(n):
    x = torch.arange(n).double()
    at = torch.linspace(-50, n + 50, 997).double()
    total = sum(window.share(at) for window in windows(x))
    torch.testing.assert_close(total, torch.ones_like(at))
    for window in windows(x):
        own = window.targets(at)
        outside = torch.ones(len(at), dtype=torch.bool)
        outside[own] = False
        assert (window.share(at)[outside] == 0).all()
        assert window.stop - window.start <= 640


def test_shares_add_up_where_many_observations_share_a_time():
    x = torch.arange(20.0).double().repeat_interleave(100)
    at = torch.linspace(-1, 20, 85).double()
    assert len(windows(x)) > 2
    total = sum(window.share(at) for window in windows(x))
    torch.testing.assert_close(total, torch.ones_like(at))


def test_a_short_series_has_one_window():
    (only,) = windows(torch.arange(576).double())
    assert (only.start, only.stop) == (0, 576)


def test_predictions_do_not_jump_at_a_seam():
    x, y = long_series(900)
    model = GaussianProcessDictionary()
    fitted = model.fit(torch.from_numpy(x), torch.from_numpy(y))
    for window in fitted.windows[:-1]:
        for edge in window.fall:
            at = torch.tensor([edge - 1e-7, edge + 1e-7]).double()
            mean, scale = fitted.predict(at)
            assert ((mean[:, 0] - mean[:, 1]).abs() < 1e-3 * scale[:, 0]).all()


def kinds(n: int = 1000) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(2)
    hours, noise = np.arange(float(n)), rng.standard_normal(n)
    phase = np.cumsum(0.05 * rng.standard_normal(n))
    is_weekend = (hours // 24) % 7 >= 5
    return {
        "a walk": (hours, 0.3 * np.cumsum(rng.standard_normal(n)) + noise),
        "a season and a walk": long_series(n),
        "a year": (hours, np.sin(2 * np.pi * hours / 365) + 0.5 * noise),
        "days and weeks": (hours, np.sin(2 * np.pi * hours / 24) + is_weekend + 0.2 * noise),
        "a rhythm that drifts": (hours, np.sin(2 * np.pi * hours / 30 + phase) + 0.3 * noise),
        "noise": (hours, noise),
    }


@pytest.mark.parametrize("kind", kinds())
def test_windows_agree_with_each_other_and_with_the_whole(monkeypatch, kind):
    x, y = kinds()[kind]
    task = Task.from_arrays(x, y, x[:-1] + 0.4)
    model = GaussianProcessDictionary()
    cut = model(task)
    fitted = model.fit(torch.from_numpy(x), torch.from_numpy(y))
    weight = fitted.weighed.weight
    for before, after in pairwise(fitted.windows):
        at = torch.linspace(*before.fall, 33).double()
        (one, deviation), (other, _) = (fitted.alone(each, at) for each in (before, after))
        assert ((weight @ (one - other)).abs() < 0.05 * (weight @ deviation)).all()
    monkeypatch.setattr("convcnp.models.dictionary.windows.SEEN", 10_000)
    whole = model(task)
    away = (cut.mean - whole.mean).abs() / whole.stddev
    assert away.mean() < 0.04
    assert away.max() < 0.15


def test_windows_are_wider_where_they_would_not_agree():
    """A level that changes this slowly is told by observations that lie far apart."""
    x = torch.arange(2000).double()
    series = prepared(x, torch.randn(2000, generator=torch.Generator().manual_seed(0)))

    def widest(length_scale: float, noise: float) -> int:
        entry = assembled([({(EQ, length_scale, math.inf, 0.0): 1.0}, (noise,))], [0.0], [0])
        found = weigh(series, entry, Prior()).finished().windows
        return max(window.stop - window.start for window in found)

    assert widest(5.0, 1.0) < 600
    assert 800 < widest(150.0, 30.0) < 1600


def test_a_long_series_is_shifted_and_reordered_without_a_trace():
    x, y = long_series(600)
    x = np.round(x * 1024) / 1024
    order = np.random.default_rng(0).permutation(600)
    model = GaussianProcessDictionary()
    one = model(Task.from_arrays(x, y, x[:50] + 0.25)).mean
    shifted = Task.from_arrays(x[order] + 2.0**20, y[order], x[:50] + 0.25 + 2.0**20)
    torch.testing.assert_close(model(shifted).mean, one, atol=1e-9, rtol=0)


def test_a_long_season_on_a_level_that_wanders_goes_on_through_four_periods():
    rng = np.random.default_rng(1)
    x = np.arange(2000.0)
    y = 10 + 5 * np.sin(2 * np.pi * x / 24) + 0.025 * np.cumsum(rng.standard_normal(2000))
    hidden = (x >= 700) & (x < 800)
    task = Task.from_arrays(x[~hidden], y[~hidden], x[hidden], y[hidden])
    found = GaussianProcessDictionary()(task)
    away = (found.mean - task.y_target).abs().mean()
    assert away < 0.2  # of a swing of five; a level that returns to the mean of all is 0.7 away
    assert found.covers(task.y_target).double().mean() > 0.8


@pytest.mark.parametrize("seed", [0, 1])
def test_a_day_and_a_week_go_on_through_a_weekend(seed):
    """Six days are a period as well, by which a day was found; the week is seen beside the day."""
    rng = np.random.default_rng(seed)
    x = np.arange(1500.0)
    is_weekend = (x // 24) % 7 >= 5
    y = 3 * np.sin(2 * np.pi * x / 24) + 4 * is_weekend + rng.normal(0, 0.5, 1500)
    hidden = (x >= 750) & (x < 850)
    task = Task.from_arrays(x[~hidden], y[~hidden], x[hidden], y[hidden])
    found = GaussianProcessDictionary()(task)
    assert (found.mean - task.y_target).abs().mean() < 0.65  # of noise alone 0.4; before, 1.9
    assert found.covers(task.y_target).double().mean() > 0.8


def test_stretches_of_a_long_series_have_the_evidence_of_the_whole():
    x, y = long_series(1000)
    series = prepared(torch.from_numpy(x), torch.from_numpy(y))
    entries = assembled([({(MATERN12, 20.0, math.inf, 0.0): 1.0}, (0.1, 0.3))], [0.0], [0])
    frame, prior = Frame.of(series), Prior()
    whole = summarised(entries, Bordered.of(series, frame)).log_evidence(prior)
    told = chained(1000, entries, series, frame)
    torch.testing.assert_close(pooled(told).log_evidence(prior), whole, atol=0.01, rtol=0)
    assert len(told) == 3


def test_few_stretches_are_from_all_over(monkeypatch):
    series = prepared(torch.arange(20_000).double(), torch.randn(20_000))
    starts = []
    part = type(series).part
    monkeypatch.setattr(
        type(series), "part", lambda self, *ends: starts.append(ends[0]) or part(self, *ends)
    )
    entries = assembled([({(MATERN12, 20.0, math.inf, 0.0): 1.0}, (0.1,))], [0.0], [0])
    assert len(chained(8, entries, series, Frame.of(series))) == 8
    assert len({start // 4000 for start in starts}) == 5
    assert len(set(np.diff(starts))) > 2  # a season could keep step with equal distances


def test_seams_all_over_a_series_are_looked_at(monkeypatch):
    x, y = long_series(5000)
    fitted = GaussianProcessDictionary().fit(torch.from_numpy(x), torch.from_numpy(y))
    looked: list[int] = []
    monkeypatch.setattr(
        Fitted, "_apart", lambda self, before, after: looked.append(after.start) or 0.0
    )
    weigh(fitted.series, fitted.entries, Prior()).finished()
    assert len({start // 1700 for start in looked}) == 3


def test_what_lies_far_apart_weighs_beside_the_stretches_and_nothing_counts_twice(monkeypatch):
    series = prepared(torch.arange(2000).double(), torch.randn(2000))
    entries = assembled([({(MATERN12, 20.0, math.inf, 0.0): 1.0}, (0.1,))], [0.0], [0])
    found = weigh(series, entries, Prior())
    assert found.freedom == pytest.approx(2 * Prior().freedom + 1999, abs=0.5)
    monkeypatch.setattr(type(series), "far_apart", lambda self, points: [])
    near = weigh(series, entries, Prior())
    assert near.freedom == pytest.approx(2 * Prior().freedom + 1999, abs=0.5)
    assert abs(found.evidence - near.evidence) > 1
