"""Tables of the comparison on photographs."""

import json

import pytest

from convcnp.errors import ResultError
from convcnp.paper.damages import DAMAGES
from convcnp.paper.photograph_tables import each_photograph_table, photographs_table
from convcnp.paper.photographs import METHODS


def write(folder, name: str, **scores: dict) -> None:
    methods = {method: {"scores": {"text": found}} for method, found in scores.items()}
    (folder / f"{name}.json").write_text(json.dumps({"name": name, "methods": methods}))


def test_means_over_photographs_stand_side_by_side(tmp_path):
    ours = {"ssim": 0.5, "coverage90": 0.8}
    write(tmp_path, "cat", general={"psnr": 20.0, **ours}, telea={"psnr": 18.0, "ssim": 0.4})
    write(tmp_path, "coffee", general={"psnr": 30.0, **ours})
    table = photographs_table(tmp_path)
    row = next(row for row in table.rows if row[0] == "Text")
    assert row[1] == "25.0 / 0.50"
    assert row[-1] == "80%"
    assert row[1 + list(METHODS).index("telea")] == "—"  # not run on all
    assert len(row) == len(table.header) == len(METHODS) + 2
    assert [row[0] for row in table.rows] == [damage.label for damage in DAMAGES.values()]


def test_each_photograph_has_a_row_per_damage(tmp_path):
    write(tmp_path, "cat", telea={"psnr": 18.04, "ssim": 0.4})
    table = each_photograph_table(tmp_path)
    assert len(table.rows) == len(DAMAGES)
    assert table.rows[-1] == ["cat", "Text", "—", "—", "—", "18.0", "—"]


def test_without_results_a_sentence_says_what_to_run(tmp_path):
    with pytest.raises(ResultError, match="convcnp compare-photographs"):
        photographs_table(tmp_path)
