"""Windows of long series: as many rows as in training, and no step where they meet."""

import numpy as np
import pytest

from convcnp.frames.series import Ragged
from convcnp.predict.windows import in_windows


def ragged(*series):
    return Ragged(np.concatenate(series), np.cumsum([0, *map(len, series)]))


LONG = np.arange(100.0)


def test_series_that_fit_stay_whole():
    y = np.ones((100, 1))
    assert in_windows(ragged(LONG), y, ragged(LONG), 100) is None
    assert in_windows(ragged(LONG), y, ragged(LONG), None) is None
    y[:50] = np.nan  # what was not observed does not count
    assert in_windows(ragged(LONG), y, ragged(LONG), 50) is None


def test_windows_are_as_long_as_in_training_and_cover_all_that_was_observed():
    y = np.ones((130, 1))
    y[7] = np.nan
    windows = in_windows(ragged(LONG[:30], LONG), y, ragged([5.0], [50.0]), 40)
    assert windows is not None
    assert windows.series.lengths.tolist() == [30, 40, 40, 40, 40]
    seen = [windows.series.x[windows.series.rows(i)] for i in range(1, 5)]
    assert (seen[0][0], seen[-1][-1]) == (0.0, 99.0)
    assert np.unique(np.concatenate(seen)).tolist() == LONG.tolist()
    assert windows.sides[:, 0].tolist() == [0, 0]


def test_the_nearer_of_two_windows_has_the_larger_share():
    y = np.ones((100, 1))
    middles = [20.0, 40.0, 60.0, 80.0]  # of four windows of forty rows
    asked = np.array([-5.0, *middles, 45.0, 99.0])
    windows = in_windows(ragged(LONG), y, ragged(asked), 40)
    assert windows.sides.tolist() == [[0, 0, 1, 2, 3, 1, 3], [0, 1, 2, 3, 3, 2, 3]]
    assert windows.share == pytest.approx([0, 0, 0, 0, 0, 0.25, 0])
    copies = windows.copies(ragged(asked))
    assert np.bincount(copies.row, copies.share) == pytest.approx(np.ones(7))
    owners = copies.asked.owners
    before, after = windows.sides[:, copies.row]
    assert owners.tolist() == np.where(copies.is_after, after, before).tolist()


def test_curves_fade_with_the_spread_that_they_have():
    y, asked = np.ones((100, 1)), np.linspace(0, 99, 45)
    copies = in_windows(ragged(LONG), y, ragged(asked), 40).copies(ragged(asked))
    random = np.random.default_rng(0)
    mean = 3.0 * copies.asked.owners[:, None]
    curves = mean + 2 * random.normal(size=(4000, len(mean), 1))
    faded = copies.faded(curves, mean, len(asked))
    assert faded.std(0)[:, 0] == pytest.approx(np.full(45, 2.0), rel=0.1)
    expected = np.bincount(copies.row, copies.share * mean[:, 0])
    assert faded.mean(0)[:, 0] == pytest.approx(expected, abs=0.2)


def test_curves_of_windows_that_disagree_meet_without_a_step():
    y, asked = np.ones((100, 1)), np.linspace(0, 99, 991)
    copies = in_windows(ragged(LONG), y, ragged(asked), 40).copies(ragged(asked))
    # Each window draws a line of its own level, ten apart.
    curves = 10.0 * copies.asked.owners[None, :, None] * np.ones((2, 1, 1))
    faded = copies.faded(curves, np.zeros((len(copies.row), 1)), len(asked))
    assert np.abs(np.diff(faded[0, :, 0])).max() < 0.5
    assert np.ptp(faded[0]) > 20
