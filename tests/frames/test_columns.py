"""Users' tables: what their columns are, and the channels of long tables."""

import numpy as np
import pandas as pd
import pytest

from convcnp.errors import ConvCNPWarning, TableError
from convcnp.frames.columns import (
    Columns,
    choose_columns,
    choose_learned,
    widened,
    with_channels,
)
from helpers import long_frame, points_frame, series_frame

DATES = [f"2020-02-{day}" for day in ("01", "02", "13", "14", "15", "27")]

# --- Columns --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        ({"v": [1.0, 2], "time": [0, 1]}, Columns(("v",), time="time")),
        ({"a": [0, 1], "b": [1.0, 2], "c": [3, 4]}, Columns(("b", "c"), time="a")),
        ({"v": [1.0, 2], "when": ["2020-01-01", "2020-01-02"]}, Columns(("v",), time="when")),
        ({"t": [0, 1], "v": [1.0, 2], "empty": [None, None]}, Columns(("v", "empty"), time="t")),
        (
            {"station": [7, 7], "t": [0, 1], "v": [1.0, 2]},
            Columns(("v",), time="t", group="station"),
        ),
        (
            {"kind": list("aabb"), "t": [0, 1] * 2, "v": [1.0] * 4},
            Columns(("v",), time="t", group="kind"),
        ),
        ({"note": list("abcd"), "t": range(4), "v": [1.0] * 4}, Columns(("v",), time="t")),
        (
            {"Unnamed: 0": [0, 1], "date": ["2020-01-01"] * 2, "v": [1, 2]},
            Columns(("v",), time="date"),
        ),
        ({"t": [0, 1, 2], "v": ["1", "2", "oops"]}, Columns(("v",), time="t")),
    ],
)
def test_columns_are_guessed(frame, expected):
    assert choose_columns(pd.DataFrame(frame)) == expected


LATER = pd.date_range("2020-01-01", periods=6)
COLUMNS = {
    "date": DATES,
    "ds": DATES[:3] * 2,
    "t": [0, 0, 1, 1, 2, 2],
    "time": range(6),
    "v": range(6),
    "w": range(6),
    "seen": LATER,
    "since": LATER - LATER[0],
    "holiday": [True, False] * 3,
    "on": [True, None] * 3,
    "probe": ["T1", "T2"] * 3,
    "mode": ["10m", "1-2"] * 3,
    "when": [f"{day}-Feb-20" for day in range(5, 11)],
    "clock": [f"{i}:30" for i in range(6)],
    "well": ["T1001", "T1002"] * 3,
    "version": ["1.2.3", "1.2.4"] * 3,
    "since_noon": [f"{i}:30 PM" for i in range(6)],
    "began": ["Nov-19", "Dec-19", "Jan-20", "Feb-20", "Mar-20", "Apr-20"],
}


@pytest.mark.parametrize(
    ("names", "time", "values", "group"),
    [
        ("date v seen", "date", ("v",), None),
        ("v since w", "since", ("v", "w"), None),
        ("time v since", "time", ("v",), None),
        ("probe t v", "t", ("v",), "probe"),
        ("mode t w", "t", ("w",), "mode"),
        ("when v", "when", ("v",), None),
        ("ds clock v", "ds+clock", ("v",), None),
        ("v clock", "clock", ("v",), None),
        ("well t v", "t", ("v",), "well"),
        ("version t v", "t", ("v",), "version"),
        ("v since_noon", "since_noon", ("v",), None),
        ("v began", "began", ("v",), None),
    ],
)
def test_dates_durations_flags_and_labels_are_told_apart(names, time, values, group):
    frame = pd.DataFrame({name: COLUMNS[name] for name in names.split()})
    assert choose_columns(frame) == Columns(values, time=time, group=group)


def test_several_names_of_times_are_warned_of():
    frame = pd.DataFrame({"week": [1, 2, 3], "hour": [1, 2, 3], "v": [1.0, 2, 3]})
    with pytest.warns(ConvCNPWarning, match="'week', 'hour' may all be the time; 'week' is taken"):
        assert choose_columns(frame).time == "week"


