"""Which column of a user's table is what: named, learned in training, or guessed."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict

import numpy as np
import pandas as pd

from convcnp.errors import TableError, did_you_mean
from convcnp.frames.advice import check_times_differ
from convcnp.frames.assembled import JOINT, has_time, parts_of
from convcnp.frames.groups import guess_group
from convcnp.frames.guesses import guess_time, may_be_times
from convcnp.frames.joined_groups import as_text, group_columns, joined
from convcnp.frames.measured import measured, say_of_values
from convcnp.frames.names import error_of, listed
from convcnp.frames.reading import plain_name


class ColumnNames(TypedDict, total=False):
    """The names that a user may give, by the parameters and options they are given with."""

    time: str | None
    value: str | Sequence[str] | None
    group: str | Sequence[str] | None
    channel: str | None
    inputs: Sequence[str] | None
    missing: Any
    error: str | Sequence[str] | None


@dataclass(frozen=True)
class Columns:
    """Which column of a table is what: as far as a user names them, or all of them, once chosen.

    Args:
        values: The channels: value columns, or what the channel column names.
        time: The time column of series; or its parts, such as "year+month+day".
        inputs: The two input columns of points in the plane, in place of a time.
        group: The column that tells series, or sets of points, apart, or several that do so
            together, such as "strain+replicate"; an empty name says that there is none, where
            others would be guessed.
        channel: The column of a long table that says whose value a row holds.
        value: The column of these values.
        missing: Values that stand for missing ones, as text; "none" says that there are none, where
            others would be noticed.
        errors: Columns of the values' standard errors, as many, an empty name where there is none;
            a single empty name says that there are none, where others would be recognised.

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
    missing: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()

    @classmethod
    def named(
        cls,
        *,
        time: Any = None,  # noqa: ANN401 - pandas takes anything for a name
        value: Any = None,  # noqa: ANN401 - a name, or several
        group: Any = None,  # noqa: ANN401 - a name, or a list of those joined
        channel: Any = None,  # noqa: ANN401
        inputs: Sequence[Any] | None = None,
        missing: Any = None,  # noqa: ANN401 - a number, a word, or several
        error: Any = None,  # noqa: ANN401 - a name, or several
    ) -> Columns:
        """Take the names that a user gives; the others are chosen from the table."""

        def plain_or_none(name: Any) -> str | None:  # noqa: ANN401
            return None if name is None else plain_name(name)

        def several(names: Any) -> tuple[str, ...]:  # noqa: ANN401
            names = () if names is None else (names,) if np.ndim(names) == 0 else names
            return tuple(map(plain_name, names))

        if isinstance(group, list):
            group = joined([plain_name(name) for name in group]) if group else None
        return Columns(
            values=several(value),
            time=plain_or_none(time),
            inputs=tuple(map(plain_name, inputs or ())),
            group=plain_or_none(group),
            channel=plain_or_none(channel),
            missing=several(missing),
            errors=several(error),
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
            values, time = self.values, self.time
        else:
            time, second = self.inputs
            values = (second, *self.values)
        errors = ("", *self.errors) if self.inputs and self.errors else self.errors
        return Columns(
            values=values, time=time, group=self.group, missing=self.missing, errors=errors
        )

    def are_learned_by(self, learned: Columns) -> bool:
        """Tell whether the names that are given are those of a training table."""
        values = learned.values if learned.channel is None else (learned.value,)
        return (
            self.time in (None, learned.time)
            and self.group in (None, learned.group or "")
            and self.channel in (None, learned.channel)
            and self.missing in ((), learned.missing)
            and set(self.errors) <= {"", *learned.errors}
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
    chosen = _choose_series(frame, named)
    if named.time is None and not inputs:
        assert chosen.time is not None
        check_times_differ(frame, chosen.time, chosen.group, channel)
    time = None if inputs else chosen.time
    if channel is None:
        return replace(chosen, time=time, inputs=inputs, missing=named.missing)
    errors = {error_of(value, chosen.values) for value in chosen.values}
    values = [value for value in chosen.values if value not in errors or value in named.values]
    if len(values) != 1:
        raise TableError(
            f"A table with the channel column {channel!r} has one column of values, but "
            f"{', '.join(map(repr, values))} may be it; name it with value=."
        )
    return Columns(
        values=tuple(sorted(as_text(frame[channel]).dropna().unique())),
        time=time,
        inputs=inputs,
        group=chosen.group,
        channel=channel,
        value=values[0],
        missing=named.missing,
    )


def _check_inputs(named: Columns) -> None:
    if named.inputs and (len(set(named.inputs)) != 2 or named.time is not None):
        given = [*named.inputs, *([named.time] if named.time is not None else [])]
        raise TableError(
            f"Points in the plane have two different input columns and no time, got {given}; give "
            "inputs= twice, or time= alone."
        )


def _check_present(
    frame: pd.DataFrame, name: str | None, *, may_be_joined: bool = False, is_time: bool = False
) -> None:
    """Refuse a name that the table lacks, or the part of a joined one."""
    if name is None or (may_be_joined and has_time(frame, name)):
        return
    parts = [part.strip() for part in name.split(JOINT)] if may_be_joined else []
    absent = [part for part in parts if part not in frame.columns]
    name = absent[0] if 0 < len(absent) < len(parts) else name
    if name not in frame.columns:
        names = [str(column) for column in frame.columns]
        near = (may_be_times(frame) if is_time and not parts[1:] else []) or names
        hint = did_you_mean(near[0] if is_time and len(near) == 1 else str(name), near)
        raise TableError(f"Expected a column {name!r}, but the table has {listed(names)}{hint}")


def _choose_series(frame: pd.DataFrame, named: Columns) -> Columns:
    """Choose the time, the values and the group among the columns of a wide table."""
    _check_present(frame, named.time, may_be_joined=True, is_time=True)
    _check_present(frame, named.group or None, may_be_joined=True)
    for name in named.values:
        _check_present(frame, name)
    groups = group_columns(frame, named.group or None)
    roles = [named.time, *groups, *named.values]
    twice = next((name for name in roles if name is not None and roles.count(name) > 1), None)
    if twice is not None:
        raise TableError(
            f"Expected different columns for time, group and values, got {twice!r} more than once; "
            "name it once."
        )
    taken = (*groups, named.channel, *named.values, *named.inputs, *named.errors)
    others = [c for c in frame.columns if c not in taken]
    time = named.inputs[0] if named.inputs else named.time
    if time is None:
        time = guess_time(frame, others, spared=0 if named.values else 1)
    others = [c for c in others if c not in (time, *parts_of(frame, time))]
    group = named.group or None
    within = [*(named.inputs or (time,)), *([named.channel] if named.channel else [])]
    if named.group is None:
        group = guess_group(frame, others, within)
    others = [c for c in others if c != group]
    values = named.values or measured(frame, others, group, within if named.time else ())
    if not named.values:
        say_of_values(frame, values)
    if not values:
        beside = f"the inputs {listed(named.inputs)}" if named.inputs else f"the time {time!r}"
        raise TableError(
            f"Expected a column of numbers beside {beside}, but {_none_of(frame, others)}; name "
            "one with value=."
        )
    return Columns(values=values, time=time, group=group)


def _none_of(frame: pd.DataFrame, others: Sequence[str]) -> str:
    if not others:
        return "there is no other column"
    held = f"{listed(others)} {'holds' if len(others) == 1 else 'hold'} none"
    cells = [cell for name in others for cell in frame[name].dropna().head(1)]
    digits = next((cell for cell in cells if re.search(r"\d", str(cell))), None)
    return held if digits is None else f"{held}, only texts such as {str(digits)!r}"


# --- Channels -------------------------------------------------------------------------------------


def widened(frame: pd.DataFrame, columns: Columns) -> pd.DataFrame:
    """Give every channel of a long table a column of its own; other tables stay as they are."""
    if columns.channel is None or columns.channel not in frame.columns:
        return frame
    names = as_text(frame[columns.channel])
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
    time, group = named.time, named.group
    if time is None and has_time(frame, learned.time):
        time = learned.time
    if group is None:  # that there is none was learned as well
        is_here = has_time(frame, learned.group)
        group = learned.group if is_here else None if learned.group else ""
    values = named.values
    if set(values or learned.values) == set(learned.values) <= set(frame.columns):
        values = learned.values
    missing = named.missing or learned.missing
    asked = replace(named, time=time, group=group, values=values, missing=missing)
    return frame, choose_columns(frame, asked)
