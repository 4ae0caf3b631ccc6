"""Settings of a model of series or points, chosen from a user's table."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from convcnp.core.cnn import UNet
from convcnp.core.task import Task
from convcnp.core.units import typical_gap
from convcnp.data.source import seeded
from convcnp.data.table import ENOUGH_SERIES, FEWEST, Layout, Rows, TableSource, choose_layout
from convcnp.errors import SettingError, TableError, check_positive
from convcnp.frames.time_axis import TimeAxis
from convcnp.models.convcnp import ConvCNP
from convcnp.training.experiment import Experiment
from convcnp.training.own.choices import Choices, Say, Wanted, training_choices

_FEWEST_ROWS = 60  # of a table that is cut into stretches or regions
_SAMPLED = 128  # tasks that choices are made from
_WINDOW = {1: 256, 2: 128}  # rows of a task at most, by input dimension
_CHANNELS = (16, 24, 32, 48, 48, 64, 64)  # of the U-Net, from fine to coarse
_BLOCKS = {1: 1, 2: 0}
_MOST_HALVINGS = {1: 7, 2: 4}
_FEW_CELLS = 64.0  # taken for a model without a grid
_LEARNING_RATE = 2e-3
_MODEL = "convcnp-ours"


def plan_table(
    frame: pd.DataFrame, path: str, digest: str, wanted: Wanted, say: Say = lambda text: None
) -> Experiment:
    """Choose every setting that is not given from the data, and say why in a sentence each."""
    choices = Choices(wanted.settings, say)
    choices.check("table", _MODEL)
    source = _data_choices(frame, path, digest, wanted, choices)
    _model_choices(source, choices)
    experiment = Experiment.parse(choices.content)
    chosen = experiment.source()
    assert isinstance(chosen, TableSource)
    source = replace(chosen, read=source.read)
    cells = _cells(experiment, source)
    return training_choices(choices, source, cells, wanted.minutes, _LEARNING_RATE)


def _data_choices(
    frame: pd.DataFrame, path: str, digest: str, wanted: Wanted, choices: Choices
) -> TableSource:
    """Choose columns, units and windows; return the source of the training tasks."""
    given = choices.content["data"]
    roles = {role: given[role] for role in ("time", "group", "channel", "inputs") if role in given}
    if "value" in given or "values" in given:
        roles["value"] = given.get("value", given.get("values"))
    layout = choose_layout(frame, **(roles | dict(wanted.names)))
    rows = Rows.of(frame, layout)
    _check_rows(rows, layout)
    choices.say(_described(rows, layout))
    settings = {"name": "table", "path": path, "digest": digest, **_set_fields(layout)}
    given.update({key: value for key, value in settings.items() if key not in given})
    training = rows.of_part("training")
    gap = choices.choose("data.gap", typical_gaps(training), None)
    _check_length("data.gap", gap, rows.x.shape[1], "input")
    choices.say(f"One unit of input is {_in_words(frame, layout, gap)}, the typical gap.")
    longest = int(training.lengths.max())
    whole = rows.is_split_by_series and longest <= _WINDOW[len(gap)]
    shortest_cut = longest if rows.is_split_by_series else max(FEWEST, longest // (2 * len(gap)))
    window = choices.choose(
        "data.window",
        min(_WINDOW[len(gap)], shortest_cut),
        f"A task is a whole series, of {longest} rows at most."
        if whole
        else f"A task is a window of {min(_WINDOW[len(gap)], shortest_cut)} rows.",
    )
    source = TableSource(
        **_set_fields(layout), path=path, digest=digest, gap=tuple(gap), window=window, read=rows
    )
    source = _unit_choices(source, choices)
    task = source.draw(_SAMPLED, seeded(1))
    largest = 1.5 * max(task.y_context.abs().max().item(), 1.0)
    choices.choose("data.largest", round(largest, 3))
    if source.dim_x == 1:
        gaps = typical_gap(task.x_context, task.context_mask.any(2, keepdim=True))
        gaps = gaps[task.context_mask.any(2).sum(1) > 1]
        low, high = (gaps.min().item(), gaps.max().item()) if len(gaps) else (1.0, 1.0)
        choices.choose("data.gaps", [round(low / 1.5, 6), round(high * 1.5, 6)])
    return source


def _check_length(key: str, numbers: Sequence[float], expected: int, what: str) -> None:
    if len(numbers) != expected:
        raise SettingError(
            f"{key} must have one number per {what}: expected {expected}, got {list(numbers)}; "
            "leave it out to have it chosen."
        )


def _set_fields(layout: Layout) -> dict[str, Any]:
    fields = {field.name: getattr(layout, field.name) for field in dataclasses.fields(Layout)}
    return {name: value for name, value in fields.items() if value not in (None, ())}


def _check_rows(rows: Rows, layout: Layout) -> None:
    """Refuse a table with nothing to learn from."""
    fits = rows.lengths >= FEWEST
    if not fits.any():
        raise TableError(
            f"Expected series of at least {FEWEST} rows with a value, but the longest of "
            f"{len(rows):,} has {int(rows.lengths.max(initial=0))}; name the column that tells "
            "series apart with --group, or gather more rows."
        )
    if not rows.is_split_by_series and rows.lengths.sum() < _FEWEST_ROWS:
        raise TableError(
            f"Expected at least {ENOUGH_SERIES} series, or {_FEWEST_ROWS} rows to cut into parts, "
            f"got {int(fits.sum())} series and {int(rows.lengths.sum())} rows; gather more, or "
            "predict with the model 'general', which needs no training."
        )
    training = rows.of_part("training")
    steps = np.diff(training.x, axis=0)[np.diff(training.owners) == 0]
    if not steps.any():
        over = " and ".join(map(repr, layout.inputs or (layout.time,)))
        raise TableError(
            f"Expected rows that differ in {over}, but within every series all are the same; name "
            "another column with --time, or other --inputs."
        )
    for channel, name in enumerate(layout.values):
        y = training.y[:, channel]
        y = y[~np.isnan(y)]
        if not len(y) or np.ptp(y) == 0:
            found = f"is {y[0]:g} everywhere" if len(y) else "has no value"
            raise TableError(
                f"Expected values that vary in {name!r}, but in the training part it {found}; "
                "leave it out by naming the others with --value."
            )


def _described(rows: Rows, layout: Layout) -> str:
    over = " and ".join(map(repr, layout.inputs or (layout.time,)))
    values = ", ".join(map(repr, layout.values))
    count = int((rows.lengths >= FEWEST).sum())
    sets = "sets of points" if count > 1 else "set of points"
    kind = sets if layout.inputs else "series"
    by = f" by {layout.group!r}" if layout.group else ""
    if rows.is_split_by_series:
        held = f"a tenth of the {kind} chooses the best weights, a tenth judges them"
    elif layout.inputs:
        held = "an eighth of the plane chooses the best weights, an eighth judges them"
    else:
        held = "15 % of the time chooses the best weights, the last 15 % judges them"
    short = len(rows) - count
    left = f" ({short:,} with fewer than {FEWEST} rows are left out)" if short else ""
    return (
        f"Learning {values} over {over} from {count:,} {kind}{by}{left}, "
        f"{len(rows.x):,} rows: {held}."
    )


def typical_gaps(rows: Rows) -> list[float]:
    """Return the typical distance between neighbours, along every input."""
    chosen = np.flatnonzero(rows.lengths >= FEWEST)[:200]
    parts = [rows.x[rows.starts[i] : rows.starts[i + 1]] for i in chosen]
    if rows.x.shape[1] == 1:
        gaps = [typical_gap(x := torch.from_numpy(p)[None], torch.ones_like(x) > 0) for p in parts]
        return [float(np.median([gap.item() for gap in gaps]))]
    # Two inputs of one kind, such as kilometres, share a unit; others get one each.
    spread = np.maximum(np.mean([p.std(0) for p in parts], 0), 1e-12)
    shared = max(spread) / min(spread) < 5
    scale = np.full(2, spread.mean()) if shared else spread
    nearest = [_nearest(torch.from_numpy(p / scale)) for p in parts]
    return [float(f"{gap:.6g}") for gap in 1.5 * np.median(nearest) * scale]


def _nearest(x: Tensor) -> float:
    """Return the median distance to the nearest other point."""
    some = x[torch.randperm(len(x), generator=seeded(0))[:500]]
    away = torch.cdist(some, x)
    away = torch.where(away > 0, away, torch.inf).amin(1)
    return away[away.isfinite()].median().item() if away.isfinite().any() else 1.0


def _in_words(frame: pd.DataFrame, layout: Layout, gap: Sequence[float]) -> str:
    if layout.inputs:
        return " and ".join(f"{g:g} of {n!r}" for g, n in zip(gap, layout.inputs, strict=True))
    if TimeAxis.of(frame[layout.time]).dtype.kind in "mM":
        return str(pd.Timedelta(seconds=gap[0])).replace("0 days ", "")
    return f"{gap[0]:g} of {layout.time!r}"


def _unit_choices(source: TableSource, choices: Choices) -> TableSource:
    """Choose between learned levels and each series' own, and learn them."""
    y = source.own.y
    task = source.draw_as_is(_SAMPLED, seeded(0))
    assert task.y_target is not None
    known = (task.context_mask | task.target_mask).numpy()
    values = np.where(known, (task.y_context + task.y_target).numpy(), np.nan)
    values = values[(known.sum(1) >= FEWEST).all(1)]  # (tasks, L, Dy)
    within, means = np.nanstd(values, 1), np.nanmean(values, 1)
    typical = np.median(within, 0) if len(within) else np.zeros(y.shape[1])
    apart = means.std(0) if len(means) else typical
    low, high = np.quantile(within, [0.1, 0.9], axis=0) if len(within) else (typical, typical)
    # What few series will be asked of lies beyond the stretches they are trained on, as levels may.
    much = 3.0 if source.rows.is_split_by_series else 0.5
    differ = bool(((apart > much * typical) | (high > 10 * low)).any() and (typical > 0).all())
    units = choices.choose(
        "data.units",
        "series" if differ else "fixed",
        "Values are seen relative to the level and spread of each task, as these differ much."
        if differ
        else "Values are seen relative to the mean and spread of all training rows.",
    )
    scale = typical if units == "series" else np.nanstd(y, 0)
    level = choices.choose("data.level", [float(f"{v:.9g}") for v in np.nanmean(y, 0)])
    scale = choices.choose("data.scale", [float(f"{v:.9g}") for v in scale])
    for key, numbers in (("data.level", level), ("data.scale", scale)):
        _check_length(key, numbers, source.dim_y, "value column")
    return replace(source, units=units, level=tuple(level), scale=tuple(scale))


