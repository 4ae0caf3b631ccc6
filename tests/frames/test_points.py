"""Points in the plane: a table of them, and which are asked for."""

import numpy as np
import pandas as pd
import pytest

from convcnp.errors import ConvCNPError, SettingError, TableError
from convcnp.frames.columns import Columns
from convcnp.frames.points import SIDE, PointsTable, map_targets, point_targets
from convcnp.frames.targets import TargetText
from helpers import points_frame

PLANE = Columns(("depth",), inputs=("east", "north"))
DAYS = Columns(("depth",), inputs=("east", "north"), group="day")


@pytest.fixture
def table():
    return PointsTable.of(points_frame(20), PLANE)


@pytest.fixture
def days():
    frames = [points_frame(5, seed=i).assign(day=day) for i, day in enumerate(["mon", "tue"])]
    return PointsTable.of(pd.concat(frames), DAYS)


def test_a_table_has_the_points_and_values_of_every_set(days):
    assert days.labels.tolist() == ["mon", "tue"]
    assert (days.series.x.shape, days.series.lengths.tolist()) == ((10, 2), [5, 5])
    second = points_frame(5, seed=1).sort_values("east")
    np.testing.assert_array_equal(days.series.x[5:], second[["east", "north"]])
    np.testing.assert_array_equal(days.y[5:, 0], second["depth"])


def test_points_with_a_missing_input_or_value_were_not_observed():
    frame = points_frame(6)
    frame.loc[2, "depth"] = np.nan
    frame.loc[3, "north"] = np.nan
    points, y = PointsTable.of(frame, PLANE).observed([0])
    assert (len(points.x), len(y)) == (4, 4)
    assert not np.isnan(points.x).any()


def test_gaps_or_a_map_are_asked_for_if_nothing_is(table):
    assert len(point_targets(table).inputs.x) == SIDE**2
    frame = points_frame(20)
    frame.loc[[4, 7], "depth"] = np.nan
    gaps = point_targets(PointsTable.of(frame, PLANE), "gaps")
    assert sorted(gaps.inputs.x[:, 0]) == sorted(frame.loc[[4, 7], "east"])
    assert gaps.meaning == "the rows whose value is missing"


def test_a_table_asks_each_set_and_keeps_its_order(days):
    asked = pd.DataFrame({"day": ["tue", "mon"], "north": [1.0, 2.0], "east": [3.0, 4.0]})
    targets = point_targets(days, asked)
    assert targets.inputs.x.tolist() == [[4.0, 2.0], [3.0, 1.0]]
    answer = targets.in_order(days.frame(targets.inputs))
    pd.testing.assert_frame_equal(answer[["day", "north", "east"]], asked)


def test_the_same_points_are_asked_of_every_set(days):
    targets = point_targets(days, [[4.0, 4.0], [1.0, 2.0]])
    assert targets.inputs.starts.tolist() == [0, 2, 4]
    assert days.frame(targets.inputs)["day"].tolist() == ["mon", "mon", "tue", "tue"]


def test_a_map_covers_all_points_and_may_be_of_some_sets(days):
    targets = map_targets(days, 3, [1])
    assert targets.inputs.starts.tolist() == [0, 0, 9]
    low, high = days.series.x.min(0), days.series.x.max(0)
    assert (targets.inputs.x.min(0).tolist(), targets.inputs.x.max(0).tolist()) == (
        low.tolist(),
        high.tolist(),
    )
    assert targets.meaning == "a map of 3 by 3 points"


def test_a_text_tells_a_map_gaps_and_files_apart(table, tmp_path):
    path = tmp_path / "asked.csv"
    path.write_text("north,east\n1,2\n")
    assert len(point_targets(table, TargetText("4")).inputs.x) == 16
    assert point_targets(table, TargetText(str(path))).inputs.x.tolist() == [[2.0, 1.0]]
    with pytest.raises(TableError, match="Expected rows with a missing value"):
        point_targets(table, TargetText("gaps"))


@pytest.mark.parametrize(
    ("at", "error", "sentence"),
    [
        (pd.DataFrame({"east": [1.0]}), TableError, "Expected the column 'north'"),
        (pd.DataFrame({"east": [1.0], "north": [np.nan]}), TableError, "Expected both inputs"),
        ([1.0, 2.0], TableError, r"Expected points of shape \(M, 2\)"),
        ([["here", "there"]], TableError, r"Expected points of shape \(M, 2\)"),
        ("gaps", TableError, "Expected rows with a missing value"),
        (1, SettingError, "at least 2 points along each side"),
        (10_001, SettingError, "at most 20,000,000 points, got 10,001"),
    ],
    ids=["no column", "no input", "no points", "no numbers", "no gaps", "one", "many"],
)
def test_points_that_cannot_be_asked_for_get_a_sentence(table, at, error, sentence):
    with pytest.raises(error, match=sentence):
        point_targets(table, at)


def test_a_table_without_the_columns_of_training_is_refused():
    with pytest.raises(TableError, match="Expected the column 'east', on which the model was"):
        PointsTable.of(points_frame().rename(columns={"east": "x"}), PLANE)


# --- The globe ------------------------------------------------------------------------------------


def globe(east, north, names=("lon", "lat")) -> PointsTable:
    frame = pd.DataFrame({names[0]: east, names[1]: north, "v": np.arange(float(len(east)))})
    return PointsTable.of(frame, Columns(values=("v",), inputs=names))


@pytest.mark.parametrize(
    "names, longitude",
    [
        (("lon", "lat"), 0),
        (("Latitude", "Longitude"), 1),
        (("long_deg", "lat (degrees)"), 0),
        (("east", "north"), None),
        (("lon", "depth"), None),
        (("length", "latency"), None),
    ],
)
def test_longitudes_are_known_by_their_names(names, longitude):
    assert globe([10.0, 20.0], [30.0, 40.0], names).longitude == longitude


def test_names_of_degrees_over_other_numbers_are_not_believed():
    assert globe([500_000.0, 510_000.0], [30.0, 40.0]).longitude is None
    assert globe([10.0, 20.0], [30.0, 4e6]).longitude is None


def test_a_map_reaches_across_the_date_line_where_that_is_shorter():
    table = globe([179.0, -179.0, 178.0], [0.0, 1.0, 2.0])
    assert [corner.tolist() for corner in table.extent] == [[178.0, 0.0], [181.0, 2.0]]
    assert table.around(np.array([[-179.0, 0.0]])).tolist() == [[181.0, 0.0]]
    assert map_targets(table, 4).inputs.x[:, 0].max() == 181
    plain = globe([-10.0, 20.0], [0.0, 1.0])
    assert [corner.tolist() for corner in plain.extent] == [[-10.0, 0.0], [20.0, 1.0]]
    same = globe([200.0, 220.0], [0.0, 1.0])
    assert same.extent[0].tolist() == [200.0, 0.0]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("+3", "What lies ahead is asked of series"), ("0:1:2", "at= of points in the plane must be")],
)
def test_what_is_asked_of_series_is_not_asked_of_points(text, sentence):
    with pytest.raises(ConvCNPError, match=sentence):
        TargetText(text).points()
