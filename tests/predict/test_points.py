"""Points in the plane and on the globe: learned models, and the general one without training."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import convcnp
from convcnp.errors import ConvCNPWarning, SettingError, TableError
from convcnp.frames.columns import Columns
from convcnp.models.dictionary.plane import PlaneDictionary
from helpers import points_frame


@pytest.fixture(scope="module")
def plane(own_points):
    return convcnp.load(own_points / "model")


@pytest.fixture(scope="module")
def general():
    return convcnp.load("general")


def test_points_are_predicted_where_they_are_asked_for_and_in_that_order(plane):
    frame = points_frame(seed=3)
    asked = pd.DataFrame({"north": [1.0, 7.0, 4.0], "east": [2.0, 0.5, 6.0]})
    answer = plane.predict(frame, asked)
    assert list(answer) == ["east", "north", "depth_mean", "depth_std", "depth_q05", "depth_q95"]
    assert answer["north"].tolist() == [1.0, 7.0, 4.0]
    assert answer["east"].tolist() == [2.0, 0.5, 6.0]
    as_array = plane.predict(frame, asked[["east", "north"]].to_numpy())
    pd.testing.assert_frame_equal(answer, as_array)
    alone = plane.predict(frame, asked[1:2])
    assert alone["depth_mean"][0] == pytest.approx(answer["depth_mean"][1], abs=1e-5)


def test_sets_of_points_may_be_told_apart_by_two_columns(general):
    parts = [points_frame(30, seed=i).assign(year=2000 + i, site="x") for i in range(2)]
    frame = pd.concat(parts, ignore_index=True)
    over = {"inputs": ["east", "north"], "value": "depth"}
    answer = general.predict(frame, frame.iloc[[40, 2]], group="site+year", **over)
    assert list(answer)[:4] == ["site", "year", "east", "north"]
    assert answer["year"].tolist() == [2001, 2000]


def test_a_request_of_points_says_so(plane):
    request = plane.request(points_frame(seed=3), 5)
    assert request.description == (
        "Predicting 'depth' over 'east' and 'north' with 'model', at a map of 5 by 5 points."
    )
    assert len(request.predict()) == 25


def test_points_over_dates_are_answered_with_dates(plane):
    frame = points_frame(seed=3)
    frame["east"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(frame["east"], unit="s")
    answer = plane.predict(frame, frame[["east", "north"]][:3])
    assert answer["east"].tolist() == frame["east"][:3].tolist()
    assert plane.predict(frame, 2)["east"].dtype.kind == "M"


def grouped(predictor):
    """Return the predictor as if its training table had told sets of points apart by day."""
    data = predictor.experiment.data | {"group": "day"}
    return replace(predictor, experiment=predictor.experiment.model_copy(update={"data": data}))


def test_sets_of_points_are_predicted_each_from_its_own(plane):
    days = [points_frame(40, seed=s).assign(day=d) for s, d in ((1, "mon"), (2, "tue"))]
    answer = grouped(plane).predict(pd.concat(days), [[4.0, 4.0]])
    assert answer["day"].tolist() == ["mon", "tue"]
    alone = plane.predict(days[1], [[4.0, 4.0]])
    assert answer["depth_mean"][1] == pytest.approx(alone["depth_mean"][0], abs=1e-6)


def test_points_are_scored_as_series_are(plane):
    frame = points_frame(seed=3)
    score = plane.score(frame[10:], frame[:10])["depth"]
    assert (score["values"], set(score)) == (
        10,
        {"log_likelihood", "crps", "coverage90", "values"},
    )
    answer = plane.predict(frame[10:], frame[:10], quantiles=())
    z = (frame["depth"][:10] - answer["depth_mean"]) / answer["depth_std"]
    expected = -np.log(answer["depth_std"]).mean() - 0.5 * np.log(2 * np.pi) - 0.5 * (z**2).mean()
    assert score["log_likelihood"] == pytest.approx(expected)


def test_unfamiliar_points_are_warned_of(plane):
    frame = points_frame(seed=3)
    with pytest.warns(ConvCNPWarning, match=r"depth: 1 of 2 asked points are farther from every"):
        plane.predict(frame, [[4.0, 4.0], [1e4, 1e4]])
    with pytest.warns(ConvCNPWarning, match="depth: the typical gap .*; rescale the inputs"):
        far = frame.assign(east=1e3 * frame["east"], north=1e3 * frame["north"])
        plane.predict(far, far[:3])
    with pytest.warns(ConvCNPWarning, match="depth: values reach"):
        plane.predict(frame.assign(depth=np.arange(len(frame)) == 7) * 1.0, [[4.0, 4.0]])
    days = pd.concat([frame.assign(day="mon"), frame[:2].assign(day="tue", depth=np.nan)])
    with pytest.warns(ConvCNPWarning, match="1 of 2 sets of points have no observed value"):
        answer = grouped(plane).predict(days, [[4.0, 4.0]])
    assert answer["depth_mean"].isna().tolist() == [False, True]


def test_what_the_plane_has_not_is_refused(plane):
    with pytest.raises(SettingError, match="along a time only"):
        plane.predict(points_frame(), 3, samples=2)
    with pytest.raises(SettingError, match="are read by the columns of the training table"):
        plane.predict(points_frame(), 3, value="depth")
    with pytest.raises(TableError, match="Expected the column 'east'"):
        plane.predict(points_frame().rename(columns={"east": "x"}), 3)


# --- The general model ----------------------------------------------------------------------------

INPUTS, GLOBE = ("east", "north"), ("lon", "lat")


def test_the_general_model_answers_for_the_plane_without_training(general):
    frame = points_frame(60, seed=3)
    request = general.request(frame[10:], frame[:10], Columns.named(inputs=INPUTS))
    assert request.description == (
        "Predicting 'depth' over 'east' and 'north' with 'general', at the points of the given "
        "table."
    )
    assert request.remarks == []
    answer = general.predict(frame[10:], frame[:10], inputs=INPUTS)
    assert list(answer) == ["east", "north", "depth_mean", "depth_std", "depth_q05", "depth_q95"]
    error = (answer["depth_mean"] - frame["depth"][:10]).abs()
    assert error.median() < 0.05 * frame["depth"].std()
    assert general.score(frame[10:], frame[:10], inputs=INPUTS)["depth"]["values"] == 10


def test_sets_are_told_apart_and_every_value_column_is_predicted(general):
    days = [points_frame(20, seed=s).assign(day=d) for s, d in ((1, "mon"), (2, "tue"))]
    frame = pd.concat(days).assign(other=lambda table: -table["depth"])
    answer = general.predict(frame, [[4.0, 4.0]], inputs=INPUTS, group="day")
    assert answer["day"].tolist() == ["mon", "tue"]
    np.testing.assert_allclose(answer["other_mean"], -answer["depth_mean"], atol=1e-6)
    named = Columns.named(inputs=INPUTS, group="day")
    assert " of 2 sets by 'day' with" in general.request(frame, 3, named).description


def test_missing_values_of_points_are_filled(general):
    frame = points_frame(30, seed=3)
    holes = frame.assign(depth=frame["depth"].where(frame.index != 7))
    filled = general.fill(holes, inputs=INPUTS)
    assert filled["filled"].tolist().count("depth") == 1
    assert abs(filled["depth"][7] - frame["depth"][7]) < 0.2
    assert len(general.predict(holes, inputs=INPUTS)) == 1


def stations(**columns) -> pd.DataFrame:
    away = np.random.default_rng(0).uniform(-8, 8, (40, 2))
    east = (away[:, 0] + 360) % 360 - 180  # around the date line
    values = 20 + 3 * np.sin(away[:, 0] / 3)
    return pd.DataFrame({"lon": east, "lat": away[:, 1] - 17, "temp": values} | columns)


def test_longitudes_wrap_and_that_is_said(general):
    frame = stations()
    request = general.request(frame, [[180.0, -17.0], [-180.0, -17.0]], Columns.named(inputs=GLOBE))
    assert "over 'lon' and 'lat' on the globe with 'general'" in request.description
    assert "longitudes wrap" in request.remarks[0]
    answer = request.predict()
    assert answer["temp_mean"][0] == pytest.approx(answer["temp_mean"][1], abs=1e-9)
    swapped = general.predict(frame, [[-17.0, 180.0]], inputs=GLOBE[::-1])
    assert swapped["temp_mean"][0] == pytest.approx(answer["temp_mean"][0], abs=1e-6)


def test_points_far_from_all_observations_are_warned_of(general):
    frame = points_frame(30, seed=3)
    with pytest.warns(ConvCNPWarning, match="depth: 1 of 2 asked points are farther from every"):
        general.predict(frame, [[4.0, 4.0], [100.0, 4.0]], inputs=INPUTS)
    with pytest.warns(ConvCNPWarning, match="temp: 1 of 2 asked points are farther"):
        general.predict(stations(), [[-179.0, -17.0], [0.0, -17.0]], inputs=GLOBE)


def test_what_is_no_model_of_points_says_so(general):
    with pytest.raises(SettingError, match="was trained on series over a time, and takes no"):
        convcnp.load("eq-convcnp").predict(points_frame(20), 3, inputs=INPUTS)
    with pytest.raises(TableError, match="two different input columns and no time"):
        general.predict(points_frame(20), 3, inputs=["east"])
    with pytest.raises(TableError, match=r"Expected a column 'nord'.*did you mean 'north'"):
        general.predict(points_frame(20), 3, inputs=["east", "nord"])
    of_plane = replace(general, model=PlaneDictionary())
    with pytest.raises(SettingError, match="have two input columns, got none"):
        of_plane.predict(points_frame(20), 3)
    assert len(of_plane.predict(points_frame(20), 2, inputs=INPUTS)) == 4


def test_known_errors_of_points_are_used_and_said():
    random = np.random.default_rng(0)
    x = random.uniform(0, 8, (50, 2))
    frame = pd.DataFrame({"east": x[:, 0], "north": x[:, 1], "v": np.sin(x[:, 0]), "v_err": 0.05})
    frame.loc[7, ["v", "v_err"]] = 30.0, 50.0
    general, at = convcnp.load("general"), x[[7]]
    request = general.request(frame, at, Columns.named(inputs=["east", "north"]))
    assert "with 'v_err' as the standard errors of 'v'" in request.description
    assert request.predict()["v_mean"][0] == pytest.approx(np.sin(x[7, 0]), abs=0.3)
    measured = request.asked_of("measurement").predict()
    assert measured["v_std"][0] > request.predict()["v_std"][0]


def test_errors_are_known_on_the_globe_as_well():
    random = np.random.default_rng(0)
    x = random.uniform((175, 5), (185, 15), (50, 2))
    frame = pd.DataFrame({"lon": x[:, 0], "lat": x[:, 1], "v": np.sin(x[:, 1]), "e": 0.05})
    frame.loc[7, ["v", "e"]] = 30.0, 50.0
    known = {"inputs": ["lon", "lat"], "value": "v"}
    found = convcnp.load("general").predict(frame, x[[7]], error="e", **known)
    assert found["v_mean"][0] == pytest.approx(np.sin(x[7, 1]), abs=0.4)


def test_surfaces_are_drawn_jointly_and_within_limits(general):
    frame = points_frame()
    names = {"inputs": INPUTS}
    at = [[4.0, 4.0], [4.0, 4.01]]
    answer = general.predict(frame, at, samples=60, seed=1, **names)
    curves = answer.filter(like="_sample").to_numpy()
    assert curves.shape == (2, 60)
    assert np.corrcoef(curves)[0, 1] > 0.9
    spread = answer["depth_q95"] - answer["depth_q05"]
    inner = np.quantile(curves, 0.95, axis=1) - np.quantile(curves, 0.05, axis=1)
    np.testing.assert_allclose(inner / spread, 1, atol=0.4)
    upper = frame["depth"].max() + 0.01
    bounded = general.sample(frame, at, 60, upper=upper, **names).filter(like="_sample")
    assert bounded.to_numpy().max() <= upper
