"""What pictures of predictions are made of."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from convcnp.core.predictive import Predictive
from convcnp.core.task import Task
from convcnp.extras import import_extra
from convcnp.storage import writing

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Form = Literal["png", "svg", "pdf"]
FORMS: tuple[Form, ...] = ("png", "svg", "pdf")
_LONG = 1e5  # numbers along an axis: of longer ones there are fewer
_SHORT = (-5, 15)  # powers of ten of numbers that are written whole
_TICKS = 8  # along an axis of durations, at most
_CLOCK_STEPS = (  # in seconds, between ticks
    *(1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800),
    *(3_600, 7_200, 14_400, 21_600, 43_200),
)
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400  # seconds
BLUE, GREEN, ORANGE, BLACK = "#2a6fbb", "#2e8b57", "#c8681c", "#222222"


def draw_band(
    axes: Axes,
    x: Float[Tensor, " M"],
    predictive: Predictive,
    *,
    channel: int = 0,
    color: str = BLUE,
    label: str | None = None,
    by: Literal["mean", "median"] = "mean",
) -> None:
    """Draw the mean, or the median, and the central 95 % of the first task."""
    mean, low, high = _mean_and_band(predictive, channel)
    middle = mean if by == "mean" else predictive.quantile(0.5)[0, :, channel].detach().cpu()
    axes.plot(x, middle, color=color, linewidth=1.5, label=label)
    axes.fill_between(x, low, high, color=color, alpha=0.2, linewidth=0)


def draw_reference(
    axes: Axes,
    x: Float[Tensor, " M"],
    predictive: Predictive,
    *,
    channel: int = 0,
    label: str = "exact GP",
) -> None:
    """Draw another's prediction as dashed lines: mean and central 95 %."""
    mean, *band = _mean_and_band(predictive, channel)
    axes.plot(x, mean, "--", color=GREEN, linewidth=1.2, label=label)
    for edge in band:
        axes.plot(x, edge, ":", color=GREEN, linewidth=1.2)


def _mean_and_band(predictive: Predictive, channel: int) -> list[Float[Tensor, " M"]]:
    """Return the mean of the first task, and what would be two standard deviations of Gaussians."""
    edges = (predictive.quantile(float(torch.special.ndtr(torch.tensor(z)))) for z in (-2.0, 2.0))
    return [moment[0, :, channel].detach().cpu() for moment in (predictive.mean, *edges)]


def draw_context(axes: Axes, task: Task, *, channel: int = 0, color: str = BLACK) -> None:
    """Draw the first task's observations."""
    seen = task.context_mask[0, :, channel]
    x, y = task.x_context[0, seen, 0], task.y_context[0, seen, channel]
    axes.plot(x, y, "o", color=color, markersize=4, label="context")


def draw_targets(axes: Axes, task: Task, *, channel: int = 0, color: str = BLACK) -> None:
    """Draw what the first task asks for, where it is known, as open circles."""
    assert task.y_target is not None
    asked = task.target_mask[0, :, channel]
    x, y = task.x_target[0, asked, 0], task.y_target[0, asked, channel]
    axes.plot(x, y, "o", color=color, markersize=4, fillstyle="none", label="target")


