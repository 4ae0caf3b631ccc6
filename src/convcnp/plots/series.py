"""Pictures of a user's series: what was observed, and what was predicted."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from convcnp.errors import ConvCNPWarning, TableError, did_you_mean, shortened
from convcnp.frames.lattice import lattice
from convcnp.frames.series import Ragged, SeriesTable
from convcnp.frames.targets import Targets
from convcnp.plots.dense import in_columns, is_dense, line_width, point_style, thinned
from convcnp.plots.drawing import (
    BLACK,
    BLUE,
    ORANGE,
    Form,
    as_pictures,
    durations,
    new_figure,
    plain_numbers,
    short_dates,
)
from convcnp.plots.zooms import Zoom, zooms_of
from convcnp.predict.answers import QUANTILES, quantile_name
from convcnp.predict.request import Request, SeriesRequest

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANELS = 6  # of a page
_LONGEST_NAME = 60  # characters
_LONGEST_IN_TITLE = 30  # beside the legend
_POINTS = 600  # of a curve
_MOST_TIMES = 40_000  # of the curves of all series together, where each has more


@dataclass(frozen=True)
class _Panel:
    """A series and a value column, all of it or what surrounds a gap."""

    series: int
    value: str
    part: Zoom | None = None


def draw_series(
    request: SeriesRequest,
    answer: pd.DataFrame,
    form: Form = "png",
    chosen: Sequence[str] = (),
    most_pages: int = 20,
) -> list[bytes]:
    """Draw series and value columns: observations, the mean, the 90 % band, and gaps enlarged.

    Six panels are a page: of one PDF, or a file each of other forms. Where a mean lies outside its
    own band, medians are drawn instead.

    Args:
        answer: What was predicted for the request; samples in it are drawn as well.
        chosen: Series by their names; the first ones if left out.
    """
    table = request.table
    _check_drawable(table, request.targets)
    panels = _shown(_panels(request, _numbers(table, chosen)), _PANELS * most_pages)
    shown = _with_curves(request, panels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvCNPWarning)  # the answer came with them
        bands = _drawable(shown.answer((*QUANTILES, 0.5)), table)
    answer = _drawable(answer, table)
    middle = _middle(bands, table.columns.values)
    pages = []
    for start in range(0, len(panels), _PANELS):
        page = panels[start : start + _PANELS]
        is_whole = all(panel.part is None for panel in page)
        pages.append(new_figure(len(page), 1, width=9.0, height=2.8, share=is_whole))
        for axes, panel in zip(pages[-1].axes, page, strict=True):
            band = bands.iloc[shown.targets.rows(panel.series)]
            _draw_band(axes, _within(band, table, panel), table.time, panel.value, middle)
            _draw_panel(axes, request, panel, answer)
        _name_marks(pages[-1], table)
    return as_pictures(pages, form)


def _shown(panels: list[_Panel], most: int) -> list[_Panel]:
    if len(panels) > most:
        warnings.warn(
            f"{most} of {len(panels):,} panels are drawn, {_PANELS} to a page; choose series by "
            "their names to see others.",
            ConvCNPWarning,
            stacklevel=3,
        )
    return panels[:most]


def _middle(bands: pd.DataFrame, values: Sequence[str]) -> str:
    """Return what is drawn: the mean, or, where one lies outside its band, the median."""
    low, high = map(quantile_name, QUANTILES)
    outside = (
        (bands[f"{v}_mean"] < bands[f"{v}_{low}"]) | (bands[f"{v}_mean"] > bands[f"{v}_{high}"])
        for v in values
    )
    return "median" if any(rows.any() for rows in outside) else "mean"


def _within(band: pd.DataFrame, table: SeriesTable, panel: _Panel) -> pd.DataFrame:
    """Return the rows of a band that a panel shows."""
    if panel.part is None:
        return band
    low, high = _times(table, np.array([panel.part.low, panel.part.high]))
    return band[(band[table.time] >= low) & (band[table.time] <= high)]


def _times(table: SeriesTable, x: np.ndarray) -> Any:  # noqa: ANN401 - what axes take
    """Return times as they are drawn: durations in seconds, which matplotlib would not tell."""
    return x if table.axis.dtype.kind == "m" else table.axis.times(x)


def _drawable(answer: pd.DataFrame, table: SeriesTable) -> pd.DataFrame:
    """Return an answer with times as they are drawn."""
    if table.axis.dtype.kind != "m":
        return answer
    return answer.assign(**{table.time: table.axis.numbers(answer[table.time])})


def _name_marks(page: Figure, table: SeriesTable) -> None:
    """Name lines and marks above the panels, where they cover nothing, and numbers below."""
    found, names = page.axes[0].get_legend_handles_labels()
    marks: list[Any] = [_mark(name, mark) for name, mark in zip(names, found, strict=True)]
    page.legend(marks, names, loc="outside upper right", ncols=4, frameon=False, fontsize="small")
    name = shortened(table.time, _LONGEST_NAME)
    if table.axis.dtype.kind == "m":
        units = [durations(axes) for axes in page.axes]
        for axes, unit in zip(page.axes, units, strict=True):
            if axes is page.axes[-1] or len(set(units)) > 1:
                axes.set_xlabel(f"{name} ({unit})", parse_math=False)
    elif table.axis.dtype.kind != "M":  # dates name themselves
        page.axes[-1].set_xlabel(name, parse_math=False)


def _mark(name: str, mark: Artist) -> Artist | tuple[Artist, ...]:
    """Return what stands for something in the legend: seen, however fine it is in a panel."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if name.endswith("band"):
        band = Patch(color=BLUE, alpha=0.2, linewidth=0)
        return band, Line2D([], [], color=BLUE, linewidth=1.2)
    if name.startswith("observed"):
        size, _ = point_style(1)
        return Line2D([], [], marker="o", linestyle="", color=BLACK, markersize=size, mew=0)
    return mark


