"""A user's table as arrays: its rows, sorted into series."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from convcnp.errors import ConvCNPWarning, TableError, did_you_mean
from convcnp.frames.assembled import has_time, time_column
from convcnp.frames.columns import Columns, widened
from convcnp.frames.error_columns import errors_of
from convcnp.frames.joined_groups import cells_of, group_column
from convcnp.frames.kinds import numbers
from convcnp.frames.midnights import continued, in_nearest_day, say_continued
from convcnp.frames.names import listed
from convcnp.frames.padded import is_padded, without_zeros
from convcnp.frames.sentinels import without_sentinels
from convcnp.frames.time_axis import TimeAxis


@dataclass(frozen=True)
class Ragged:
    """Series of different lengths, one after the other: series i has rows starts[i]:starts[i+1]."""

    x: np.ndarray  # (R,), the times, or (R, Dx), the inputs
    starts: np.ndarray  # (S + 1,)
    # Standard errors (R, Dy) of what was observed, or is to be, where they are known.
    error: np.ndarray | None = field(default=None, kw_only=True)

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

    @property
    def inputs(self) -> np.ndarray:
        """The inputs (R, Dx), also where the time is the only one."""
        return self.x.reshape(len(self.x), self.dim_x)

    @property
    def dim_x(self) -> int:
        """Number of inputs."""
        return 1 if self.x.ndim == 1 else self.x.shape[1]

    def rows(self, i: int | np.integer) -> slice:
        """Return the rows of a series, given by its number."""
        return slice(int(self.starts[i]), int(self.starts[i + 1]))

    def starts_among(self, kept: np.ndarray) -> np.ndarray:
        """Return where series start if only some rows are kept; those without any are empty."""
        starts: np.ndarray = np.concatenate([[0], np.cumsum(kept)])[self.starts]
        return starts


@dataclass(frozen=True)
class Rows(Ragged):
    """The observed rows of a table, series after series, with all their inputs: x is (R, Dx)."""

    y: np.ndarray  # (R, Dy), NaN where a channel was not observed
    labels: tuple[str, ...]  # of the series

    @classmethod
    def of(cls, frame: pd.DataFrame, columns: Columns) -> Rows:
        """Read a table; rows in which nothing was observed are left out."""
        table = SeriesTable.of(widened(frame, columns), columns.as_series)
        x, y, error = table.series.inputs, table.y, table.series.error
        if columns.inputs:
            x, y = np.concatenate([x, y[:, :1]], 1), y[:, 1:]
            error = None if error is None else error[:, 1:]
        labels = ("",) if table.labels is None else tuple(map(str, table.labels))
        rows = cls(x=x, starts=table.series.starts, y=y, labels=labels, error=error)
        return rows.kept(~np.isnan(x).any(1) & ~np.isnan(y).all(1))

    def kept(self, wanted: np.ndarray) -> Rows:
        """Keep some rows; series without any stay, empty."""
        starts = self.starts_among(wanted)
        error = None if self.error is None else self.error[wanted]
        return replace(self, x=self.x[wanted], starts=starts, y=self.y[wanted], error=error)

    def channel(self, i: int) -> Rows:
        """Return one channel alone, and the rows in which it was observed."""
        error = None if self.error is None else self.error[:, i : i + 1]
        alone = replace(self, y=self.y[:, i : i + 1], error=error)
        return alone.kept(~np.isnan(self.y[:, i]))


@dataclass(frozen=True)
class SeriesTable:
    """A user's table as arrays, sorted by series and time."""

    columns: Columns
    axis: TimeAxis
    labels: pd.Index | None  # of the series, if there is a group column
    series: Ragged
    y: np.ndarray  # (R, values), NaN where nothing was observed
    cells: dict[str, pd.Index] = field(default_factory=dict)  # of every series, in joined columns

    @classmethod
    def of(cls, frame: pd.DataFrame, columns: Columns) -> SeriesTable:
        """Read the chosen columns; rows without a time are left out."""
        assert columns.time is not None
        codes, labels = grouped(frame, columns.group)
        written = time_column(frame, columns.time)
        times = continued(written, codes)
        say_continued(written, times)
        axis = TimeAxis.of(times)
        x = axis.numbers(times)
        frame = without_sentinels(frame, columns)
        y = np.stack([numbers(frame, name) for name in columns.values], 1)
        error = errors_of(frame, columns, y)
        if error is not None:  # what is measured with an infinite error is not observed
            y, error = np.where(np.isinf(error), np.nan, y), np.where(np.isinf(error), 0.0, error)
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
                f"Expected observed values in {listed(columns.values)}, but every cell is "
                "missing; name another column with value=."
            )
        x, y, codes = x[has_time], y[has_time], codes[has_time]
        present, rows, codes = np.unique(codes, return_index=True, return_inverse=True)
        labels = None if labels is None else labels[present]
        cells = cells_of(frame[has_time], columns.group, rows)
        order = np.lexsort((x, codes))
        count = len(labels) if labels is not None else 1
        starts = np.searchsorted(codes[order], np.arange(count + 1))
        error = None if error is None else error[has_time][order]
        return cls(columns, axis, labels, Ragged(x[order], starts, error=error), y[order], cells)

    @property
    def time(self) -> str:
        """Name of the time column."""
        assert self.columns.time is not None
        return self.columns.time

    def observed(self, channels: list[int]) -> tuple[Ragged, np.ndarray]:
        """Keep the rows in which one of these channels was observed, and their values."""
        y = self.y[:, channels]
        kept = ~np.isnan(y).all(1)
        starts, error = self.series.starts_among(kept), self.series.error
        error = None if error is None else error[kept][:, channels]
        return Ragged(self.series.x[kept], starts, error=error), y[kept]

    def asked_in(self, frame: pd.DataFrame) -> tuple[Ragged, np.ndarray]:
        """Read the times asked for, from a table with columns of the same names.

        Also returns the row of that table which each of them stands in.
        """
        group = self.columns.group
        names = [self.time] if group is None else [self.time, group]
        for name in names:
            if not has_time(frame, name):
                present = [str(column) for column in frame.columns]
                raise TableError(
                    f"Expected a column {name!r} in the table of asked times, like the series', "
                    f"but it has {listed(present)}{did_you_mean(name, present)}"
                )
        times = time_column(frame, self.time)
        x = self.axis.numbers(times)
        if np.isnan(x).any():
            raise TableError(
                f"Expected a time in every row asked for, but row {int(np.isnan(x).argmax()) + 1} "
                f"has none in {self.time!r}; fill or remove it."
            )
        codes = np.zeros(len(frame), dtype=np.int64)
        if self.labels is not None:
            assert group is not None
            series = group_column(frame, group)
            codes = _found(self.labels, pd.Index(series))
            if (codes < 0).any():
                label = series.iloc[int((codes < 0).argmax())]
                raise TableError(
                    f"Expected series that are in the table, but {label!r} in {group!r} is "
                    f"not{did_you_mean(str(label), map(str, self.labels))}"
                )
        if self.axis.dtype.kind == "m":
            starts = self.series.starts
            ends = starts[codes], starts[codes + 1] - 1
            x = in_nearest_day(times, x, *(self.series.x[end] for end in ends))
        order = np.argsort(codes, kind="stable")
        starts = np.searchsorted(codes[order], np.arange(len(self.series) + 1))
        return Ragged(x[order], starts), order

    def numbers(self, times: pd.Series) -> np.ndarray:
        """Return times asked of all series as numbers."""
        x = self.axis.numbers(times)
        if self.axis.dtype.kind != "m":
            return x
        return in_nearest_day(times, x, self.series.x.min(), self.series.x.max())

    def frame(self, asked: Ragged) -> pd.DataFrame:
        """Return the table that answers begin with: series, if there are several, and times."""
        content: dict[str, Any] = {}
        if self.labels is not None and self.columns.group is not None:
            cells = self.cells or {self.columns.group: self.labels}
            content |= {name: of_series[asked.owners] for name, of_series in cells.items()}
        content[self.time] = self.axis.times(asked.x)
        return pd.DataFrame(content)


def grouped(frame: pd.DataFrame, group: str | None) -> tuple[np.ndarray, pd.Index | None]:
    """Return the series of every row, by number, and their labels if a column tells them apart."""
    if group is None:
        return np.zeros(len(frame), dtype=np.int64), None
    codes, labels = pd.factorize(group_column(frame, group))
    return codes, pd.Index(labels)


def _found(labels: pd.Index, asked: pd.Index) -> np.ndarray:
    """Return which label each asked one is, or -1; 7 is 007 where only one side has zeros."""
    codes: np.ndarray = labels.get_indexer(asked)
    if (codes >= 0).all() or is_padded(labels.to_series()) == is_padded(asked.to_series()):
        return codes
    numbers, wanted = (without_zeros(index.to_series()) for index in (labels, asked))
    if not numbers.is_unique or numbers.dtype.kind not in "iu":
        return codes
    return pd.Index(numbers).get_indexer(pd.Index(wanted))
