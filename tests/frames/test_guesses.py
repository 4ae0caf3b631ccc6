"""Guessed times and groups, on small versions of tables that were once guessed wrong."""

import numpy as np
import pandas as pd
import pytest

from convcnp.errors import ConvCNPWarning, TableError
from convcnp.frames.columns import Columns, choose_columns
from convcnp.frames.guesses import counts_rows, guess_group, listed

DAYS = pd.date_range("2012-01-01", periods=12)
IGNORED = "hold.? words that do not tell series apart"


def weather():
    """Return one gapless daily series with words beside its values."""
    words = ["rain", "sun", "rain", "fog", "sun", "sun"] * 2
    return pd.DataFrame({"date": DAYS, "temp": np.arange(12.0), "weather": words})


def air_quality():
    """Return a table as R writes it: numbered rows, months and days without a year."""
    content = {"rownames": range(1, 5), "Ozone": [41.0, 36, None, 18], "Wind": [7.4, 8, 12.6, 11.5]}
    return pd.DataFrame(content | {"Month": [5, 5, 5, 6], "Day": [29, 30, 31, 1]})


def earthquakes():
    """Return a table of places, without a time."""
    generator = np.random.default_rng(0)
    places = {"lat": generator.uniform(-40, 0, 9), "long": generator.uniform(165, 188, 9)}
    return pd.DataFrame(places | {"depth": [500, 90, 90, 42, 500, 42, 90, 500, 42]})


def trees():
    """Return growth by age, of trees that have numbers."""
    ages = [118, 484, 664, 1004, 1231]
    return pd.DataFrame(
        {"Tree": np.repeat([1, 2, 3], 5), "age": ages * 3, "circumference": np.arange(30.0, 45)}
    )


# --- Groups ---------------------------------------------------------------------------------------


def test_words_beside_one_series_are_said_to_be_ignored():
    with pytest.warns(ConvCNPWarning, match=f"'weather' {IGNORED}"):
        assert choose_columns(weather()) == Columns(("temp",), time="date")


def test_a_flag_is_no_group_even_if_a_time_is_doubled():
    frame = weather().assign(weather=["good", "poor"] * 6)
    frame.loc[3, "date"] = frame.loc[2, "date"]  # as where clocks are put back
    with pytest.warns(ConvCNPWarning, match=IGNORED):
        assert choose_columns(frame).group is None


@pytest.mark.parametrize("order", ["by series", "by time"])
def test_times_that_repeat_across_words_tell_series_apart(order):
    frame = pd.concat([weather().assign(weather=city) for city in ("Oslo", "Rome")])
    frame = frame if order == "by series" else frame.sort_values("date")
    assert choose_columns(frame).group == "weather"


def test_series_of_other_times_are_known_by_beginning_anew():
    generator = np.random.default_rng(0)
    parts = [
        pd.DataFrame({"probe": name, "t": np.sort(generator.uniform(0, 9, 5)), "v": range(5)})
        for name in "abc"
    ]
    assert choose_columns(pd.concat(parts)).group == "probe"
    one_series = pd.concat(parts).sort_values("t")
    with pytest.warns(ConvCNPWarning, match=IGNORED):
        assert choose_columns(one_series).group is None


def test_of_two_columns_of_words_the_one_that_tells_apart_is_the_group():
    frame = pd.concat([weather().assign(city=city) for city in ("Oslo", "Rome")])
    assert choose_columns(frame).group == "city"
    twice = frame.assign(code=frame["city"].str[:1])
    assert choose_columns(twice).group == "city"


def test_a_kind_of_soil_is_no_group_of_points_in_the_plane():
    frame = earthquakes().assign(soil=list("abcabcabc"))
    with pytest.warns(ConvCNPWarning, match=IGNORED):
        columns = choose_columns(frame, Columns.named(inputs=("long", "lat")))
    assert columns == Columns(("depth",), inputs=("long", "lat"))


# --- Times ----------------------------------------------------------------------------------------


def test_months_and_days_are_put_together_and_numbered_rows_are_no_value():
    assert choose_columns(air_quality()) == Columns(("Ozone", "Wind"), time="Month+Day")


def test_a_date_goes_before_its_parts_and_before_places():
    frame = weather().drop(columns="weather")
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
    assert choose_columns(earthquakes().assign(time=range(9))).time == "time"


def test_whole_numbers_that_are_months_go_before_other_numbers():
    months = [201511, 201512, 201601, 201602]
    frame = pd.DataFrame({"count": [1, 5, 7, 9], "period": months})
    assert choose_columns(frame) == Columns(("count",), time="period")


def test_a_time_that_most_rows_share_is_an_error_that_names_the_candidates():
    with pytest.raises(TableError, match=r"15 of 15 rows share theirs in 'age'.*group= \('Tree'"):
        choose_columns(trees(), Columns.named(value="circumference"))
    columns = choose_columns(trees(), Columns.named(time="age"))
    assert columns.values == ("Tree", "circumference")
    days = pd.DataFrame({"year": [2020] * 4, "elapsed": [0.1, 0.2, 0.5, 0.9], "v": [1, 2, 1, 2]})
    with pytest.raises(TableError, match=r"time= \('elapsed' may be it\)"):
        choose_columns(days)


def test_channels_of_one_time_do_not_share_it():
    frame = pd.DataFrame({"t": np.repeat(range(4), 2), "band": list("gr") * 4, "v": range(8)})
    assert choose_columns(frame, Columns.named(channel="band")).time == "t"


def test_names_are_listed_and_rows_counted():
    assert listed(list("abc"), most=2) == "'a', 'b' and 1 more"
    assert counts_rows(pd.Series([3, 4, 5], name="Index"))
    assert not counts_rows(pd.Series([3, 4, 6], name="Index"))


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


def test_what_a_sensor_reads_is_no_name_of_a_series():
    read = pd.DataFrame({"time": range(6), "sensor": [0.5, 1.5, 0.25, 1.0, 2.5, 0.75]})
    assert guess_group(read, ["sensor"], ["time"]) is None
    named = pd.DataFrame({"time": [0, 1, 2] * 2, "sensor": [1.0] * 3 + [2.0] * 3, "v": range(6)})
    assert guess_group(named, ["sensor", "v"], ["time"]) == "sensor"
