"""Pictures of series: observations, the band through them, and samples."""

import numpy as np
import pandas as pd
import pytest

import convcnp
from convcnp.errors import ConvCNPWarning, TableError
from convcnp.plots import series as pictures

Line2D = pytest.importorskip("matplotlib.lines").Line2D
Rectangle = pytest.importorskip("matplotlib.patches").Rectangle

TABLE = pd.DataFrame(
    {
        "id": list("zzaaabbb"),
        "t": [0, 1, 0, 1, 2, 0, 1, 3],
        "v": [np.nan, np.nan, 1, 2, 3, 1, 2, 4.0],
        "w": [np.nan] * 5 + [1.0, np.nan, 2.0],
    }
)


@pytest.fixture
def drawn(monkeypatch):
    """Keep the figures that are drawn."""
    figures = []
    monkeypatch.setattr(pictures, "as_pictures", lambda pages, form: figures.extend(pages) or [])
    return figures


@pytest.mark.filterwarnings("ignore::convcnp.errors.ConvCNPWarning")
def test_known_errors_are_drawn_as_bars(drawn):
    table = pd.DataFrame({"t": [0.0, 1, 2, 3], "v": [1.0, 2, 2, 1], "v_err": [0.5, 0.25, 1, 0]})
    request = convcnp.load("general").request(table, [1.5])
    pictures.draw_series(request, request.predict())
    _, bars = drawn[0].axes[0].collections
    ends = [segment[:, 1].tolist() for segment in bars.get_segments()]
    assert ends == [[0.5, 1.5], [1.75, 2.25], [1.0, 3.0], [1.0, 1.0]]


@pytest.mark.filterwarnings("ignore::convcnp.errors.ConvCNPWarning")
def test_series_with_values_are_drawn_with_band_observations_and_samples(drawn):
    asked = pd.DataFrame({"id": ["b", "a", "b"], "t": [2.0, 1.5, 1.0]})
    request = convcnp.load("gp-dictionary").request(TABLE, asked)
    answer = request.predict(samples=2)
    pictures.draw_series(request, answer)
    panels = drawn[0].axes
    assert [axes.get_ylabel() for axes in panels] == ["v, a", "v, b", "w, b"]
    band, observed, *samples = panels[1].lines
    assert observed.get_xdata().tolist() == [0, 1, 3]
    assert observed.get_ydata().tolist() == [1, 2, 4]
    own = answer[answer["id"] == "b"].sort_values("t")
    assert [line.get_ydata().tolist() for line in samples] == [
        own[f"v_sample{i}"].tolist() for i in (1, 2)
    ]
    named = [text.get_text() for text in drawn[0].legends[0].get_texts()]
    assert named == ["mean and 90 % band", "observed", "coherent samples"]
    # The curve passes through what was predicted.
    times, mean = band.get_data()
    place = np.searchsorted(times, [1.0, 2.0])
    np.testing.assert_allclose(mean[place], own["v_mean"], rtol=1e-5)
    assert len(panels[1].collections) == 1


@pytest.mark.filterwarnings("ignore::convcnp.errors.ConvCNPWarning")
def test_durations_are_drawn_in_seconds_and_written_as_clocks(drawn):
    clocks = [f"{hour}:00" for hour in (20, 21, 22, 23, 0, 1)]
    table = pd.DataFrame({"time": clocks, "v": [1.0, 2, 2, np.nan, 1, 2]})
    request = convcnp.load("general").request(table)
    pictures.draw_series(request, request.predict(samples=1))
    axes = drawn[0].axes[0]
    band, observed, sample = axes.lines
    hours = 3600 * np.arange(20.0, 26.0)
    assert observed.get_xdata().tolist() == hours.tolist()
    assert (band.get_xdata()[[0, -1]] == hours[[0, -1]]).all()
    assert sample.get_xdata().tolist() == [23 * 3600]
    assert axes.get_xlabel() == "time (h:mm)"


def long_request(rows=3000):
    t = np.arange(float(rows))
    frame = pd.DataFrame({"t": t, "v": np.sin(t / 50)}).drop(index=range(1000, 1010))
    return convcnp.load("general").request(frame)


def test_of_thousands_of_points_the_lowest_and_highest_are_drawn_and_gaps_enlarged(drawn):
    request = long_request()
    pictures.draw_series(request, request.predict())
    whole, gap = drawn[0].axes
    points = whole.lines[1]
    assert len(points.get_xdata()) <= 2000
    assert points.get_label() == f"observed: {len(points.get_xdata()):,} of 2,990"
    assert points.get_ydata().max() == pytest.approx(1, abs=1e-3)
    assert whole.get_title(loc="left") == ""
    assert gap.get_title(loc="left") == "v: 1000 to 1009, 10 long"
    assert gap.get_ylabel() == "v"
    times = gap.lines[0].get_xdata()
    assert 900 < times.min() < 1000
    assert 1010 < times.max() < 1100


def test_of_very_many_times_a_band_is_drawn_from_lowest_to_highest_behind_fine_points(
    drawn, monkeypatch
):
    monkeypatch.setattr("convcnp.plots.dense._LINE", 1000)
    request = long_request(1500)
    pictures.draw_series(request, request.predict())
    whole, gap = drawn[0].axes
    (points,) = whole.lines
    curve, enlarged = gap.lines
    assert enlarged.get_markersize() == 3.5 > points.get_markersize()
    assert enlarged.get_alpha() == 1 > points.get_alpha()
    # The mean of 1500 times lies in 500 columns, and the band around it.
    band, mean = (fill.get_paths()[0].get_extents() for fill in whole.collections)
    assert (mean.y0, mean.y1) == pytest.approx((-1, 1), abs=0.01)
    assert band.y0 < mean.y0 < mean.y1 < band.y1
    assert len(gap.collections) == 1
    assert len(curve.get_xdata()) < 100


