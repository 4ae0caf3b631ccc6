"""What names of columns say of them."""

import pandas as pd

from convcnp.frames.names import counts_rows, error_of, listed, numbers_series


def test_names_are_listed_and_rows_counted():
    assert listed(list("abc"), most=2) == "'a', 'b' and 1 more"
    assert counts_rows(pd.Series([3, 4, 5], name="Index"))
    assert not counts_rows(pd.Series([3, 4, 6], name="Index"))


def test_standard_errors_are_known_by_many_names():
    for name in ("v_err", "v_sigma", "v_unc", "v_uncertainty", "e_v", "sigma_v"):
        assert error_of("v", ["v", name]) == name
    assert error_of("v", ["v", "w_err"]) == ""


def test_numbers_of_series_are_whole_and_repeated():
    assert numbers_series(pd.Series([3, 3, 4], name="STATIONS_ID"))
    assert numbers_series(pd.Series([3, 3, 4], name="site_no"))
    assert not numbers_series(pd.Series([3, 3, 4], name="error_code"))
    assert not numbers_series(pd.Series([3.5, 3.5], name="plot"))
    assert not numbers_series(pd.Series([3, 4], name="station_id"))
    assert not numbers_series(pd.Series([3, 3], name="paid"))
