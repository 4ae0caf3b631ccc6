"""Pictures: drawn from the shipped models, and refused with a sentence where there are none."""

import pytest
import torch

from convcnp import Task
from convcnp.errors import ResultError
from convcnp.figures import draw_band, draw_context, draw_paper_figure, new_figure, save_figure
from convcnp.predictive import GaussianPredictive
from convcnp.zoo import is_shipped


def test_a_figure_of_the_appendix_is_drawn_with_the_models_that_ship(tmp_path):
    assert is_shipped("eq-convcnp")
    path = draw_paper_figure("appendix-eq", tmp_path / "new", seed=1)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_an_unknown_figure_and_one_without_models_are_refused(tmp_path, monkeypatch):
    with pytest.raises(ResultError, match=r"one of figure2, appendix-eq.*got 'figure99'"):
        draw_paper_figure("figure99", tmp_path, seed=1)
    monkeypatch.setattr("convcnp.zoo.WEIGHTS", tmp_path)
    with pytest.raises(ResultError, match="Expected trained models for figure2, but none ship"):
        draw_paper_figure("figure2", tmp_path, seed=1)


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
