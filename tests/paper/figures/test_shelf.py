"""Where figures find trained models and results."""

import pytest

from convcnp.errors import ResultError
from convcnp.paper.figures.shelf import Shelf
from helpers import write_untrained


@pytest.fixture
def shelf(tmp_path):
    directory = tmp_path / "runs/table9/eq-new"
    directory.mkdir(parents=True)
    write_untrained(directory, "eq", {"name": "cnp"})
    return Shelf(tmp_path / "results", tmp_path / "runs")


def test_a_model_ships_or_was_trained_here(shelf):
    assert shelf.has("table1", "eq-convcnp")
    assert shelf.has("table9", "eq-new")
    assert not shelf.has("table8", "eq-new")
    assert shelf.load("table9", "eq-new").model.dim_x == 1
    assert shelf.load("table1", "eq-convcnp").name == "eq-convcnp"


def test_rows_are_those_whose_cells_are_all_there(shelf):
    rows = ["cnp", "new", "newer"]
    assert shelf.known("table9", rows, "eq-{row}") == ["cnp", "new"]
    assert shelf.known("table9", rows, "eq-{row}", "matern-{row}") == ["cnp"]
    with pytest.raises(ResultError, match=r"models such as eq-none among those that ship"):
        shelf.known("table9", ["none"], "eq-{row}")
