"""What pictures of predictions are made of."""

from itertools import pairwise
from pathlib import Path

import pytest
import torch

from convcnp import GaussianPredictive, Task
from convcnp.core.predictive import MixturePredictive
from convcnp.plots.drawing import (
    as_picture,
    as_pictures,
    as_png,
    dense_targets,
    draw_band,
    draw_context,
    draw_legend,
    draw_reference,
    draw_targets,
    durations,
    form_of,
    limit_to,
    new_figure,
    page_paths,
    plain_numbers,
    save_figure,
    show_image,
)


def test_a_band_is_two_standard_deviations_wide_and_masked_points_are_not_drawn(tmp_path):
    figure = new_figure(1, 1)
    axes = figure.axes[0]
    x = torch.tensor([0.0, 1.0])
    mean, stddev = torch.tensor([[[1.0], [2.0]]]), torch.tensor([[[0.5], [0.25]]])
    draw_band(axes, x, GaussianPredictive(mean, stddev, torch.ones(1, 2, 1, dtype=torch.bool)))
    corners = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert sorted(set(corners.round(5).tolist())) == [0.0, 1.5, 2.0, 2.5]
    task = Task.from_arrays([0.0, 1.0, 2.0], [1.0, float("nan"), 3.0], [0.5])
    draw_context(axes, task)
    assert axes.lines[-1].get_xdata().tolist() == [0.0, 2.0]
    save_figure(figure, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").exists()


def test_a_median_is_drawn_in_place_of_a_mean_that_lies_between():
    axes = new_figure(1, 1).axes[0]
    parts = torch.zeros(1, 2, 1, 2), torch.zeros(1, 2, 1, 2), torch.full((1, 2, 1, 2), 0.01)
    parts[0][..., 1], parts[1][..., 1] = -1.0, 100.0
    either = MixturePredictive(*parts, torch.ones(1, 2, 1, dtype=torch.bool))
    for by in ("mean", "median"):
        draw_band(axes, torch.tensor([0.0, 1.0]), either, by=by)
    mean, median = (line.get_ydata()[0] for line in axes.lines)
    assert mean > 20
    assert abs(median) < 0.1


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
    drawn = [line.get_ydata().item() for line in axes.lines[-3:]]
    assert drawn == pytest.approx([5.0, 1.0, 9.0])


@pytest.mark.parametrize(("channels", "colour"), [(1, [0.0, 0.0, 1.0]), (3, [0.0, 0.0, 0.0])])
def test_missing_pixels_are_blue_or_in_colour_black(channels, colour):
    axes, pixels = new_figure(1, 1).axes[0], torch.full((2, 3, channels), 0.5)
    missing = torch.zeros(2, 3, dtype=torch.bool)
    missing[1, 2] = True
    show_image(axes, pixels, missing)
    shown = axes.images[0].get_array()
    assert shown[1, 2].tolist() == colour
    assert shown[0, 0].tolist() == [0.5, 0.5, 0.5]


def test_each_kind_of_line_is_named_once():
    figure = new_figure(1, 2)
    for axes in figure.axes:
        axes.plot([0, 1], [0, 1], label="mean")
    figure.axes[1].plot([0, 1], [1, 0], label="truth")
    draw_legend(figure)
    assert [text.get_text() for text in figure.legends[0].texts] == ["mean", "truth"]


def test_limits_leave_room_around_the_values():
    axes = new_figure(1, 1).axes[0]
    limit_to(axes, torch.tensor([1.0, 3.0]))
    assert axes.get_ylim() == pytest.approx((-0.2, 4.2))
    limit_to(axes, torch.tensor([]))
    assert axes.get_ylim() == pytest.approx((-0.2, 4.2))


def test_curves_are_drawn_at_even_inputs_from_end_to_end():
    x = dense_targets(-1, 1, points=5)
    assert x.flatten().tolist() == [-1, -0.5, 0, 0.5, 1]
    assert x.shape == (1, 5, 1)


@pytest.mark.parametrize(
    ("x", "said"),
    [
        ([2455000.8, 2455866.3], ["2455000", "2455800"]),
        ([1.6e9, 1.6e9 + 86400], ["1600000000", "1600080000"]),
        ([2455000.01, 2455000.06], ["2455000.01", "2455000.06"]),
        ([0.0, 4.0], ["0", "4"]),
        ([-1.5, 0.5], ["\u22121.50", "0.50"]),
    ],
)
def test_large_numbers_along_an_axis_are_written_whole_and_do_not_overlap(x, said):
    figure = new_figure(1, 1, width=9.0)
    axes = figure.axes[0]
    axes.plot(x, [0.0, 1.0])
    plain_numbers(axes)
    figure.draw_without_rendering()
    assert axes.xaxis.get_offset_text().get_text() == ""
    ends = sorted(axes.get_xlim())
    shown = [
        text for text in axes.get_xticklabels() if ends[0] <= text.get_position()[0] <= ends[1]
    ]
    names = [text.get_text() for text in shown]
    assert {*said} <= {name.removesuffix(".0") for name in names}
    boxes = [text.get_window_extent() for text in shown]
    assert all(one.x1 < two.x0 for one, two in pairwise(boxes))


@pytest.mark.parametrize(
    ("x", "unit", "said"),
    [
        ([0.0, 85_500.0], "h:mm", ["0:00", "4:00", "24:00"]),
        ([72_000.0, 107_400.0], "h:mm", ["20:00", "24:00", "28:00"]),
        ([-600.0, 1200.0], "h:mm", ["-0:10", "0:00", "0:20"]),
        ([0.0, 95.0], "h:mm:ss", ["0:00:00", "0:00:45", "0:01:30"]),
        ([0.0, 0.5], "s", ["0", "0.1", "0.5"]),
        ([0.0, 40 * 86_400.0], "days", ["0", "10", "40"]),
        ([5.0, 5.0], "s", ["5"]),
    ],
)
def test_durations_along_an_axis_are_written_as_clocks_or_days(x, unit, said):
    axes = new_figure(1, 1, width=9.0).axes[0]
    axes.plot(x, [0.0, 1.0])
    assert durations(axes) == unit
    low, high = axes.get_xlim()
    ticks = [tick for tick in axes.xaxis.get_majorticklocs() if low <= tick <= high]
    names = axes.xaxis.get_major_formatter().format_ticks(ticks)
    assert {*said} <= {*names}
    assert len(names) <= 9


def test_a_figure_becomes_the_content_of_a_png():
    assert as_png(new_figure(1, 1)).startswith(b"\x89PNG")


def test_a_picture_has_the_form_of_its_file_and_a_pdf_pages():
    pages = [new_figure(1, 1), new_figure(1, 1)]
    assert b"<svg" in as_picture(pages[0], "svg")
    assert [page[:4] for page in as_pictures(pages)] == [b"\x89PNG"] * 2
    (book,) = as_pictures(pages, "pdf")
    assert book.count(b"/Type /Page ") == 2
    names = [path.name for path in page_paths(Path("folder/all.gaps.svg"), 2)]
    assert names == ["all.gaps.svg", "all.gaps-2.svg"]
    assert [form_of(Path(name)) for name in ("a.PDF", "a.svg", "a.png")] == ["pdf", "svg", "png"]
