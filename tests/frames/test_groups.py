"""Guessed groups, on small versions of tables that were once guessed wrong."""

import numpy as np
import pandas as pd
import pytest

from convcnp.errors import ConvCNPWarning, TableError
from convcnp.frames.columns import Columns, choose_columns
from convcnp.frames.groups import guess_group, tells_apart

DAYS = pd.date_range("2012-01-01", periods=12)
IGNORED = "hold.? words that do not tell series apart"


def weather():
    """Return one gapless daily series with words beside its values."""
    words = ["rain", "sun", "rain", "fog", "sun", "sun"] * 2
    return pd.DataFrame({"date": DAYS, "temp": np.arange(12.0), "weather": words})


def trees():
    """Return growth by age, of trees that have numbers."""
    ages = [118, 484, 664, 1004, 1231]
    return pd.DataFrame(
        {"Tree": np.repeat([1, 2, 3], 5), "age": ages * 3, "circumference": np.arange(30.0, 45)}
    )


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
    generator = np.random.default_rng(0)
    places = {"lat": generator.uniform(-40, 0, 9), "long": generator.uniform(165, 188, 9)}
    frame = pd.DataFrame({**places, "depth": [500, 90, 42] * 3, "soil": list("abcabcabc")})
    with pytest.warns(ConvCNPWarning, match=IGNORED):
        columns = choose_columns(frame, Columns.named(inputs=("long", "lat")))
    assert columns == Columns(("depth",), inputs=("long", "lat"))


LONE = "'station' has hardly a value in more than one row"


@pytest.mark.filterwarnings("ignore:Not predicted:convcnp.errors.ConvCNPWarning")
@pytest.mark.parametrize("inputs", [None, ["lon", "lat"]])
@pytest.mark.parametrize("names", [[f"S{i}" for i in range(9)], [7, 3, 1, *range(10, 16)]])
def test_what_names_every_row_tells_no_series_apart(inputs, names):
    generator = np.random.default_rng(0)
    places = {"lat": generator.uniform(46, 49, 9), "lon": generator.uniform(9, 17, 9)}
    frame = pd.DataFrame({"station": names, **places, "t_mean": range(9)})
    frame = frame if inputs else frame.assign(date=DAYS[:9]).drop(columns=["lat", "lon"])
    over = {"inputs": tuple(inputs)} if inputs else {"time": "date"}
    with pytest.warns(ConvCNPWarning, match=LONE):
        assert choose_columns(frame, Columns.named(inputs=inputs)) == Columns(("t_mean",), **over)
    named = choose_columns(frame, Columns.named(inputs=inputs, group="station"))
    assert named.group == "station"


def test_what_names_almost_every_row_tells_no_series_apart():
    frame = pd.DataFrame({"station": list("abcdefgha"), "date": DAYS[:9], "v": range(9)})
    with pytest.warns(ConvCNPWarning, match=LONE):
        assert choose_columns(frame).group is None
    pairs = pd.DataFrame({"patient": list("aabbcc"), "day": [1, 2] * 3, "v": range(6)})
    assert choose_columns(pairs).group == "patient"


def test_where_one_column_names_the_rows_another_may_tell_series_apart():
    frame = pd.concat([weather().assign(city=city) for city in ("Oslo", "Rome")])
    frame = frame.drop(columns="weather").assign(id=[f"r{i}" for i in range(24)])
    with pytest.warns(ConvCNPWarning, match="'id' has hardly a value"):
        assert choose_columns(frame).group == "city"


def test_a_time_that_most_rows_share_is_an_error_that_names_the_candidates():
    with pytest.raises(TableError, match=r"15 of 15 rows share theirs in 'age'.*group= \('Tree'"):
        choose_columns(trees(), Columns.named(value="circumference"))
    with pytest.warns(ConvCNPWarning, match=r"numbers of series \('Tree'\)"):
        columns = choose_columns(trees(), Columns.named(time="age"))
    assert columns.values == ("circumference",)
    days = pd.DataFrame({"year": [2020] * 4, "elapsed": [0.1, 0.2, 0.5, 0.9], "v": [1, 2, 1, 2]})
    with pytest.raises(TableError, match=r"time= \('elapsed' may be it\)"):
        choose_columns(days)


def test_channels_of_one_time_do_not_share_it():
    frame = pd.DataFrame({"t": np.repeat(range(4), 2), "band": list("gr") * 4, "v": range(8)})
    assert choose_columns(frame, Columns.named(channel="band")).time == "t"


def test_what_a_sensor_reads_is_no_name_of_a_series():
    read = pd.DataFrame({"time": range(6), "sensor": [0.5, 1.5, 0.25, 1.0, 2.5, 0.75]})
    assert guess_group(read, ["sensor"], ["time"]) is None
    named = pd.DataFrame({"time": [0, 1, 2] * 2, "sensor": [1.0] * 3 + [2.0] * 3, "v": range(6)})
    assert guess_group(named, ["sensor", "v"], ["time"]) == "sensor"


def stations():
    """Return three series by number, in a long table."""
    days = pd.DataFrame({"date": DAYS, "temp": np.arange(12.0) / 7})
    return pd.concat([days.assign(station_id=number) for number in (1001, 1002, 1003)])


def test_series_may_have_numbers():
    assert choose_columns(stations()) == Columns(("temp",), time="date", group="station_id")
    alone = stations().query("station_id == 1001")
    with pytest.warns(ConvCNPWarning, match=r"numbers of series \('station_id'\)"):
        assert choose_columns(alone) == Columns(("temp",), time="date")
    records = alone.assign(station_id=[5, 3, *range(10, 20)])  # a number for every row
    assert choose_columns(records).values == ("temp",)


def test_two_columns_that_tell_series_apart_together_are_named():
    frame = pd.concat([stations().assign(layer=layer) for layer in ("top", "bottom")])
    with (
        pytest.warns(ConvCNPWarning, match="numbers of series"),
        pytest.raises(TableError, match=r"give group='station_id\+layer': these tell series"),
    ):
        choose_columns(frame)
    with pytest.raises(TableError) as refused:
        choose_columns(stations().rename(columns={"station_id": "where"}))
    assert "('where' may do so)" in str(refused.value)
    assert "time= (" not in str(refused.value)  # temperatures are no times


def test_names_as_text_tell_apart_series_that_stand_below_each_other():
    keys = pd.DataFrame({"t": [1.0, 2.0, 3.0, 1.5, 2.5]})
    assert tells_apart(pd.Series([*"aaabb"], dtype="string"), keys)
    assert not tells_apart(pd.Series([*"aabab"], dtype="string"), keys)
