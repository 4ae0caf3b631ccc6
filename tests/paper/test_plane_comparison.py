"""Methods side by side on points in the plane."""

import json

import pytest

from convcnp.errors import SettingError
from convcnp.models.sphere import OnSphere
from convcnp.paper import measured_fields, plane_comparison
from convcnp.paper.measured_fields import FIELDS
from convcnp.paper.plane_comparison import PLANE_METHODS, compare_in_plane, field_scores, set_up


def test_results_join_those_of_other_methods(tmp_path):
    told = []
    for method in ("nearest", "linear"):
        (path,) = compare_in_plane(
            ["topo"], [method], tmp_path, report=lambda *about: told.append(about[:2])
        )
    result = json.loads(path.read_text())
    assert list(result["methods"]) == ["linear", "nearest"]
    assert result["num_points"] == 52
    scores = result["methods"]["nearest"]["scores"]
    assert list(scores) == ["random", "block"]
    assert [score["seed"] for score in scores["block"]] == [0, 1, 2]
    assert scores["random"][0]["num_target"] == 16
    assert scores["random"][0]["absolute_error"] > 0
    assert told == [("topo", "nearest"), ("topo", "linear")]


def test_unknown_names_are_refused(tmp_path):
    with pytest.raises(SettingError, match="sets must be one of"):
        compare_in_plane(["vulcano"], ["gp"], tmp_path)
    with pytest.raises(SettingError, match="methods must be one of"):
        compare_in_plane(["topo"], ["kriging"], tmp_path)


def test_the_general_model_knows_the_globe():
    method = PLANE_METHODS["general"].build()
    assert isinstance(set_up(method, FIELDS["quakes"]()), OnSphere)
    assert not isinstance(set_up(method, FIELDS["topo"]()), OnSphere)


def test_the_general_model_is_better_than_the_nearest_point(monkeypatch):
    monkeypatch.setattr(plane_comparison, "SEEDS", (0,))
    monkeypatch.setattr(
        plane_comparison, "FIELD_REMOVALS", {"random": measured_fields.removed_at_random}
    )
    field = FIELDS["topo"]()
    ours, nearest = (
        field_scores(field, PLANE_METHODS[name].build())["random"][0]
        for name in ("general", "nearest")
    )
    assert ours["crps"] < nearest["crps"]
