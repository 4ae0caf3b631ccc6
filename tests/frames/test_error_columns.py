"""Columns of standard errors: named, recognised, read."""

import numpy as np
import pandas as pd
import pytest

from convcnp.errors import ConvCNPWarning, TableError
from convcnp.frames.columns import Columns, choose_columns
from convcnp.frames.error_columns import described, errors_of, with_errors
from convcnp.frames.series import SeriesTable

FRAME = pd.DataFrame(
    {
        "time": [0.0, 1.0, 2.0],
        "flux": [1.0, np.nan, 3.0],
        "flux_err": [0.1, np.nan, 0.3],
        "mass": [5.0, 6.0, 7.0],
    }
)


def chosen(frame=FRAME, **names):
    named = Columns.named(**names)
    return with_errors(frame, choose_columns(frame, named), named)


@pytest.mark.parametrize("ending", ["_err", "_error", "_sd", "_std"])
def test_a_column_named_like_a_value_holds_its_errors(ending):
    found = chosen(FRAME.rename(columns={"flux_err": f"flux{ending}"}))
    assert found.values == ("flux", "mass")
    assert found.errors == (f"flux{ending}", "")


@pytest.mark.parametrize("name", ["1s", "1-sigma", "1 Sigma", "1σ"])
def test_one_sigma_behind_a_single_value_is_its_error_and_behind_the_time_is_not(name):
    frame = FRAME[["time", "flux", "flux_err"]].rename(columns={"flux_err": name})
    assert chosen(frame).errors == (name,)
    assert chosen(frame[["time", name, "flux"]]).values == (name, "flux")
    assert chosen(frame.assign(mass=1.0)).errors == ()


def test_what_is_named_is_what_it_is_named():
    assert chosen(error="").values == ("flux", "flux_err", "mass")
    assert chosen(value=["flux_err", "flux"]).errors == ()
    assert chosen(value="flux").errors == ("flux_err",)
    assert chosen(value="mass").errors == ()
    assert chosen(value="mass", error="flux_err").errors == ("flux_err",)
    assert chosen(value=["flux", "mass"], error=["flux_err", ""]).errors == ("flux_err", "")


def test_words_are_no_errors():
    frame = FRAME.assign(flux_err=["good", "bad", "good"])
    assert chosen(frame, group="").errors == ()


def test_errors_that_do_not_fit_are_refused():
    with pytest.raises(TableError, match=r"column 'flux_er' of standard errors.*did you mean"):
        chosen(value="flux", error="flux_er")
    with pytest.raises(TableError, match=r"one column of standard errors for each of 'flux', 'ma"):
        chosen(error="flux_err")


def test_errors_are_read_and_missing_ones_filled_with_a_word():
    columns = Columns(("flux", "mass"), time="time", errors=("flux_err", ""))
    y = FRAME[["flux", "mass"]].to_numpy()
    assert errors_of(FRAME, columns, y).tolist() == [[0.1, 0.0], [0.2, 0.0], [0.3, 0.0]]
    frame = FRAME.assign(flux=[1.0, 2.0, 3.0])
    with pytest.warns(ConvCNPWarning, match=r"1 values have no error in 'flux_err'; .*0\.2"):
        errors_of(frame, columns, frame[["flux", "mass"]].to_numpy())
    assert errors_of(FRAME, Columns(("flux",), time="time"), y) is None


def test_errors_that_are_none_are_refused():
    columns, y = Columns(("mass",), errors=("flux_err",)), FRAME[["mass"]].to_numpy()
    with pytest.raises(TableError, match=r"zero or larger, got -1;.*error="):
        errors_of(FRAME.assign(flux_err=-1.0), columns, y)
    with pytest.raises(TableError, match="every cell is missing or infinite"):
        errors_of(FRAME.assign(flux_err=np.nan), columns, y)


def test_a_long_table_has_one_column_of_errors():
    frame = FRAME.drop(columns="mass").assign(band=["g", "r", "g"])
    for error in (None, "flux_err"):
        found = chosen(frame, channel="band", error=error, group="")
        assert (found.values, found.errors) == (("g", "r"), ("flux_err", "flux_err"))
    assert chosen(frame, channel="band", error="", value="flux", group="").errors == ()


def test_points_in_the_plane_have_errors_where_a_model_is_told():
    columns = Columns(("flux",), inputs=("time", "mass"))
    assert with_errors(FRAME, columns, Columns(), in_plane=True).errors == ("flux_err",)
    named = Columns.named(error="flux_err")
    assert with_errors(FRAME, columns, named, in_plane=True).errors == ("flux_err",)


def test_points_in_the_plane_have_no_errors_elsewhere():
    assert chosen(inputs=("time", "mass"), value="flux").errors == ()
    with pytest.raises(TableError, match="points in the plane without standard errors, got 'flux_"):
        chosen(inputs=("time", "mass"), value="flux", error="flux_err")


def test_errors_of_training_are_those_of_the_same_values():
    learned = Columns(("flux", "mass"), time="time", errors=("doubt", ""))
    frame = FRAME.rename(columns={"flux_err": "doubt"})
    columns = Columns(("mass", "flux"), time="time")
    assert with_errors(frame, columns, Columns(), learned).errors == ("", "doubt")
    assert with_errors(FRAME, columns, Columns(), learned).errors == ("", "flux_err")


def test_numbers_that_stand_for_missing_errors_are_none():
    frame = FRAME.assign(flux=[1.0, 2.0, 3.0], flux_err=[0.1, -1.0, 0.3])
    columns = Columns(("flux",), time="time", errors=("flux_err",), missing=("-1",))
    with pytest.warns(ConvCNPWarning, match=r"1 values have no error in 'flux_err'"):
        table = SeriesTable.of(frame, columns)
    assert table.series.error[:, 0].tolist() == [0.1, 0.2, 0.3]


def test_a_value_with_an_infinite_error_is_not_observed():
    frame = FRAME.assign(flux=[1.0, 2.0, 3.0], flux_err=[0.1, np.inf, 0.3])
    table = SeriesTable.of(frame, Columns(("flux",), time="time", errors=("flux_err",)))
    assert np.isnan(table.y[:, 0]).tolist() == [False, True, False]


def test_it_is_said_which_errors_are_whose():
    assert described(("a", "b"), ("a_err", "")) == ", with 'a_err' as the standard errors of 'a'"
    assert described(("a",), ()) == ""


def test_a_sigma_beside_a_single_value_is_its_error():
    frame = pd.DataFrame({"t": [0.0, 1.0], "y": [1.0, 2.0], "sigma": [0.1, 0.3]})
    found = with_errors(frame, Columns(("y", "sigma"), time="t"), Columns())
    assert (found.values, found.errors) == (("y",), ("sigma",))
    negative = frame.assign(sigma=[-0.1, 0.3])
    assert with_errors(negative, Columns(("y", "sigma"), time="t"), Columns()).errors == ()
    three = Columns(("y", "z", "sigma"), time="t")
    assert with_errors(frame.assign(z=1.0), three, Columns()) == three
