"""Curves of the dictionary: joint draws whose spread is that of the predictions."""

import torch

from convcnp.models.dictionary.joint import MOST, drawn
from convcnp.models.dictionary.model import GaussianProcessDictionary


def fitted(length=60, *, positive=False):
    """Fit a season with noise, a third of which is missing."""
    generator = torch.Generator().manual_seed(0)
    x = torch.arange(float(length))
    x = torch.cat([x[: length // 3], x[2 * length // 3 :]])
    y = torch.sin(x / 2) + 0.1 * torch.randn(len(x), generator=generator)
    return GaussianProcessDictionary().fit(x, (2 * y).exp() if positive else y)


def test_curves_have_the_mean_and_spread_that_is_predicted():
    series, x = fitted(), torch.arange(20.0, 40.0)
    curves = drawn(series, x, 4000, torch.Generator().manual_seed(1))
    mean, scale = series.predict(series.series.times(x))
    weight = series.weighed.weight[:, None]
    freedom = series.freedom
    expected = (weight * mean).sum(0)
    variance = (weight * (scale**2 * freedom / (freedom - 2) + (mean - expected) ** 2)).sum(0)
    z = (curves - series.series.level[0]) / series.series.scale[0]
    torch.testing.assert_close(z.mean(0), expected, atol=0.1, rtol=0)
    torch.testing.assert_close(z.std(0), variance.sqrt(), atol=0, rtol=0.15)


def test_neighbours_move_together_and_targets_at_one_time_are_one():
    series = fitted()
    curves = drawn(series, torch.tensor([30.0, 30.05, 30.0]), 500, torch.Generator().manual_seed(1))
    away = curves - curves.mean(0)
    together = (away[:, 0] * away[:, 1]).mean() / (away[:, 0].std() * away[:, 1].std())
    assert together > 0.9
    torch.testing.assert_close(curves[:, 0], curves[:, 2], atol=1e-3, rtol=0)


def test_positive_series_have_positive_curves():
    curves = drawn(fitted(positive=True), torch.arange(20.0, 40.0), 200, torch.Generator())
    assert (curves > 0).float().mean() > 0.95


def test_equal_seeds_draw_equal_curves():
    series, x = fitted(), torch.arange(20.0, 25.0)
    first, again = (drawn(series, x, 3, torch.Generator().manual_seed(4)) for _ in range(2))
    assert torch.equal(first, again)


def test_too_many_times_and_long_series_are_left_to_others():
    generator = torch.Generator()
    assert drawn(fitted(), torch.linspace(0, 60, MOST + 1), 2, generator) is None
    assert drawn(fitted(900), torch.tensor([450.0]), 2, generator) is None
