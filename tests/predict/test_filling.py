"""Tables with their gaps filled."""

import numpy as np
import pandas as pd
import pytest

import convcnp
from convcnp.errors import ConvCNPWarning, SettingError, TableError
from convcnp.frames.reading import parse_table
from convcnp.predict.filling import fill


@pytest.fixture(scope="module")
def general():
    return convcnp.load("general")


def daily(days=30, left_out=()):
    dates = pd.date_range("2020-01-01", periods=days)
    frame = pd.DataFrame({"note": "", "date": dates, "temp": 10 + np.sin(np.arange(days) / 4)})
    return frame.drop(index=list(left_out)).reset_index(drop=True)


def test_cells_and_rows_are_filled_and_the_rest_stays(general):
    frame = daily(left_out=[10, 11])
    frame.loc[3, "temp"] = np.nan
    done = general.fill(frame, group="")
    assert list(done) == ["note", "date", "temp", "filled"]
    assert done["date"].tolist() == daily()["date"].tolist()
    assert done.index[done["filled"] == "temp"].tolist() == [3, 10, 11]
    np.testing.assert_allclose(done["temp"], daily()["temp"], atol=0.2)
    seen = done["filled"] == ""
    assert done.loc[seen, "temp"].tolist() == daily().loc[seen, "temp"].tolist()


def test_rows_are_put_in_where_they_belong_in_any_order(general):
    frame = daily(left_out=[10, 11])[::-1].assign(date=lambda f: f["date"].dt.strftime("%d.%m.%Y"))
    done = general.fill(frame, group="")
    assert done["date"].tolist() == daily()["date"].dt.strftime("%d.%m.%Y").tolist()[::-1]
    two = pd.concat([daily(left_out=[10]).assign(id=name) for name in "ab"])
    two = two.sort_values("date", kind="stable")
    done = general.fill(two.drop(columns="note"))
    assert done["id"].tolist() == ["a", "b"] * 30
    assert done["date"].is_monotonic_increasing


def test_clock_times_are_filled_through_midnight_and_written_as_they_were(general):
    clocks = pd.date_range("2020-01-01 21:00", periods=30, freq="10min").strftime("%H:%M")
    frame = pd.DataFrame({"time": clocks, "temp": np.arange(30.0)})
    frame.loc[[17, 20], "temp"] = np.nan
    for whole in (frame, frame[::-1].reset_index(drop=True)):
        with pytest.warns(ConvCNPWarning, match="pass midnight once"):
            done = general.fill(whole[~whole["time"].isin(["23:30", "00:30"])])
        assert done["time"].tolist() == whole["time"].tolist()
        assert set(done["time"][done["filled"] != ""]) == {"23:30", "23:50", "00:20", "00:30"}
        np.testing.assert_allclose(done["temp"].sort_values(), np.arange(30.0), atol=0.5)


def test_whole_numbers_that_are_not_quite_even_get_whole_ones_between(general):
    times = 100 * np.arange(30) + np.arange(30) % 3
    done = general.fill(pd.DataFrame({"t": times, "v": times / 100}).drop(index=[6, 15, 16]))
    assert done["t"].dtype == np.int64
    np.testing.assert_allclose(done["t"], times, atol=2)


def test_series_of_several_columns_keep_them(general):
    parts = [
        daily(left_out=[10]).assign(site=site, depth=depth) for site in "ab" for depth in (1, 5)
    ]
    frame = pd.concat(parts, ignore_index=True)
    frame.loc[3, "temp"] = np.nan
    done = general.fill(frame, group="site+depth")
    assert list(done) == ["note", "date", "temp", "site", "depth", "filled"]
    assert done.index[done["filled"] != ""].tolist() == [3, 10, 40, 70, 100]
    assert done.loc[[10, 40, 70, 100], "site"].tolist() == list("aabb")
    assert done.loc[[10, 40, 70, 100], "depth"].tolist() == [1, 5, 1, 5]


@pytest.mark.parametrize("missing_rows", [[], [3]])
def test_columns_of_whole_numbers_stay_whole(general, missing_rows):
    frame = pd.DataFrame({"rownames": range(12), "day": range(12), "v": np.sin(np.arange(12.0))})
    frame.loc[7, "v"] = np.nan
    done = general.fill(frame.drop(index=missing_rows).reset_index(drop=True))
    assert done["v"].notna().all() and len(done) == 12
    text = done["rownames"].to_csv(index=False).split()[1:]
    assert text == ['""' if i in missing_rows else str(i) for i in range(12)]


