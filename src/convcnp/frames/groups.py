"""Guesses of which column tells series apart, and whether their times then differ."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence

import pandas as pd

from convcnp.errors import ConvCNPWarning, TableError
from convcnp.frames.assembled import parts_of, time_column
from convcnp.frames.guesses import rises
from convcnp.frames.joined_groups import group_column, group_columns, joined
from convcnp.frames.kinds import is_date, is_duration, is_label, is_numeric
from convcnp.frames.names import listed, names_series, numbers_series
from convcnp.frames.time_axis import TimeAxis

_MOST = 0.5  # of the rows: if more share their time, it is none
_SHARED = 0.2  # of the rows, at least, share their time with another series
_FEW = 0.1
_MOST_PAIRED = 8  # columns


def guess_group(
    frame: pd.DataFrame, candidates: Sequence[str], within: Sequence[str]
) -> str | None:
    """Return the column that tells series apart: times repeat across its values, not within them.

    Args:
        within: The time, or the inputs, and the channel if there is one: what a row of a series is
            told from others by.
    """
    named = _with_series(frame, [c for c in candidates if names_series(frame[c])])
    words = [c for c in candidates if is_label(frame[c]) and not names_series(frame[c])]
    repeated = [c for c in words if 1 <= frame[c].nunique() <= len(frame) / 2]
    numbered = [c for c in candidates if numbers_series(frame[c]) and not names_series(frame[c])]
    if not named and not repeated and not numbered:
        return None
    keys = row_keys(frame, within)
    if named:
        return next((c for c in named if tells_apart(frame[c], keys)), named[0])
    telling = [c for c in (*repeated, *numbered) if tells_apart(frame[c], keys)]
    ignored = [c for c in repeated if c not in telling]
    are_told = keys.duplicated(keep=False).mean() <= _MOST  # else there is more to say of times
    if ignored and not telling and are_told:
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


def _with_series(frame: pd.DataFrame, named: Sequence[str]) -> list[str]:
    """Keep the columns named like a group that can be one, and say which only name the rows."""
    lone = [c for c in named if _names_rows(frame[c])]
    if lone:
        warnings.warn(
            f"{listed(lone)} {'has' if len(lone) == 1 else 'have'} hardly a value in more than one "
            "row, and cannot tell series apart: ignored. If that is wrong, name the group.",
            ConvCNPWarning,
            stacklevel=6,
        )
    return [c for c in named if c not in lone]


def _names_rows(column: pd.Series) -> bool:
    """Tell whether no value is there more than twice, and most only once: series would be empty."""
    counts = column.value_counts()
    if len(column) < 2 or counts.empty:
        return False
    return bool(counts.max() <= 2 and (counts == 1).mean() > _MOST)


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
    beside = [*group_columns(frame, group), *([] if channel is None else [channel])]
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
        if (is_date(frame[c]) or is_duration(frame[c]) or _may_run(frame[c]))
        and frame[c].duplicated(keep=False).mean() <= _MOST
    ]
    with_channel = keys if channel is None else keys.assign(**{channel: frame[channel]})
    may_be_group = [
        c for c in others if _may_name(frame[c]) and tells_apart(frame[c], with_channel)
    ]
    together = [] if may_be_group else _together(frame, group, others, with_channel)
    ways = [
        *([f"name the time with time= ({listed(may_be_time)} may be it)"] if may_be_time else []),
        *(
            [f"name what tells series apart with group= ({listed(may_be_group)} may do so)"]
            if may_be_group
            else []
        ),
        *([f"give group={together!r}: these tell series apart together"] if together else []),
        f"give time={time!r} to average the values of each time",
    ]
    raise TableError(
        f"Expected times that differ, but {int(shared.sum()):,} of {len(shared):,} rows share "
        f"theirs in {time!r} with another; {', or '.join(ways)}."
    )


def _may_run(column: pd.Series) -> bool:
    return is_numeric(column) and rises(column)


def _may_name(column: pd.Series) -> bool:
    """Tell whether words or whole numbers are repeated, as names of series are."""
    is_fraction = column.dtype.kind == "f" and bool((column.dropna() % 1 != 0).any())
    return not is_fraction and 1 < column.nunique() <= len(column) / 2


def _together(
    frame: pd.DataFrame, group: str | None, others: Sequence[str], keys: pd.DataFrame
) -> str:
    """Return columns that tell series apart together, where none does so alone, joined.

    Of the group that is named, if there is one, and another; else of any two.
    """
    names = [c for c in others if _may_name(frame[c])][:_MOST_PAIRED]
    given = [joined([group, name]) for name in names] if group else []
    pairs = [joined(pair) for pair in itertools.combinations(names, 2)]
    found = (pair for pair in (*given, *pairs) if tells_apart(group_column(frame, pair), keys))
    return next(found, "")
