"""Seasonal naive: the values one period away, and the errors they make."""

import numpy as np
import pytest
import torch

from convcnp.core.task import Task
from convcnp.errors import ShapeError
from convcnp.paper.baselines.seasonal_naive import SeasonalNaive
from convcnp.paper.measured_series import RealSeries


def test_the_period_comes_from_the_sampling_or_the_periodogram():
    months = 2000 + np.arange(60) / 12
    series = RealSeries("a", "b", "c", "years", "d", months, np.sin(months))
    removed = torch.zeros(60, dtype=torch.bool)
    assert SeasonalNaive().for_series(series, removed).period == pytest.approx(1.0)
    days = RealSeries("a", "b", "c", "hours", "d", months, np.sin(months))
    assert SeasonalNaive().for_series(days, removed).period is None
    x = np.arange(100.0) / 10
    task = Task.from_arrays(x, np.sin(2 * np.pi * x / 2), [10.5])
    assert SeasonalNaive()(task).mean.item() == pytest.approx(1.0, abs=0.05)


def test_too_few_points_are_refused():
    with pytest.raises(ShapeError, match="at least three observed times, got 2"):
        SeasonalNaive()(Task.from_arrays([0.0, 1.0], [0.0, 1.0], [0.5]))