def test_named_columns_are_taken_and_an_empty_group_means_none():
    frame = pd.DataFrame({"id": [1, 2], "t": [0, 1], "u": [0.0, 1.0], "v": [1.0, 2.0]})
    assert choose_columns(frame, Columns.named(time="u", value="v", group="t")) == Columns(
        ("v",), time="u", group="t"
    )
    assert choose_columns(frame, Columns.named(group="")) == Columns(("u", "v"), time="t")
    with pytest.warns(ConvCNPWarning, match="'id' has hardly a value in more than one row"):
        assert choose_columns(frame) == Columns(("u", "v"), time="t")


def test_a_time_that_is_not_there_suggests_what_could_be_one():
    hours = pd.date_range("2023-04-10", periods=5, freq="h").astype(str)
    frame = pd.DataFrame({"timestamp": hours, "temp_C": [1.0, 3, 2, 4, 1]})
    with pytest.raises(TableError, match=r"column 'Date', but .* did you mean 'timestamp'\?"):
        choose_columns(frame, Columns.named(time="Date"))
    frame = frame.assign(date_of_visit=hours)
    with pytest.raises(TableError, match=r"did you mean 'date_of_visit'\?"):
        choose_columns(frame, Columns.named(time="date_visit"))
    with pytest.raises(TableError, match=r"'date_of_visit'; check the name\.$"):
        choose_columns(frame, Columns.named(time="zzz"))


@pytest.mark.parametrize("role", ["time", "value", "group", "channel"])
def test_a_column_that_is_not_there_suggests_the_nearest(role):
    with pytest.raises(TableError, match=r"Expected a column 'tine'.*did you mean 'time'\?"):
        choose_columns(pd.DataFrame({"time": [0], "v": [1.0]}), Columns.named(**{role: "tine"}))


@pytest.mark.parametrize(
    "names", [{"time": "t", "value": "t"}, {"value": "v", "group": "v"}, {"value": ["v", "v"]}]
)
def test_a_column_has_one_role(names):
    with pytest.raises(TableError, match=r"different columns for .* got '.' more than once"):
        choose_columns(pd.DataFrame({"t": [0], "v": [1.0]}), Columns.named(**names))


def test_a_table_without_times_or_values_gets_a_sentence():
    with pytest.raises(TableError, match=r"Expected a column of times.*time="):
        choose_columns(pd.DataFrame({"a": ["x"], "b": ["y"]}))
    with pytest.raises(TableError, match=r"beside the time 't'.*'b' holds none.*value="):
        choose_columns(pd.DataFrame({"t": [0], "b": ["y"]}))
    with pytest.raises(TableError, match="there is no other column"):
        choose_columns(pd.DataFrame({"t": [0]}))


def test_names_are_taken_as_they_are_given():
    named = Columns.named(value="v", group="", inputs=["a ", 2], missing=-999)
    assert named == Columns(("v",), inputs=("a", "2"), group="", missing=("-999",))
    given = {"values": ("v",), "inputs": ("a", "2"), "group": "", "missing": ("-999",)}
    assert named.given == given
    assert Columns.named() == Columns()
    assert Columns().given == {}


def test_named_columns_are_those_of_training_or_others():
    learned = Columns(("a", "b"), time="t", group=None)
    assert Columns().are_learned_by(learned)
    assert Columns.named(time="t", value=["b", "a"], group="").are_learned_by(learned)
    for names in ({"time": "u"}, {"value": "a"}, {"group": "g"}, {"inputs": ["a", "b"]}):
        assert not Columns.named(**names).are_learned_by(learned)
    long = Columns(("a", "b"), time="t", channel="band", value="v")
    assert Columns.named(channel="band", value="v").are_learned_by(long)


# --- Channels -------------------------------------------------------------------------------------


