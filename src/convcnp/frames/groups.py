"""Guesses of which column tells series apart."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import pandas as pd

from convcnp.errors import ConvCNPWarning, TableError
from convcnp.frames.assembled import time_column
from convcnp.frames.kinds import is_label
from convcnp.frames.names import listed, names_series, numbers_series
from convcnp.frames.time_axis import TimeAxis

_MOST = 0.5  # of the rows: if more share their time, it is none
_SHARED = 0.2  # of the rows, at least, share their time with another series
_FEW = 0.1


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
    return bool(across >= _SHARED and within <= _FEW * across) or begins_anew(labels, keys)


def begins_anew(labels: pd.Series, keys: pd.DataFrame) -> bool:
    """Tell whether series stand below each other, and times go back where the next one starts."""
    time = keys.iloc[:, 0]
    if keys.shape[1] > 1 or time.dtype.kind not in "iuf":
        return False
    is_start = (labels != labels.shift()).fillna(True).to_numpy(dtype=bool)  # as text: NA at first
    back = time.diff().to_numpy() < 0
    starts = is_start[1:]
    is_stacked = is_start.sum() == labels.nunique() > 1 and not back[1:][~starts].any()
    return bool(is_stacked and back[1:][starts].mean() > _MOST)