def blank_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches, drawn without a screen."""
    figure: Figure = import_extra("matplotlib.figure", "plot").Figure(
        figsize=(width, height), layout="constrained"
    )
    return figure


def new_figure(
    rows: int, columns: int, width: float = 4.0, height: float = 2.6, *, share: bool = True
) -> Figure:
    """Return a figure with a grid of axes, each of this width and height in inches.

    Args:
        share: Whether axes below each other have one horizontal axis.
    """
    figure = blank_figure(width * columns, height * rows)
    figure.subplots(rows, columns, squeeze=False, sharex="col" if share else "none")
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def short_dates(axes: Axes) -> None:
    """Write dates along an axis so short that they do not overlap."""
    from matplotlib.dates import ConciseDateFormatter

    locator = axes.xaxis.get_major_locator()
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


def plain_numbers(axes: Axes) -> None:
    """Write numbers along the horizontal axis whole, such as 2455200, not as 200 above 2.455e6."""
    low, high = axes.get_xlim()
    if (largest := max(abs(low), abs(high))) >= _LONG:
        digits = len(f"{largest:.0f}") + max(0, 2 - int(np.floor(np.log10(high - low))))
        axes.locator_params(axis="x", nbins=int(np.clip(70 // digits, 2, 9)))
    axes.ticklabel_format(axis="x", useOffset=False, scilimits=_SHORT)


def durations(axes: Axes) -> str:
    """Write seconds along the horizontal axis as h:mm, or as days if they are many.

    Returns:
        The form in which they are written, or their unit.
    """
    from matplotlib.ticker import FuncFormatter, MultipleLocator

    low, high = axes.get_xlim()
    least = (high - low) / _TICKS
    clock = next((step for step in _CLOCK_STEPS if step >= least), None)
    if least < _CLOCK_STEPS[0] / 2 or clock is None:  # decimals of seconds, or days
        scale, unit = (_DAY, "days") if clock is None else (1, "s")
        power = 10 ** np.floor(np.log10(least / scale))
        step = scale * next(n * power for n in (1, 2, 5, 10) if n * power >= least / scale)
        written = FuncFormatter(lambda x, _: f"{x / scale:.6g}")
    else:
        step, unit = clock, "h:mm:ss" if clock < _MINUTE else "h:mm"
        written = FuncFormatter(lambda x, _: _clock(x, has_seconds=unit == "h:mm:ss"))
    axes.xaxis.set_major_locator(MultipleLocator(step))
    axes.xaxis.set_major_formatter(written)
    return unit


def _clock(seconds: float, *, has_seconds: bool) -> str:
    """Write a duration as hours, minutes and perhaps seconds.

    Example:
        >>> _clock(93_600, has_seconds=False), _clock(-90, has_seconds=True)
        ('26:00', '-0:01:30')
    """
    whole = round(abs(seconds))
    text = f"{whole // _HOUR}:{whole % _HOUR // _MINUTE:02}"
    text += f":{whole % _MINUTE:02}" if has_seconds else ""
    return f"-{text}" if seconds < 0 and whole else text


def show_image(
    axes: Axes, pixels: Float[Tensor, "H W C"], missing: Bool[Tensor, "H W"] | None = None
) -> None:
    """Show an image with values between 0 and 1; missing pixels are blue, or black in colour."""
    rgb = pixels.clamp(0, 1).expand(*pixels.shape[:2], 3).clone()
    if missing is not None:
        rgb[missing] = rgb.new_tensor([0.0, 0.0, 1.0 if pixels.shape[-1] == 1 else 0.0])
    axes.imshow(rgb.numpy(), interpolation="nearest")
    axes.set_axis_off()


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure as PNG, making its folder."""
    with writing(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=110)


def as_png(figure: Figure, dpi: int = 150) -> bytes:
    """Return a figure as the content of a PNG file."""
    return as_picture(figure, dpi=dpi)


def as_picture(figure: Figure, form: Form = "png", dpi: int = 150) -> bytes:
    """Return a figure as the content of a file."""
    content = io.BytesIO()
    figure.savefig(content, dpi=dpi, format=form)
    return content.getvalue()


def as_pictures(pages: Sequence[Figure], form: Form = "png") -> list[bytes]:
    """Return figures as the contents of files: all of them in one PDF, or each in one of its own.

    Example:
        >>> len(as_pictures([new_figure(1, 1), new_figure(1, 1)], "svg"))
        2
    """
    if form != "pdf":
        return [as_picture(page, form) for page in pages]
    content = io.BytesIO()
    with import_extra("matplotlib.backends.backend_pdf", "plot").PdfPages(content) as book:
        for page in pages:
            book.savefig(page, dpi=150)
    return [content.getvalue()]


def page_paths(path: Path, count: int) -> list[Path]:
    """Return the files of so many pages: the first as it is named, the others numbered.

    Example:
        >>> [page.name for page in page_paths(Path("map.png"), 3)]
        ['map.png', 'map-2.png', 'map-3.png']
    """
    others = (path.with_stem(f"{path.stem}-{number}") for number in range(2, count + 1))
    return [path, *others]


def form_of(path: Path) -> Form:
    """Return the form that a picture's file has by its ending; PNG if it is none of ours."""
    return next((form for form in FORMS if path.suffix.lower() == f".{form}"), "png")


def dense_targets(low: float, high: float, points: int = 601) -> Float[Tensor, "1 M 1"]:
    """Return evenly spaced inputs to draw a curve at."""
    return torch.linspace(low, high, points, dtype=torch.float64)[None, :, None]


def draw_legend(figure: Figure) -> None:
    """Name each kind of line and mark once, below all panels."""
    handles: dict[str, Artist] = {}
    for axes in figure.axes:
        handles |= {
            label: mark for mark, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
    marks, labels = list(handles.values()), list(handles)
    figure.legend(marks, labels, loc="outside lower center", ncols=len(labels), frameon=False)


def limit_to(axes: Axes, y: Tensor) -> None:
    """Show the values given, with room above and below."""
    if y.numel():
        low, high = y.min().item(), y.max().item()
        room = 0.6 * (high - low) or 1.0
        axes.set_ylim(low - room, high + room)
