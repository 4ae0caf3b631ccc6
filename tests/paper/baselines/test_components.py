"""Unobserved components: the smoother against a Gaussian process of the same variances."""

import numpy as np
import pytest
import torch
from statsmodels.tsa.statespace.structural import UnobservedComponents

from convcnp.core.task import Task
from convcnp.errors import ShapeError
from convcnp.paper.baselines.components import FIRST_VARIANCE, Components, smoothed
from convcnp.paper.measured_series import RealSeries


def walk(count=60, seed=3):
    rng = np.random.default_rng(seed)
    return np.cumsum(rng.standard_normal(count)) + 0.5 * rng.standard_normal(count)


def test_the_smoother_of_a_level_is_a_random_walk_from_a_wide_start():
    rows = walk()
    rows[2:5] = rows[30:45] = rows[55:] = np.nan  # near the beginning, a long one, and the end
    results = Components().fit(rows)
    assert results.model.trend_specification == "local level"
    noise, step = results.params
    index = np.arange(len(rows), dtype=float)
    covariance = FIRST_VARIANCE + step * np.minimum(index[:, None], index)
    seen = ~np.isnan(rows)
    weights = covariance[:, seen] @ np.linalg.inv(
        covariance[np.ix_(seen, seen)] + noise * np.eye(seen.sum())
    )
    variance = np.diag(covariance) - np.einsum("ij,ij->i", weights, covariance[:, seen])
    found = smoothed(results)
    np.testing.assert_allclose(found[0], weights @ rows[seen], atol=1e-6)
    np.testing.assert_allclose(found[1], np.sqrt(variance + noise), rtol=1e-6)


def test_a_wide_start_is_as_good_as_an_unknown_one():
    rows = (walk() - walk().mean()) / walk().std()
    rows[20:30] = np.nan
    results = Components().fit(rows)
    exact = UnobservedComponents(rows, "local level", use_exact_diffuse=True)
    mean, spread = smoothed(exact.smooth(results.params))
    found = smoothed(results)
    np.testing.assert_allclose(found[0], mean, atol=2e-3)
    np.testing.assert_allclose(found[1], spread, rtol=2e-3)


def test_a_long_season_does_not_break_down():
    rows = np.sin(2 * np.pi * np.arange(340) / 52.18)
    rows[150:190] = np.nan
    mean, _ = smoothed(Components(seasons=(52.18,)).fit(rows))
    assert np.abs(mean - np.sin(2 * np.pi * np.arange(340) / 52.18)).max() < 0.1


def test_a_season_from_the_sampling_goes_on_through_a_gap_and_beyond_the_end():
    months = 2000 + np.arange(120) / 12
    rng = np.random.default_rng(0)
    values = 50 + 8 * np.sin(2 * np.pi * months) + 0.2 * rng.standard_normal(120)
    removed = np.zeros(120, dtype=bool)
    removed[50:70] = removed[110:] = True
    series = RealSeries("a", "b", "c", "years", "d", months, values)
    method = Components().for_series(series, torch.from_numpy(removed))
    assert method.seasons == (12.0,)
    task = series.without(torch.from_numpy(removed))
    found = method(task)
    assert (found.mean - task.y_target).abs().max() < 1.5
    assert found.covers(task.y_target).double().mean() > 0.7


def test_units_do_not_matter():
    rows = walk()
    x, at = np.delete(np.arange(60.0), [7, 30]), np.array([7.0, 30.0])
    here = Components()(Task.from_arrays(x, rows[x.astype(int)], at))
    there = Components(step=0.25)(
        Task.from_arrays(1900 + x / 4, 1e4 + 50 * rows[x.astype(int)], 1900 + at / 4)
    )
    torch.testing.assert_close(there.mean, 1e4 + 50 * here.mean, rtol=1e-4, atol=1e-2)
    torch.testing.assert_close(there.stddev, 50 * here.stddev, rtol=1e-3, atol=1e-3)


def test_times_off_the_lattice_are_refused_and_a_series_of_them_is_not_run():
    with pytest.raises(ShapeError, match="times on a lattice of step 1, got some between"):
        Components()(Task.from_arrays([0.0, 1.0, 2.0], [0.0, 1.0, 0.0], [0.5]))
    times = np.sort(np.random.default_rng(0).uniform(0, 50, 30))
    series = RealSeries("a", "b", "c", "years", "d", times, times)
    assert Components().for_series(series, torch.zeros(30, dtype=torch.bool)) is None
