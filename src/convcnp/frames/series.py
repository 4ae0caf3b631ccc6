"""A user's table: find what each column is, and sort its rows into series."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from convcnp.errors import ConvCNPWarning, TableError, did_you_mean
from convcnp.frames.kinds import is_date, is_duration, is_label, is_numeric, numbers
from convcnp.frames.reading import plain_name
from convcnp.frames.time_axis import TimeAxis

CERTAIN_TIME_NAMES = ("time", "times", "date", "dates", "datetime", "timestamp", "ds", "mjd", "jd")
TIME_NAMES = (*CERTAIN_TIME_NAMES, "t", "x", "year", "month", "week", "day", "hour", "when")
GROUP_NAMES = (
    *("id", "group", "series", "series_id", "unique_id", "item_id", "object_id", "object"),
    *("station", "sensor", "subject", "patient", "key"),
)

# --- Columns --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Columns:
    """Which column is the time, which are values, and which tells series apart."""

    time: str
    values: tuple[str, ...]
    group: str | None = None


def choose_columns(
    frame: pd.DataFrame,
    time: str | None = None,
    value: str | Sequence[str] | None = None,
    group: str | None = None,
) -> Columns:
    """Take the columns that are named, and guess the others; an empty group means no group."""
    given = [] if value is None else [value] if np.ndim(value) == 0 else value
    asked = [plain_name(name) for name in given]
    time, group = (None if name is None else plain_name(name) for name in (time, group))
    for name in (time, group or None, *asked):
        if name is not None and name not in frame.columns:
            names = [str(column) for column in frame.columns]
            raise TableError(
                f"Expected a column {name!r}, but the table has {_listed(names)}"
                f"{did_you_mean(str(name), names)}"
            )
    named = [name for name in (time, group or None, *asked) if name is not None]
    twice = next((name for name in named if named.count(name) > 1), None)
    if twice is not None:
        raise TableError(
            f"Expected different columns for time, group and values, got {twice!r} more than once; "
            "name it once."
        )
    others = [c for c in frame.columns if c not in (group, *asked)]
    time = _guess_time(frame, others) if time is None else time
    others = [c for c in others if c != time]
    group = _guess_group(frame, others) if group is None else group or None
    others = [c for c in others if c != group]
    values = asked or [c for c in others if is_numeric(frame[c]) and not _counts_rows(frame[c])]
    if not values:
        raise TableError(
            f"Expected a column of numbers beside the time {time!r}, but the other columns are "
            f"{_listed(others) or 'none'}; name one with --value."
        )
    return Columns(time, tuple(values), group)


def _guess_time(frame: pd.DataFrame, candidates: Sequence[str]) -> str:
    named = [c for c in candidates if is_time_name(c)]
    dated = [c for c in candidates if is_date(frame[c])]
    lasting = [c for c in candidates if is_duration(frame[c])]
    numeric = [c for c in candidates if is_numeric(frame[c])]
    for found in (dated if len(named) != 1 else named, named, dated, lasting, numeric):
        if found:
            if found is named and len(named) > 1:
                warnings.warn(
                    f"{_listed(named)} may all be the time; {found[0]!r} is taken. If that is "
                    "wrong, name the time and the values.",
                    ConvCNPWarning,
                    stacklevel=4,
                )
            return found[0]
    raise TableError(
        "Expected a column of times, as numbers or dates, but the columns are "
        f"{_listed([str(c) for c in frame.columns])}; name one with --time."
    )


def is_time_name(name: Any) -> bool:  # noqa: ANN401 - of a column
    """Tell whether a name is one that columns of times have."""
    return str(name).lower() in TIME_NAMES


def _guess_group(frame: pd.DataFrame, candidates: Sequence[str]) -> str | None:
    for column in candidates:
        if str(column).lower() in GROUP_NAMES:
            if len(frame) > 1 and frame[column].is_unique:
                warnings.warn(
                    f"{column!r} is taken to tell {len(frame):,} series of one row each apart; if "
                    'it only numbers the rows, give an empty group: --group "".',
                    ConvCNPWarning,
                    stacklevel=4,
                )
            return column
    words = [c for c in candidates if is_label(frame[c])]
    repeated = [c for c in words if 1 <= frame[c].nunique() <= len(frame) / 2]
    return repeated[0] if len(repeated) == 1 else None


def _counts_rows(column: pd.Series) -> bool:
    """Tell whether a column is the number of the row, which exports like to put first."""
    return (
        str(column.name).lower() in ("unnamed: 0", "rownames", "index", "id")
        and pd.api.types.is_integer_dtype(column)
        and bool((column.diff().iloc[1:] == 1).all())
    )


# --- Series ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ragged:
    """Series of different lengths, one after the other: series i has rows starts[i]:starts[i+1]."""

    x: np.ndarray  # (R,), the times
    starts: np.ndarray  # (S + 1,)

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> np.ndarray:
        """Rows of each series."""
        lengths: np.ndarray = np.diff(self.starts)
        return lengths

    @property
    def owners(self) -> np.ndarray:
        """The series that each row belongs to."""
        return np.repeat(np.arange(len(self)), self.lengths)


@dataclass(frozen=True)
class SeriesTable:
    """A user's table as arrays, sorted by series and time."""

    columns: Columns
    axis: TimeAxis
    labels: pd.Index | None  # of the series, if there is a group column
    series: Ragged
    y: np.ndarray  # (R, values), NaN where nothing was observed

    @classmethod
    def of(cls, frame: pd.DataFrame, columns: Columns) -> SeriesTable:
        """Read the chosen columns; rows without a time are left out."""
        axis = TimeAxis.of(frame[columns.time])
        x = axis.numbers(frame[columns.time])
        y = np.stack([numbers(frame, name) for name in columns.values], 1)
        codes, labels = _grouped(frame, columns.group)
        has_time = ~np.isnan(x) & (codes >= 0)
        if not has_time.all():
            warnings.warn(
                f"{(~has_time).sum():,} of {len(frame):,} rows have no time or no series and are "
                "left out.",
                ConvCNPWarning,
                stacklevel=3,
            )
        if np.isnan(y[has_time]).all():
            raise TableError(
                f"Expected observed values in {_listed(columns.values)}, but every cell is "
                "missing; name another column with --value."
            )
        x, y, codes = x[has_time], y[has_time], codes[has_time]
        if labels is not None:
            present, codes = np.unique(codes, return_inverse=True)
            labels = labels[present]
        order = np.lexsort((x, codes))
        count = len(labels) if labels is not None else 1
        starts = np.searchsorted(codes[order], np.arange(count + 1))
        return cls(columns, axis, labels, Ragged(x[order], starts), y[order])

    def asked_in(self, frame: pd.DataFrame) -> tuple[Ragged, np.ndarray]:
        """Read the times asked for, from a table with columns of the same names.

        Also returns the row of that table which each of them stands in.
        """
        columns = self.columns
        names = [columns.time] if columns.group is None else [columns.time, columns.group]
        for name in names:
            if name not in frame.columns:
                present = [str(column) for column in frame.columns]
                raise TableError(
                    f"Expected a column {name!r} in the table of asked times, like the series', "
                    f"but it has {_listed(present)}{did_you_mean(name, present)}"
                )
        x = self.axis.numbers(frame[columns.time])
        if np.isnan(x).any():
            raise TableError(
                f"Expected a time in every row asked for, but row {int(np.isnan(x).argmax()) + 1} "
                f"has none in {columns.time!r}; fill or remove it."
            )
        codes = np.zeros(len(frame), dtype=np.int64)
        if self.labels is not None:
            codes = self.labels.get_indexer(pd.Index(frame[columns.group]))
            if (codes < 0).any():
                label = frame[columns.group].iloc[int((codes < 0).argmax())]
                raise TableError(
                    f"Expected series that are in the table, but {label!r} in {columns.group!r} is "
                    f"not{did_you_mean(str(label), map(str, self.labels))}"
                )
        order = np.argsort(codes, kind="stable")
        starts = np.searchsorted(codes[order], np.arange(len(self.series) + 1))
        return Ragged(x[order], starts), order

    def frame(self, asked: Ragged) -> pd.DataFrame:
        """Return the table that answers begin with: series, if there are several, and times."""
        content: dict[str, Any] = {}
        if self.labels is not None and self.columns.group is not None:
            content[self.columns.group] = self.labels[asked.owners]
        content[self.columns.time] = self.axis.times(asked.x)
        return pd.DataFrame(content)


def _grouped(frame: pd.DataFrame, group: str | None) -> tuple[np.ndarray, pd.Index | None]:
    if group is None:
        return np.zeros(len(frame), dtype=np.int64), None
    codes, labels = pd.factorize(frame[group])
    return codes, pd.Index(labels)


def _listed(names: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(repr(str(name)) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
