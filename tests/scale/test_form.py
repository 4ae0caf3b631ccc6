"""What is decided once for all tables of a lake."""

import pandas as pd
import pytest

from convcnp.errors import SettingError, TableError
from convcnp.predict.zoo import load
from convcnp.scale.form import Asked, Form
from lakes import MODEL, asked, some_series


def form_of(frame, wanted):
    return Form.of(load(MODEL), wanted, frame, "a")


def test_columns_are_chosen_and_named():
    form = form_of(some_series(6), asked())
    assert (form.group, form.time, form.at) == ("station", "time", "gaps")
    assert form.columns.values == ("temp", "rain")
    assert form.columns.missing == ("none",)


def test_numbers_that_stand_for_missing_ones_are_named_for_all_parts():
    frame = some_series(6).fillna({"temp": -999.0})
    with pytest.warns(match="-999"):
        form = form_of(frame, asked())
    assert form.columns.missing == ("-999",)


def test_times_as_text_are_read_as_in_the_first_table():
    frame = some_series(6, step="1D")
    text = frame.assign(time=frame["time"].dt.strftime("%d/%m/%Y"))
    form = form_of(text, asked())
    few = text[frame["time"].dt.day <= 12].head(3)  # which could be months as well
    assert form.needed(few, "b")["time"].tolist() == frame["time"][few.index].tolist()


def test_clock_times_that_pass_midnight_need_dates_where_rows_lie_in_several_files():
    frame = some_series(6, step="1min")
    form = form_of(frame.assign(time=frame["time"].dt.strftime("%H:%M")), asked())
    late = pd.DataFrame({"station": "s1", "time": ["23:50", "00:10"], "temp": 1.0, "rain": 2.0})
    with pytest.raises(TableError, match=r"clock times in 'time' that pass midnight in b; write"):
        form.needed(late, "b")


@pytest.mark.parametrize(
    ("wanted", "error", "sentence"),
    [
        (Asked(MODEL, asked(group="", time="time").columns), TableError, "tells series apart in a"),
        (asked(group="station", value=["temp", "snow"]), TableError, "Expected a column 'snow'"),
        (asked(at="1:2"), TableError, "at= must be gaps, a number"),
        (Asked(MODEL, asked().columns, None, (2.0,)), SettingError, "strictly between 0 and 1"),
    ],
)
def test_what_cannot_be_asked_is_refused(wanted, error, sentence):
    with pytest.raises(error, match=sentence):
        form_of(some_series(6), wanted)


def test_series_of_a_lake_are_told_apart_by_one_column():
    with pytest.raises(TableError, match=r"Expected one column that .* got 'station\+site'"):
        form_of(some_series(6).assign(site="x"), asked(group="station+site"))


def test_a_table_of_times_is_for_one_process(tmp_path):
    pd.DataFrame({"time": ["2024-01-05"], "station": ["s1"]}).to_csv(tmp_path / "at.csv")
    with pytest.raises(TableError, match=r"got the table .*at\.csv"):
        form_of(some_series(6), asked(at=str(tmp_path / "at.csv")))


def test_identifiers_with_zeros_in_front_may_be_in_some_files_alone():
    padded = some_series(6)
    padded["station"] = padded["station"].str.removeprefix("s").str.zfill(3)
    whole = padded.assign(station=padded["station"].astype(int) + 100)
    assert {*form_of(padded, asked()).needed(whole, "b")["station"]} >= {"101", "102"}
    assert {*form_of(whole, asked()).needed(padded, "b")["station"]} >= {1, 2}