def test_the_legend_lies_above_the_title_of_a_gap(drawn, monkeypatch):
    monkeypatch.setattr(pictures, "_PANELS", 1)
    request = long_request()
    pictures.draw_series(request, request.predict())
    _, gap = drawn
    gap.draw_without_rendering()
    (legend,) = gap.legends
    title = gap.axes[0]._left_title  # there is no other way to its extent
    line, observed = legend.findobj(Line2D)
    assert (line.get_linewidth(), observed.get_markersize()) == (1.2, 3.5)  # in any panel
    assert 0.2 in [patch.get_alpha() for patch in legend.findobj(Rectangle)]  # the band
    assert legend.get_window_extent().y0 >= title.get_window_extent().y1


@pytest.mark.filterwarnings("ignore::convcnp.errors.ConvCNPWarning")
def test_series_are_chosen_by_name_and_six_are_a_page(drawn):
    names = [f"s{i}" for i in range(8)]
    frame = pd.concat(
        [pd.DataFrame({"id": name, "t": [0, 1, 2, 4], "v": [1.0, 2, 3, 5]}) for name in names]
    )
    request = convcnp.load("general").request(frame, [3.0])
    answer = request.predict()
    pictures.draw_series(request, answer, chosen=["s3", "s1"])
    assert [axes.get_ylabel() for axes in drawn.pop().axes] == ["v, s3", "v, s1"]
    pictures.draw_series(request, answer)
    assert [len(page.axes) for page in drawn] == [6, 2]
    with pytest.warns(ConvCNPWarning, match="6 of 8 panels are drawn, 6 to a page"):
        pictures.draw_series(request, answer, most_pages=1)
    with pytest.raises(TableError, match=r"to draw, got 's77'; did you mean 's7'\?"):
        pictures.draw_series(request, answer, chosen=["s77"])


def test_what_lies_ahead_is_enlarged_under_its_name_and_dates_are_short(drawn):
    days = pd.date_range("2001-01-01", periods=1500)
    frame = pd.DataFrame({"day": days, "v": np.sin(np.arange(1500.0) / 9)})
    request = convcnp.load("general").request(frame, "+20")
    pictures.draw_series(request, request.predict())
    whole, ahead = drawn[0].axes
    assert ahead.get_title(loc="left") == "v: 9 to 28 February 2005, 20 days ahead"
    # The 20 days, and twice as long before the last: every one, so that no peak is cut off.
    assert len(ahead.lines[0].get_xdata()) == 20 + 1 + 2 * 20
    labels = [label.get_text() for label in whole.get_xticklabels()]
    assert labels
    assert max(map(len, labels)) <= 4


def test_no_more_is_drawn_ahead_than_was_asked_for(drawn):
    t = np.arange(1500.0)
    request = convcnp.load("general").request(pd.DataFrame({"t": t, "v": np.sin(t / 9)}), "+20")
    pictures.draw_series(request, request.predict())
    _, ahead = drawn[0].axes
    assert ahead.lines[0].get_xdata().max() == pytest.approx(1519)


def curve_of(drawn, times, at=None):
    """Return the times of the mean of weeks whose last two days are low, and its values."""
    frame = pd.DataFrame({"t": times, "v": np.where(np.floor(times) % 7 >= 5, 3.0, 10.0)})
    frame["v"] += 0.3 * np.random.default_rng(0).normal(size=len(frame))
    request = convcnp.load("general").request(frame, at)
    pictures.draw_series(request, request.predict())
    return drawn.pop().axes[0].lines[0].get_data()


def test_a_regular_series_is_drawn_at_its_own_times_where_no_season_overshoots(drawn):
    days = np.arange(140.0)
    times, mean = curve_of(drawn, np.delete(days, slice(100, 107)))
    assert times.tolist() == days.tolist()
    assert 2.5 < mean.min() < mean.max() < 10.8
    assert len(curve_of(drawn, days, [3.5])[0]) > 600  # as is asked for
    uneven = days + np.random.default_rng(0).uniform(0, 0.5, 140)
    assert len(curve_of(drawn, uneven, [3.5])[0]) > 600
    long, _ = curve_of(drawn, np.delete(np.arange(3000.0), 1500))
    assert long.tolist() == list(range(3000))  # undersampled, a rhythm would be another


@pytest.mark.filterwarnings("ignore::convcnp.errors.ConvCNPWarning")
def test_an_axis_of_numbers_is_named_and_the_legend_covers_nothing(drawn):
    days = TABLE.assign(t=TABLE["t"] + 2455000)
    request = convcnp.load("general").request(days, [2455001.5])
    pictures.draw_series(request, request.predict())
    page = drawn[0]
    assert [axes.get_xlabel() for axes in page.axes] == ["", "", "t"]
    page.draw_without_rendering()
    assert page.axes[-1].xaxis.get_offset_text().get_text() == ""
    panel, legend = page.axes[0], page.legends[0]
    assert legend.get_window_extent().y0 >= panel.get_window_extent().y1


def test_a_mean_outside_its_own_band_gives_way_to_the_median(drawn):
    # Logarithms with a deviation of six: few values, and large ones, make the mean.
    y = np.exp(6 * np.random.default_rng(0).standard_normal(30))
    request = convcnp.load("general").request(pd.DataFrame({"t": np.arange(30.0), "v": y}))
    answer = request.predict()
    assert (answer["v_mean"] > answer["v_q95"]).any()
    pictures.draw_series(request, answer)
    curve = drawn[0].axes[0].lines[0]
    assert curve.get_label() == "median and 90 % band"
    assert (curve.get_ydata() < answer["v_mean"].min()).all()
