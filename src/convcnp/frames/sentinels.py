"""Numbers that stand for missing values, such as -999: noticed, or named."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd

from convcnp.errors import ConvCNPWarning
from convcnp.frames.columns import Columns
from convcnp.frames.detection import say_beyond
from convcnp.frames.kinds import is_numeric
from convcnp.frames.names import listed

NONE = "none"  # named, it says that no number stands for a missing value
_NOTHING = {NONE, "na", "nan", "n/a", "n.a.", "nat", "null", "<na>", "#n/a"}
_LIMITS = (-(2.0**15), 2.0**15 - 1, -(2.0**31), 2.0**31 - 1)  # of whole numbers of 16 and 32 bits
_OF_WELL_LOGS = (-999.25, -9999.25)
_HUGE = 1e19  # larger numbers, repeated, are no measurements
_REPEATED = {"9": 2, "8": 3, "7": 3}  # how many of a digit look made up
_LEAST = 1.0  # what is less does not look made up
_ROUNDING = 6e-9  # of two digits with eight behind them, a little more than half of the last
_FEWEST = 2  # times that a number is repeated
_OUTERMOST = 3  # numbers at either end
_VERY_FAR = 10.0  # ranges of the others
# Of a number that is repeated, whatever it is: fewer others may be levels, such as those of doses,
# and more of it a state of its own, such as no rain.
_FEWEST_OTHERS = 10  # different numbers
_MOST_REPEATED = 0.1  # of the values
_STUCK_FAR = 2.0  # ranges of the others


def without_sentinels(frame: pd.DataFrame, columns: Columns) -> pd.DataFrame:
    """Return a table in which values that stand for missing ones are missing, and say so.

    Example:
        >>> frame = pd.DataFrame({"t": [0, 1, 2], "v": [5.0, -1.0, 6.0]})
        >>> named = Columns(("v",), time="t", missing=("-1",))
        >>> without_sentinels(frame, named)["v"].isna().tolist()
        [False, True, False]
    """
    changed = {}
    for name in dict.fromkeys((*columns.values, *filter(None, columns.errors))):
        column = frame[name]
        is_missing, noticed = missing_cells(column, columns.missing)
        if noticed:
            numbers = " and ".join(f"{number:g}" for number in noticed)
            count = int(is_missing.sum())
            warnings.warn(
                f"{name!r}: {numbers}, far from the other values and in {count:,} of "
                f"{len(column):,} rows, {'is' if len(noticed) == 1 else 'are'} read as missing; "
                'name what stands for missing values with missing=, or "none" to keep them.',
                ConvCNPWarning,
                stacklevel=4,
            )
        elif columns.missing:
            say_beyond(column, is_missing)
        else:
            _say_if_kept(column)
        if is_missing.any():
            changed[name] = column.where(~is_missing)
    return frame.assign(**changed) if changed else frame


def _say_if_kept(column: pd.Series) -> None:
    """Say that a number is kept which is there once and looks made up, or is repeated far away."""
    if not is_numeric(column) or column.dtype.kind in "mM":
        return
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    kept = dict.fromkeys(_notice(numbers, fewest=1, far=_VERY_FAR)[:1], "as it is there only once")
    rows = f"of {len(column):,} rows"
    kept |= {number: f"in {(numbers == number).sum():,} {rows}" for number in _stuck(numbers)}
    for number, where in kept.items():
        warnings.warn(
            f"{column.name!r}: {number:g} is very far from the other values, and used like them, "
            f"{where}. If it stands for a missing value, name it with missing=.",
            ConvCNPWarning,
            stacklevel=5,
        )


def missing_cells(column: pd.Series, named: tuple[str, ...]) -> tuple[pd.Series, list[float]]:
    """Return which cells stand for missing values, and the numbers of them that were noticed."""
    nothing = pd.Series(False, index=column.index)
    if named == (NONE,) or column.dtype.kind in "mM":
        return nothing, []
    numbers = pd.to_numeric(column, errors="coerce")
    if named:
        words = column.astype("string").str.strip().isin(named).fillna(False).astype(bool)
        return words | numbers.isin(list(map(_number, named))) & numbers.notna(), []
    if not is_numeric(column):
        return nothing, []
    noticed = _notice(numbers.to_numpy(dtype=np.float64, na_value=np.nan))
    return numbers.isin(noticed), noticed


def named_in_vain(frame: pd.DataFrame, columns: Columns, named: Sequence[str]) -> str:
    """Say which of the values that are named for missing ones stand in no cell, in a sentence.

    Example:
        >>> columns = Columns(("v",), time="t")
        >>> named_in_vain(pd.DataFrame({"t": [0, 1], "v": [5.0, -1.0]}), columns, ["-1", "-9"])
        "No cell of 'v' holds '-9', which missing= names; check it."
    """
    values = columns.values if columns.value is None else (columns.value,)
    cells = [frame[name] for name in values if name in frame.columns]
    vain = [
        word
        for word in named
        if _is_read(word) and not any(missing_cells(cell, (word,))[0].any() for cell in cells)
    ]
    if not vain or not cells:
        return ""
    return f"No cell of {listed(values)} holds {listed(vain)}, which missing= names; check it."


def _is_read(word: str) -> bool:
    """Tell whether a word is in a table that was read, where NA, dashes and such are missing."""
    return word.lower() not in _NOTHING and any(map(str.isalnum, word))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


def _notice(values: np.ndarray, fewest: int = _FEWEST, far: float = 1.0) -> list[float]:
    """Return numbers that look made up, are repeated, and lie far outside the others.

    Args:
        fewest: Times that they are repeated.
        far: How far, in ranges of the others.
    """
    found, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    is_repeated = counts >= fewest
    looks = is_repeated.copy()
    looks[:_OUTERMOST] = looks[-_OUTERMOST:] = True  # what is there once may stand among them
    looks &= _may_look_made_up(found)
    looks[looks] = [_looks_made_up(number) for number in found[looks].tolist()]
    others = found[~looks]
    if not looks.any() or not len(others):
        return []
    low, high = others[0], others[-1]
    width = high - low if high > low else max(abs(high), 1.0)
    is_far = (found > high + far * width) | (found < low - far * width)
    noticed = looks & is_far  # beside one that is repeated, others are what they seem
    return found[noticed].tolist() if (noticed & is_repeated).any() else []


def _stuck(values: np.ndarray) -> list[float]:
    """Return the smallest or largest number if it is repeated, seldom, and far from all others."""
    found, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    others = found[1:-1]
    if len(others) < _FEWEST_OTHERS:
        return []
    far = _STUCK_FAR * (others[-1] - others[0])
    is_far = np.array([others[0] - found[0] > far, found[-1] - others[-1] > far])
    ends = counts[[0, -1]]
    is_stuck = is_far & (ends >= _FEWEST) & (ends <= _MOST_REPEATED * counts.sum())
    return found[[0, -1]][is_stuck].tolist()


def _may_look_made_up(numbers: np.ndarray) -> np.ndarray:
    """Tell which numbers begin with one digit twice, or are limits: few, of many measurements."""
    size = np.abs(numbers)
    beginning = size / 10 ** (np.floor(np.log10(size.clip(_LEAST))) - 1)  # two digits, and the rest
    begins_so = np.isin(np.floor(beginning + _ROUNDING), [11 * int(d) for d in _REPEATED])
    return begins_so | (size >= _HUGE) | np.isin(numbers, _LIMITS)


def _looks_made_up(number: float) -> bool:
    """Tell whether a number is one digit repeated, a limit of computers, or a null of well logs."""
    digits = f"{abs(number):.10g}".replace(".", "")
    is_repeated = len(digits) >= _REPEATED.get(digits[0], np.inf) and len(set(digits)) == 1
    return abs(number) >= _HUGE or number in (*_LIMITS, *_OF_WELL_LOGS) or is_repeated