def test_inputs_take_the_place_of_a_time():
    frame = series_frame()
    assert choose_columns(frame) == Columns(("v",), time="t", group="id")
    points = points_frame()
    inputs = ("east", "north")
    assert choose_columns(points, Columns.named(inputs=inputs)) == Columns(
        ("depth",), inputs=inputs
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"inputs": ("t",)}, "two different input columns and no time, got"),
        ({"inputs": ("t", "v"), "time": "t"}, "two different input columns and no time"),
        ({"channel": "bnad"}, "Expected a column 'bnad'.*did you mean 'band'"),
        ({"inputs": ("t", "west")}, "Expected a column 'west'"),
        ({"channel": "band", "value": ["v", "t"], "time": "id"}, "'v', 't' may be it; name it"),
    ],
    ids=["one input", "time and inputs", "no such channel", "no such input", "two values"],
)
def test_columns_that_do_not_fit_are_named(options, sentence):
    with pytest.raises(TableError, match=sentence):
        choose_columns(long_frame(), Columns.named(**options))


def test_channels_of_a_long_table_get_columns_of_their_own():
    frame = long_frame()
    columns = choose_columns(frame, Columns.named(channel="band"))
    assert columns == Columns(("g", "r"), time="t", group="id", channel="band", value="v")
    wide = widened(frame, columns)
    assert wide["g"].isna().tolist() == (frame["band"] == "r").tolist()
    assert wide["g"].dropna().min() > 100 > wide["r"].dropna().max()
    with pytest.raises(TableError, match="Expected the channels g, r in 'band', got 'u'"):
        widened(frame.replace({"band": {"g": "u"}}), columns)


def test_numbers_of_channels_stay_whole_beside_a_missing_one():
    frame = pd.DataFrame({"t": range(4), "band": [0, 1, 0, 1], "v": range(4)})
    columns = choose_columns(frame, Columns.named(channel="band"))
    assert columns.values == ("0", "1")
    frame["band"] = [0, 1, np.nan, 1]
    assert widened(frame, columns)["1"].dropna().tolist() == [1, 3]


def test_a_channel_that_a_table_lacks_was_not_observed():
    columns = Columns(("a", "b"), time="t")
    only_a = pd.DataFrame({"t": [0.0, 1.0], "a": [1.0, 2.0]})
    assert with_channels(only_a, columns)["b"].isna().all()
    frame, chosen = choose_learned(only_a, Columns(), columns)
    assert (list(frame), chosen) == (["t", "a", "b"], columns)
    frame, chosen = choose_learned(only_a, Columns.named(value="a"), columns)
    assert (list(frame), chosen) == (["t", "a"], Columns(("a",), time="t"))


def test_that_there_is_no_group_is_learned_as_well():
    frame = pd.DataFrame({"id": list("aabb"), "t": [0, 1] * 2, "v": range(4)})
    assert choose_columns(frame).group == "id"
    assert choose_learned(frame, Columns(), Columns(("v",), time="t"))[1].group is None
    named = Columns.named(group="id")
    assert choose_learned(frame, named, Columns(("v",), time="t"))[1].group == "id"


def test_parts_of_the_time_are_no_values_unless_there_are_no_others():
    frame = pd.DataFrame({"date": pd.date_range("2020-01-01", periods=3), "month": [1, 1, 1]})
    assert choose_columns(frame).values == ("month",)
    assert choose_columns(frame.assign(v=1.0)).values == ("v",)
    assert choose_columns(frame.assign(v=1.0), Columns.named(value="month")).values == ("month",)


def test_what_is_missing_beside_inputs_is_said_of_inputs():
    frame = pd.DataFrame({"east": [1.0, 2], "north": [3.0, 4]})
    with pytest.raises(TableError, match="beside the inputs 'east', 'north', but there is no"):
        choose_columns(frame, Columns((), inputs=("east", "north")))


def test_numbers_with_a_unit_behind_them_are_shown():
    frame = pd.DataFrame({"date": ["2020-01-01", "2020-01-02"], "temp": ["1.5 °C", "2 °C"]})
    with pytest.raises(TableError, match=r"'temp' holds none, only texts such as '1\.5 °C'"):
        choose_columns(frame)


def test_months_beside_each_other_are_said_to_be_series_of_their_own():
    months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    frame = pd.DataFrame({"Year": range(2000, 2006)} | dict.fromkeys(months, 1.5))
    with pytest.warns(ConvCNPWarning, match="'Jan', .* and 4 more .* below each other"):
        assert choose_columns(frame).values == tuple(months)
    choose_columns(frame, Columns(tuple(months)))  # named: no guess, and no word
