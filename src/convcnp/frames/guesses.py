"""Guesses of which column is the time, and which tells series apart, where none is named."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from convcnp.errors import ConvCNPWarning, TableError
from convcnp.frames.assembled import joined_name, parts_of, time_column
from convcnp.frames.kinds import is_date, is_duration, is_label, is_numeric
from convcnp.frames.time_axis import TimeAxis, holds_compact_dates

CERTAIN_TIME_NAMES = ("time", "times", "date", "dates", "datetime", "timestamp", "ds", "mjd", "jd")
_WEAK_TIME_NAMES = ("year", "month", "week", "day", "hour", "x")  # parts of times, or a place
TIME_NAMES = (*CERTAIN_TIME_NAMES, "t", "when", *_WEAK_TIME_NAMES)
GROUP_NAMES = (
    *("id", "group", "series", "series_id", "unique_id", "item_id", "object_id", "object"),
    *("station", "sensor", "subject", "patient", "key"),
)
_ROW_NAMES = ("unnamed: 0", "rownames", "row", "row_id", "rowid", "row_number")
_PERHAPS_ROW_NAMES = ("index", "id", "obs", "observation", "t")
_YEAR_NAME = re.compile(r"[Xx]?(?:1[5-9]|20|21)\d\d(?: ?\[YR\d{4}\])?")  # 1999, X1999
_PLACE_NAMES = ("lat", "latitude", "lon", "long", "lng", "longitude", "easting", "northing")
_ERROR_ENDINGS = ("_err", "_error", "_sd", "_std")  # of names of standard errors
_MOST = 0.5  # of the rows: if more share their time, it is none
_SHARED = 0.2  # of the rows, at least, share their time with another series
_STARTS = 0.25  # of the rows, at most, begin a new series
_FEW = 0.1

# --- Times ----------------------------------------------------------------------------------------


def is_time_name(name: Any) -> bool:  # noqa: ANN401 - of a column
    """Tell whether a name is one that columns of times have."""
    return str(name).lower() in TIME_NAMES


def counts_rows(column: pd.Series) -> bool:
    """Tell whether a column is the number of the row, which exports like to put first."""
    name = str(column.name).lower()
    if not pd.api.types.is_integer_dtype(column):
        return False
    if name in _ROW_NAMES:  # rows may have been sorted, or left out, since they were numbered
        return bool(column.is_unique)
    return name in _PERHAPS_ROW_NAMES and bool((column.diff().iloc[1:] == 1).all())


def guess_time(frame: pd.DataFrame, candidates: Sequence[str], spared: int = 1) -> str:
    """Return the name of the time: of a column, or of parts, joined.

    Args:
        spared: Columns of numbers that must be left, for values.
    """
    named = [c for c in candidates if is_time_name(c)]
    weak = [c for c in named if c.lower() in _WEAK_TIME_NAMES]
    weak.sort(key=lambda name: name.lower() == "x")
    running = [c for c in named if c.lower() == "t"]  # often a mere count beside the time itself
    strong = [c for c in named if c not in (*weak, *running)]
    dated = [
        *(c for c in candidates if is_date(frame[c])),
        *(c for c in strong if holds_compact_dates(frame[c])),
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
    if y and len(numeric) > 2 and not _is_in_order(frame[x]):
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
    places = [c for c in numeric if c.lower() in _PLACE_NAMES]
    others = [c for c in numeric if c not in (*counters, *places) and not _names_series(frame[c])]
    months = [c for c in others if holds_compact_dates(frame[c])]
    rising = [c for c in others if _rises(frame[c])]
    # Times begin anew with every series; what is observed at them does not repeat itself.
    rising.sort(key=lambda name: -round(frame[name].duplicated(keep=False).mean(), 1))
    if len(others) + len(places) > spared or not counters:
        if months:
            return months[0]
        if rising:
            if _is_in_order(frame[rising[0]]):
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


def _refuse_times_as_names(numeric: Sequence[str]) -> None:
    """Refuse a table on its side: one row per series, and one column per time."""
    times = [c for c in numeric if _YEAR_NAME.fullmatch(c) or is_date(pd.Series([c]))]
    if len(times) > max(1, _MOST * len(numeric)):
        raise TableError(
            f"Expected a row for every time, but the names of columns are times themselves, "
            f"{listed(times, most=3)}; turn the table, so that times and values stand in columns "
            "of their own (DataFrame.melt does so in pandas)."
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


def _is_in_order(column: pd.Series) -> bool:
    """Tell whether numbers grow with every row, or fall, and go back only to start a new series.

    A new series starts where at least half of what had grown is undone: values that waver do less.
    """
    values = pd.to_numeric(column, errors="coerce").dropna().to_numpy(dtype=np.float64)
    values = values if (np.diff(values) > 0).mean() > _MOST else -values
    last = np.flatnonzero(np.diff(values) <= 0)  # of every series but the one at the end
    first = np.concatenate([[0], last + 1])
    grown, undone = values[last] - values[first[:-1]], values[last] - values[first[1:]]
    return bool((undone > 0).all() and (undone >= _MOST * grown).all())


def _rises(column: pd.Series) -> bool:
    """Tell whether most numbers grow from row to row, or fall, but for starts of new series."""
    steps = np.diff(pd.to_numeric(column, errors="coerce").dropna().to_numpy(dtype=np.float64))
    forth, back = sorted(((steps > 0).sum(), (steps < 0).sum()), reverse=True)
    return bool(forth > _MOST * len(steps) and back <= _STARTS * len(steps))


# --- Groups ---------------------------------------------------------------------------------------


def guess_group(
    frame: pd.DataFrame, candidates: Sequence[str], within: Sequence[str]
) -> str | None:
    """Return the column that tells series apart: times repeat across its values, not within them.

    Args:
        within: The time, or the inputs, and the channel if there is one: what a row of a series is
            told from others by.
    """
    named = [c for c in candidates if _names_series(frame[c])]
    words = [c for c in candidates if is_label(frame[c]) and c not in named]
    repeated = [c for c in words if 1 <= frame[c].nunique() <= len(frame) / 2]
    if not named and not repeated:
        return None
    keys = row_keys(frame, within)
    if named:
        return _named_group(frame, named, keys)
    telling = [c for c in repeated if tells_apart(frame[c], keys)]
    ignored = [c for c in repeated if c not in telling]
    if ignored and not telling:
        warnings.warn(
            f"{listed(ignored)} {'holds' if len(ignored) == 1 else 'hold'} words that do not tell "
            f"series apart, as times do not repeat from one word to another: ignored. If that is "
            "wrong, name the group.",
            ConvCNPWarning,
            stacklevel=5,
        )
    if len(telling) > 1 and len(frame[telling].drop_duplicates()) > frame[telling[0]].nunique():
        warnings.warn(
            f"{listed(telling)} may all tell series apart; {telling[0]!r} is taken. If that is "
            "wrong, name the group.",
            ConvCNPWarning,
            stacklevel=5,
        )
    return telling[0] if telling else None


def _names_series(column: pd.Series) -> bool:
    """Tell whether a column has the name of one that tells series apart, and not what one reads."""
    if str(column.name).lower() not in GROUP_NAMES:
        return False
    return column.dtype.kind != "f" or bool((column.dropna() % 1 == 0).all())


def _named_group(frame: pd.DataFrame, named: Sequence[str], keys: pd.DataFrame) -> str:
    group = next((c for c in named if tells_apart(frame[c], keys)), named[0])
    if len(frame) > 1 and frame[group].is_unique:
        warnings.warn(
            f"{group!r} is taken to tell {len(frame):,} series of one row each apart; if it only "
            'numbers the rows, give an empty group: group="".',
            ConvCNPWarning,
            stacklevel=6,
        )
    return group


def row_keys(frame: pd.DataFrame, within: Sequence[str]) -> pd.DataFrame:
    """Return what rows of one series are told apart by, times as numbers where they can be."""
    keys = {}
    for name in within:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvCNPWarning)  # said when the times are read
            column = time_column(frame, name)
            try:
                keys[name] = pd.Series(TimeAxis.of(column).numbers(column), index=frame.index)
            except TableError:  # likewise
                keys[name] = column
    return pd.DataFrame(keys)


def tells_apart(column: pd.Series, keys: pd.DataFrame) -> bool:
    """Tell whether times repeat across the values of a column, and not within them.

    Series of other times, one below the other, are known by times that begin anew with each.
    """
    known = keys.notna().all(axis=1) & column.notna()
    keys, labels = keys[known], column[known]
    across = keys.duplicated(keep=False).mean() if len(keys) else 0.0
    within = keys.assign(**{"": labels}).duplicated(keep=False).mean() if len(keys) else 0.0
    return bool(across >= _SHARED and within <= _FEW * across) or _begins_anew(labels, keys)


def _begins_anew(labels: pd.Series, keys: pd.DataFrame) -> bool:
    time = keys.iloc[:, 0]
    if keys.shape[1] > 1 or time.dtype.kind not in "iuf":
        return False
    is_start = (labels != labels.shift()).to_numpy()
    back = time.diff().to_numpy() < 0
    starts = is_start[1:]
    is_stacked = is_start.sum() == labels.nunique() > 1 and not back[1:][~starts].any()
    return bool(is_stacked and back[1:][starts].mean() > _MOST)


# --- Checks ---------------------------------------------------------------------------------------


def check_times_differ(
    frame: pd.DataFrame, time: str, group: str | None, channel: str | None
) -> None:
    """Refuse a guessed time that most rows share with another of their series."""
    beside = [name for name in (group, channel) if name is not None]
    keys = row_keys(frame, [time])
    known = keys.notna().all(axis=1)
    shared = keys.assign(**{name: frame[name] for name in beside})[known].duplicated(keep=False)
    if len(shared) < 3 or shared.mean() <= _MOST:
        return
    used = {time, *parts_of(frame, time), *beside}
    others = [c for c in frame.columns if c not in used]
    may_be_time = [
        c
        for c in others
        if (is_date(frame[c]) or is_numeric(frame[c]) or is_duration(frame[c]))
        and frame[c].duplicated(keep=False).mean() <= _MOST
    ]
    with_channel = keys if channel is None else keys.assign(**{channel: frame[channel]})
    may_be_group = [
        c
        for c in others
        if 1 < frame[c].nunique() <= len(frame) / 2 and tells_apart(frame[c], with_channel)
    ]
    ways = [
        *([f"name the time with time= ({listed(may_be_time)} may be it)"] if may_be_time else []),
        *(
            [f"name what tells series apart with group= ({listed(may_be_group)} may do so)"]
            if may_be_group
            else []
        ),
        f"give time={time!r} to average the values of each time",
    ]
    raise TableError(
        f"Expected times that differ, but {int(shared.sum()):,} of {len(shared):,} rows share "
        f"theirs in {time!r} with another; {', or '.join(ways)}."
    )


def error_of(value: str, names: Sequence[str]) -> str:
    """Return which of these names is that of a value's standard errors; empty if none is.

    Example:
        >>> error_of("flux", ["mjd", "flux", "flux_err"])
        'flux_err'
    """
    return next((value + end for end in _ERROR_ENDINGS if value + end in names), "")


def listed(names: Sequence[str], most: int = 8) -> str:
    """List names in a sentence, the first of them if they are many."""
    shown = ", ".join(repr(str(name)) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
