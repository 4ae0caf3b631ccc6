"""Figures of real series: predators and prey, and light curves."""

from pathlib import Path

import pytest

from convcnp.paper.figures.paper import draw_paper_figure
from convcnp.paper.figures.shelf import Shelf
from convcnp.predict.predictor import Predictor
from convcnp.training.experiment import Experiment
from helpers import ROOT

SHIPPED = Shelf(Path("nowhere"), Path("nowhere"))


@pytest.fixture
def untrained(monkeypatch):
    """Let every experiment's model ship, with the weights it begins with."""

    def load(name):
        experiment = Experiment.load(next((ROOT / "experiments").rglob(f"{name}.toml")))
        return Predictor(name, experiment.build_model().eval(), experiment, {})

    monkeypatch.setattr(Shelf, "has", lambda shelf, table, cell: True)
    monkeypatch.setattr(Shelf, "load", lambda shelf, table, cell: load(cell))


@pytest.mark.parametrize("name", ["figure3", "figure3-attncnp", "light-curves"])
@pytest.mark.usefixtures("untrained", "light_curve_file")
def test_the_figures_of_series_are_drawn(tmp_path, name):
    assert draw_paper_figure(name, SHIPPED, tmp_path, seed=1).read_bytes().startswith(b"\x89PNG")
