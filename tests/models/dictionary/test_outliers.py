"""Outliers: found by what all others say of them, and believed only if that explains more."""

import math

import numpy as np
import pytest
import torch

import convcnp
from convcnp.core.task import Task
from convcnp.models.dictionary.catalogue import assembled
from convcnp.models.dictionary.components import NO_OUTLIERS, Components, Outliers, with_surprise
from convcnp.models.dictionary.evidence import Prior
from convcnp.models.dictionary.kernels import EQ
from convcnp.models.dictionary.model import GaussianProcessDictionary
from convcnp.models.dictionary.outliers import _alone
from convcnp.models.dictionary.series import prepared
from convcnp.models.dictionary.windows import weigh

NOISE = 0.1


def wave(points: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    x = np.arange(float(points))
    noise = np.random.default_rng(seed).normal(0, NOISE, points)
    return x, np.sin(2 * np.pi * x / 30) + noise


@pytest.fixture(scope="module")
def model() -> GaussianProcessDictionary:
    return GaussianProcessDictionary()


def outliers_in(model, x, y) -> Outliers:
    return model.fit(torch.from_numpy(x), torch.from_numpy(y)).outliers


@pytest.mark.parametrize(
    ("points", "spikes"), [(40, [17]), (200, [50, 52, 120]), (700, [100, 650])]
)
def test_spikes_neither_bend_the_mean_nor_widen_the_band(model, points, spikes):
    x, clean = wave(points)
    y = clean.copy()
    y[spikes] += 3.0
    found = outliers_in(model, x, y)
    assert found.count == len(spikes)
    at = x[:-1] + 0.5
    one, other = (model(Task.from_arrays(x, values, at)) for values in (y, clean))
    wide = (one.quantile(0.95) - one.quantile(0.05)) / (other.quantile(0.95) - other.quantile(0.05))
    assert float(wide.median()) < 1.15
    assert float((one.mean - other.mean).abs().max()) < 1.5 * NOISE
    # What happened may happen again.
    seldom = 1 - one.cdf(other.mean + 2.0)
    assert 0.1 < float(seldom.mean()) / (0.5 * len(spikes) / points) < 1.2


@pytest.mark.parametrize("width", [1.5, 4.0])
@pytest.mark.parametrize("hidden", [False, True])
def test_what_happens_for_a_while_is_no_outlier(model, width, hidden):
    x, y = wave(200)
    y += 3 * np.exp(-0.5 * ((x - 100) / width) ** 2)
    seen = (x != 100) | (not hidden)
    assert outliers_in(model, x[seen], y[seen]) == NO_OUTLIERS


@pytest.mark.parametrize("seed", range(6))
def test_noise_has_none(model, seed):
    random = np.random.default_rng(seed)
    x = np.arange(60.0)
    for y in (random.normal(size=60), np.cumsum(random.normal(size=60))):
        assert outliers_in(model, x, y) == NO_OUTLIERS


def test_the_evidence_of_a_series_with_outliers_has_paid_for_them(model):
    x, y = wave(60)
    y[20] += 5.0
    times, values = torch.from_numpy(x), torch.from_numpy(y)
    fitted = model.fit(times, values)
    free = weigh(fitted.series, fitted.entries, fitted.prior).evidence
    assert fitted.outliers.count == 1
    assert fitted.evidence == pytest.approx(free - math.log(100), abs=1e-6)


def test_few_observations_have_none(model):
    assert outliers_in(model, np.arange(7.0), np.array([0.0, 0, 0.1, 9, 0, 0.1, 0])) == NO_OUTLIERS


def test_a_series_in_other_units_has_the_same_outliers(model):
    x, y = wave(30)
    y[11] -= 4.0
    x_both = np.stack([x, 1e6 + 86_400 * x])[:, :, None]
    y_both = np.stack([y, 5 - 1e3 * y])[:, :, None]
    task = Task(*map(torch.from_numpy, (x_both, y_both, x_both + 0.0)))
    found = model(task)
    torch.testing.assert_close(found.mean[1], 5 - 1e3 * found.mean[0], rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(found.stddev[1], 1e3 * found.stddev[0], rtol=1e-6, atol=1e-6)


def test_what_the_others_say_is_what_they_predict():
    """Each observation is left out in turn, by hand; the line of the mean is that of all."""
    x, y = wave(12)
    series = prepared(torch.from_numpy(x), torch.from_numpy(y))
    entries = assembled([({(EQ, 3.0, math.inf, 0.0): 1.0}, (0.05,))], [0.0], [0])
    fitted = weigh(series, entries, Prior())
    away, deviation = fitted.left_out
    best = fitted.weighed.variants[torch.tensor([0])]
    assert fitted.whole is not None
    line = fitted.whole.line(best)[0]
    z = (series.z[0] - line[0] - line[1] * torch.linspace(-1, 1, 12, dtype=torch.float64)).numpy()
    kernel = np.exp(-0.5 * ((x[:, None] - x) / 3.0) ** 2) + 0.05 * np.eye(12)
    for i in range(12):
        others = np.arange(12) != i
        weights = np.linalg.solve(kernel[np.ix_(others, others)], kernel[others, i])
        variance = float(fitted.variance[0]) * (kernel[i, i] - weights @ kernel[others, i])
        assert float(away[i]) == pytest.approx(z[i] - weights @ z[others], abs=1e-9)
        assert float(deviation[i]) == pytest.approx(variance**0.5, rel=1e-9)


def test_who_is_off_to_the_side_of_a_neighbour_is_not_alone():
    score = torch.tensor([5.0, -6.0, 0.5, 7.0, 2.5, -1.0, -8.0, -1.5, 9.0, 5.0])
    assert _alone(score).int().tolist() == [1, 1, 0, 0, 0, 0, 1, 0, 0, 0]


def test_how_far_outliers_are_is_told_in_spreads_of_the_values(model):
    """Also where a series is seen as its logarithms."""
    x, y = wave(60)
    y = np.exp(2 * y)
    before = y[20]
    y[20] *= 60.0
    fitted = model.fit(torch.from_numpy(x), torch.from_numpy(y))
    assert int(fitted.weighed.variants.form[0]) == 1
    assert fitted.outliers.count == 1
    off = (y[20] - before) / float(fitted.series.scale[0])
    assert fitted.outliers.width == pytest.approx(off, rel=0.1)


def test_what_is_left_to_outliers_is_as_much_as_there_were_and_as_wide():
    column = torch.tensor([[0.75], [0.25]], dtype=torch.float64)
    some = Components(column, 4 * column, column, torch.zeros(2) > 0, torch.zeros(2))
    found = with_surprise(some, 1e-9, 5.0, 0.1, Outliers((4.0, 7.0), width=3.0))
    torch.testing.assert_close(found.weight[:, 0], column.new_tensor([0.675, 0.225, 0.1]))
    assert float(found.location[2]) == pytest.approx(0.75 * 3.0 + 0.25 * 1.0)
    assert float(found.scale[2]) == pytest.approx(15.0, rel=1e-6)


@torch.inference_mode()
def test_the_general_model_widens_no_deviation_by_outliers_that_it_has_seen():
    x, y = wave(300)
    y[[60, 120, 250]] += 20.0
    found = convcnp.load("general").model(Task.from_arrays(x, y, x[:-1] + 0.5))
    inside = (found.quantile(0.05) < found.mean) & (found.mean < found.quantile(0.95))
    assert inside.double().mean() > 0.99
    assert float(found.stddev.median()) < 2 * 20.0 * (3 / 300) ** 0.5


def test_it_says_when_outliers_came():
    x, y = wave(100)
    y[[20, 70]] += 9.0
    task = Task.from_arrays(1e6 + 60 * x, y, [1e6])
    ((found,),) = GaussianProcessDictionary().findings(task)
    assert found.outliers == pytest.approx((1e6 + 60 * x[[20, 70]]).tolist())


@pytest.mark.parametrize("place", [1400, 3500])
def test_one_spike_is_found_wherever_a_long_series_has_it(model, place):
    """Every stretch must weigh: a spike that none of them sees has no evidence."""
    x, y = wave(3700)
    y[place] += 3.0
    assert outliers_in(model, x, y).times == pytest.approx([place])
