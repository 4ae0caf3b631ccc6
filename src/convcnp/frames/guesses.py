"""Guesses of which column is the time, where none is named."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd

from convcnp.errors import ConvCNPWarning, TableError
from convcnp.frames.assembled import joined_name
from convcnp.frames.compact import holds_compact_dates, holds_compact_days
from convcnp.frames.kinds import is_date, is_duration, is_label, is_numeric
from convcnp.frames.names import (
    PLACE_NAMES,
    WEAK_TIME_NAMES,
    counts_rows,
    is_time_name,
    listed,
    names_series,
    numbers_series,
)

_YEAR_NAME = re.compile(r"[Xx]?(?:1[5-9]|20|21)\d\d(?: ?\[YR\d{4}\])?")  # 1999, X1999
_MOST = 0.5  # of the rows
_ENOUGH = 8  # rows: fewer values may stand in order by chance
_STARTS = 0.25  # of the rows, at most, begin a new series


def guess_time(frame: pd.DataFrame, candidates: Sequence[str], spared: int = 1) -> str:
    """Return the name of the time: of a column, or of parts, joined.

    Args:
        spared: Columns of numbers that must be left, for values.
    """
    named = [c for c in candidates if is_time_name(c)]
    weak = [c for c in named if c.lower() in WEAK_TIME_NAMES]
    weak.sort(key=lambda name: name.lower() == "x")
    brief = [c for c in named if c.lower() == "t"]  # often a mere count beside the time itself
    running = [c for c in brief if c == "t" or rises(frame[c])]  # or, if large, a temperature
    strong = [c for c in named if c not in (*weak, *brief)]
    dated = [
        *(c for c in candidates if is_date(frame[c])),
        *(c for c in strong if holds_compact_dates(frame[c])),
        *(c for c in candidates if c not in strong and holds_compact_days(frame[c])),
    ]
    dated.sort(key=lambda name: name not in strong)
    if dated or not any(is_numeric(frame[c]) for c in strong):
        joined = joined_name(frame, candidates, dated)
        if joined is not None:
            return joined
    lasting = [c for c in candidates if is_duration(frame[c])]
    years = [c for c in weak if c.lower() == "year" and frame[c].is_unique]
    best = dated if len(strong) != 1 else strong
    for found in (best, strong, dated, years, running, weak, lasting):
        if found:
            if len(found) > 1 and (found is not dated or found[0] not in strong):
                _say_taken(found)
            elif found[0].lower() == "x":
                _say_if_a_place(frame, candidates, found[0])
            return found[0]
    return _guess_among_numbers(frame, candidates, spared)


def may_be_times(frame: pd.DataFrame) -> list[str]:
    """Return the columns that could be a time: by their names, dates, clocks, or as they grow.

    Example:
        >>> may_be_times(pd.DataFrame({"timestamp": [3, 1, 2], "temp": [1.5, 2.5, 0.5]}))
        ['timestamp']
    """
    return [
        str(name)
        for name, column in frame.items()
        if is_time_name(name)
        or is_date(column)
        or is_duration(column)
        or (is_numeric(column) and rises(column))
    ]


def _say_taken(found: Sequence[str]) -> None:
    warnings.warn(
        f"{listed(found)} may all be the time; {found[0]!r} is taken. If that is wrong, name the "
        "time and the values.",
        ConvCNPWarning,
        stacklevel=6,
    )


def _say_if_a_place(frame: pd.DataFrame, candidates: Sequence[str], x: str) -> None:
    """Say that an x beside a y may be a place, unless rows stand in its order."""
    y = [c for c in candidates if c.lower() == "y"]
    numeric = [c for c in candidates if is_numeric(frame[c]) and not counts_rows(frame[c])]
    if y and len(numeric) > 2 and not is_in_order(frame[x]):
        warnings.warn(
            f"{x!r} is taken for the time; if {listed([x, *y])} are where values were observed, "
            "name them with inputs=.",
            ConvCNPWarning,
            stacklevel=6,
        )


def _guess_among_numbers(frame: pd.DataFrame, candidates: Sequence[str], spared: int) -> str:
    """Take a column that grows from row to row, else the number of the row, else the first of two.

    It is said which, unless the rows stand in its order or there is no other.
    """
    numeric = [c for c in candidates if is_numeric(frame[c])]
    _refuse_times_as_names(numeric)
    counters = [c for c in numeric if counts_rows(frame[c])]
    places = [c for c in numeric if c.lower() in PLACE_NAMES]
    others = [c for c in numeric if c not in (*counters, *places) and not _is_of_series(frame[c])]
    months = [c for c in others if holds_compact_dates(frame[c])]
    rising = [c for c in others if rises(frame[c])]
    if 0 < len(others) + len(places) <= spared and not counters:
        _refuse_unread_times(frame, candidates)
    # Times begin anew with every series; what is observed at them does not repeat itself, and
    # rows stand in the order of times rather than of what is observed.
    rising.sort(
        key=lambda name: (
            not is_in_order(frame[name]),
            -round(frame[name].duplicated(keep=False).mean(), 1),
        )
    )
    if len(others) + len(places) > spared or not counters:
        if months:
            return months[0]
        if rising:
            if is_in_order(frame[rising[0]]):
                _say_if_several(frame, rising)
                return rising[0]
            return _said(rising[0], " or holds dates, and some grow from row to row")
    if len(places) > 1:
        raise TableError(
            f"Expected a column of times, but no column is named like one, holds dates or grows "
            f"from row to row; name one with time=. If {listed(places)} are where the values were "
            "observed, name them with inputs=."
        )
    if counters or 0 < len(others) <= spared + 1:
        found = (counters or others)[0]
        if len(others) <= 1:
            return found
        return _said(found, ", holds dates or grows from row to row")
    raise TableError(
        "Expected a column of times, but no column is named like one, holds dates or grows from "
        f"row to row; the columns are {listed([str(c) for c in frame.columns])}. Name one with "
        "time=."
    )


def _say_if_several(frame: pd.DataFrame, rising: Sequence[str]) -> None:
    """Say that rows stand in the order of several columns, such as a depth and its age."""
    alike = [c for c in rising if is_in_order(frame[c]) and frame[c].is_unique]
    if len(alike) > 1 and len(frame) >= _ENOUGH:
        warnings.warn(
            f"Rows stand in the order of {listed(alike)}; {rising[0]!r} is taken for the time. If "
            "that is wrong, name the time and the values.",
            ConvCNPWarning,
            stacklevel=7,
        )


def _refuse_times_as_names(numeric: Sequence[str]) -> None:
    """Refuse a table on its side: one row per series, and one column per time."""
    times = [c for c in numeric if _YEAR_NAME.fullmatch(c) or is_date(pd.Series([c]))]
    if len(times) > max(1, _MOST * len(numeric)):
        raise TableError(
            f"Expected a row for every time, but the names of columns are times themselves, "
            f"{listed(times, most=3)}; turn the table, so that times and values stand in columns "
            "of their own (DataFrame.melt does so in pandas)."
        )


def _refuse_unread_times(frame: pd.DataFrame, candidates: Sequence[str]) -> None:
    """Refuse a table whose only numbers are values, beside texts that may be times."""
    texts = [c for c in candidates if is_label(frame[c]) and frame[c].is_unique]
    if texts:
        raise TableError(
            "Expected a column of times beside the values, but no column is named like one or "
            f"holds dates; {texts[0]!r} holds texts such as {frame[texts[0]].iloc[0]!r}, which are "
            "not read as times. Write them as 2020-01-31 18:30, or as numbers."
        )


def _said(name: str, found: str) -> str:
    """Return a guess, and say that it is one."""
    warnings.warn(
        f"No column is named like a time{found}; {name!r} is taken. If that is wrong, name the "
        "time.",
        ConvCNPWarning,
        stacklevel=7,
    )
    return name


def _is_of_series(column: pd.Series) -> bool:
    return names_series(column) or numbers_series(column)


def is_in_order(column: pd.Series) -> bool:
    """Tell whether numbers grow with every row, or fall, and go back only to start a new series.

    A new series starts where at least half of what had grown is undone: values that waver do less.
    """
    values = pd.to_numeric(column, errors="coerce").dropna().to_numpy(dtype=np.float64)
    values = values if (np.diff(values) > 0).mean() > _MOST else -values
    last = np.flatnonzero(np.diff(values) <= 0)  # of every series but the one at the end
    first = np.concatenate([[0], last + 1])
    grown, undone = values[last] - values[first[:-1]], values[last] - values[first[1:]]
    return bool((undone > 0).all() and (undone >= _MOST * grown).all())


def rises(column: pd.Series) -> bool:
    """Tell whether most numbers grow from row to row, or fall, but for starts of new series."""
    steps = np.diff(pd.to_numeric(column, errors="coerce").dropna().to_numpy(dtype=np.float64))
    forth, back = sorted(((steps > 0).sum(), (steps < 0).sum()), reverse=True)
    return bool(forth > _MOST * len(steps) and back <= _STARTS * len(steps))
