"""Points in the plane: which are asked for, predictions there, and the map."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import convcnp
from convcnp.cli.predict import predict_file
from convcnp.errors import SettingError, TableError
from convcnp.plots.maps import draw_map
from convcnp.predict.points import PointsTable, predict_points
from helpers import points_frame


@pytest.fixture(scope="module")
def predictor(own_points):
    return convcnp.load(own_points / "model")


def test_points_are_predicted_where_they_are_asked_for_and_in_that_order(predictor):
    frame = points_frame(seed=3)
    asked = pd.DataFrame({"north": [1.0, 7.0, 4.0], "east": [2.0, 0.5, 6.0]})
    answer = predictor.predict(frame, asked)
    assert list(answer) == ["east", "north", "depth_mean", "depth_std", "depth_q05", "depth_q95"]
    assert answer["north"].tolist() == [1.0, 7.0, 4.0]
    assert answer["east"].tolist() == [2.0, 0.5, 6.0]
    as_array = predictor.predict(frame, asked[["east", "north"]].to_numpy())
    pd.testing.assert_frame_equal(answer, as_array)
    alone = predictor.predict(frame, asked[1:2])
    assert alone["depth_mean"][0] == pytest.approx(answer["depth_mean"][1], abs=1e-5)


def test_gaps_or_a_map_are_predicted_if_nothing_is_asked_for(predictor):
    frame = points_frame(seed=3)
    assert len(predictor.predict(frame, 5)) == 25
    assert len(predictor.predict(frame)) == 50 * 50
    frame.loc[[4, 7], "depth"] = np.nan
    answer = predictor.predict(frame)
    assert sorted(answer["east"]) == sorted(frame.loc[[4, 7], "east"])


def test_points_over_dates_are_answered_with_dates(predictor):
    frame = points_frame(seed=3)
    frame["east"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(frame["east"], unit="s")
    answer = predictor.predict(frame, frame[["east", "north"]][:3])
    assert answer["east"].tolist() == frame["east"][:3].tolist()
    assert predictor.predict(frame, 2)["east"].dtype.kind == "M"


def test_a_map_is_predicted_of_the_sets_it_shows(predictor, monkeypatch):
    frames = [points_frame(20, seed=i).assign(day=i) for i in range(5)]
    layout = replace(predictor.experiment.source(), group="day")
    asked = []
    monkeypatch.setattr("convcnp.plots.maps._SIDE", 4)
    table = PointsTable.of(pd.concat(frames), layout)
    predict = type(predictor).predict_points
    monkeypatch.setattr(
        type(predictor),
        "predict_points",
        lambda self, table, points: asked.append(points) or predict(self, table, points),
    )
    assert draw_map(predictor, table)
    assert set(asked[0].owners) == {0, 1, 2}


def test_sets_of_points_are_predicted_each_from_its_own(own_points, predictor):
    experiment = predictor.experiment
    data = experiment.data | {"group": "day"}
    grouped = replace(predictor, experiment=experiment.model_copy(update={"data": data}))
    days = [points_frame(40, seed=s).assign(day=d) for s, d in ((1, "mon"), (2, "tue"))]
    answer = grouped.predict(pd.concat(days), [[4.0, 4.0]])
    assert answer["day"].tolist() == ["mon", "tue"]
    alone = predictor.predict(days[1], [[4.0, 4.0]])
    assert answer["depth_mean"][1] == pytest.approx(alone["depth_mean"][0], abs=1e-6)


def test_a_large_map_is_cut_into_tiles_that_give_the_same_numbers(predictor, monkeypatch):
    table = predictor.points_table(points_frame(seed=3))
    asked = table.asked(6)
    source = predictor.experiment.source()
    whole = predict_points(predictor.model, source, table, asked)
    monkeypatch.setattr("convcnp.predict.points._CELLS", 600)
    tiles = []
    from convcnp.models.tiling import predict_in_tiles

    def counted(*arguments, **options):
        tiles.append(1)
        return predict_in_tiles(*arguments, **options)

    monkeypatch.setattr("convcnp.predict.points.predict_in_tiles", counted)
    tiled = predict_points(predictor.model, source, table, asked)
    assert tiles
    np.testing.assert_allclose(tiled, whole, atol=1e-4)


@pytest.mark.parametrize(
    ("at", "sentence"),
    [
        (pd.DataFrame({"east": [1.0]}), "Expected the column 'north'"),
        (pd.DataFrame({"east": [1.0], "north": [np.nan]}), "Expected both inputs in every row"),
        ([1.0, 2.0], r"Expected points of shape \(M, 2\)"),
        ([["here", "there"]], r"Expected points of shape \(M, 2\)"),
        ("gaps", "Expected rows with a missing value"),
    ],
    ids=["no column", "no input", "no points", "no numbers", "no gaps"],
)
def test_points_that_cannot_be_are_refused(predictor, at, sentence):
    with pytest.raises(TableError, match=sentence):
        predictor.predict(points_frame(), at)


def test_what_the_plane_has_not_is_refused(predictor):
    with pytest.raises(SettingError, match="along a time only"):
        predictor.predict(points_frame(), 3, samples=2)
    with pytest.raises(SettingError, match="at least 2 points along each side"):
        predictor.predict(points_frame(), 1)
    with pytest.raises(SettingError, match="at most 100,000,000 points, got 10,001"):
        predictor.predict(points_frame(), 10_001)
    with pytest.raises(TableError, match="Expected the column 'east'"):
        predictor.predict(points_frame().rename(columns={"east": "x"}), 3)


def test_the_command_writes_a_table_and_a_map(own_points, tmp_path):
    out, plot = tmp_path / "filled.csv", tmp_path / "map.png"
    said = []
    predict_file(
        str(own_points / "table.csv"),
        at="4",
        model=str(own_points / "model"),
        out=out,
        plot=plot,
        say=said.append,
    )
    assert len(pd.read_csv(out)) == 16
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert "at a map of 4 by 4 points" in said[0]
