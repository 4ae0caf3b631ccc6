"""Tables come in many containers: open them to a DataFrame, and close the answer likewise."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from convcnp.errors import TableError
from convcnp.frames.columns import CERTAIN_TIME_NAMES, is_time_name
from convcnp.frames.kinds import is_date
from convcnp.frames.reading import plain, plain_name

Close = Callable[[pd.DataFrame], Any]


@dataclass(frozen=True)
class Container:
    """A table as a DataFrame with a column of times, and how to put an answer back."""

    frame: pd.DataFrame
    close: Close
    time: str | None = None  # the time column, where the container says which it is


def open_container(data: Any) -> Container:  # noqa: ANN401 - the containers are checked here
    """Open a DataFrame, a Series, a DataArray or Dataset of xarray, or a pair of arrays."""
    xarray = sys.modules.get("xarray")  # whoever passes its objects has imported it
    if isinstance(data, pd.DataFrame):
        return _from_frame(data)
    if isinstance(data, pd.Series):
        return _from_index(plain(data.to_frame(data.name if data.name is not None else "value")))
    if xarray is not None and isinstance(data, xarray.DataArray | xarray.Dataset):
        return _from_xarray(data)
    if isinstance(data, tuple) and len(data) == 2:
        return _from_arrays(np.asarray(data[0]), np.asarray(data[1]))
    raise TableError(
        "Expected a DataFrame, a Series, an xarray object or a pair (times, values) of arrays, got "
        f"{type(data).__name__}; convert it to one of these."
    )


def _from_frame(frame: pd.DataFrame) -> Container:
    own_names = {plain_name(name): name for name in frame.columns}
    frame, index = plain(frame), frame.index
    is_time = index.dtype.kind in "mMf" or isinstance(index, pd.PeriodIndex)
    if is_time or index.nlevels > 1 or is_time_name(index.name) or is_date(index.to_series()):
        return _from_index(frame)
    if index.name is None:
        return Container(frame, lambda answer: answer.rename(columns=own_names))
    if not any(name.lower() in CERTAIN_TIME_NAMES or is_date(frame[name]) for name in frame):
        return _from_index(frame)
    # Beside a column of times, an index numbers the rows, or it tells series apart.
    flat = frame if index.is_unique else plain(frame.reset_index(allow_duplicates=True))
    return Container(flat, lambda answer: answer.rename(columns=own_names))


def _from_index(frame: pd.DataFrame) -> Container:
    """Take the index as the time."""
    index = frame.index
    if index.nlevels > 1:
        raise TableError(
            f"Expected one level of index, the time, got {index.names}; use reset_index() "
            "and name the columns."
        )
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


def _from_xarray(data: Any) -> Container:  # noqa: ANN401 - DataArray or Dataset
    if len(data.dims) != 1:
        raise TableError(
            f"Expected xarray data along one dimension, the time, got {tuple(data.dims)}; select "
            "or stack the others first."
        )
    if not hasattr(data, "data_vars"):
        data = data.to_dataset(name=data.name if data.name is not None else "value")
    # Coordinates beside the dimension, such as the place that was selected, are no values.
    box = _from_index(data.reset_coords(drop=True).to_dataframe())
    return Container(box.frame, lambda answer: box.close(answer).to_xarray(), box.time)


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

    return Container(frame, close, "time")
