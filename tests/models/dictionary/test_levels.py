"""Scales of a process beside which errors are known: summed over, as an integral would be."""

import math

import numpy as np
import pytest
import torch

from convcnp.core.task import Task
from convcnp.models.dictionary.catalogue import assembled
from convcnp.models.dictionary.evidence import Prior
from convcnp.models.dictionary.kernels import EQ
from convcnp.models.dictionary.levels import at_levels
from convcnp.models.dictionary.model import GaussianProcessDictionary
from convcnp.models.dictionary.series import prepared
from convcnp.models.dictionary.windows import weigh

PRIOR = Prior(trends=(1e-4,), shares=(1.0,))  # hardly a line


def observed(size: float, points: int = 30) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a smooth function of variance one with errors that differ, of about this size."""
    random = np.random.default_rng(0)
    x = np.sort(random.uniform(0, points, points))
    error = size * np.exp(random.normal(0, 0.7, points))
    return x, np.sin(x / 2) * 1.4 + error * random.normal(size=points), error


def fitted_once(size: float, points: int = 30):
    """Fit one entry, as the dictionary does, with errors in units of the spread."""
    x, y, error = map(torch.from_numpy, observed(size, points))
    series = prepared(x, y, error**2)
    entries = assembled([({(EQ, 2.0, math.inf, 0.0): 1.0}, (1e-3,))], [0.0], [0])
    return series, weigh(series, entries, PRIOR)


def log_integral(series, scales: np.ndarray) -> tuple[float, float]:
    """Integrate the likelihood over the constant and the scale, number by number."""
    x, z, told = (part.numpy() for part in (series.x, series.z[0], series.extra))
    kernel = np.exp(-0.5 * ((x[:, None] - x) / 2.0) ** 2) + 1e-3 * np.eye(len(x))
    found = []
    for scale in scales:
        whole = np.linalg.inv(scale * kernel + np.diag(told))
        ones = np.ones(len(z))
        information = ones @ whole @ ones
        left = z @ whole @ z - (ones @ whole @ z) ** 2 / information
        log_det = -np.linalg.slogdet(whole)[1] + np.log(information)
        # An inverse gamma distribution with a = 1/2 and b = 3/4, of the scale's logarithm.
        prior = 0.5 * math.log(0.75 / (math.pi * scale)) - 0.75 / scale
        found.append(-0.5 * (log_det + left) + prior)
    found = np.array(found)
    step = math.log(scales[1] / scales[0])
    weight = np.exp(found - found.max())
    total = found.max() + math.log(weight.sum() * step)
    return total, float((weight * np.log(scales)).sum() / weight.sum())


SCALES = np.exp(np.linspace(-8, 6, 281))


@pytest.mark.parametrize(("size", "points"), [(0.2, 30), (0.8, 30), (0.5, 6), (0.4, 150)])
def test_levels_add_up_to_the_integral_over_the_scale(size, points):
    series, fitted = fitted_once(size, points)
    levels = torch.tensor([each.evidence for each in at_levels(fitted, series.extra)]).double()
    left_out = PRIOR.log_constant(points - 1) - float(series.log_volume.sum())
    assert float(levels.logsumexp(0)) + left_out == pytest.approx(
        log_integral(series, SCALES)[0], abs=0.35
    )


def test_levels_weigh_most_where_the_scale_is():
    series, fitted = fitted_once(0.3)
    found = at_levels(fitted, series.extra)
    weight = torch.tensor([each.evidence for each in found]).double().softmax(0)
    scales = torch.tensor([each.typical_variance for each in found]).double()
    assert (scales.diff() > 0).all()
    mean = float((weight * scales.log()).sum())
    assert mean == pytest.approx(log_integral(series, SCALES)[1], abs=0.15)


def test_the_evidence_of_a_long_series_is_that_of_the_windows_it_comes_from():
    """Errors of next to nothing explain as much as none, in however many windows."""
    random = np.random.default_rng(0)
    x = np.arange(6000.0)
    y = np.sin(x / 5) + 0.3 * random.normal(size=len(x))
    model = GaussianProcessDictionary()
    untold, told = (
        model.fit(torch.from_numpy(x), torch.from_numpy(y), variance)
        for variance in (None, torch.full((6000,), 1e-12, dtype=torch.float64))
    )
    levels = torch.tensor([each.evidence for each in told.levels]).double()
    assert float(levels.logsumexp(0)) == pytest.approx(untold.evidence, abs=3.0)


def test_levels_of_a_long_series_predict_in_the_windows_that_agree():
    x, y, error = map(torch.from_numpy, observed(0.3, 700))
    told = GaussianProcessDictionary().fit(x, y, error**2)
    assert len(told.windows) > 1
    for each in told.levels:
        assert each.windows == told.windows
        assert len(each.entries) == len(each.weighed.variants.entry.unique())


@pytest.mark.parametrize("points", [1, 2, 3, 5, 8])
def test_errors_of_next_to_nothing_change_no_band(points):
    random = np.random.default_rng(points)
    x, y, at = np.arange(float(points)), random.normal(size=points), np.array([0.4, points + 1.0])
    model = GaussianProcessDictionary()
    wide = []
    for error in (None, np.full(points, 1e-9)):
        found = model(Task.from_arrays(x, y, at, context_error=error))
        wide.append(found.quantile(0.95) - found.quantile(0.05))
    assert float((wide[1] / wide[0]).min()) > 0.9 and float((wide[1] / wide[0]).max()) < 1.1


@pytest.mark.parametrize(("points", "factor"), [(500, 10.0), (200, 100.0), (700, 3.0), (20, 1e100)])
def test_errors_that_cannot_be_right_do_no_harm(points, factor):
    x, y, error = observed(0.3, points)
    told = Task.from_arrays(x, y, x[:7] + 0.3, context_error=factor * error)
    found = GaussianProcessDictionary()(told)
    assert found.mean.isfinite().all() and found.stddev.isfinite().all()


def test_curves_of_a_series_with_errors_are_drawn_beside_them_as_told():
    """Where errors explain most, what varies beside them is less than a first look tells."""
    x, y, error = observed(2.0)
    task = Task.from_arrays(x, y, np.linspace(2, 28, 9), context_error=error)
    model = GaussianProcessDictionary()
    curves = model.draw(task, 400, torch.Generator().manual_seed(0))
    ratio = curves[:, :, 0].std(0) / model(task).stddev[0, :, 0]
    assert 0.6 < float(ratio.mean()) < 1.25