def _model_choices(source: TableSource, choices: Choices) -> None:
    """Choose the grid's density, how far the network sees, margins and the sigma floor."""
    name = choices.choose("model.name", _MODEL)
    if not name.startswith("convcnp"):
        choices.say(f"The model is {name!r}, as given, with its own settings.")
        return
    dim = source.dim_x
    finest, cells = _density(source)
    density = choices.choose(
        "model.points_per_unit",
        cells,
        f"The grid has {cells:g} cells per unit: a quarter of the gaps are below {finest:.2g}."
        if dim == 1
        else f"The grid has {cells:g} cells per unit.",
    )
    check_positive("model.points_per_unit", density)
    choices.choose("model.training_margin", 3.0)
    floor, why = _sigma_floor(source)
    choices.choose("model.sigma_floor", floor, f"No standard deviation is below {floor:g} {why}.")
    if name != _MODEL:
        return
    blocks = choices.choose("model.blocks", _BLOCKS[dim])
    task = source.draw(_SAMPLED, seeded(2))
    extent = float(np.median(_extents(task)))
    levels = _levels(extent * density / 2, blocks, _MOST_HALVINGS[dim])
    sees = _radius(levels, blocks) / density
    down = choices.choose(
        "model.down",
        list(_CHANNELS[:levels]),
        f"The network halves the grid {levels} times and sees {sees:.0f} units to either side, as "
        f"tasks are some {extent:.0f} units wide.",
    )
    if not down:
        raise SettingError(
            "model.down must have the channels of at least one halving of the grid, got []; write "
            "model.down=[16, 24]."
        )
    choices.choose("model.up", [*reversed(down[:-1]), down[0]])


