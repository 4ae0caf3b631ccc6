"""Tasks from a user's table: many series, one long series, or scattered points in the plane."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor

from convcnp.core.predictive import Predictive
from convcnp.core.task import Task
from convcnp.core.units import Fixed, Normaliser, OwnLevel
from convcnp.data.source import PARTS, Familiar, Part, parts_by_name
from convcnp.errors import SettingError, TableError
from convcnp.frames.reading import read_table
from convcnp.frames.series import Columns, Ragged, SeriesTable, choose_columns

FEWEST = 3  # rows with a value that make a series
ENOUGH_SERIES = 5  # to hold some of them out whole; with fewer, parts of each are held out
_VALIDATION_STRETCH, _TEST_STRETCH = (0.35, 0.5), (0.85, 1.0)  # of a series' rows
_HALVINGS = 4  # of the plane, into sixteen regions of equally many points
_VALIDATION_REGIONS, _TEST_REGIONS = (2, 9), (5, 14)
_WIDEST = 4.0  # extent of a window, in gaps per row: a hole in a series makes no huge grid

# --- Columns --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Layout:
    """Which columns of a table hold what.

    Args:
        values: The channels: value columns, or what the channel column names.
        time: The time column of series.
        inputs: The two input columns of points in the plane, in place of a time.
        group: The column that tells series, or sets of points, apart.
        channel: The column of a long table that says whose value a row holds.
        value: The column of these values.
    """

    values: tuple[str, ...] = ()
    time: str | None = None
    inputs: tuple[str, ...] = ()
    group: str | None = None
    channel: str | None = None
    value: str | None = None

    @property
    def columns(self) -> Columns:
        """The columns of a table in which every channel has its own."""
        if not self.inputs:
            assert self.time is not None
            return Columns(self.time, self.values, self.group)
        # Points are read as series over their first input, with the second among the values.
        return Columns(self.inputs[0], (self.inputs[1], *self.values), self.group)


def choose_layout(
    frame: pd.DataFrame,
    *,
    time: str | None = None,
    value: str | Sequence[str] | None = None,
    group: str | None = None,
    channel: str | None = None,
    inputs: Sequence[str] = (),
) -> Layout:
    """Take the columns that are named, and guess the others."""
    if inputs and (len(set(inputs)) != 2 or time is not None):
        given = [*inputs, *([time] if time is not None else [])]
        raise TableError(
            f"Points in the plane have two different input columns and no time, got {given}; give "
            "--inputs twice, or --time alone."
        )
    for name in (channel, *inputs):
        if name is not None and name not in frame.columns:
            choose_columns(frame, time=name)  # says so
    rest = frame.drop(columns=[name for name in (channel, *inputs[1:]) if name is not None])
    chosen = choose_columns(rest, inputs[0] if inputs else time, value, group)
    named = {"group": chosen.group, "time": None if inputs else chosen.time}
    if channel is None:
        return Layout(chosen.values, inputs=tuple(inputs), **named)
    if len(chosen.values) != 1:
        raise TableError(
            f"A table with the channel column {channel!r} has one column of values, but "
            f"{', '.join(map(repr, chosen.values))} may be it; name it with --value."
        )
    channels = tuple(sorted(_channel_names(frame[channel]).dropna().unique()))
    return Layout(channels, inputs=tuple(inputs), channel=channel, value=chosen.values[0], **named)


def widened(frame: pd.DataFrame, layout: Layout) -> pd.DataFrame:
    """Give every channel of a long table a column of its own; other tables stay as they are."""
    if layout.channel is None or layout.channel not in frame.columns:
        return frame
    names = _channel_names(frame[layout.channel])
    unknown = names[~names.isin(layout.values) & names.notna()]
    if len(unknown):
        raise TableError(
            f"Expected the channels {', '.join(layout.values)} in {layout.channel!r}, got "
            f"{unknown.iloc[0]!r}; remove these rows."
        )
    columns = {
        name: frame[layout.value].where((names == name).fillna(False)) for name in layout.values
    }
    rest = frame.drop(columns=[layout.channel, layout.value])
    return pd.concat([rest, pd.DataFrame(columns, index=frame.index)], axis=1)


def _channel_names(column: pd.Series) -> pd.Series:
    """Return whose value each row of a long table holds, as text."""
    if pd.api.types.is_float_dtype(column) and (column.dropna() % 1 == 0).all():
        column = column.astype("Int64")  # whole numbers are read as 1.0 if a cell is missing
    return column.astype("string")


def with_channels(
    frame: pd.DataFrame, layout: Layout, value: str | Sequence[str] | None = None
) -> pd.DataFrame:
    """Return a table to predict with a column for every channel of the training table.

    A channel that the table lacks is one that was not observed, unless other columns are named.
    """
    frame = widened(frame, layout)
    if value is None and any(name in frame.columns for name in layout.values):
        absent = [name for name in layout.values if name not in frame.columns]
        nothing = pd.DataFrame(np.nan, index=frame.index, columns=absent)
        frame = pd.concat([frame, nothing], axis=1)
    return frame


# --- Rows -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rows(Ragged):
    """The observed rows of a table, series after series, with all their inputs: x is (R, Dx)."""

    y: np.ndarray  # (R, Dy), NaN where a channel was not observed
    labels: tuple[str, ...]  # of the series

    @classmethod
    def of(cls, frame: pd.DataFrame, layout: Layout) -> Rows:
        """Read a table; rows in which nothing was observed are left out."""
        table = SeriesTable.of(widened(frame, layout), layout.columns)
        x, y = table.series.x[:, None], table.y
        if layout.inputs:
            x, y = np.concatenate([x, y[:, :1]], 1), y[:, 1:]
        labels = ("",) if table.labels is None else tuple(map(str, table.labels))
        return cls(x, table.series.starts, y, labels).kept(
            ~np.isnan(x).any(1) & ~np.isnan(y).all(1)
        )

    def kept(self, wanted: np.ndarray) -> Rows:
        """Keep some rows; series without any stay, empty."""
        starts = np.concatenate([[0], np.cumsum(wanted)])[self.starts]
        return Rows(self.x[wanted], starts, self.y[wanted], self.labels)

    def long_enough(self) -> np.ndarray:
        """Tell of every row whether its series has enough rows to be one."""
        return (self.lengths >= FEWEST)[self.owners]

    def of_part(self, part: str) -> Rows:
        """Keep the rows of the training, validation or test part, or all of them.

        Whole series are held out, by a hash of their names. Where there are too few for that,
        stretches of time are, or regions of the plane.
        """
        rows = self.kept(self.long_enough())
        if part != "all":
            rows = rows.kept(rows._parts() == PARTS.index(part))
            rows = rows.kept(rows.long_enough())
        return rows

    @property
    def is_split_by_series(self) -> bool:
        """Whether there are enough series to hold some of them out whole."""
        return int((self.lengths >= FEWEST).sum()) >= ENOUGH_SERIES

    def _parts(self) -> np.ndarray:
        """Return the part of every row: 0 for training, 1 for validation, 2 for test."""
        if self.is_split_by_series:
            return self._part_of_series()[self.owners]
        split = _stretches if self.x.shape[1] == 1 else _regions
        parts = [split(self.x[a:b]) for a, b in zip(self.starts, self.starts[1:], strict=False)]
        return np.concatenate(parts)

    def _part_of_series(self) -> np.ndarray:
        present = np.flatnonzero(self.lengths > 0)
        parts = np.zeros(len(self), dtype=np.int64)
        parts[present] = parts_by_name([self.labels[i] for i in present])
        return parts


def _stretches(x: np.ndarray) -> np.ndarray:
    """Hold out a stretch in the middle, and the end."""
    position = (np.arange(len(x)) + 0.5) / max(len(x), 1)
    parts = np.zeros(len(x), dtype=np.int64)
    for part, (start, stop) in ((1, _VALIDATION_STRETCH), (2, _TEST_STRETCH)):
        parts[(position >= start) & (position < stop)] = part
    return parts


def _regions(x: np.ndarray) -> np.ndarray:
    """Halve the plane again and again along its longer side, and hold some regions out."""
    region = np.zeros(len(x), dtype=np.int64)
    for _ in range(_HALVINGS):
        upper = np.zeros(len(x), dtype=np.int64)
        for number in np.unique(region):
            members = np.flatnonzero(region == number)
            axis = int(np.argmax(np.ptp(x[members], 0)))
            order = members[np.argsort(x[members, axis], kind="stable")]
            upper[order[len(order) // 2 :]] = 1
        region = 2 * region + upper
    parts = np.zeros(len(x), dtype=np.int64)
    parts[np.isin(region, _VALIDATION_REGIONS)] = 1
    parts[np.isin(region, _TEST_REGIONS)] = 2
    return parts


def digest_of(content: bytes) -> str:
    """Return a short fingerprint of a file's content."""
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def read_bytes(path: str | Path) -> bytes:
    """Read a table's file as it is."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise TableError(
            f"Expected the table {path}, but it cannot be read ({error.strerror}); a model can "
            "predict without it, but not be trained or judged."
        ) from error


# --- The source -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class TableSource(Layout):
    """Tasks cut from a user's table, some of whose values are hidden at random or in blocks.

    The table is read when the first task is drawn. All that a trained model needs to predict, the
    columns' names and its units, is here and so in its experiment.

    Args:
        path: The table.
        digest: Fingerprint of its content, so that a run cannot go on with another.
        window: Rows of a task at most; a longer series is seen through windows.
        gap: Unit of every input; see `Fixed`.
        level: What is zero for the model, by channel.
        scale: What is one for the model, by channel.
        units: Whether levels and scales are the learned ones, or each series' own (`OwnLevel`).
        gaps: Typical gaps that training tasks hold; see `Familiar`.
        largest: The largest value that they hold.
        part: The part of the table that tasks are drawn from.
    """

    options: ClassVar[tuple[str, ...]] = (
        *("path", "digest", "values", "time", "inputs", "group", "channel", "value"),
        *("window", "gap", "level", "scale", "units", "gaps", "largest"),
    )

    path: str = ""
    digest: str = ""
    window: int = 256
    gap: tuple[float, ...] = (1.0,)
    level: tuple[float, ...] = (0.0,)
    scale: tuple[float, ...] = (1.0,)
    units: Literal["fixed", "series"] = "fixed"
    gaps: tuple[float, float] = (0.0, 1e12)
    largest: float = 1e12
    part: Literal["training", "validation", "test", "all"] = "training"
    read: Rows | None = field(default=None, repr=False, compare=False)  # spares reading it again

    def __post_init__(self) -> None:
        if self.window < FEWEST or min((*self.gap, *self.scale)) <= 0:
            raise SettingError(
                f"A table needs a window of at least {FEWEST} rows and positive gap and scale, got "
                f"window = {self.window}, gap = {self.gap}, scale = {self.scale}."
            )

    @property
    def dim_x(self) -> int:
        """Two for points in the plane, one for series."""
        return 2 if self.inputs else 1

    @property
    def dim_y(self) -> int:
        """Number of channels."""
        return max(1, len(self.values))

    @property
    def normaliser(self) -> Normaliser:
        """The units learned from the training part."""
        learned = Fixed(self.gap, self.level, self.scale)
        return learned if self.units == "fixed" else OwnLevel(learned)

    @property
    def familiar(self) -> Familiar:
        """What a model trained on these tasks has seen."""
        return Familiar(self.gaps, self.largest, spacing=1.0, has_repeats=True)

    @cached_property
    def rows(self) -> Rows:
        """All rows of the table."""
        if self.read is not None:
            return self.read
        if self.digest and digest_of(read_bytes(self.path)) != self.digest:
            raise TableError(
                f"Expected {self.path} as it was when training began, but its content has changed; "
                "restore it, or train anew in another directory."
            )
        return Rows.of(read_table(self.path), self)

    @cached_property
    def own(self) -> Rows:
        """The rows that tasks are drawn from."""
        rows = self.rows.of_part(self.part)
        if not len(rows.x):
            raise TableError(
                f"Expected series of at least {FEWEST} observed rows for the {self.part} part, but "
                "the table has none; give it longer series, or name the columns with --time and "
                "--group."
            )
        return rows

    def held_out(self, part: Part) -> TableSource:
        """Return the source of the series, stretches or regions that training never sees."""
        return replace(self, part=part, read=self.rows)

    def ceiling(self, task: Task) -> Predictive | None:
        """Return the best possible prediction: it is not known."""
        return None

    def draw(self, batch_size: int, generator: Generator) -> Task:
        """Draw tasks in the model's units."""
        task = self.draw_as_is(batch_size, generator)
        return self.normaliser.units(task).to_model(task)

    def draw_as_is(self, batch_size: int, generator: Generator) -> Task:
        """Draw tasks in the user's units: windows of series, with some of their values hidden."""
        index, exists = self._windows(batch_size, generator)
        x = torch.from_numpy(self.own.x[index])  # (B, L, Dx)
        y = torch.from_numpy(self.own.y[index])  # (B, L, Dy)
        if self.dim_x == 1:
            widest = _WIDEST * self.window * self.gap[0]
            exists = exists & (x[..., 0] - x[:, :1, 0] <= widest)
        known = exists[..., None] & ~y.isnan()
        observed = observed_part(_positions(x, exists), known, generator)
        return Task(x, y, x, y, observed, known & ~observed)

    def _windows(
        self, batch_size: int, generator: Generator
    ) -> tuple[np.ndarray, Bool[Tensor, "B L"]]:
        """Choose series, each as often as it has windows, and a window of each."""
        rows = self.own
        chances = np.cumsum(np.ceil(rows.lengths / self.window))
        unit = torch.rand(batch_size, 2, dtype=torch.float64, generator=generator).numpy()
        series = np.searchsorted(chances, unit[:, 0] * chances[-1], side="right")
        length, start = rows.lengths[series], rows.starts[series]
        size = np.minimum(length, self.window)
        offset = np.arange(size.max())
        exists = torch.from_numpy(offset < size[:, None])
        if self.dim_x == 1:
            first = start + (unit[:, 1] * (length - size + 1)).astype(np.int64)
            return np.where(exists, first[:, None] + offset, first[:, None]), exists
        index = np.tile(start[:, None], (1, len(offset)))
        for i in range(batch_size):
            points = rows.x[start[i] : start[i] + length[i]]
            away = (points - points[int(unit[i, 1] * length[i])]) / np.asarray(self.gap)
            near = np.argpartition((away**2).sum(1), size[i] - 1)[: size[i]]
            index[i, : size[i]] = start[i] + near
        return index, exists


