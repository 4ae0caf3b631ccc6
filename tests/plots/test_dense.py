"""How a panel shows more times than it has pixels beside each other."""

import numpy as np
import pandas as pd

from convcnp.plots.dense import in_columns, is_dense, line_width, point_style, thinned


def test_of_too_many_points_the_lowest_and_the_highest_of_every_bin_are_kept():
    x, y = np.arange(30_000.0), np.sin(np.arange(30_000.0))
    y[[777, 20_000]] = 5.0, -5.0
    y[500] = np.nan
    kept = thinned(x, y)
    assert len(kept) <= 2000
    assert {777, 20_000} <= set(kept.tolist())
    assert 500 not in kept
    assert thinned(x[:9], y[:9]).tolist() == list(range(9))


def test_points_and_lines_are_lighter_the_more_there_are_and_never_vanish():
    sizes, opacities = zip(*map(point_style, (1, 300, 1000, 3000, 10**6)), strict=True)
    assert sizes[0] == sizes[1] > sizes[2] > sizes[3] >= sizes[4] > 1
    assert opacities[0] == opacities[1] == 1 > opacities[2] > opacities[3] >= opacities[4] > 0.3
    assert line_width(1) == line_width(1000) > line_width(2000) > line_width(10**6) > 0.5


def test_a_band_in_columns_holds_all_of_its_values_at_times_of_its_own():
    times = pd.Series(pd.date_range("2020-01-01", periods=20_000, freq="h", tz="Europe/Oslo"))
    values = pd.DataFrame({"v": np.sin(np.arange(20_000.0))})
    values.loc[12_345, "v"] = 7.0
    assert is_dense(len(times))
    columns = in_columns(times, values)
    assert len(columns) == 500
    assert columns["v_highest"].max() == 7
    assert np.sort(columns["v_highest"])[-2] <= 1
    at = columns["time"][columns["v_highest"].idxmax()]
    assert abs(at - times[12_345]) < pd.Timedelta(hours=40)
    assert (columns["v_lowest"][:-1] < -0.99).all()  # the last column holds the last time alone