def _density(source: TableSource) -> tuple[float, float]:
    """Return the gap that a quarter of all gaps are below, in units, and cells per unit."""
    if source.dim_x == 2:
        return 1.0, 2.0
    steps = np.diff(source.own.x[:, 0]) / source.gap[0]
    steps = steps[(np.diff(source.own.owners) == 0) & (steps > 0)]
    finest = float(np.quantile(steps, 0.25)) if len(steps) else 1.0
    return finest, float(np.clip(round(2 / max(finest, 1e-9)), 3, 8))


def _sigma_floor(source: TableSource) -> tuple[float, str]:
    """Return the smallest standard deviation worth telling: that of rounding, if there is some."""
    floors = []
    for y, scale in zip(source.own.y.T, source.scale, strict=True):
        steps = np.diff(np.unique(y[~np.isnan(y)]))
        step = steps.min() if len(steps) else 0.0
        floors.append(step / math.sqrt(12) / scale)
    floor = float(np.clip(min(floors), 1e-3, 0.1))
    is_rounded = floor > 1e-3
    return float(f"{floor:.2g}"), "spreads: values are rounded" if is_rounded else "spreads"


def _extents(task: Task) -> np.ndarray:
    """Return how wide tasks are, along their longest side."""
    known = (task.context_mask | task.target_mask).any(2, keepdim=True)
    x = torch.where(task.context_mask.any(2, keepdim=True), task.x_context, task.x_target)
    low = torch.where(known, x, torch.inf).amin(1)
    high = torch.where(known, x, -torch.inf).amax(1)
    return (high - low).amax(1).numpy()


def _radius(levels: int, blocks: int) -> int:
    """Return the receptive radius of a U-Net with so many halvings, in cells."""
    channels = (1,) * levels
    return UNet(1, 1, channels, channels, blocks=blocks).receptive_radius


def _levels(cells: float, blocks: int, most: int) -> int:
    """Return the halvings with which a network sees so many cells to either side."""
    enough = (n for n in range(2, most) if _radius(n, blocks) >= cells)
    return next(enough, most)


def _cells(experiment: Experiment, source: TableSource) -> float:
    """Return the cells of a task's grid; one that is too large is refused, before any work."""
    model = experiment.build_model().train()
    if not isinstance(model, ConvCNP):
        return _FEW_CELLS
    return math.prod(model.covering_grid(source.draw(8, seeded(3))).shape)
