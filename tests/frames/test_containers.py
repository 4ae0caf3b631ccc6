"""Containers: whatever comes in goes out as the same kind, with the same index."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from convcnp.errors import TableError
from convcnp.frames.containers import open_container

DATES = pd.date_range("2020-03-28", periods=3, freq="D", tz="Europe/Berlin")


def answered(data):
    """Open a container and close an answer at its own times."""
    box = open_container(data)
    values = [name for name in box.frame if name != box.time]
    answer = box.frame[[box.time]].assign(**{f"{name}_mean": box.frame[name] for name in values})
    return box.close(answer)


@pytest.mark.parametrize(
    "index",
    [
        DATES,
        DATES.tz_localize(None).rename("when"),
        pd.Index([0.5, 1.5, 4.0]),
        pd.Index([1990, 1991, 1995], name="year"),
        pd.to_timedelta([0, 1, 2], unit="h"),
        pd.period_range("2020-01", periods=3, freq="M", name="month"),
    ],
    ids=lambda index: type(index).__name__,
)
def test_a_frame_or_series_comes_back_with_its_index(index):
    frame = pd.DataFrame({"v": [1.0, 2.0, 3.0]}, index=index)
    for data in (frame, frame["v"]):
        pd.testing.assert_frame_equal(
            answered(data), frame.rename(columns={"v": "v_mean"}), check_freq=False
        )


def test_a_series_without_a_name_is_called_value():
    assert list(answered(pd.Series([1.0, 2.0]))) == ["value_mean"]


def test_an_index_that_only_counts_is_not_the_time():
    frame = pd.DataFrame({"t": [0, 1, 2], "v": [1.0, 2.0, 3.0]})
    for data in (frame, frame[frame.t != 1]):
        box = open_container(data)
        assert box.time is None
        assert list(box.frame) == ["t", "v"]


def test_an_index_that_is_not_the_time_may_be_left_out_of_the_answer():
    box = open_container(pd.DataFrame({"t": [0], "v": [1.0]}, index=pd.Index(["a"], name="row")))
    assert list(box.close(pd.DataFrame({"t": [0], "v_mean": [1.0]}))) == ["t", "v_mean"]


def test_xarray_comes_back_along_its_dimension():
    array = xr.DataArray([1.0, 2.0], coords={"t": [0.5, 2.0], "depth": 3.0}, dims="t", name="v")
    for data in (array, array.to_dataset()):
        answer = answered(data)
        assert isinstance(answer, xr.Dataset)
        assert list(answer) == ["v_mean"]  # the depth that was selected is no value
        np.testing.assert_array_equal(answer.t, array.t)
    assert list(answered(array.rename(None))) == ["value_mean"]


def test_a_series_per_row_of_xarray_data_comes_back_as_one():
    coords = {"station": ["a", "b"], "time": DATES.tz_localize(None)}
    array = xr.DataArray(np.arange(6.0).reshape(2, 3), coords, dims=["station", "time"], name="v")
    for data in (array, array.T, array.to_dataset().assign_coords(depth=3.0)):
        box = open_container(data)
        assert (box.time, box.group, box.frame["v"].tolist()) == ("time", "station", [*range(6)])
        xr.testing.assert_equal(box.close(box.frame)["v"], array)


def test_levels_of_column_names_come_back():
    frame = pd.DataFrame({("v", "a"): [1.0, 2.0], ("v", "b"): [3.0, 4.0]}, index=DATES[:2])
    box = open_container(frame)
    assert list(box.frame) == ["time", "v_a", "v_b"]
    assert box.close(box.frame.assign(filled="")).columns.tolist() == [*frame, ("filled", "")]
    assert list(box.close(box.frame[["time"]].assign(v_a_mean=1.0))) == ["v_a_mean"]


@pytest.mark.parametrize("channels", [None, 1, 3])
def test_arrays_come_back_with_the_channels_they_had(channels):
    times = np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[s]")
    values = np.arange(2.0 * (channels or 1)).reshape((2,) if channels is None else (2, channels))
    answer = answered((times, values))
    assert sorted(answer) == ["mean", "time"]
    np.testing.assert_array_equal(answer["mean"], values)
    np.testing.assert_array_equal(answer["time"], times)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ([1.0, 2.0], "got list"),
        ((np.zeros(3), np.zeros(2)), r"got \(3,\) and \(2,\)"),
        (pd.DataFrame({"v": [1.0]}, index=pd.MultiIndex.from_tuples([(0, 1)])), "reset_index"),
        (pd.Series([1.0], index=DATES[:1], name="time"), "a name of its own"),
        (pd.DataFrame([[1, 2]], columns=["v", "v"]), "'v' more than once"),
        (
            xr.DataArray(np.zeros((2, 2))),
            r"the time and one more dimension, got \('dim_0', 'dim_1'",
        ),
    ],
)
def test_what_cannot_be_opened_gets_a_sentence(data, sentence):
    with pytest.raises(TableError, match=sentence):
        open_container(data)


def test_one_level_of_an_index_is_the_time_and_the_other_tells_series_apart():
    days = DATES.tz_localize(None)
    index = pd.MultiIndex.from_product([["a", "b"], days], names=["city", "day"])
    frame = pd.DataFrame({"v": np.arange(6.0)}, index=index)
    box = open_container(frame)
    assert (box.time, box.group, list(box.frame)) == ("day", "city", ["city", "day", "v"])
    pd.testing.assert_frame_equal(box.close(box.frame), frame)
    assert list(box.close(box.frame.drop(columns="city"))) == ["day", "v"]
    unnamed = frame.rename_axis(index=[None, None])
    pd.testing.assert_frame_equal(
        open_container(unnamed).close(open_container(unnamed).frame), unnamed
    )


class PolarsFrame:
    """Does what a DataFrame of polars does, as far as it is asked."""

    def __init__(self, content):
        self.content = content

    def to_dict(self, *, as_series):
        assert not as_series
        return self.content


def test_a_frame_of_polars_comes_back_as_one(monkeypatch):
    monkeypatch.setattr(PolarsFrame, "__module__", "polars.dataframe.frame")
    box = open_container(PolarsFrame({"t": [0, 1], "v": [1.0, None]}))
    assert box.frame["v"].isna().tolist() == [False, True]
    answer = box.close(box.frame.fillna(2.0))
    assert isinstance(answer, PolarsFrame)
    assert answer.content == {"t": [0, 1], "v": [1.0, 2.0]}
