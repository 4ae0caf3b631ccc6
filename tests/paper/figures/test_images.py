"""Figures of images: drawn with what is trained, and refused where nothing is."""

import json
from itertools import pairwise

import pytest
import torch

from convcnp.data.source import seeded
from convcnp.errors import ConvCNPError, ConvCNPWarning, ResultError
from convcnp.paper.figures.images import DATA, FIGURES, at_percentiles, context_masks
from convcnp.paper.figures.paper import draw_paper_figure
from convcnp.paper.figures.shelf import Shelf
from helpers import needs_data, write_untrained


@pytest.fixture
def runs(tmp_path):
    """Leave untrained models where finished runs would be."""
    cells = {
        "table3/mnist-convcnp": {"name": "grid-convcnp"},
        "table3/mnist-attncnp": {"name": "image-attncnp"},
        "table6/mnist-eq": {"name": "grid-convcnp", "first_filter": "eq"},
    }
    for name, model in cells.items():
        write_untrained(tmp_path / "runs" / name, "mnist", model)
    return tmp_path / "runs"


@pytest.fixture
def nothing_ships(tmp_path, monkeypatch):
    monkeypatch.setattr("convcnp.predict.zoo.WEIGHTS", tmp_path / "weights")


def draw(name, folder, runs="nowhere", results="nowhere"):
    shelf = Shelf(folder / results, folder / runs)
    return draw_paper_figure(name, shelf, folder / "out", seed=1)


def test_contexts_grow_and_halves_are_halves():
    masks = context_masks(20, 30, seeded(0))
    assert list(masks) == [
        *("3 pixels", "1 %", "5 %", "10 %", "20 %", "30 %", "50 %", "100 %"),
        *("left half", "top half"),
    ]
    counts = [int(mask.sum()) for mask in masks.values()]
    assert counts == [3, 6, 30, 60, 120, 180, 300, 600, 300, 300]
    grown = list(masks.values())[:8]
    for smaller, larger in pairwise(grown):
        assert larger[smaller].all()
    assert masks["left half"][:, :15].all()
    assert masks["top half"][:10].all()


@pytest.mark.parametrize("name", ["images-mnist", "histogram-mnist", "filters"])
def test_figures_are_drawn_with_the_models_of_runs(
    name, runs, digits, tmp_path, nothing_ships, monkeypatch
):
    monkeypatch.setattr("convcnp.paper.figures.images.HISTOGRAM_IMAGES", 20)
    path = draw(name, tmp_path, runs="runs")
    assert path.name == f"{name}.png"
    assert path.read_bytes().startswith(b"\x89PNG")


def test_the_curve_has_a_point_for_every_share_and_model(
    runs, digits, tmp_path, nothing_ships, monkeypatch
):
    monkeypatch.setattr("convcnp.paper.figures.images.CURVE_IMAGES", 4)
    monkeypatch.setattr("convcnp.paper.figures.images.SHARES", (0.1, 0.5))
    axes = FIGURES["shares-mnist"]("shares-mnist", Shelf(tmp_path, runs), 1).axes[0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["ConvCNP", "AttnCNP"]
    for container in axes.containers:
        x, y = container.lines[0].get_data()
        assert list(x) == pytest.approx([10, 50])
        assert len(set(y)) == 2


def test_models_that_were_trained_longer_are_shown_alone(runs, digits, tmp_path, nothing_ships):
    write_untrained(runs / "table3/mnist-attncnp-long", "mnist", {"name": "image-attncnp"})
    figure = FIGURES["images-mnist"]("images-mnist", Shelf(tmp_path, runs), 1)
    titles = {axes.get_title("left") for axes in figure.axes}
    assert titles == {"", "AttnCNP"}


def test_of_two_longer_trainings_the_longest_is_shown(
    runs, digits, tmp_path, nothing_ships, monkeypatch
):
    for depth in ("-long", "-longer"):
        write_untrained(runs / f"table3/mnist-attncnp{depth}", "mnist", {"name": "image-attncnp"})
    loaded, load = [], Shelf.load
    monkeypatch.setattr(Shelf, "load", lambda *args: loaded.append(args[-1]) or load(*args))
    FIGURES["images-mnist"]("images-mnist", Shelf(tmp_path, runs), 1)
    assert loaded == ["mnist-attncnp-longer"]


def test_filters_of_different_sizes_are_shown_whole(runs, tmp_path, nothing_ships):
    write_untrained(
        runs / "table3/zsmm-convcnp", "zsmm", {"name": "grid-convcnp", "image_size": 56}
    )
    figure = FIGURES["filters"]("filters", Shelf(tmp_path, runs), 1)
    panels = [axes for axes in figure.axes if axes.images]
    widths = []
    for axes in panels:
        left, right, bottom, top = axes.images[0].get_extent()
        assert axes.get_xlim()[0] <= left < right <= axes.get_xlim()[1]
        assert axes.get_ylim()[0] <= bottom < top <= axes.get_ylim()[1]
        widths.append(right - left)
    assert widths == [9, 7, 9]


def test_examples_lie_at_the_percentiles_of_the_scores():
    scores = torch.randperm(101, generator=seeded(0)).float()
    assert scores[at_percentiles(scores)].tolist() == [5, 25, 50, 75, 95]


@pytest.mark.parametrize("name", ["images-mnist", "histogram-mnist"])
def test_pixels_that_were_not_observed_are_shown_as_missing(
    name, runs, digits, tmp_path, nothing_ships, monkeypatch
):
    shown = []
    monkeypatch.setattr("convcnp.paper.figures.images.HISTOGRAM_IMAGES", 20)
    monkeypatch.setattr(
        "convcnp.paper.figures.images.show_image",
        lambda axes, image, missing=None: shown.append((image, missing)),
    )
    draw(name, tmp_path, runs="runs")
    given = [(image, missing) for image, missing in shown if missing is not None]
    if name == "images-mnist":
        observed = [int((~missing).sum()) for _, missing in given]
        assert observed == [3, 10, 51, 102, 205, 307, 512, 1024, 512, 512]
    else:
        assert len(given) == 5
        assert all(missing.float().mean() >= 0.5 for _, missing in given)  # at most half is seen


@needs_data
def test_the_photograph_is_drawn_from_a_model_of_celeba(tmp_path, nothing_ships):
    cell = tmp_path / "runs/table3/celeba32-convcnp"
    write_untrained(cell, "celeba32", {"name": "grid-convcnp"})
    with pytest.warns(ConvCNPWarning, match="more than this model bridges"):
        assert draw("photo", tmp_path, runs="runs").exists()


def test_the_receptive_field_is_drawn_from_results(tmp_path):
    folder = tmp_path / "results/receptive-field"
    folder.mkdir(parents=True)
    for name, value in (("zeros-15", 1.0), ("zeros-31", 0.9), ("unobserved-15", 1.1)):
        content = {"log_likelihood": value, "standard_error": 0.01}
        (folder / f"{name}.json").write_text(json.dumps(content))
    assert draw("receptive-field", tmp_path, results="results").exists()


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_without_models_or_results_is_refused(name, tmp_path, nothing_ships):
    with pytest.raises(ConvCNPError, match=r"Expected .* but there (is|are) none"):
        draw(name, tmp_path)


def test_an_unknown_figure_is_refused_with_all_names(tmp_path):
    with pytest.raises(ResultError, match=r"one of figure2, .*images-mnist.*photo.*got 'photoo'"):
        draw("photoo", tmp_path)
    assert {f"images-{data}" for data in DATA} <= set(FIGURES)
