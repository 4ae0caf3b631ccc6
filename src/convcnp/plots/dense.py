"""How a panel shows more times than it has pixels beside each other."""

from __future__ import annotations

import numpy as np
import pandas as pd

_BINS = 1000  # of a panel, in each of which the lowest and the highest value are drawn
_COLUMNS = 500  # of a panel, in each of which a band is drawn from its lowest to its highest
_LINE = 4000  # times that a line shows
_APART = 300  # points that lie beside each other
_SIZES = 1.2, 3.5  # of points, the least and the most
_FAINTEST = 0.4  # of points, as an opacity
_WIDTHS = 0.6, 1.2  # of lines


def thinned(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Choose points to draw: of too many, the lowest and the highest of every bin."""
    if len(x) <= 2 * _BINS:
        return np.arange(len(x))
    cell = ((x - x.min()) / max(np.ptp(x), 1e-300) * (_BINS - 1)).astype(np.int64)
    order = np.lexsort((y, cell))
    order = order[~np.isnan(y[order])]
    starts = np.flatnonzero(np.diff(cell[order], prepend=-1))
    ends = np.append(starts[1:], len(order)) - 1
    found: np.ndarray = np.unique(order[np.concatenate([starts, ends])])
    return found


def point_style(count: int) -> tuple[float, float]:
    """Return the size and the opacity of so many points in a panel.

    Example:
        >>> point_style(100)
        (3.5, 1.0)
    """
    share = min(_APART / max(count, 1), 1.0)
    least, most = _SIZES
    return max(most * share**0.35, least), max(share**0.25, _FAINTEST)


def line_width(count: int) -> float:
    """Return the width of a line through so many times."""
    least, most = _WIDTHS
    return max(most * min(_BINS / max(count, 1), 1.0) ** 0.5, least)


def is_dense(count: int) -> bool:
    """Tell whether there are more times than a line shows."""
    return count > _LINE


def in_columns(times: pd.Series, values: pd.DataFrame) -> pd.DataFrame:
    """Return the lowest and the highest of values in every column of a panel, and their times.

    Example:
        >>> many = pd.DataFrame({"v": np.arange(1000.0)})
        >>> in_columns(pd.Series(np.arange(1000.0)), many).iloc[1].tolist()
        [3.0, 3.0, 4.0]
    """
    share = (times - times.iloc[0]) / (times.iloc[-1] - times.iloc[0])
    cell = (share * (_COLUMNS - 1)).astype("int64")
    grouped = values.groupby(cell)
    lowest, highest = grouped.min().add_suffix("_lowest"), grouped.max().add_suffix("_highest")
    return pd.concat([times.groupby(cell).first().rename("time"), lowest, highest], axis=1)