def _positions(x: Float[Tensor, "B L Dx"], exists: Bool[Tensor, "B L"]) -> Float[Tensor, "B L Dx"]:
    """Return where points lie between the first and the last of their task, from zero to one."""
    there = exists[..., None]
    low = torch.where(there, x, torch.inf).amin(1, keepdim=True)
    high = torch.where(there, x, -torch.inf).amax(1, keepdim=True)
    return (x - low) / (high - low).clamp(min=1e-300)


def observed_part(
    position: Float[Tensor, "B L Dx"], known: Bool[Tensor, "B L Dy"], generator: Generator
) -> Bool[Tensor, "B L Dy"]:
    """Choose what is observed: values are hidden at random, in blocks, beyond an edge, or most.

    Of a row with several channels sometimes all are hidden together, sometimes each on its own.
    At least one known value of every task is hidden.
    """
    tasks, points, channels = known.shape

    def uniform(*shape: int) -> Tensor:
        return torch.rand(tasks, *shape, dtype=torch.float64, generator=generator)

    together = uniform(1, 1) < 0.5
    each = uniform(points, channels)
    each = torch.where(together, each[..., :1], each)
    random = each < 0.05 + 0.9 * uniform(1, 1)
    widths = 0.02 * 25 ** uniform(1, 4)  # of the window, from 2 to 50 %
    blocks = torch.ones_like(known)
    for i in range(3):
        centre = uniform(1, position.shape[2])
        inside = ((position - centre).abs() < widths[..., i : i + 1] / 2).all(2, keepdim=True)
        hidden = (uniform(1, channels) < 0.6) | together
        blocks = blocks & ~(inside & hidden)
    along = torch.where(uniform(1, 1) < 0.5, position, 1 - position)
    axis = (uniform(1, 1) * position.shape[2]).long().expand(-1, points, -1)
    before = along.gather(2, axis) <= 1 - widths[..., 3:]
    few = each * known.sum((1, 2), keepdim=True) < 6 * uniform(1, 1)
    kinds = torch.stack([random, blocks, blocks & random, before & random, before & blocks, few])
    kind = (uniform(1, 1) * len(kinds)).long()[None].expand(1, -1, points, channels)
    observed = kinds.gather(0, kind)[0] & known
    asked = (uniform(points, channels) * known).flatten(1).argmax(1, keepdim=True)
    return observed & ~torch.zeros_like(known).flatten(1).scatter(1, asked, True).view_as(known)
