"""Which inputs are asked for: given ones, even ones, or the gaps themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from convcnp.errors import SettingError, TableError
from convcnp.frames.containers import open_container
from convcnp.frames.even import even_times
from convcnp.frames.gaps import gaps_of, has_regular_rows, has_too_long_gaps
from convcnp.frames.reading import read_table
from convcnp.frames.series import Ragged, SeriesTable
from convcnp.frames.steps import Step, times_ahead
from convcnp.storage import is_file

EVEN = 200  # times, where nothing else was asked for
MOST = 2 * 10**7  # times in all


@dataclass(frozen=True)
class Targets:
    """Inputs asked of every series, and what they are, in words."""

    inputs: Ragged  # as many series as the table has; any of them may be empty
    meaning: str
    order: np.ndarray | None = None  # the row of the user's table that each stands in

    def in_order(self, answer: pd.DataFrame) -> pd.DataFrame:
        """Put answers into the order in which they were asked for."""
        if self.order is None:
            return answer
        return answer.iloc[np.argsort(self.order, kind="stable")].reset_index(drop=True)

    def rows(self, i: int | np.integer) -> np.ndarray:
        """Return the rows of the ordered answer that a series has, given by its number."""
        rows = np.arange(len(self.inputs.x)) if self.order is None else self.order
        return rows[self.inputs.rows(i)]


@dataclass(frozen=True)
class TargetText:
    """Where to predict, as it is written on a command line.

    Args:
        text: "gaps", a number, START:STOP:STEP, + and how far ahead, or the path of a table.
    """

    text: str

    def times(self, table: SeriesTable) -> Any:  # noqa: ANN401 - what `series_targets` takes
        """Read what is asked of series."""
        at = self.text
        if at == "gaps":
            return at
        if at.isdecimal():
            return int(at)
        if at == "-" or is_file(at):
            return read_table(at).frame
        return read_times(table, at)

    def points(self) -> Any:  # noqa: ANN401 - what `point_targets` takes
        """Read what is asked of points in the plane."""
        if self.text == "gaps":
            return self.text
        if self.text.isdecimal():
            return int(self.text)
        if self.text.startswith("+"):
            raise SettingError(
                f"What lies ahead is asked of series over a time, got ahead= {self.text[1:]} for "
                "points in the plane; leave it out."
            )
        if self.text != "-" and not is_file(self.text):
            raise TableError(
                "at= of points in the plane must be gaps, a number of points along each side of a "
                f"map, or a table that exists, got {self.text!r}; check it."
            )
        return read_table(self.text).frame


def read_times(table: SeriesTable, text: str) -> pd.Index | Targets:
    """Read START:STOP:STEP, or + and how far ahead of the last value of every series."""
    ahead = text[1:].strip() if text.startswith("+") else None
    try:
        if ahead is not None:
            return Targets(times_ahead(table, ahead), f"{ahead} ahead of the last value")
        start, stop, step = text.split("..") if ".." in text else text.split(":")
        return _even_steps(table, start.strip(), stop.strip(), step.strip())
    except (ValueError, OverflowError) as error:
        if isinstance(error, TableError):
            raise  # it says itself what is wrong
        expected = (
            "ahead= must be positive, a number of steps or a time with a unit such as 14d or 3 "
            "months"
            if ahead is not None
            else "at= must be gaps, a number of times, START:STOP:STEP (START..STOP..STEP for "
            "clock times; steps of dates have a unit, such as 6h, 1D or 3 months) or a file that "
            "exists"
        )
        got = repr(text.removeprefix("+"))
        if table.axis.dtype.kind not in "mM":
            got += ", but times are numbers, without a unit"
        raise TableError(f"{expected}, got {got}; check it.") from error


def _even_steps(table: SeriesTable, start: str, stop: str, step: str) -> pd.Index:
    try:
        first, last = table.numbers(pd.Series([start, stop], name=table.time))
    except TableError as error:
        like = table.axis.times(table.series.x[:1])[0]
        raise TableError(
            f"at= must start and stop at times like those of {table.time!r}, such as {like}, got "
            f"{start!r} and {stop!r}; check them, and write START..STOP..STEP if they hold colons."
        ) from error
    if last < first:
        raise TableError(
            f"at= must stop after its start, got {start!r} and {stop!r}; exchange them."
        )
    return table.axis.times(Step.read(step, table.axis).through(table.axis, first, last, MOST))


def series_targets(table: SeriesTable, at: Any = None) -> Targets:  # noqa: ANN401 - told apart here
    """Find the times to predict at.

    Args:
        at: A table with the time column, and the group column if there is one; times, the same
            for every series, or START:STOP:STEP as text; a number of evenly spaced times; "gaps";
            "+14", "+14d" or "+3 months" for so many steps, or so much time, ahead of every series;
            or nothing, which is the gaps, and evenly spaced times where there are none.
    """
    if isinstance(at, TargetText):
        at = at.times(table)
    elif isinstance(at, str) and _is_range(table, at):
        at = read_times(table, at)
    if isinstance(at, Targets):
        return at
    if isinstance(at, pd.DataFrame) or hasattr(at, "data_vars"):
        times, order = table.asked_in(open_container(at).frame)
        return Targets(times, "the times of the given table", order)
    if at is None or (isinstance(at, str) and at == "gaps"):
        gaps = gaps_of(table)
        if len(gaps.x):
            return Targets(gaps, "the times whose values are missing")
        if at is not None:
            raise TableError(
                f"Expected gaps to fill, but {_why(table)}; ask for a number of times, or for "
                "times of your own."
            )
        even = even_times(table, EVEN, at_most=True)
        many = even.lengths.max(initial=0)
        return Targets(even, f"{many} evenly spaced times, as {_why(table)}")
    if isinstance(at, int | np.integer) and not isinstance(at, bool):
        if not 1 <= at <= MOST / len(table.series):
            raise SettingError(
                f"The number of times must be at least 1, and at most {MOST:,} over all series, "
                f"got {at:,} for each of {len(table.series):,}; ask for another number."
            )
        return Targets(even_times(table, int(at)), f"{at} evenly spaced times")
    return _same_for_all(table, at)


def _is_range(table: SeriesTable, text: str) -> bool:
    """Tell a range, or what lies ahead, from a single time."""
    if text.startswith("+") or ".." in text:
        return True
    if text.count(":") < 2:
        return False
    try:
        table.axis.numbers(pd.Series([text], name=table.time))
    except TableError:
        return True
    return False  # a clock


def _why(table: SeriesTable) -> str:
    """Say why there are no gaps."""
    if has_too_long_gaps(table):
        return "the gaps between rows are too long for their usual step"
    if has_regular_rows(table):
        return "there is no gap"
    return "no value is missing and rows are irregular, so that none is known to be"


def _same_for_all(table: SeriesTable, at: Any) -> Targets:  # noqa: ANN401
    if np.ndim(at) > 1:
        raise TableError(
            f"Expected times in one dimension to predict at, got shape {np.shape(at)}; flatten it."
        )
    given = pd.Series(at, name=table.time).reset_index(drop=True)
    if given.empty:
        raise TableError("Expected at least one time to predict at, got none; give some.")
    x = table.numbers(given)
    if np.isnan(x).any():
        raise TableError("Expected times to predict at, but some are missing; remove them.")
    count = len(table.series)
    if len(x) * count > MOST:
        raise SettingError(
            f"Expected at most {MOST:,} times over all series, got {len(x):,} for each of "
            f"{count:,}; ask for fewer."
        )
    return Targets(Ragged(np.tile(x, count), len(x) * np.arange(count + 1)), "the given times")