def _draw_panel(axes: Axes, request: SeriesRequest, panel: _Panel, answer: pd.DataFrame) -> None:
    table, i, value = request.table, panel.series, panel.value
    rows = table.series.rows(i)
    channel, errors = table.columns.values.index(value), table.series.error
    x, y = table.series.x[rows], table.y[rows, channel]
    error = np.zeros_like(y) if errors is None else errors[rows, channel]
    asked = request.targets.inputs.x[request.targets.inputs.rows(i)]
    answer = answer.iloc[request.targets.rows(i)]
    if panel.part is not None:
        low, high = panel.part.low, panel.part.high
        inside = (x >= low) & (x <= high)
        x, y, error = x[inside], y[inside], error[inside]
        inside = (asked >= low) & (asked <= high)
        asked, answer = asked[inside], answer[inside]
    kept = thinned(x, y)
    label = "observed" if len(kept) == len(x) else f"observed: {len(kept):,} of {len(x):,}"
    times = _times(table, x[kept])
    size, opacity = point_style(len(x))
    axes.plot(times, y[kept], "o", color=BLACK, ms=size, alpha=opacity, mew=0, label=label)
    if error.any():
        bars = y[kept] - error[kept], y[kept] + error[kept]
        axes.vlines(times, *bars, color=BLACK, linewidth=0.6, alpha=0.6, label="standard error")
    _draw_samples(axes, asked, answer, table.time, value)
    name = value if table.labels is None else f"{value}, {table.labels[i]}"
    axes.set_ylabel(shortened(name, _LONGEST_NAME), parse_math=False)
    if panel.part is not None:
        title = f"{shortened(name, _LONGEST_IN_TITLE)}: {panel.part.title}"
        axes.set_title(title, loc="left", fontsize="small", parse_math=False)
    if table.axis.dtype.kind == "M":
        short_dates(axes)
    elif table.axis.dtype.kind != "m":
        plain_numbers(axes)


def _numbers(table: SeriesTable, chosen: Sequence[str]) -> list[int]:
    """Return series by number, given by name; all if none is."""
    if not chosen:
        return list(range(len(table.series)))
    names = [] if table.labels is None else list(map(str, table.labels))
    for name in chosen:
        if name not in names:
            raise TableError(
                f"Expected series of the table to draw, got {name!r}{did_you_mean(name, names)}"
            )
    return [names.index(name) for name in chosen]


def _check_drawable(table: SeriesTable, targets: Targets) -> None:
    """Refuse dates that no axis shows: those before the year 1 and after 9999, with some room."""
    x = np.concatenate([table.series.x, targets.inputs.x])
    if table.axis.dtype.kind == "M":
        years = table.axis.times(np.array([x.min(), x.max()])).year
        room = 1 + (years[1] - years[0]) // 10
        if years[0] - room < 1 or years[1] + room > 9999:
            raise TableError(
                f"Expected dates of the years 1 to 9999 to draw, got {years[0]} to {years[1]}; "
                "leave out the picture, or count the years as numbers."
            )


