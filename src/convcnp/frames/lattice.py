"""The times at which alone a regular series has rows: between them there is nothing to see."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from convcnp.frames.gaps import day_of_month, has_regular_rows, missing_rows
from convcnp.frames.series import Ragged, SeriesTable

_FEWEST = 4  # times: three show one step, but not that it is usual
_JITTER = 0.05  # of the usual step: days of a zone whose clocks change are a 24th longer


def lattice(table: SeriesTable, number: int, asked: np.ndarray) -> np.ndarray | None:
    """Return all times of a series' rows, through its gaps and up to the times asked for.

    There are none if its rows follow no lattice, or if times between are asked for.

    Example:
        >>> import pandas as pd
        >>> from convcnp.frames.columns import Columns
        >>> frame = pd.DataFrame({"t": [0.0, 1, 2, 3, 6], "v": range(5)})
        >>> table = SeriesTable.of(frame, Columns(("v",), time="t"))
        >>> lattice(table, 0, np.array([7.0])).tolist()
        [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
        >>> lattice(table, 0, np.array([1.5]))
    """
    own = np.unique(table.series.x[table.series.rows(number)])
    times = np.union1d(own, asked)
    whole = Ragged(times, np.array([0, len(times)]))
    through = replace(table, series=whole, y=np.zeros((len(times), 1)), labels=None)
    if len(own) < _FEWEST or not has_regular_rows(through):
        return None
    step, of_all = float(np.median(np.diff(own))), float(np.median(np.diff(times)))
    is_even = _are_steps(np.diff(times), step) or day_of_month(through) is not None
    if not is_even or abs(of_all - step) > _JITTER * step:  # as where few are asked for far away
        return None
    return np.union1d(times, missing_rows(through)[0])


def _are_steps(widths: np.ndarray, step: float) -> bool:
    """Tell whether all widths are a step, or several."""
    count = widths / step
    return bool((np.abs(count - np.maximum(np.round(count), 1)) <= _JITTER).all())
