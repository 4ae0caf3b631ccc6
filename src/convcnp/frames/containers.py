"""Tables come in many containers: open them to a DataFrame, and close the answer likewise."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from convcnp.errors import TableError
from convcnp.frames.kinds import is_date
from convcnp.frames.names import CERTAIN_TIME_NAMES, is_time_name
from convcnp.frames.reading import plain, plain_name

Close = Callable[[pd.DataFrame], Any]


@dataclass(frozen=True)
class Container:
    """A table as a DataFrame with a column of times, and how to put an answer back."""

    frame: pd.DataFrame
    close: Close
    time: str | None = None  # the time column, where the container says which it is
    group: str | None = None  # the column that tells series apart, likewise
    has_arrays: bool = False  # answers are a dictionary of arrays, by the endings of their columns


def open_container(data: Any) -> Container:  # noqa: ANN401 - the containers are checked here
    """Open a DataFrame, a Series, a DataArray or Dataset of xarray, or a pair of arrays."""
    xarray = sys.modules.get("xarray")  # whoever passes its objects has imported it
    if isinstance(data, pd.DataFrame):
        return _from_frame(data)
    if isinstance(data, pd.Series):
        return _from_index(plain(data.to_frame(data.name if data.name is not None else "value")))
    if xarray is not None and isinstance(data, xarray.DataArray | xarray.Dataset):
        return _from_xarray(data)
    if type(data).__module__.partition(".")[0] == "polars" and hasattr(data, "to_dict"):
        return _from_polars(data)
    if isinstance(data, tuple) and len(data) == 2:
        return _from_arrays(np.asarray(data[0]), np.asarray(data[1]))
    raise TableError(
        "Expected a DataFrame of pandas or polars, a Series, an xarray object or a pair (times, "
        f"values) of arrays, got {type(data).__name__}; convert it to one of these."
    )


def _from_frame(frame: pd.DataFrame) -> Container:
    names, box = frame.columns, _from_plain(plain(frame))
    own_names = {plain_name(name): name for name in names}

    def close(answer: pd.DataFrame) -> pd.DataFrame:
        closed = box.close(answer)
        columns = [own_names.get(name, name) for name in closed.columns]
        if names.nlevels > 1 and any(isinstance(name, tuple) for name in columns):
            # Columns that are new have no further levels.
            below = ("",) * (names.nlevels - 1)
            tuples = [name if isinstance(name, tuple) else (name, *below) for name in columns]
            return closed.set_axis(pd.MultiIndex.from_tuples(tuples, names=names.names), axis=1)
        return closed.set_axis(pd.Index(columns), axis=1)

    return replace(box, close=close)


def _from_plain(frame: pd.DataFrame) -> Container:
    """Find the time of a frame in its index, or leave it among the columns."""
    index = frame.index
    is_time = index.dtype.kind in "mMf" or isinstance(index, pd.PeriodIndex)
    if is_time or index.nlevels > 1 or is_time_name(index.name) or is_date(index.to_series()):
        return _from_index(frame)
    if index.name is None:
        return Container(frame, lambda answer: answer)
    if not any(name.lower() in CERTAIN_TIME_NAMES or is_date(frame[name]) for name in frame):
        return _from_index(frame)
    # Beside a column of times, an index numbers the rows, or it tells series apart.
    flat = frame if index.is_unique else plain(frame.reset_index(allow_duplicates=True))
    return Container(flat, lambda answer: answer)


def _from_index(frame: pd.DataFrame) -> Container:
    """Take the index as the time."""
    index = frame.index
    if index.nlevels > 1:
        return _from_levels(frame)
    name = index.name if index.name is not None else "time"
    if name in frame.columns:
        raise TableError(
            f"Expected the index, the time, to have a name of its own, but there is a column "
            f"{name!r}; rename one of them."
        )
    frequency = index.freq if isinstance(index, pd.PeriodIndex) else None
    if frequency is not None:
        frame = frame.to_timestamp()
    flat = frame.rename_axis(name).reset_index()

    def close(answer: pd.DataFrame) -> pd.DataFrame:
        if name not in answer.columns:  # another column was named as the time
            return answer
        indexed = answer.set_index(name).rename_axis(index.name)
        return indexed if frequency is None else indexed.to_period(frequency)

    return Container(flat, close, name)


def _from_levels(frame: pd.DataFrame) -> Container:
    """Take one level of an index as the time, and the other, of two, as what tells series apart."""
    levels = frame.index.to_frame(index=False)
    given = frame.index.names
    names = [f"level{i}" if name is None else plain_name(name) for i, name in enumerate(given)]
    levels.columns = pd.Index(names)
    times = [n for n in names if is_time_name(n) or levels[n].dtype.kind in "mM"]
    times = times or [n for n in names if is_date(levels[n])]
    if len(times) != 1 or set(names) & set(frame.columns) or len(set(names)) < len(names):
        raise TableError(
            f"Expected one level of the index to be the time, and its name to be no column's, got "
            f"{list(given)}; use reset_index() and name the columns."
        )
    flat = plain(pd.concat([levels, frame.reset_index(drop=True)], axis=1))
    others = [name for name in names if name not in times]

    def close(answer: pd.DataFrame) -> pd.DataFrame:
        if not set(names) <= set(answer.columns):  # other columns were named
            return answer
        return answer.set_index(names).rename_axis(index=given)

    return Container(flat, close, times[0], others[0] if len(others) == 1 else None)


def _from_polars(data: Any) -> Container:  # noqa: ANN401 - a DataFrame of polars
    """Take a DataFrame of polars, which need not be installed for others."""
    frame = plain(pd.DataFrame(data.to_dict(as_series=False)))
    make = type(data)

    def close(answer: pd.DataFrame) -> Any:  # noqa: ANN401
        return make({name: answer[name].tolist() for name in answer})

    return Container(frame, close)


def _from_xarray(data: Any) -> Container:  # noqa: ANN401 - DataArray or Dataset
    """Take data along the time, or along the time and one more dimension: a series per row."""
    if not hasattr(data, "data_vars"):
        data = data.to_dataset(name=data.name if data.name is not None else "value")
    # Coordinates beside the dimensions, such as the place that was selected, are no values.
    data = data.reset_coords(drop=True)
    dims = [str(dim) for dim in data.sizes]
    times = [dim for dim in dims if data[dim].dtype.kind in "mM"]
    times = times or [dim for dim in dims if is_time_name(dim)]
    if len(dims) == 1:
        box = _from_index(data.to_dataframe())
    elif len(dims) == 2 and len(times) == 1:
        others = [dim for dim in dims if dim not in times]
        box = _from_levels(data.to_dataframe(dim_order=[*others, *times]))
    else:
        raise TableError(
            "Expected xarray data along the time, or along the time and one more dimension, got "
            f"{tuple(dims)}; select or stack the others first, and name the time's 'time'."
        )
    return replace(box, close=lambda answer: box.close(answer).to_xarray())


def _from_arrays(times: np.ndarray, values: np.ndarray) -> Container:
    """Take times (n,) and values (n,) or (n, channels); answer with a dictionary of arrays."""
    if times.ndim != 1 or values.ndim not in (1, 2) or len(times) != len(values):
        raise TableError(
            "Expected times of shape (n,) and values of shape (n,) or (n, channels), got "
            f"{times.shape} and {values.shape}; give one row of values per time."
        )
    channels = values[:, None] if values.ndim == 1 else values
    names = [f"value{i}" for i in range(channels.shape[1])]
    frame = pd.DataFrame(dict(zip(names, channels.T, strict=True)))
    frame.insert(0, "time", times)

    def close(answer: pd.DataFrame) -> dict[str, np.ndarray]:
        found: dict[str, list[np.ndarray]] = {}
        for name in answer:
            if match := re.fullmatch(r"value\d+_(.+)", str(name)):
                found.setdefault(match[1], []).append(answer[name].to_numpy())
        stacked = {kind: np.stack(arrays, -1) for kind, arrays in found.items()}
        if values.ndim == 1:
            stacked = {kind: array[:, 0] for kind, array in stacked.items()}
        return {"time": answer["time"].to_numpy(), **stacked}

    return Container(frame, close, "time", has_arrays=True)
