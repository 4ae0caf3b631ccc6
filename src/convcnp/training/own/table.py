"""Settings of a model of series or points, chosen from a user's table."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from convcnp.core.task import Task
from convcnp.core.units import distance_to_other, typical_gap
from convcnp.data.source import seeded
from convcnp.data.table import ENOUGH_SERIES, FEWEST, TableSource, is_split_by_series, part_of
from convcnp.errors import ConvCNPWarning, SettingError, TableError
from convcnp.frames.assembled import time_column
from convcnp.frames.columns import Columns, choose_columns
from convcnp.frames.error_columns import described, with_errors
from convcnp.frames.reading import TableFile
from convcnp.frames.series import Rows
from convcnp.frames.time_axis import TimeAxis
from convcnp.training.experiment import Experiment
from convcnp.training.own.choices import Choices, Plan, Say, Wanted, training_choices
from convcnp.training.own.network import MODEL, grid_cells, network_choices

_FEWEST_ROWS = 60  # of a table that is cut into stretches or regions
_SAMPLED = 128  # tasks that choices are made from
_WINDOW = {1: 256, 2: 128}  # rows of a task at most, by input dimension
_LEARNING_RATE = 4e-3
_MOST_TASKS = 16  # in a step


def plan_table(table: TableFile, wanted: Wanted, say: Say = lambda text: None) -> Plan:
    """Choose every setting that is not given from the data, and say why in a sentence each."""
    choices = Choices(wanted.settings, say)
    choices.check("table", MODEL)
    columns = _column_choices(table, wanted.columns, choices)
    rows = Rows.of(table.frame, columns)
    _check_rows(rows, columns)
    choices.say(_describe(rows, columns))
    source = TableSource(**columns.given, path=table.path, digest=table.digest, read=rows)
    source = _window_choices(table.frame, source, choices)
    source = _unit_choices(source, choices)
    _familiar_choices(source, choices)
    network_choices(source, choices)
    experiment = Experiment.parse(choices.content)
    chosen = experiment.source()
    assert isinstance(chosen, TableSource)
    source = replace(chosen, read=rows)
    cells = grid_cells(experiment, source)
    return training_choices(
        choices, source, cells, wanted.minutes, learning_rate=_LEARNING_RATE, most=_MOST_TASKS
    )


def _column_choices(table: TableFile, named: Columns, choices: Choices) -> Columns:
    """Choose the columns, those named before those of given settings, and note them."""
    given = choices.content["data"]
    names: dict[str, Any] = {
        role: given[role]
        for role in ("time", "group", "channel", "inputs", "missing")
        if role in given
    }
    names["value"] = given.get("value", given.get("values"))
    names["error"] = given.get("errors")
    named = replace(Columns.named(**names), **named.given)
    columns = with_errors(table.frame, choose_columns(table.frame, named), named)
    settings = {"name": "table", "path": table.path, "digest": table.digest, **columns.given}
    given.update({key: value for key, value in settings.items() if key not in given})
    return columns


def _window_choices(frame: pd.DataFrame, source: TableSource, choices: Choices) -> TableSource:
    """Choose the unit of inputs, and how many rows a task has."""
    rows = source.rows
    training = part_of(rows, "training")
    gap = choices.choose("data.gap", typical_gaps(training), None)
    _check_length("data.gap", gap, rows.dim_x, "input")
    choices.say(f"One unit of input is {_in_words(frame, source, gap)}, the typical gap.")
    longest = int(training.lengths.max())
    is_split = is_split_by_series(rows)
    most = min(_WINDOW[len(gap)], longest if is_split else max(FEWEST, longest // (2 * len(gap))))
    window = choices.choose(
        "data.window",
        most,
        f"A task is a whole series, of {longest} rows at most."
        if is_split and longest <= _WINDOW[len(gap)]
        else f"A task is a window of {most} rows.",
    )
    return replace(source, gap=tuple(gap), window=window)


def _familiar_choices(source: TableSource, choices: Choices) -> None:
    """Note the values and gaps that training tasks have, to warn of others."""
    task = source.draw(_SAMPLED, seeded(1))
    largest = 1.5 * max(task.y_context.abs().max().item(), 1.0)
    choices.choose("data.largest", round(largest, 3))
    low, high = _gaps(task)
    choices.choose("data.gaps", [round(low / 1.5, 6), round(high * 1.5, 6)])


def _gaps(task: Task) -> tuple[float, float]:
    """Return the smallest and the largest typical gap of tasks."""
    seen = task.context_mask.any(2, keepdim=True)
    gaps = typical_gap(task.x_context, seen)[seen.sum((1, 2)) > 1]
    return (gaps.min().item(), gaps.max().item()) if len(gaps) else (1.0, 1.0)


def _check_length(key: str, numbers: Sequence[float], expected: int, what: str) -> None:
    if len(numbers) != expected:
        raise SettingError(
            f"{key} must have one number per {what}: expected {expected}, got {list(numbers)}; "
            "leave it out to have it chosen."
        )


def _check_rows(rows: Rows, columns: Columns) -> None:
    """Refuse a table with nothing to learn from."""
    fits = rows.lengths >= FEWEST
    if not fits.any():
        raise TableError(
            f"Expected series of at least {FEWEST} rows with a value, but the longest of "
            f"{len(rows):,} has {int(rows.lengths.max(initial=0))}; name the column that tells "
            "series apart with group=, or gather more rows."
        )
    if not is_split_by_series(rows) and rows.lengths.sum() < _FEWEST_ROWS:
        raise TableError(
            f"Expected at least {ENOUGH_SERIES} series, or {_FEWEST_ROWS} rows to cut into parts, "
            f"got {int(fits.sum())} series and {int(rows.lengths.sum())} rows; gather more, or "
            "predict with the model 'general', which needs no training."
        )
    training = part_of(rows, "training")
    steps = np.diff(training.x, axis=0)[np.diff(training.owners) == 0]
    if not steps.any():
        raise TableError(
            f"Expected rows that differ in {columns.over}, but within every series all are the "
            "same; name another column with time=, or other inputs=."
        )
    for channel, name in enumerate(columns.values):
        y = training.y[:, channel]
        y = y[~np.isnan(y)]
        if not len(y) or np.ptp(y) == 0:
            found = f"is {y[0]:g} everywhere" if len(y) else "has no value"
            raise TableError(
                f"Expected values that vary in {name!r}, but in the training part it {found}; "
                "leave it out by naming the others with value=."
            )


def _describe(rows: Rows, columns: Columns) -> str:
    values = ", ".join(map(repr, columns.values))
    count = int((rows.lengths >= FEWEST).sum())
    sets = "sets of points" if count > 1 else "set of points"
    kind = sets if columns.inputs else "series"
    by = f" by {columns.group!r}" if columns.group else ""
    if is_split_by_series(rows):
        held = f"a tenth of the {kind} chooses the best weights, a tenth judges them"
    elif columns.inputs:
        held = "an eighth of the plane chooses the best weights, an eighth judges them"
    else:
        held = "15 % of the time chooses the best weights, the last 15 % judges them"
    short = len(rows) - count
    left = f" ({short:,} with fewer than {FEWEST} rows are left out)" if short else ""
    errors = described(columns.values, columns.errors)
    return (
        f"Learning {values} over {columns.over}{errors}{',' if errors else ''} from {count:,} "
        f"{kind}{by}{left}, "
        f"{len(rows.x):,} rows: {held}."
    )


def typical_gaps(rows: Rows) -> list[float]:
    """Return the typical distance between neighbours, along every input."""
    chosen = np.flatnonzero(rows.lengths >= FEWEST)[:200]
    parts = [rows.x[rows.rows(i)] for i in chosen]
    if rows.dim_x == 1:
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
    away = distance_to_other(some, x)
    return away[away.isfinite()].median().item() if away.isfinite().any() else 1.0


def _in_words(frame: pd.DataFrame, columns: Columns, gap: Sequence[float]) -> str:
    if columns.inputs:
        return " and ".join(f"{g:g} of {n!r}" for g, n in zip(gap, columns.inputs, strict=True))
    assert columns.time is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvCNPWarning)  # said when the table was read
        kind = TimeAxis.of(time_column(frame, columns.time)).dtype.kind
    if kind in "mM":
        return str(pd.Timedelta(seconds=gap[0])).replace("0 days ", "")
    return f"{gap[0]:g} of {columns.time!r}"


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
    much = 3.0 if is_split_by_series(source.rows) else 0.5
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
