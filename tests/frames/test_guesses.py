"""Guessed times, on small versions of tables that were once guessed wrong."""

import numpy as np
import pandas as pd
import pytest

from convcnp.errors import ConvCNPWarning, TableError
from convcnp.frames.columns import Columns, choose_columns


def air_quality():
    """Return a table as R writes it: numbered rows, months and days without a year."""
    content = {"rownames": range(1, 5), "Ozone": [41.0, 36, None, 18], "Wind": [7.4, 8, 12.6, 11.5]}
    return pd.DataFrame(content | {"Month": [5, 5, 5, 6], "Day": [29, 30, 31, 1]})


def earthquakes():
    """Return a table of places, without a time."""
    generator = np.random.default_rng(0)
    places = {"lat": generator.uniform(-40, 0, 9), "long": generator.uniform(165, 188, 9)}
    return pd.DataFrame(places | {"depth": [500, 90, 90, 42, 500, 42, 90, 500, 42]})


def test_months_and_days_are_put_together_and_numbered_rows_are_no_value():
    assert choose_columns(air_quality()) == Columns(("Ozone", "Wind"), time="Month+Day")


def test_a_date_goes_before_its_parts_and_before_places():
    days = pd.date_range("2012-01-01", periods=12)
    frame = pd.DataFrame({"date": days, "temp": np.arange(12.0)})
    frame = frame.assign(year=2012, month=1, x=frame["temp"] ** 2).rename(columns={"date": "seen"})
    assert choose_columns(frame).time == "seen"


def test_a_number_of_the_row_is_the_time_only_if_nothing_grows():
    speeds = pd.DataFrame(
        {"rownames": range(1, 7), "speed": [4, 7, 8, 9, 12, 14], "dist": range(6)}
    )
    assert choose_columns(speeds) == Columns(("dist",), time="speed")
    alone = pd.DataFrame({"Unnamed: 0": range(6), "level": [3, 1, 2, 5, 4, 6]})
    assert choose_columns(alone) == Columns(("level",), time="Unnamed: 0")
    with pytest.warns(ConvCNPWarning, match="No column is named like a time.*'rownames' is taken"):
        assert (
            choose_columns(
                speeds[::-1].sample(frac=1, random_state=1).assign(rownames=range(1, 7))
            ).time
            == "rownames"
        )


def test_a_guess_is_said_unless_rows_stand_in_its_order():
    wavering = pd.DataFrame(
        {"rownames": range(6), "gdp": [5, 7, 6.8, 7.5, 8, 9], "rate": [1, 2] * 3}
    )
    with pytest.warns(ConvCNPWarning, match="some grow from row to row; 'gdp' is taken"):
        assert choose_columns(wavering).time == "gdp"
    stacked = pd.DataFrame({"tree": list("aaabbb"), "age": [1, 5, 9, 1, 5, 9], "size": range(6)})
    assert choose_columns(stacked) == Columns(("size",), time="age", group="tree")


def test_numbers_of_rows_need_not_be_in_a_row():
    pines = {"rownames": [1, 15, 29, 2, 16, 31], "age": [3, 5, 10] * 2, "height": [4, 9, 20] * 2}
    frame = pd.DataFrame({**pines, "subject": [7, 7, 7, 8, 8, 8]})
    assert choose_columns(frame) == Columns(("height",), time="age", group="subject")


def test_a_table_without_any_time_is_refused():
    cars = pd.DataFrame({"mpg": [3, 1, 2, 4], "cyl": [4, 8, 6, 4], "wt": [2, 1, 4, 3]})
    with pytest.raises(TableError, match="grows from row to row; the columns are 'mpg', 'cyl'"):
        choose_columns(cars)
    with pytest.warns(ConvCNPWarning, match="'mpg' is taken"):
        assert choose_columns(cars[["mpg", "wt"]]) == Columns(("wt",), time="mpg")


