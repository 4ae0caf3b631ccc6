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


def test_standard_errors_are_known_in_any_case_and_without_a_separator():
    for name in ("magerr", "MagErr", "mag err", "MAGERR", "mag.error", "Mag-SD", "E_MAG", "errmag"):
        assert error_of("mag", ["mjd", "mag", name]) == name
        assert error_of("Mag", ["mjd", name]) == name
    assert error_of("power", ["power", "powererr"]) == "powererr"
    assert error_of("g mag", ["g mag", "g_magerr", "g_flux"]) == "g_magerr"


def test_names_that_merely_look_like_those_of_errors_are_none():
    for value, name in (("mag", "numerr"), ("do", "dose"), ("f", "func"), ("co2", "eCO2")):
        assert error_of(value, [value, name]) == ""
    assert error_of("%", ["%", "err"]) == ""


def test_of_several_errors_the_plainest_is_taken():
    assert error_of("v", ["v_sd", "V_std", "v_err", "V err"]) == "v_err"


def test_numbers_of_series_are_whole_and_repeated():
    assert numbers_series(pd.Series([3, 3, 4], name="STATIONS_ID"))
    assert numbers_series(pd.Series([3, 3, 4], name="site_no"))
    assert not numbers_series(pd.Series([3, 3, 4], name="error_code"))
    assert not numbers_series(pd.Series([3.5, 3.5], name="plot"))
    assert not numbers_series(pd.Series([3, 4], name="station_id"))
    assert not numbers_series(pd.Series([3, 3], name="paid"))
