"""Which column of a user's table is what: named, learned in training, or guessed."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict

import numpy as np
import pandas as pd

from convcnp.errors import ConvCNPWarning, TableError, did_you_mean
from convcnp.frames.kinds import is_date, is_duration, is_label, is_numeric
from convcnp.frames.reading import plain_name

CERTAIN_TIME_NAMES = ("time", "times", "date", "dates", "datetime", "timestamp", "ds", "mjd", "jd")
TIME_NAMES = (*CERTAIN_TIME_NAMES, "t", "x", "year", "month", "week", "day", "hour", "when")
GROUP_NAMES = (
    *("id", "group", "series", "series_id", "unique_id", "item_id", "object_id", "object"),
    *("station", "sensor", "subject", "patient", "key"),
)


class ColumnNames(TypedDict, total=False):
    """The names that a user may give, by the parameters and options they are given with."""

    time: str | None
    value: str | Sequence[str] | None
    group: str | None
    channel: str | None
    inputs: Sequence[str] | None


@dataclass(frozen=True)
class Columns:
    """Which column of a table is what: as far as a user names them, or all of them, once chosen.

    Args:
        values: The channels: value columns, or what the channel column names.
        time: The time column of series.
        inputs: The two input columns of points in the plane, in place of a time.
        group: The column that tells series, or sets of points, apart; an empty name says that
            there is none, where others would be guessed.
        channel: The column of a long table that says whose value a row holds.
        value: The column of these values.

    Example:
        >>> frame = pd.DataFrame({"day": [1, 2], "temp": [3.0, 4.0]})
        >>> choose_columns(frame, Columns.named(value="temp")).time
        'day'
    """

    values: tuple[str, ...] = ()
    time: str | None = None
    inputs: tuple[str, ...] = ()
    group: str | None = None
    channel: str | None = None
    value: str | None = None

    @classmethod
    def named(
        cls,
        *,
        time: Any = None,  # noqa: ANN401 - pandas takes anything for a name
        value: Any = None,  # noqa: ANN401 - a name, or several
        group: Any = None,  # noqa: ANN401
        channel: Any = None,  # noqa: ANN401
        inputs: Sequence[Any] | None = None,
    ) -> Columns:
        """Take the names that a user gives; the others are chosen from the table."""

        def plain_or_none(name: Any) -> str | None:  # noqa: ANN401
            return None if name is None else plain_name(name)

        values = () if value is None else (value,) if np.ndim(value) == 0 else value
        return Columns(
            values=tuple(map(plain_name, values)),
            time=plain_or_none(time),
            inputs=tuple(map(plain_name, inputs or ())),
            group=plain_or_none(group),
            channel=plain_or_none(channel),
        )

    @property
    def columns(self) -> Columns:
        """The columns alone, where they are part of something larger."""
        return Columns(**{field.name: getattr(self, field.name) for field in _FIELDS})

    @property
    def given(self) -> dict[str, Any]:
        """The fields that say something, by their names."""
        found = {field.name: getattr(self, field.name) for field in _FIELDS}
        return {name: value for name, value in found.items() if value not in (None, ())}

    @property
    def over(self) -> str:
        """What series or points lie over, in words."""
        return " and ".join(map(repr, self.inputs or (self.time,)))

    @property
    def as_series(self) -> Columns:
        """The columns of a table in which every channel has its own.

        Points are read as series over their first input, with the second among the values.
        """
        if not self.inputs:
            assert self.time is not None
            return Columns(values=self.values, time=self.time, group=self.group)
        first, second = self.inputs
        return Columns(values=(second, *self.values), time=first, group=self.group)

    def are_learned_by(self, learned: Columns) -> bool:
        """Tell whether the names that are given are those of a training table."""
        values = learned.values if learned.channel is None else (learned.value,)
        return (
            self.time in (None, learned.time)
            and self.group in (None, learned.group or "")
            and self.channel in (None, learned.channel)
            and (not self.values or set(self.values) == set(values))
            and (not self.inputs or set(self.inputs) == set(learned.inputs))
        )


_FIELDS = dataclasses.fields(Columns)

# --- Choosing -------------------------------------------------------------------------------------


def choose_columns(frame: pd.DataFrame, named: Columns | None = None) -> Columns:
    """Take the columns that are named, and guess the others."""
    named = named or Columns()
    _check_inputs(named)
    inputs, channel = named.inputs, named.channel
    for name in (channel, *inputs):
        _check_present(frame, name)
    rest = frame.drop(columns=[name for name in (channel, *inputs[1:]) if name is not None])
    asked = replace(named, time=inputs[0] if inputs else named.time)
    chosen = _choose_series(rest, asked)
    time = None if inputs else chosen.time
    if channel is None:
        return replace(chosen, time=time, inputs=inputs)
    if len(chosen.values) != 1:
        raise TableError(
            f"A table with the channel column {channel!r} has one column of values, but "
            f"{', '.join(map(repr, chosen.values))} may be it; name it with --value."
        )
    return Columns(
        values=tuple(sorted(_channel_names(frame[channel]).dropna().unique())),
        time=time,
        inputs=inputs,
        group=chosen.group,
        channel=channel,
        value=chosen.values[0],
    )


def _check_inputs(named: Columns) -> None:
    if named.inputs and (len(set(named.inputs)) != 2 or named.time is not None):
        given = [*named.inputs, *([named.time] if named.time is not None else [])]
        raise TableError(
            f"Points in the plane have two different input columns and no time, got {given}; give "
            "--inputs twice, or --time alone."
        )


def _check_present(frame: pd.DataFrame, name: str | None) -> None:
    if name is not None and name not in frame.columns:
        names = [str(column) for column in frame.columns]
        raise TableError(
            f"Expected a column {name!r}, but the table has {listed(names)}"
            f"{did_you_mean(str(name), names)}"
        )


def _choose_series(frame: pd.DataFrame, named: Columns) -> Columns:
    """Choose the time, the values and the group among the columns of a wide table."""
    roles = [named.time, named.group or None, *named.values]
    for name in roles:
        _check_present(frame, name)
    twice = next((name for name in roles if name is not None and roles.count(name) > 1), None)
    if twice is not None:
        raise TableError(
            f"Expected different columns for time, group and values, got {twice!r} more than once; "
            "name it once."
        )
    others = [c for c in frame.columns if c not in (named.group, *named.values)]
    time = _guess_time(frame, others) if named.time is None else named.time
    others = [c for c in others if c != time]
    group = _guess_group(frame, others) if named.group is None else named.group or None
    others = [c for c in others if c != group]
    numeric = [c for c in others if is_numeric(frame[c]) and not _counts_rows(frame[c])]
    values = named.values or tuple(numeric)
    if not values:
        raise TableError(
            f"Expected a column of numbers beside the time {time!r}, but the other columns are "
            f"{listed(others) or 'none'}; name one with --value."
        )
    return Columns(values=values, time=time, group=group)


def _guess_time(frame: pd.DataFrame, candidates: Sequence[str]) -> str:
    named = [c for c in candidates if is_time_name(c)]
    dated = [c for c in candidates if is_date(frame[c])]
    lasting = [c for c in candidates if is_duration(frame[c])]
    numeric = [c for c in candidates if is_numeric(frame[c])]
    for found in (dated if len(named) != 1 else named, named, dated, lasting, numeric):
        if found:
            if found is named and len(named) > 1:
                warnings.warn(
                    f"{listed(named)} may all be the time; {found[0]!r} is taken. If that is "
                    "wrong, name the time and the values.",
                    ConvCNPWarning,
                    stacklevel=5,
                )
            return found[0]
    raise TableError(
        "Expected a column of times, as numbers or dates, but the columns are "
        f"{listed([str(c) for c in frame.columns])}; name one with --time."
    )


def is_time_name(name: Any) -> bool:  # noqa: ANN401 - of a column
    """Tell whether a name is one that columns of times have."""
    return str(name).lower() in TIME_NAMES


def _guess_group(frame: pd.DataFrame, candidates: Sequence[str]) -> str | None:
    for column in candidates:
        if str(column).lower() in GROUP_NAMES:
            if len(frame) > 1 and frame[column].is_unique:
                warnings.warn(
                    f"{column!r} is taken to tell {len(frame):,} series of one row each apart; if "
                    'it only numbers the rows, give an empty group: --group "".',
                    ConvCNPWarning,
                    stacklevel=5,
                )
            return column
    words = [c for c in candidates if is_label(frame[c])]
    repeated = [c for c in words if 1 <= frame[c].nunique() <= len(frame) / 2]
    return repeated[0] if len(repeated) == 1 else None


def _counts_rows(column: pd.Series) -> bool:
    """Tell whether a column is the number of the row, which exports like to put first."""
    return (
        str(column.name).lower() in ("unnamed: 0", "rownames", "index", "id")
        and pd.api.types.is_integer_dtype(column)
        and bool((column.diff().iloc[1:] == 1).all())
    )


# --- Channels -------------------------------------------------------------------------------------


def widened(frame: pd.DataFrame, columns: Columns) -> pd.DataFrame:
    """Give every channel of a long table a column of its own; other tables stay as they are."""
    if columns.channel is None or columns.channel not in frame.columns:
        return frame
    names = _channel_names(frame[columns.channel])
    unknown = names[~names.isin(columns.values) & names.notna()]
    if len(unknown):
        raise TableError(
            f"Expected the channels {', '.join(columns.values)} in {columns.channel!r}, got "
            f"{unknown.iloc[0]!r}; remove these rows."
        )
    channels = {
        name: frame[columns.value].where((names == name).fillna(False)) for name in columns.values
    }
    rest = frame.drop(columns=[columns.channel, columns.value])
    return pd.concat([rest, pd.DataFrame(channels, index=frame.index)], axis=1)


def _channel_names(column: pd.Series) -> pd.Series:
    """Return whose value each row of a long table holds, as text."""
    if pd.api.types.is_float_dtype(column) and (column.dropna() % 1 == 0).all():
        column = column.astype("Int64")  # whole numbers are read as 1.0 if a cell is missing
    return column.astype("string")


def with_channels(frame: pd.DataFrame, learned: Columns) -> pd.DataFrame:
    """Return a table to predict with a column for every channel of the training table.

    A channel that the table lacks is one that was not observed.
    """
    frame = widened(frame, learned)
    if not any(name in frame.columns for name in learned.values):
        return frame
    absent = [name for name in learned.values if name not in frame.columns]
    nothing = pd.DataFrame(np.nan, index=frame.index, columns=absent)
    return pd.concat([frame, nothing], axis=1)


def choose_learned(
    frame: pd.DataFrame, named: Columns, learned: Columns
) -> tuple[pd.DataFrame, Columns]:
    """Choose the columns: those named, else those of the training table, else guessed ones.

    Channels of a long table get columns of their own, in the order of training. Where other values
    are named, those that the table lacks are not asked for.
    """
    frame = widened(frame, learned) if named.values else with_channels(frame, learned)
    time, group = (
        name if name is not None or known not in frame.columns else known
        for name, known in ((named.time, learned.time), (named.group, learned.group))
    )
    values = named.values
    if set(values or learned.values) == set(learned.values) <= set(frame.columns):
        values = learned.values
    return frame, choose_columns(frame, replace(named, time=time, group=group, values=values))


def listed(names: Sequence[str], most: int = 8) -> str:
    """List names in a sentence, the first of them if they are many."""
    shown = ", ".join(repr(str(name)) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
