"""What is asked of all tables of a lake, decided once, from the first of them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from convcnp.core.bounds import ANYWHERE, Limits
from convcnp.errors import ConvCNPWarning, TableError
from convcnp.frames.assembled import time_column
from convcnp.frames.columns import Columns
from convcnp.frames.midnights import continued
from convcnp.frames.sentinels import NONE, missing_cells
from convcnp.frames.series import SeriesTable, grouped
from convcnp.frames.targets import TargetText
from convcnp.frames.time_axis import TimeAxis
from convcnp.predict.answers import QUANTILES, check_quantiles
from convcnp.predict.predictor import Predictor
from convcnp.predict.request import Request
from convcnp.predict.zoo import load
from convcnp.scale.inputs import check_form, kind_of, named_alike

ROW = "__row__"  # the column that keeps the order of rows
GAPS = "gaps"


@dataclass(frozen=True)
class Asked:
    """What is asked of every series of a lake.

    Args:
        at: gaps, a number of times, START:STOP:STEP, or + and how far ahead; the gaps by default.
    """

    model: str = "general"
    columns: Columns = field(default_factory=Columns)
    at: str | None = None
    quantiles: Sequence[float] = QUANTILES
    limits: Limits = ANYWHERE


@dataclass(frozen=True)
class Form:
    """Columns, times and quantiles that every part of a lake is predicted with.

    What one process would guess from a whole table, each part of a lake would guess in its own way:
    so it is guessed once, and then named.

    Args:
        columns: Which column is what; there is a group.
        kinds: What the columns hold.
        axis: How times are written.
        at: Where to predict, as text.
    """

    model: str
    columns: Columns
    kinds: dict[str, str]
    axis: TimeAxis
    first: str
    at: str = GAPS
    quantiles: tuple[float, ...] = QUANTILES
    limits: Limits = ANYWHERE

    @classmethod
    def of(cls, predictor: Predictor, asked: Asked, frame: pd.DataFrame, first: str) -> Form:
        """Choose the columns of a table, and check what is asked.

        Args:
            first: What the table is called.
        """
        check_quantiles(asked.quantiles)
        request = predictor.request(frame, 1, asked.columns)
        table, columns = request.table, request.columns
        if columns.group is None or not isinstance(table, SeriesTable):
            raise TableError(
                f"Expected a column that tells series apart in {first}, but none was named or "
                "found; name it with group=."
            )
        if columns.group not in frame.columns:
            raise TableError(
                "Expected one column that tells series apart in many files, got "
                f"{columns.group!r}; put these into one."
            )
        if asked.at not in (None, GAPS):
            _check_at(predictor, frame, request, str(asked.at))
        needed = [columns.group, *columns.values, *filter(None, columns.errors)]
        kinds = {name: kind_of(frame[name], name == columns.group) for name in needed}
        missing = asked.columns.missing or _noticed(frame, columns)
        return cls(
            asked.model,
            replace(columns, missing=missing),
            kinds,
            table.axis,
            first,
            asked.at or GAPS,
            tuple(asked.quantiles),
            asked.limits,
        )

    @property
    def group(self) -> str:
        """The column that tells series apart."""
        assert self.columns.group is not None
        return self.columns.group

    @property
    def time(self) -> str:
        """The time column."""
        assert self.columns.time is not None
        return self.columns.time

    def needed(self, frame: pd.DataFrame, path: str) -> pd.DataFrame:
        """Return the columns that are needed of another table, and refuse one of another form."""
        if self.group in frame.columns:
            named = named_alike(frame[self.group], self.kinds[self.group])
            frame = frame.assign(**{self.group: named})
        check_form(frame, path, self.kinds, self.group, self.first)
        times = time_column(frame, self.time)
        if continued(times, grouped(frame, self.group)[0]) is not times:
            raise TableError(
                "Expected times of one day, or with their dates, in many files, got clock times "
                f"in {self.time!r} that pass midnight in {path}; write dates with them, as rows "
                "of a series may lie in other files."
            )
        if times.dtype.kind not in "iufmM" or self.axis.compact:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvCNPWarning)  # said of the first table
                known = times.notna()
                numbers = self.axis.numbers(times[known]) if known.any() else np.zeros(0)
            times = pd.Series(self.axis.times(numbers), times.index[known]).reindex(times.index)
        columns = {name: _plain_column(frame[name]) for name in self.kinds}
        return pd.DataFrame({self.group: columns.pop(self.group), self.time: times, **columns})

    def predictor(self) -> Predictor:
        """Load the model."""
        return load(self.model)


def _check_at(predictor: Predictor, frame: pd.DataFrame, request: Request, at: str) -> None:
    """Refuse what cannot be asked of every part alike."""
    assert isinstance(request.table, SeriesTable)
    if isinstance(TargetText(at).times(request.table), pd.DataFrame):
        raise TableError(
            f"Expected gaps, a number of times or START:STOP:STEP for many files, got the table "
            f"{at}; predict at the times of a table in one process, from one file."
        )
    predictor.request(frame, TargetText(at), request.columns)


def _noticed(frame: pd.DataFrame, columns: Columns) -> tuple[str, ...]:
    """Return the numbers that stand for missing values, to be named for all parts."""
    found = {
        f"{number:.17g}"
        for name in columns.values
        for number in missing_cells(frame[name], columns.missing)[1]
    }
    return tuple(sorted(found)) or (NONE,)


def _plain_column(column: pd.Series) -> Any:  # noqa: ANN401 - a Series
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype)
    return column.astype("string") if column.dtype == object else column
