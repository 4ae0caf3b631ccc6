"""What to name where a guessed time is shared by most rows: another time, a group, or both."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd

from convcnp.errors import TableError
from convcnp.frames.assembled import parts_of
from convcnp.frames.groups import begins_anew, row_keys, tells_apart
from convcnp.frames.guesses import is_in_order, rises
from convcnp.frames.joined_groups import group_column, group_columns, joined
from convcnp.frames.kinds import is_date, is_duration, is_numeric
from convcnp.frames.names import (
    PLACE_NAMES,
    is_time_name,
    listed,
    names_series,
    numbers_series,
    words_of,
)
from convcnp.frames.padded import is_padded

_MOST = 0.5  # of the rows: if more share their time, it is none
_MOST_PAIRED = 8  # columns
_AXES = {"depth", "age", "time", "elapsed", "distance"}  # words for what is observed along
_OFTEN = 0.5  # of the times, at which every series has a row, where numbers without a name tell
_NEARLY_ALL = 0.9


def check_times_differ(
    frame: pd.DataFrame, time: str, group: str | None, channel: str | None
) -> None:
    """Refuse a guessed time that most rows share with another of their series."""
    beside = [*group_columns(frame, group), *([] if channel is None else [channel])]
    keys = row_keys(frame, [time])
    known = keys.notna().all(axis=1)
    shared = keys.assign(**{name: frame[name] for name in beside})[known].duplicated(keep=False)
    if len(shared) < 3 or shared.mean() <= _MOST:
        return
    ways = _ways(frame, time, group, channel, keys)
    raise TableError(
        f"Expected times that differ, but {int(shared.sum()):,} of {len(shared):,} rows share "
        f"theirs in {time!r} with another; {', or '.join(ways)}."
    )


def _ways(
    frame: pd.DataFrame, time: str, group: str | None, channel: str | None, keys: pd.DataFrame
) -> list[str]:
    """Return what may be named, each way in words."""
    beside = [*group_columns(frame, group), *([] if channel is None else [channel])]
    others = [c for c in frame.columns if c not in {time, *parts_of(frame, time), *beside}]
    named, steady, shared = _axes(frame, others)
    alone = [c for c in (*named, *steady) if _differs(frame[c])]
    average = f"give time={time!r} to average the values of each time"
    profile = "" if alone else _profile(frame, time, group, named, others)
    if profile:
        return [profile, average]
    ways = [f"name the time with time= ({listed(alone)} may be it)"] if alone else []
    with_channel = keys if channel is None else keys.assign(**{channel: frame[channel]})
    count = keys.iloc[:, 0].nunique()
    shared = [c for c in shared if frame[c].nunique() > count]  # else they may name series
    names = [c for c in others if c not in shared and _may_tell(frame, c, others, keys)]
    telling = [c for c in names if tells_apart(frame[c], with_channel)]
    if telling:
        ways.append(f"name what tells series apart with group= ({listed(telling)} may do so)")
    elif together := _together(frame, group, names, with_channel):
        ways.append(f"give group={together!r}: these tell series apart together")
    elif not alone and (profile := _profile(frame, time, group, shared, others)):
        ways.append(profile)
    return [*ways, average]


def _axes(frame: pd.DataFrame, names: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Return what values may be observed along, by name or type, by growing, and in each series.

    Measurements may grow as well, but not with every row of a table, and not through the same
    numbers in every series.
    """
    numeric = [c for c in names if is_numeric(frame[c])]
    is_axis = {c: is_time_name(c) or bool(_AXES & {*words_of(c)}) for c in names}
    named = [
        *(c for c in numeric if is_axis[c] and rises(frame[c])),
        *(c for c in names if is_date(frame[c]) or is_duration(frame[c])),
    ]
    growing = [c for c in numeric if c not in named and is_in_order(frame[c])]
    steady = [c for c in growing if _is_steady(frame[c])]
    return named, steady, [c for c in growing if c not in steady and not _differs(frame[c])]


def _differs(column: pd.Series) -> bool:
    return bool(column.duplicated(keep=False).mean() <= _MOST)


def _is_steady(column: pd.Series) -> bool:
    """Tell whether numbers grow, or fall, from the first row to the last."""
    steps = np.diff(pd.to_numeric(column, errors="coerce").dropna().to_numpy(dtype=np.float64))
    return bool((steps > 0).all() or (steps < 0).all())


def _profile(
    frame: pd.DataFrame,
    time: str,
    group: str | None,
    axes: Sequence[str],
    others: Sequence[str],
) -> str:
    """Say what values are observed along in series that have a time each: a depth, of casts."""
    for axis in axes:
        keys = row_keys(frame, [axis])
        names = [c for c in others if c not in axes and _may_tell(frame, c, others, keys)]
        names.sort(key=lambda c: not (names_series(frame[c]) or numbers_series(frame[c])))
        is_named = bool(_AXES & {*words_of(axis)})
        if is_named and time in frame and frame[time].nunique() < frame[axis].nunique():
            names.append(time)
        for name in [group] if group else names:
            if tells_apart(group_column(frame, name), keys):
                return f"give time={axis!r} and group={name!r}"
    return ""


def _may_tell(frame: pd.DataFrame, name: str, others: Sequence[str], keys: pd.DataFrame) -> bool:
    """Tell whether words are repeated, or whole numbers as names of series are: no measurements."""
    column = frame[name]
    if not 1 < column.nunique() <= len(column) / 2:
        return False
    if not is_numeric(column):
        return True
    values = [c for c in others if c != name and is_numeric(frame[c])]
    is_fraction = (pd.to_numeric(column, errors="coerce").dropna() % 1 != 0).any()
    if is_fraction or not values or {*words_of(name)} & {*PLACE_NAMES}:
        return False
    if names_series(column) or numbers_series(column) or is_padded(column):
        return True
    return begins_anew(column, keys) or _is_at_most_times(column, keys)


def _is_at_most_times(column: pd.Series, keys: pd.DataFrame) -> bool:
    """Tell whether every value of a column is there at most of the times."""
    time = keys.columns[0]
    counts = keys.groupby(column)[time].nunique()
    return bool((counts >= _OFTEN * keys[time].nunique()).mean() > _NEARLY_ALL)


def _together(
    frame: pd.DataFrame, group: str | None, names: Sequence[str], keys: pd.DataFrame
) -> str:
    """Return columns that tell series apart together, where none does so alone, joined.

    Of the group that is named, if there is one, and another; else of any two.
    """
    names = names[:_MOST_PAIRED]
    given = [joined([group, name]) for name in names] if group else []
    pairs = [joined(pair) for pair in itertools.combinations(names, 2)]
    found = (pair for pair in (*given, *pairs) if tells_apart(group_column(frame, pair), keys))
    return next(found, "")
