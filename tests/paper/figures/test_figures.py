"""Pictures: drawn from the shipped models, and refused with a sentence where there are none."""

from pathlib import Path

import pytest
import torch

from convcnp import Task
from convcnp.core.predictive import GaussianPredictive
from convcnp.errors import ResultError
from convcnp.paper.figures.paper import draw_paper_figure
from convcnp.paper.figures.shelf import Shelf
from convcnp.plots.drawing import (
    draw_band,
    draw_context,
    draw_reference,
    draw_targets,
    new_figure,
    save_figure,
)
from convcnp.predict.predictor import Predictor
from convcnp.predict.zoo import is_shipped
from convcnp.training.experiment import Experiment

EXPERIMENTS = Path(__file__).parents[3] / "experiments"
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


def test_a_band_is_two_standard_deviations_wide_and_masked_points_are_not_drawn(tmp_path):
    figure = new_figure(1, 1)
    axes = figure.axes[0]
    x = torch.tensor([0.0, 1.0])
    mean, stddev = torch.tensor([[[1.0], [2.0]]]), torch.tensor([[[0.5], [0.25]]])
    draw_band(axes, x, GaussianPredictive(mean, stddev, torch.ones(1, 2, 1, dtype=torch.bool)))
    corners = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert {0.0, 1.5, 2.0, 2.5} == set(corners.tolist())
    task = Task.from_arrays([0.0, 1.0, 2.0], [1.0, float("nan"), 3.0], [0.5])
    draw_context(axes, task)
    assert axes.lines[-1].get_xdata().tolist() == [0.0, 2.0]
    save_figure(figure, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").exists()


def test_channels_and_targets_are_drawn_where_they_belong():
    nan = float("nan")
    axes = new_figure(1, 1).axes[0]
    task = Task.from_arrays([0, 1], [[1, 2], [nan, 3]], [4, 5], [[nan, 6], [7, nan]])
    draw_context(axes, task, channel=1)
    assert axes.lines[-1].get_ydata().tolist() == [2.0, 3.0]
    draw_targets(axes, task, channel=1)
    assert axes.lines[-1].get_xdata().tolist() == [4.0]
    assert axes.lines[-1].get_ydata().tolist() == [6.0]
    moments = torch.tensor([[[1.0, 5.0]]]), torch.tensor([[[0.5, 2.0]]])
    predictive = GaussianPredictive(*moments, torch.ones(1, 1, 2, dtype=torch.bool))
    draw_reference(axes, torch.zeros(1), predictive, channel=1, label="other")
    assert [line.get_ydata().item() for line in axes.lines[-3:]] == [5.0, 1.0, 9.0]


@pytest.fixture
def untrained(monkeypatch):
    """Let every experiment's model ship, with the weights it begins with."""

    def load(name):
        experiment = Experiment.load(next(EXPERIMENTS.rglob(f"{name}.toml")))
        return Predictor(name, experiment.build_model().eval(), experiment, {})

    monkeypatch.setattr(Shelf, "has", lambda shelf, table, cell: True)
    monkeypatch.setattr(Shelf, "load", lambda shelf, table, cell: load(cell))


@pytest.mark.parametrize("name", ["figure3", "figure3-attncnp", "light-curves"])
@pytest.mark.usefixtures("untrained", "light_curve_file")
def test_the_figures_of_series_are_drawn(tmp_path, name):
    assert draw_paper_figure(name, SHIPPED, tmp_path, seed=1).read_bytes().startswith(b"\x89PNG")