@pytest.mark.parametrize("names", [("2000", "2001", "2002"), ("X1999", "X2000", "X2001")])
def test_a_table_on_its_side_is_refused(names):
    frame = pd.DataFrame({"country": ["A", "B"], **{name: [1.0, 2.0] for name in names}})
    with pytest.raises(TableError, match=f"names of columns are times themselves, '{names[0]}'"):
        choose_columns(frame)


def test_dates_and_clocks_written_as_numbers_go_together():
    days = pd.DataFrame({"date": [20200101, 20200101, 20200102], "time": [2310, 2350, 10]})
    assert choose_columns(days.assign(temp=[1, 2, 3])).time == "date+time"


def test_places_without_a_time_are_points_in_the_plane():
    with pytest.raises(TableError, match="'lat', 'long' are where the values were observed"):
        choose_columns(earthquakes())
    with pytest.warns(ConvCNPWarning, match="'lat', 'long' are predicted like other values"):
        assert choose_columns(earthquakes().assign(time=range(9))).time == "time"


def test_that_rows_stand_in_the_order_of_several_columns_is_said():
    core = pd.DataFrame(
        {"depth": np.arange(9.0), "age": np.arange(9.0) ** 2, "ratio": [3, 1] * 4 + [2]}
    )
    with pytest.warns(ConvCNPWarning, match="order of 'depth', 'age'; 'depth' is taken"):
        assert choose_columns(core).time == "depth"
    assert choose_columns(core[["depth", "ratio"]]).time == "depth"


def test_whole_numbers_that_are_months_go_before_other_numbers():
    months = [201511, 201512, 201601, 201602]
    frame = pd.DataFrame({"count": [1, 5, 7, 9], "period": months})
    assert choose_columns(frame) == Columns(("count",), time="period")


def test_a_count_named_t_is_the_time_if_years_repeat():
    frame = pd.DataFrame({"year": [1990] * 3 + [1991] * 3, "t": range(6), "v": [3, 1, 2, 5, 4, 6]})
    assert choose_columns(frame) == Columns(("v",), time="t")
    assert choose_columns(frame.assign(year=range(6))) == Columns(("v",), time="year")


def test_several_dates_are_said_unless_one_is_named_like_a_time():
    days = pd.date_range("2020-01-01", periods=3)
    frame = pd.DataFrame({"ordered": days, "paid": days, "v": [1, 3, 2]})
    with pytest.warns(ConvCNPWarning, match="'ordered', 'paid' may all be the time"):
        assert choose_columns(frame).time == "ordered"
    assert choose_columns(frame.rename(columns={"paid": "date"})).time == "date"


def test_a_depth_that_rows_stand_in_the_order_of_goes_before_what_falls_with_it():
    depth = np.arange(30)
    cast = {"depth_m": depth, "temp": np.round(20 / (1 + np.exp((depth - 10) / 2)), 1)}
    assert choose_columns(pd.DataFrame(cast)) == Columns(("temp",), time="depth_m")


def test_days_written_as_numbers_are_dates_under_any_name_and_a_temperature_is_no_time():
    days, clocks = [20200101, 20200101, 20200102], [2310, 2350, 10]
    frame = pd.DataFrame({"LST_DATE": days, "LST_TIME": clocks, "T": [5.5, 4.25, 4.5]})
    assert choose_columns(frame) == Columns(("T",), time="LST_DATE+LST_TIME")
    assert choose_columns(pd.DataFrame({"v": [3, 1, 2], "T": [1, 2, 3]})).time == "T"


def test_texts_that_are_no_times_are_shown_where_they_should_be():
    frame = pd.DataFrame({"MTU": ["0:00 - 1:00", "1:00 - 2:00", "2:00 - 3:00"], "load": [3, 1, 2]})
    with pytest.raises(TableError, match="'MTU' holds texts such as '0:00 - 1:00', which are not"):
        choose_columns(frame)
