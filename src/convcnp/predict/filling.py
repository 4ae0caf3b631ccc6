"""A table back with its gaps filled: every other cell as it was."""

from __future__ import annotations

import itertools
import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from convcnp.errors import ConvCNPWarning, SettingError, TableError
from convcnp.frames.assembled import time_column
from convcnp.frames.gaps import missing_rows, usual_steps
from convcnp.frames.joined_groups import group_columns
from convcnp.frames.midnights import DAY, continued
from convcnp.frames.names import listed
from convcnp.frames.points import PointsTable, point_targets
from convcnp.frames.sentinels import missing_cells
from convcnp.frames.series import Ragged, SeriesTable, grouped
from convcnp.frames.steps import Step
from convcnp.frames.targets import series_targets
from convcnp.frames.written_times import split_times
from convcnp.predict.answers import decimals, quantile_name
from convcnp.predict.batches import Progress
from convcnp.predict.request import Request

FILLED = "filled"  # the column that says which values were
_DIGITS = 4  # of a column's spread, to which predictions are written


@dataclass(frozen=True)
class Filling:
    """A table with its gaps filled, and what was done, in numbers.

    Args:
        frame: The rows of the table, in their order, with the missing ones among them.
        values: How many cells were filled.
        rows: How many rows were put in.
        left: How many cells and rows stay empty.
    """

    request: Request
    frame: pd.DataFrame
    values: int
    rows: int
    left: int

    @property
    def table(self) -> Any:  # noqa: ANN401 - the container that the table came in
        """The table in the container that it came in."""
        container = self.request.container
        if not container.has_arrays:
            return container.close(self.frame)
        names = self.request.columns.values
        is_filled = {
            f"{name}_{FILLED}": [name in which.split(", ") for which in self.frame[FILLED]]
            for name in names
        }
        renamed = self.frame.rename(columns={name: f"{name}_values" for name in names})
        return container.close(renamed.drop(columns=FILLED).assign(**is_filled))

    @property
    def description(self) -> str:
        """What was filled, in a sentence."""
        columns = self.request.columns
        values = listed(columns.values)
        put_in = f", {self.rows:,} of them in rows that were missing" if self.rows else ""
        left = f"; {self.left:,} stay empty" if self.left else ""
        noun = "value" if self.values == 1 else "values"
        return (
            f"Filled {self.values:,} {noun} of {values} over {columns.over} with "
            f"{self.request.name!r}{put_in}{left}."
        )


def fill(
    request: Request,
    max_gap: str | float | None = None,
    progress: Progress = lambda done, total: None,
) -> Filling:
    """Fill missing cells with the median of what would be observed, and put in missing rows.

    Args:
        request: The table, asked for anything.
        max_gap: Longest gap to fill, such as 14d: from one value to the next, less a usual step.
    """
    frame = _on_its_days(request)
    names = _filled_names(request, frame)
    longest = None if max_gap is None else _longest(request.table, max_gap)
    new = _new_rows(request.table, frame)
    position = np.concatenate([np.arange(len(frame)), new.pop("position")])
    whole = _with_rows(frame, new.drop(columns="series"), names)
    is_new = np.arange(len(whole)) >= len(frame)
    missing = np.stack(
        [
            missing_cells(whole[name], request.columns.missing)[0] | whole[name].isna()
            for name in names
        ],
        axis=1,
    )
    missing &= _has_inputs(request, whole)[:, None]
    asked = np.flatnonzero(missing.any(1))
    content: dict[str, Any] = {}
    wanted = missing.copy()
    if len(asked):
        answer, short = _answered(request, whole.iloc[asked], names, longest, progress)
        medians = np.full(missing.shape, np.nan)
        medians[asked] = answer
        wanted[asked] &= short
        wanted &= ~np.isnan(medians)
        content = {
            name: _column(whole[name], missing[:, i], wanted[:, i], medians[:, i])
            for i, name in enumerate(names)
        }
    which = [", ".join(itertools.compress(names, row)) for row in wanted.tolist()]
    kept = ~is_new | wanted.any(1)
    order = np.argsort(position[kept], kind="stable")
    whole = _as_written(whole, request)
    done = whole.assign(**content, **{_free_name(frame): which})[kept].iloc[order]
    done = done.set_axis(frame.index) if len(done) == len(frame) else done.reset_index(drop=True)
    left = int((missing & ~wanted)[~is_new].sum() + (~kept).sum())
    return Filling(request, done, int(wanted.sum()), int((kept & is_new).sum()), left)