def test_longer_gaps_stay_empty(general):
    frame = daily(60, left_out=range(40, 45))
    frame.loc[10:11, "temp"] = np.nan
    frame.loc[20:24, "temp"] = np.nan
    request = general.request(frame, columns=convcnp.frames.Columns.named(group=""))
    done = fill(request, "2d")
    assert done.frame.index[done.frame["filled"] == "temp"].tolist() == [10, 11]
    assert (done.values, done.rows, done.left) == (2, 0, 10)
    assert done.description == (
        "Filled 2 values of 'temp' over 'date' with 'general'; 10 stay empty."
    )
    assert len(general.fill(frame, group="", max_gap="1 week")) == 60
    with pytest.raises(SettingError, match="such as 14d, got '2'"):
        fill(request, "2")


def test_parts_of_times_and_sentinels_are_filled(general):
    frame = pd.DataFrame({"Year": 2020, "Month": 1, "Day": range(1, 25), "v": np.arange(24.0)})
    frame.loc[[4, 8], "v"] = -999
    done = general.fill(frame.drop(index=12), missing=-999)
    assert done["Day"].tolist() == list(range(1, 25))
    assert done["filled"].ne("").sum() == 3
    assert done["v"].min() >= 0


def test_several_columns_say_which_was_filled(general):
    frame = pd.DataFrame({"t": range(20), "u": np.arange(20.0), "v": np.arange(20.0)})
    frame.loc[4, "u"] = np.nan
    frame.loc[[4, 9], "v"] = np.nan
    done = general.fill(frame)
    assert done["filled"].loc[[4, 9]].tolist() == ["u, v", "v"]


def test_containers_come_back_as_they_went_in(general):
    series = daily(left_out=[10]).set_index("date")["temp"]
    done = general.fill(series)
    assert done.index.tolist() == daily()["date"].tolist()
    times = np.array([0.0, 1, 2, 3, 4, 5])
    arrays = general.fill((times, np.array([0, 1, np.nan, 3, 4, 5])))
    assert arrays.keys() == {"time", "values", "filled"}
    assert arrays["filled"].tolist() == [False, False, True, False, False, False]


def test_a_whole_table_comes_back_with_nothing_filled(general):
    frame = daily().drop(columns="note")
    done = general.fill(frame)
    pd.testing.assert_frame_equal(done.drop(columns="filled"), frame)
    assert (done["filled"] == "").all()
    with pytest.raises(TableError, match="without a column 'filled'"):
        general.fill(done, group="")


def test_points_in_the_plane_are_filled(own_points):
    predictor = convcnp.load(own_points / "model")
    frame = pd.read_csv(own_points / "table.csv")
    frame.loc[5, "depth"] = np.nan
    done = predictor.fill(frame)
    assert done.index[done["filled"] == "depth"].tolist() == [5]
    assert np.isfinite(done["depth"]).all()
    with pytest.raises(SettingError, match="A longest gap is one in time"):
        predictor.fill(frame, max_gap=1)
    with pytest.raises(SettingError, match="A longest gap is one in time"):
        predictor.fill(frame.dropna(), max_gap=1)


def test_years_without_rows_are_left_as_they_are(general):
    early, late = daily(20), daily(20)
    late["date"] = late["date"] + pd.Timedelta(days=3000)
    with pytest.warns(ConvCNPWarning, match="longer than all that was observed"):
        filled = general.fill(pd.concat([early, late], ignore_index=True), group="")
    assert len(filled) == 40


def test_weekends_are_not_put_in(general):
    days = pd.bdate_range("2024-01-01", periods=30)
    frame = pd.DataFrame({"day": days, "v": np.arange(30.0)}).drop(index=[7])
    filled = general.fill(frame)
    assert filled["day"].tolist() == days.tolist()


def test_many_columns_are_listed_by_the_first(general):
    days = pd.date_range("2020-01-01", periods=5)
    frame = pd.DataFrame({"day": days, **{f"v{i}": np.arange(5.0) for i in range(12)}})
    said = fill(general.request(frame)).description
    assert "'v7' and 4 more over 'day'" in said


def test_a_longest_gap_that_is_none_is_refused_where_nothing_is_missing(general):
    with pytest.raises(SettingError, match=r"longest gap must be a positive number.*'banana'"):
        general.fill(pd.DataFrame({"t": [0.0, 1, 2], "v": [1.0, 2, 3]}), max_gap="banana")


def test_what_is_the_same_everywhere_stays_the_same(general):
    frame = daily().drop(columns="note").assign(temp=0.02)
    frame.loc[[3, 10], "temp"] = np.nan
    assert general.fill(frame)["temp"].tolist() == [0.02] * 30


def test_identifiers_and_parts_of_times_keep_their_zeros(general):
    rows = [f"007,2020,01,{day:02d},{day % 3}.5" for day in range(1, 13) if day != 10]
    text = "\n".join(["id,year,month,day,v", *rows])
    full = fill(general.request(parse_table(text.encode(), "t.csv").frame)).frame
    assert {*full["id"]} == {"007"}
    assert full["day"].tolist() == [f"{day:02d}" for day in range(1, 13)]
