"""Maps: what they show, and of which sets they are."""

from dataclasses import replace

import pandas as pd
import pytest

import convcnp
from convcnp.frames.columns import Columns
from convcnp.plots import maps
from helpers import TINY, points_frame

pytest.importorskip("matplotlib")


@pytest.fixture
def drawn(monkeypatch):
    """Keep the figures that are drawn."""
    figures = []
    monkeypatch.setattr(maps, "as_picture", lambda figure, form: figures.append(figure) or b"")
    monkeypatch.setattr(maps, "_SIDE", 4)
    return figures


def test_a_map_shows_mean_deviation_and_observations_of_the_first_sets(own_points, drawn):
    predictor = convcnp.load(own_points / "model")
    data = predictor.experiment.data | {"group": "day"}
    experiment = predictor.experiment.model_copy(update={"data": data})
    frame = pd.concat([points_frame(20, seed=i).assign(day=i) for i in range(5)])
    request = replace(predictor, experiment=experiment).request(frame, [[4.0, 4.0]])
    maps.draw_map(request, request.predict())
    panels = [axes for axes in drawn[0].axes if axes.get_title()]
    assert [axes.get_title() for axes in panels] == [
        f"depth, {day}: {kind}" for day in range(3) for kind in ("mean", maps.UNCERTAINTY)
    ]
    surface, points = panels[2].collections
    shown = request.at(maps.map_targets(request.table, 4, [1])).answer()
    assert surface.get_array().ravel().tolist() == pytest.approx(shown["depth_mean"].tolist())
    assert len(points.get_offsets()) == 20
    assert panels[0].get_xlabel() == "east"


def test_a_map_of_a_mixture_shows_its_mean_and_half_of_its_middle(tmp_path, drawn):
    settings = [*TINY, "model.head=mixture", "model.components=2"]
    predictor = convcnp.Predictor.fit(
        points_frame(),
        inputs=("east", "north"),
        out=tmp_path / "model",
        minutes=0.1,
        settings=settings,
    )
    request = predictor.request(points_frame(20, seed=3), [[4.0, 4.0]])
    maps.draw_map(request, request.predict())
    shown = request.at(maps.map_targets(request.table, 4, [0])).answer((0.16, 0.84))
    surfaces = [axes.collections[0] for axes in drawn[0].axes if axes.get_title()]
    half = (shown["depth_q84"] - shown["depth_q16"]) / 2
    for surface, column in zip(surfaces, (shown["depth_mean"], half), strict=True):
        assert surface.get_array().ravel().tolist() == pytest.approx(column.tolist())


def test_a_map_across_the_date_line_is_in_one_piece(drawn):
    east = [177.0, 178.5, 179.5, -179.0, -178.0, -177.5]
    frame = pd.DataFrame({"lon": east, "lat": [60.0, 61, 60.5, 59, 62, 60], "v": range(6)})
    request = convcnp.load("general").request(frame, 2, Columns.named(inputs=("lon", "lat")))
    maps.draw_map(request)
    panel = drawn[0].axes[0]
    assert panel.collections[1].get_offsets()[:, 0].max() == 182.5
    assert panel.get_xlim()[0] > 170
    assert panel.get_aspect() == pytest.approx(2.0, abs=0.05)
