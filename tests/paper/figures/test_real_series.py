"""The page of real series: a panel for each, with band, truth and the block that is missing."""

from pathlib import Path

import numpy as np
import pytest
import torch

from convcnp.core.predictive import GaussianPredictive
from convcnp.errors import SettingError
from convcnp.paper.comparison import METHODS, NamedMethod
from convcnp.paper.figures.paper import FIGURES
from convcnp.paper.figures.real_series import window
from convcnp.paper.figures.shelf import Shelf
from convcnp.paper.measured_series import RealSeries, as_arrays


class OnLattices:
    """Predict five everywhere, of series with rows alone."""

    def for_series(self, series, removed):
        return self if series.step else None

    def __call__(self, task):
        five = torch.full(task.target_mask.shape, 5.0, dtype=torch.float64)
        return GaussianPredictive(five, five / 5, task.target_mask)


@pytest.fixture
def page(monkeypatch):
    monkeypatch.setitem(METHODS, "linear", NamedMethod("Fives", OnLattices))
    shelf = Shelf(Path("nowhere"), Path("nowhere"), method="linear")
    return FIGURES["real-series"]("real-series", shelf, 1)


def test_twenty_series_each_show_a_band_what_is_seen_and_what_was_removed(page):
    assert len(page.axes) == 20
    assert page.get_suptitle().startswith("Fives: a block of 12 % missing")
    assert len({axes.get_title() for axes in page.axes}) == 20
    nile = next(axes for axes in page.axes if axes.get_title() == "nile, 1e8 m³")
    band, seen, removed = nile.lines
    assert set(band.get_ydata()) == {5.0}
    assert (len(seen.get_xdata()), len(removed.get_xdata())) == (88, 12)
    low, high = nile.get_xlim()
    assert low < removed.get_xdata().min() < removed.get_xdata().max() < high
    assert high - low == pytest.approx(11 + 2 * 18)


def test_a_series_that_a_method_cannot_take_says_so_and_shows_the_data(page):
    star = next(axes for axes in page.axes if axes.get_title() == "epic203771098, m/s")
    assert [text.get_text() for text in star.texts] == ["not run: times on no lattice"]
    assert [len(line.get_xdata()) for line in star.lines] == [28, 4]


def test_the_times_drawn_are_rows_where_a_series_has_rows_and_a_curve_elsewhere():
    removed = torch.zeros(20, dtype=torch.bool)
    removed[8:10] = True
    rows = np.delete(np.arange(21.0), 7)  # a row is missing in the data
    series = RealSeries("a", "b", "c", "d", "e", *as_arrays(rows / 4, rows))
    assert window(series, removed).tolist() == [t / 4 for t in range(5, 14)]
    bent = RealSeries("a", "b", "c", "d", "e", *as_arrays(rows**1.5, rows))
    times = window(bent, removed)
    assert (len(times), times[0], times[-1]) == (201, 5**1.5, 13**1.5)


def test_an_unknown_method_is_answered_with_the_nearest():
    with pytest.raises(SettingError, match=r"^method must be one of .* did you mean 'celerite'"):
        FIGURES["real-series"]("real-series", Shelf(Path(), Path(), method="celerit"), 1)
