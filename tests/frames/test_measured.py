"""Columns of numbers that are measurements, and others."""

import numpy as np
import pandas as pd
import pytest

from convcnp.errors import ConvCNPWarning
from convcnp.frames.columns import Columns, choose_columns

HOURS = pd.date_range("2020-01-01", periods=8, freq="h")


def test_flags_and_places_are_no_values_and_said():
    content = {
        "time": HOURS,
        "lat": 54.2,
        "depth": 10,
        "temp": np.arange(8.0),
        "temp_qc": [0, 9] * 4,
    }
    with pytest.warns(ConvCNPWarning, match=r"flags \('temp_qc'\), where .* \('lat', 'depth'\);"):
        assert choose_columns(pd.DataFrame(content)) == Columns(("temp",), time="time")
    named = choose_columns(pd.DataFrame(content), Columns.named(value="temp_qc"))
    assert named.values == ("temp_qc",)


@pytest.mark.parametrize("cells", [[True, False] * 4, [True, None] * 4, [False] * 8])
def test_true_and_false_are_no_values_unless_they_are_named_and_said(cells):
    frame = pd.DataFrame({"time": HOURS, "raining": cells, "temp": np.arange(8.0)})
    with pytest.warns(ConvCNPWarning, match=r"no measurements: true or false \('raining'\); name"):
        assert choose_columns(frame) == Columns(("temp",), time="time")
    assert choose_columns(frame, Columns.named(value="raining")).values == ("raining",)
    beside = frame.assign(temp_qc=[0, 1] * 4).drop(columns="temp")
    with pytest.warns(ConvCNPWarning, match=r"no measurements: true or false \('raining'\); name"):
        assert choose_columns(beside).values == ("temp_qc",)


def test_other_ways_to_write_the_time_are_no_values():
    months = pd.DataFrame({"year": 2020, "month": range(1, 9), "v": np.arange(8.0)})
    others = months.assign(decimal=2020 + np.arange(8) / 12, day=20200101 + 100 * np.arange(8))
    with pytest.warns(ConvCNPWarning, match=r"times \('decimal', 'when'\)"):
        found = choose_columns(
            others.rename(columns={"day": "when"}), Columns.named(time="year+month")
        )
    assert found.values == ("v",)


def test_places_that_change_and_qualities_in_degrees_are_values():
    track = pd.DataFrame({"time": HOURS, "lat": np.arange(8.0), "air_quality": np.arange(8) / 3})
    assert choose_columns(track).values == ("lat", "air_quality")
    alone = pd.DataFrame({"time": HOURS, "depth": 10.0})
    assert choose_columns(alone).values == ("depth",)


def test_places_of_several_series_are_the_same_within_each():
    both = [pd.DataFrame({"time": HOURS, "lat": lat, "v": np.arange(8.0)}) for lat in (1.5, 2.5)]
    frame = pd.concat([part.assign(site=name) for part, name in zip(both, "ab", strict=True)])
    with pytest.warns(ConvCNPWarning, match=r"\('lat'\)"):
        assert choose_columns(frame) == Columns(("v",), time="time", group="site")


def test_directions_that_pass_through_north_are_said_to_be_angles():
    degrees = [340, 350, 10, 20, 355, 350, 5, 15]
    frame = pd.DataFrame({"time": HOURS, "wind_direction": degrees})
    with pytest.warns(ConvCNPWarning, match="'wind_direction': between directions near 360"):
        choose_columns(frame)
    choose_columns(frame.assign(wind_direction=np.arange(100, 180, 10)))  # none does: no word
    choose_columns(frame.rename(columns={"wind_direction": "power"}))
