"""Tasks from a user's table: many series, one long series, or scattered points in the plane."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor

from convcnp.core.predictive import Predictive
from convcnp.core.task import Task
from convcnp.core.units import Fixed, Normaliser, OwnLevel
from convcnp.data.source import Familiar, Part
from convcnp.data.splits import PARTS, parts_by_name
from convcnp.errors import SettingError, TableError
from convcnp.frames.columns import Columns
from convcnp.frames.reading import digest_of, parse_table
from convcnp.frames.series import Ragged, Rows

FEWEST = 3  # rows with a value that make a series
ENOUGH_SERIES = 5  # to hold some of them out whole; with fewer, parts of each are held out
_VALIDATION_STRETCH, _TEST_STRETCH = (0.35, 0.5), (0.85, 1.0)  # of a series' rows
_HALVINGS = 4  # of the plane, into sixteen regions of equally many points
_VALIDATION_REGIONS, _TEST_REGIONS = (2, 9), (5, 14)
_WIDEST = 4.0  # extent of a window, in gaps per row: a hole in a series makes no huge grid

# --- Parts ----------------------------------------------------------------------------------------


def part_of(rows: Rows, part: str) -> Rows:
    """Keep the rows of the training, validation or test part, or all of them.

    Whole series are held out, by a hash of their names. Where there are too few for that,
    stretches of time are, or regions of the plane. Series that are too short are left out.
    """
    return rows.kept(is_in_part(rows, part))


def is_in_part(rows: Rows, part: str) -> np.ndarray:
    """Tell of every row whether it is of a part; see `part_of`."""
    kept = _long_enough(rows, np.ones(len(rows.x), dtype=bool))
    if part != "all":
        kept[kept] = _parts(rows.kept(kept)) == PARTS.index(part)
        kept = _long_enough(rows, kept)
    return kept


def is_split_by_series(rows: Ragged) -> bool:
    """Tell whether there are enough series to hold some of them out whole."""
    return int((rows.lengths >= FEWEST).sum()) >= ENOUGH_SERIES


def _long_enough(rows: Rows, kept: np.ndarray) -> np.ndarray:
    """Drop what is kept of series that are too short."""
    lengths = np.diff(rows.starts_among(kept))
    return kept & (lengths >= FEWEST)[rows.owners]


def _parts(rows: Rows) -> np.ndarray:
    """Return the part of every row: 0 for training, 1 for validation, 2 for test."""
    if is_split_by_series(rows):
        present = np.flatnonzero(rows.lengths > 0)
        parts = np.zeros(len(rows), dtype=np.int64)
        parts[present] = parts_by_name([rows.labels[i] for i in present])
        return parts[rows.owners]
    split = _stretches if rows.dim_x == 1 else _regions
    return np.concatenate([split(rows.x[rows.rows(i)]) for i in range(len(rows))])


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


# --- The source -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class TableSource(Columns):
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
        *("missing", "errors", "window", "gap", "level", "scale", "units", "gaps", "largest"),
    )
    takes: ClassVar[Literal["tables"]] = "tables"

    path: str = ""
    digest: str = ""
    window: int = 256
    gap: tuple[float, ...] = (1.0,)
    level: tuple[float, ...] = (0.0,)
    scale: tuple[float, ...] = (1.0,)
    units: Literal["fixed", "series"] = "fixed"
    gaps: tuple[float, float] = (0.0, 1e12)
    largest: float = 1e12
    part: Literal["all"] | Part = "training"
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
        rows = self.window if self.units == "series" and self.dim_x == 1 else None
        return Familiar(self.gaps, self.largest, spacing=1.0, has_repeats=True, rows=rows)

    @cached_property
    def rows(self) -> Rows:
        """All rows of the table."""
        if self.read is not None:
            return self.read
        try:
            content = Path(self.path).read_bytes()
        except OSError as error:
            raise TableError(
                f"Expected the table {self.path}, but it cannot be read ({error.strerror}); a "
                "model can predict without it, but not be trained or judged."
            ) from error
        if self.digest and digest_of(content) != self.digest:
            raise TableError(
                f"Expected {self.path} as it was when training began, but its content has changed; "
                "restore it, or train anew in another directory."
            )
        return Rows.of(parse_table(content, self.path).frame, self)

    @cached_property
    def places(self) -> np.ndarray:
        """Where the rows that tasks are drawn from stand among all rows."""
        return np.flatnonzero(is_in_part(self.rows, self.part))

    @cached_property
    def own(self) -> Rows:
        """The rows that tasks are drawn from."""
        rows = part_of(self.rows, self.part)
        if not len(rows.x):
            within = "" if self.part == "all" else f" for the {self.part} part"
            raise TableError(
                f"Expected series of at least {FEWEST} observed rows{within}, but the table has "
                "none; give it longer series, or name the columns with time= and "
                "group=."
            )
        return rows

    def held_out(self, part: Part) -> TableSource:
        """Return the source of the series, stretches or regions of a part."""
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
        index, known, observed = self.draw_windows(batch_size, generator)
        x, y = torch.from_numpy(self.own.x[index]), torch.from_numpy(self.own.y[index])
        error = None if self.own.error is None else torch.from_numpy(self.own.error[index])
        return Task(
            x_context=x,
            y_context=y,
            x_target=x,
            y_target=y,
            context_mask=observed,
            target_mask=known & ~observed,
            context_error=error,
            target_error=error,
        )

    def draw_windows(
        self, batch_size: int, generator: Generator
    ) -> tuple[np.ndarray, Bool[Tensor, "B L Dy"], Bool[Tensor, "B L Dy"]]:
        """Draw windows by their rows among `own`, and what of them is known, and observed."""
        index, exists = self._windows(batch_size, generator)
        x = torch.from_numpy(self.own.x[index])  # (B, L, Dx)
        if self.dim_x == 1:
            widest = _WIDEST * self.window * self.gap[0]
            exists = exists & (x[..., 0] - x[:, :1, 0] <= widest)
        known = exists[..., None] & torch.from_numpy(~np.isnan(self.own.y[index]))
        return index, known, observed_part(_positions(x, exists), known, generator)

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