def _on_its_days(request: Request) -> pd.DataFrame:
    """Return the table, its clock times that pass midnight as the time since the first one."""
    frame, table = request.container.frame, request.table
    if isinstance(table, PointsTable) or table.time not in frame:
        return frame
    times = continued(frame[table.time], grouped(frame, table.columns.group)[0])
    return frame.assign(**{table.time: times})


def _as_written(whole: pd.DataFrame, request: Request) -> pd.DataFrame:
    """Put the clock times of a table back, and write those of new rows like them."""
    frame, name = request.container.frame, request.columns.time or ""
    if name not in frame or not (whole[name].dtype.kind == "m" != frame[name].dtype.kind):
        return whole
    new = split_times(frame, name, whole[name].iloc[len(frame) :] % DAY)
    return whole.assign(**{name: pd.concat([frame[name], new[name]], ignore_index=True)})


def _filled_names(request: Request, frame: pd.DataFrame) -> list[str]:
    names = [name for name in request.columns.values if name in frame.columns]
    if not names:
        raise TableError(
            "Expected a table with a column for every value, to fill its gaps, got one that holds "
            "several in one column; give each its own."
        )
    return names


def _with_rows(frame: pd.DataFrame, new: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Put rows below a table; whole numbers stay whole, where new rows have none."""
    if new.empty:
        return frame.reset_index(drop=True)
    whole = pd.concat([frame, new], ignore_index=True)
    others = [name for name in frame.columns if name not in names]
    whole_numbers = [c for c in others if pd.api.types.is_integer_dtype(frame[c])]
    torn = [c for c in whole_numbers if not pd.api.types.is_integer_dtype(whole[c])]
    return whole.astype(dict.fromkeys(torn, "Int64"))


def _free_name(frame: pd.DataFrame) -> str:
    if FILLED in frame.columns:
        raise TableError(
            f"Expected a table without a column {FILLED!r}, which says what was filled, but there "
            "is one; rename it."
        )
    return FILLED


def _has_inputs(request: Request, whole: pd.DataFrame) -> np.ndarray:
    """Tell which rows have a time, or inputs, and a series."""
    columns = request.columns
    inputs = columns.inputs or (columns.time or "",)
    known = np.ones(len(whole), dtype=bool)
    for column in (*(time_column(whole, name) for name in inputs), *_groups(request, whole)):
        known &= column.notna().to_numpy()
    return known


def _groups(request: Request, whole: pd.DataFrame) -> list[pd.Series]:
    return [whole[name] for name in group_columns(whole, request.columns.group)]


def _new_rows(table: SeriesTable | PointsTable, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that are missing, with their series, and where in the table they belong."""
    if isinstance(table, PointsTable):
        return pd.DataFrame({"series": [], "position": []})
    x, owner = missing_rows(table, only_whole=True)
    if len(x) < len(missing_rows(table)[0]):
        warnings.warn(
            "A gap without rows is longer than all that was observed of its series, and no rows "
            "are put in; predict asks for times of your own.",
            ConvCNPWarning,
            stacklevel=3,
        )
    order = np.argsort(owner, kind="stable")
    x, owner = x[order], owner[order]
    missing = Ragged(x, np.searchsorted(owner, np.arange(len(table.series) + 1)))
    rows = table.frame(missing)
    times = pd.Series(rows.pop(table.time))
    rows = rows.assign(**split_times(frame, table.time, times))
    return rows.assign(series=owner, position=_positions(table, frame, missing))


def _positions(table: SeriesTable, frame: pd.DataFrame, missing: Ragged) -> np.ndarray:
    """Return where missing rows belong: between the rows before and after them in time."""
    has_time = time_column(frame, table.time).notna()
    for name in group_columns(frame, table.columns.group):
        has_time &= frame[name].notna()
    rows = np.flatnonzero(has_time)
    asked, order = table.asked_in(frame.iloc[rows])
    found = np.zeros(len(missing.x))
    of_row = np.empty(len(rows))
    of_row[order] = asked.x
    way = 1 if (np.diff(of_row) >= 0).all() else -1
    if (np.diff(of_row)[::way] * way >= 0).all():  # all series are sorted together
        return np.interp(missing.x, of_row[::way], rows[::way])
    for i in range(len(missing)):
        x, row = asked.x[asked.rows(i)], rows[order[asked.rows(i)]]
        by_time = np.argsort(x, kind="stable")
        found[missing.rows(i)] = np.interp(missing.x[missing.rows(i)], x[by_time], row[by_time])
    return found


def _answered(
    request: Request,
    asked: pd.DataFrame,
    names: list[str],
    longest: float | None,
    progress: Progress,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the medians of asked rows (rows, values), and whether their gaps are short enough."""
    table = request.table
    asked = asked.reset_index(drop=True)
    if isinstance(table, PointsTable):
        targets = point_targets(table, asked)
    else:
        targets = series_targets(table, asked)
    answer = request.at(targets).answer((0.5,), progress=progress)
    medians = answer[[f"{name}_{quantile_name(0.5)}" for name in names]].to_numpy()
    short = np.ones(medians.shape, dtype=bool)
    if longest is not None:
        assert isinstance(table, SeriesTable) and targets.order is not None
        channels = [table.columns.values.index(name) for name in names]
        short[targets.order] = gap_lengths(table, targets.inputs)[:, channels] <= longest
    return medians, short


def _longest(table: SeriesTable | PointsTable, max_gap: str | float) -> float:
    if isinstance(table, PointsTable):
        raise SettingError(
            f"A longest gap is one in time, got {max_gap} for points in the plane; leave it out."
        )
    try:
        step = Step.read(str(max_gap).strip(), table.axis)
    except (ValueError, OverflowError) as error:
        raise SettingError(
            "The longest gap must be a positive number, and have a unit where times are dates, "
            f"such as 14d, got {max_gap!r}; check it."
        ) from error
    return (step.width or 31 * 86400.0 * step.months) * (1 + 1e-9)


def gap_lengths(table: SeriesTable, asked: Ragged) -> np.ndarray:
    """Return the time that no value covers around asked times (rows, values).

    It is the time from the value before to the value after, less the usual step of the series; at
    its ends, from the outermost value to the outermost row.
    """
    lengths = np.full((len(asked.x), table.y.shape[1]), np.inf)
    usual = usual_steps(table.series)
    for i in range(len(asked)):
        x, rows = asked.x[asked.rows(i)], table.series.rows(i)
        times = table.series.x[rows]
        for channel in range(table.y.shape[1]):
            seen = times[~np.isnan(table.y[rows, channel])]
            if not len(seen):
                continue
            after = np.searchsorted(seen, x)
            inner = (after > 0) & (after < len(seen))
            length = np.where(after == 0, seen[0] - times[0], times[-1] - seen[-1])
            low, high = seen[np.maximum(after - 1, 0)], seen[np.minimum(after, len(seen) - 1)]
            between = high - low - (0.0 if math.isnan(usual[i]) else usual[i])
            lengths[asked.rows(i), channel] = np.where(inner, between, length)
    return lengths


def _column(
    column: pd.Series, missing: np.ndarray, wanted: np.ndarray, medians: np.ndarray
) -> pd.Series:
    """Return a column with predictions where they are wanted; the rest of its gaps stay empty."""
    if not missing.any():
        return column
    values = pd.to_numeric(column.where(~missing), errors="coerce")
    places = float(decimals(np.array(values.std(), dtype=np.float64), _DIGITS))
    if values.nunique() == 1:  # the model is off by a millionth, which no digit would hide
        medians = np.where(np.isnan(medians), np.nan, values.max())
    elif math.isfinite(places):
        medians = np.round(medians, int(places))
    return values.astype("float64").where(~wanted, medians)
