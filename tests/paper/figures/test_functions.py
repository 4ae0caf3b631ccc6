"""Figures of synthetic functions."""

from pathlib import Path

from convcnp.paper.figures.functions import FIGURES, PROCESSES, WITH_DATA, WITHIN, WITHOUT_DATA
from convcnp.paper.figures.shelf import Shelf
from convcnp.training.catalogue import SOURCES

SHIPPED = Shelf(Path("nowhere"), Path("nowhere"))


def test_a_figure_of_the_appendix_has_a_row_per_model_that_ships_and_a_column_per_scene():
    figure = FIGURES["appendix-eq"]("appendix-eq", SHIPPED, 1)
    titles = [axes.get_title() for axes in figure.axes]
    scenes = [scene.title for scene in (WITHIN, WITHOUT_DATA, WITH_DATA)]
    assert titles[:3] == [f"eq, convcnp: {scene}" for scene in scenes]
    assert len(titles) % 3 == 0
    labels = {text.get_text() for text in figure.legends[0].texts}
    assert labels == {"mean, 2 sd", "exact GP", "true function", "context"}
    beyond = figure.axes[1]
    assert beyond.get_lines()[0].get_xdata().tolist()[0] == -4.0


def test_the_processes_of_the_appendix_are_listed_not_found():
    assert set(PROCESSES) <= set(SOURCES)
    assert set(FIGURES) == {"figure2", *(f"appendix-{name}" for name in PROCESSES)}
