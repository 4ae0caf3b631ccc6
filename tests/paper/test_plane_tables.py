"""Tables of points in the plane."""

import json
from pathlib import Path

import pytest

from convcnp.errors import ResultError
from convcnp.paper.plane_tables import PLANE, read_plane_rows

ROOT = Path(__file__).parents[2]


def write(folder: Path, name: str, **errors: float) -> None:
    keys = ("absolute_error", "crps", "log_likelihood", "coverage90", "seconds")
    methods = {
        method: {"scores": {"random": [dict.fromkeys(keys, error)], "block": []}}
        for method, error in errors.items()
    }
    content = {"num_points": 9, "on_globe": False, "methods": methods}
    (folder / f"{name}.json").write_text(json.dumps(content))


def test_rows_are_sets_and_removals(tmp_path):
    write(tmp_path, "topo", general=1.0, gp=2.0)
    table = PLANE["plane"](tmp_path)
    assert table.header[3:] == ["General model", "Fitted GP", *table.header[5:]]
    assert table.rows[0] == ["topo", "9", "random", "1", "2", "—", "—"]
    assert table.rows[1] == ["topo", "9", "block", "—", "—", "—", "—"]


def test_the_summary_counts_against_the_fitted_process(tmp_path):
    write(tmp_path, "topo", general=1.0, gp=2.0)
    write(tmp_path, "wells", general=8.0, gp=2.0)
    summary = {row[0]: row[1:] for row in PLANE["plane-summary"](tmp_path).rows}
    assert summary["General model"][:4] == ["1 of 2", "1 of 2", "1.414", "1 of 2"]
    assert summary["Fitted GP"][0] == "—"


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(ResultError, match="run `convcnp compare-plane`"):
        read_plane_rows(tmp_path)


def test_the_published_results_are_of_every_set_and_method():
    rows = read_plane_rows(ROOT / "results/plane")
    assert len(rows) == 10
    assert all(len(row.scores) == 4 for row in rows)
