"""All of the paper's figures, by name."""

from pathlib import Path

import pytest

from convcnp.errors import ResultError
from convcnp.paper.figures.paper import FIGURES, draw_paper_figure
from convcnp.paper.figures.shelf import Shelf
from convcnp.predict.zoo import is_shipped

SHIPPED = Shelf(Path("nowhere"), Path("nowhere"))


def test_a_figure_of_the_appendix_is_drawn_with_the_models_that_ship(tmp_path):
    assert is_shipped("eq-convcnp")
    path = draw_paper_figure("appendix-eq", SHIPPED, tmp_path / "new", seed=1)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_an_unknown_figure_and_one_without_models_are_refused(tmp_path, monkeypatch):
    with pytest.raises(ResultError, match=r"one of figure2, appendix-eq.*got 'figure99'"):
        draw_paper_figure("figure99", SHIPPED, tmp_path, seed=1)
    monkeypatch.setattr("convcnp.predict.zoo.WEIGHTS", tmp_path)
    with pytest.raises(ResultError, match="Expected trained models such as matern-attncnp among"):
        draw_paper_figure("figure2", SHIPPED, tmp_path, seed=1)


def test_figures_have_names_of_their_own():
    from convcnp.paper.figures import functions, images, real_series, series

    parts = (functions.FIGURES, series.FIGURES, images.FIGURES, real_series.FIGURES)
    assert len(FIGURES) == sum(map(len, parts))
