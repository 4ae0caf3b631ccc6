"""Scales of a process beside which errors are known: summed over, as an integral would be."""

import math
from dataclasses import replace

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
    x = np.sort(random.uniform(0, 30, points))
    error = size * np.exp(random.normal(0, 0.7, points))
    return x, np.sin(x / 2) * 1.4 + error * random.normal(size=points), error


def fitted_once(size: float):
    """Fit one entry, as the dictionary does, with errors in units of the spread."""
    x, y, error = map(torch.from_numpy, observed(size))
    series = prepared(x, y, error**2)
    entries = assembled([({(EQ, 2.0, math.inf, 0.0): 1.0}, (1e-3,))], [0.0], [0])
    return series, replace(weigh(series, entries, PRIOR), told=series.extra)


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
        log_det = -np.linalg.slogdet(whole)[1] + np.log(information / scale)
        found.append(-0.5 * (log_det + left) + PRIOR.log_density(scale) + 0.5 * np.log(1 / scale))
    found = np.array(found)
    step = math.log(scales[1] / scales[0])
    weight = np.exp(found - found.max())
    total = found.max() + math.log(weight.sum() * step)
    return total, float((weight * np.log(scales)).sum() / weight.sum())


@pytest.mark.parametrize("size", [0.2, 0.8])
def test_levels_add_up_to_the_integral_over_the_scale(size):
    """In differences: what the evidence leaves out is the same for both."""
    totals = []
    for other in (size, 1.3 * size):
        series, fitted = fitted_once(size)
        told = series.extra * (other / size) ** 2
        series = replace(series, extra=told)
        fitted = replace(fitted, series=series, told=told)
        levels = torch.tensor([each.evidence for each in at_levels(fitted)])
        exact, _ = log_integral(series, np.exp(np.linspace(-8, 4, 241)))
        totals.append(float(levels.double().logsumexp(0)) - exact)
    assert totals[0] == pytest.approx(totals[1], abs=0.1)


def test_levels_weigh_most_where_the_scale_is():
    series, fitted = fitted_once(0.3)
    found = at_levels(fitted)
    weight = torch.tensor([each.evidence for each in found]).double().softmax(0)
    scales = torch.tensor([each.typical_variance for each in found]).double()
    assert (scales.diff() > 0).all()
    mean = float((weight * scales.log()).sum())
    _, exact = log_integral(series, np.exp(np.linspace(-8, 4, 241)))
    assert mean == pytest.approx(exact, abs=0.15)


@pytest.mark.parametrize("size", [0.3, 1.0])
def test_curves_of_a_series_with_errors_spread_as_its_bands_do(size):
    x, y, error = observed(size)
    task = Task.from_arrays(x, y, np.linspace(2, 28, 9), context_error=error)
    model = GaussianProcessDictionary()
    curves = model.draw(task, 400, torch.Generator().manual_seed(0))
    ratio = curves[:, :, 0].std(0) / model(task).stddev[0, :, 0]
    assert 0.7 < float(ratio.mean()) < 1.2