def _with_curves(request: SeriesRequest, panels: list[_Panel]) -> Request:
    """Ask for times fine enough for smooth curves, of what is drawn.

    Of a regular series only those of its rows: a sharp season swings between them, where nothing
    is ever observed.
    """
    table, asked = request.table, request.targets.inputs
    curves: dict[int, np.ndarray] = {}
    most = max(_MOST_TIMES // len({panel.series for panel in panels}), 2 * _POINTS)
    for panel in panels:
        own, wanted = table.series.x[table.series.rows(panel.series)], asked.rows(panel.series)
        regular = lattice(table, panel.series, asked.x[wanted])
        if regular is not None:
            curve = _chosen(regular, asked.x[wanted], panel.part, most)
        else:
            curve = _curve(own, asked.x[wanted]) if panel.part is None else _fine(own, panel.part)
        curves[panel.series] = np.union1d(curves.get(panel.series, []), curve)
    lengths = [len(curves.get(i, ())) for i in range(len(table.series))]
    x = np.concatenate([curves[i] for i in sorted(curves)])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return request.at(Targets(Ragged(x, starts), "the times of curves"))


def _panels(request: SeriesRequest, numbers: list[int]) -> list[_Panel]:
    """Return what is drawn: series and their value columns that have observations, and gaps."""
    table, found = request.table, []
    for i in numbers:
        rows = table.series.rows(i)
        for channel, value in enumerate(table.columns.values):
            if not np.isnan(table.y[rows, channel]).all():
                parts = zooms_of(request, i, channel)
                found += [_Panel(i, value), *(_Panel(i, value, part) for part in parts)]
    return found


def _draw_band(axes: Axes, band: pd.DataFrame, time: str, value: str, middle: str) -> None:
    """Draw a band and the curve through it; of very many times, from lowest to highest."""
    names = [f"{value}_{quantile_name(level)}" for level in QUANTILES]
    name = f"{value}_{'mean' if middle == 'mean' else quantile_name(0.5)}"
    label = f"{middle} and 90 % band"
    if is_dense(len(band)):
        _draw_columns(axes, in_columns(band[time], band[[*names, name]]), [*names, name], label)
        return
    axes.fill_between(band[time], *(band[name] for name in names), color=BLUE, alpha=0.2, lw=0)
    axes.plot(band[time], band[name], color=BLUE, linewidth=line_width(len(band)), label=label)


def _draw_columns(axes: Axes, columns: pd.DataFrame, names: Sequence[str], label: str) -> None:
    """Draw what a band, and the curve through it, cover in every column of a panel."""
    low, high, middle = names
    ends = columns[f"{low}_lowest"], columns[f"{high}_highest"]
    axes.fill_between(columns["time"], *ends, color=BLUE, alpha=0.2, linewidth=0)
    ends = columns[f"{middle}_lowest"], columns[f"{middle}_highest"]
    axes.fill_between(columns["time"], *ends, color=BLUE, alpha=0.35, linewidth=0.8, label=label)


def _draw_samples(axes: Axes, x: np.ndarray, answer: pd.DataFrame, time: str, value: str) -> None:
    """Draw sampled curves, each gap's on its own: nothing was asked for in between."""
    names = [name for name in answer.columns if str(name).startswith(f"{value}_sample")]
    order = np.argsort(x, kind="stable")
    x, answer = x[order], answer.iloc[order]
    step = np.diff(x)
    ends = np.flatnonzero(step > 3 * (np.median(step) if len(step) else 0.0)) + 1
    for rows in np.split(np.arange(len(x)), ends):
        for name in names:
            part = answer.iloc[rows]
            axes.plot(part[time], part[name], color=ORANGE, linewidth=0.6, alpha=0.7)
    if names:
        axes.lines[-1].set_label("coherent samples")  # one of them, for all


def _fine(x: np.ndarray, part: Zoom) -> np.ndarray:
    """Return times of a part of a series, as many as it has steps, or as make a smooth curve."""
    steps = 2 * (part.high - part.low) / float(np.median(np.diff(np.unique(x))))
    return np.linspace(part.low, part.high, int(np.clip(steps, 200, 2 * _POINTS)))


def _curve(x: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Return times fine enough for a smooth curve through what was observed and asked."""
    ends = np.concatenate([x, asked])
    grid = np.linspace(ends.min(), ends.max(), 2 * _POINTS)
    return np.unique(np.concatenate([grid, asked if len(asked) < _POINTS else []]))


def _chosen(regular: np.ndarray, asked: np.ndarray, part: Zoom | None, most: int) -> np.ndarray:
    """Choose from the times of a regular series, or of a part of it, at most so many."""
    if part is not None:
        regular = regular[(regular >= part.low) & (regular <= part.high)]
    places = np.linspace(0, len(regular) - 1, min(most, len(regular))).round()
    return np.union1d(regular[places.astype(np.int64)], asked if len(asked) < _POINTS else [])
