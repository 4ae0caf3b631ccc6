"""Which columns of numbers hold measurements, and what should be known of them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd

from convcnp.errors import ConvCNPWarning
from convcnp.frames.assembled import is_compact_clock, is_part
from convcnp.frames.compact import holds_compact_days
from convcnp.frames.joined_groups import group_columns
from convcnp.frames.kinds import is_numeric, is_true_or_false
from convcnp.frames.months import month_of
from convcnp.frames.names import (
    PLACE_NAMES,
    counts_rows,
    listed,
    names_series,
    numbers_series,
    words_of,
)

_ENOUGH_MONTHS = 6  # columns named after different ones
_FLAG_WORDS = {"qc", "qa", "qf", "flag", "flags", "quality", "status"}
_MOST_FLAGS = 10  # different ones
_PLACE_WORDS = {*PLACE_NAMES, "depth", "height", "altitude", "elevation", "elev"}
_ANGLE_WORDS = {"direction", "dir", "wd", "wdir", "winddir", "azimuth", "bearing", "heading"}
_ROUND = 360.0  # degrees
_MOST = 0.9  # of the values
_UNIT = re.compile(r"\[.*\]|\(.*\)")


def measured(
    frame: pd.DataFrame, others: Sequence[str], group: str | None, within: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the columns of numbers that are values, and say which are left out, and why.

    Parts of the time, numbers of rows and of series, flags, true and false, and where a series was
    observed are no values, unless there are no others.

    Args:
        within: The time, or the inputs, and the channel, where they were named, so that rows that
            share them are averaged.

    Example:
        >>> frame = pd.DataFrame({"temp": [1.5, 2.5], "temp_qc": [0, 9]})
        >>> with warnings.catch_warnings(action="ignore"):
        ...     measured(frame, ["temp", "temp_qc"], None)
        ('temp',)
    """
    numeric = [c for c in others if is_numeric(frame[c]) and not counts_rows(frame[c])]
    whole = [c for c in numeric if not is_part(frame[c])]
    numbered = [c for c in whole if numbers_series(frame[c]) or names_series(frame[c])]
    beside = [part for name in (group, *within) if within for part in group_columns(frame, name)]
    numbered += [c for c in whole if c not in numbered and _counts_off(frame, c, beside)]
    left = {
        "true or false": [c for c in others if is_true_or_false(frame[c])],
        "flags": [c for c in whole if _is_flag(frame[c])],
        "numbers of series": numbered,
        "times": [c for c in whole if _is_time(frame[c])],
        "where a series was observed": [c for c in whole if _is_place(frame, c, group)],
    }
    values = [c for c in whole if not any(c in names for names in left.values())]
    chosen = tuple(values or whole or numeric)
    left = {kind: [c for c in names if c not in chosen] for kind, names in left.items()}
    if chosen and any(left.values()):
        said = [f"{kind} ({listed(names)})" for kind, names in left.items() if names]
        flagged = " Flagged values are used like others." if left["flags"] else ""
        warnings.warn(
            f"Not predicted, as they seem to be no measurements: {', '.join(said)}; name the "
            f"values with value= if that is wrong.{flagged}",
            ConvCNPWarning,
            stacklevel=5,
        )
    return chosen


def _is_time(column: pd.Series) -> bool:
    """Tell whether numbers are dates, clocks or, by their name, years with a fraction."""
    if holds_compact_days(column) or is_compact_clock(column):
        return True
    is_year = pd.to_numeric(column, errors="coerce").dropna().between(1500, 2501).all()
    return "decimal" in words_of(str(column.name)) and bool(is_year)


def _is_flag(column: pd.Series) -> bool:
    """Tell whether a column is named like one of flags, and holds few whole numbers."""
    words = words_of(_UNIT.sub("", str(column.name)))
    if not _FLAG_WORDS & {*words}:
        return False
    values = pd.to_numeric(column, errors="coerce").dropna()
    return bool((values % 1 == 0).all()) and values.nunique() <= _MOST_FLAGS


def _is_place(frame: pd.DataFrame, name: str, group: str | None) -> bool:
    """Tell whether a column is named like a place, and the same in all rows of a series."""
    if not _PLACE_WORDS & {*words_of(name)} or len(frame) < 2:
        return False
    series = group_columns(frame, group)
    count = frame.groupby(series)[name].nunique().max() if series else frame[name].nunique()
    return bool(count == 1)


def _counts_off(frame: pd.DataFrame, name: str, beside: Sequence[str]) -> bool:
    """Tell whether rows of each time are numbered: the same whole numbers, each equally often."""
    values = pd.to_numeric(frame[name], errors="coerce")
    count = values.nunique()
    if not beside or not 1 < count <= len(frame) / 2 or (values.dropna() % 1 != 0).any():
        return False
    are_all_there = frame.groupby([*beside])[name].nunique() == count
    rows = frame.groupby([*beside, name]).size()
    return bool(are_all_there.mean() > _MOST and (rows == rows.mode()[0]).mean() > _MOST)


def say_of_values(frame: pd.DataFrame, values: Sequence[str]) -> None:
    """Say what may be meant otherwise: months, places and angles."""
    numbers = {name: month_of(words_of(str(name))[0]) for name in values if words_of(str(name))}
    months = [name for name in values if numbers.get(name)]
    if len({numbers[name] for name in months}) >= _ENOUGH_MONTHS:
        warnings.warn(
            f"{listed(months)} are named after months, and each is predicted on its own, over the "
            "years. If they are one series, put them below each other, with a column of months.",
            ConvCNPWarning,
            stacklevel=5,
        )
    places = [name for name in values if str(name).lower() in PLACE_NAMES]
    if len(places) == 2 and len(values) > len(places):
        warnings.warn(
            f"{listed(places)} are predicted like other values; if they are where the others were "
            "observed, name them with inputs= for a map, or else the values with value=.",
            ConvCNPWarning,
            stacklevel=5,
        )
    angles = [name for name in values if _goes_round(frame[name])]
    if angles:
        warnings.warn(
            f"{listed(angles)}: between directions near 360 and near 0 lies, for numbers, 180, and "
            "what is predicted there may point anywhere. Give sine and cosine as columns in their "
            "place, and take the direction of the two answers.",
            ConvCNPWarning,
            stacklevel=5,
        )


def _goes_round(column: pd.Series) -> bool:
    """Tell whether a column holds directions that pass through north from one row to the next."""
    if not _ANGLE_WORDS & {*words_of(str(column.name))}:
        return False
    values = pd.to_numeric(column, errors="coerce").dropna()
    inside = values[values.between(0, _ROUND)].to_numpy(dtype=np.float64)
    is_angle = len(inside) > _MOST * len(values) and bool((inside > _ROUND / 4).any())
    return is_angle and bool((np.abs(np.diff(inside)) > _ROUND / 2).any())
