"""Which rows of a line a compiled layer reads, for tasks of different lengths."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise

import numpy as np
import torch
from numpy import ndarray

from convcnp.core import line_loops as loops
from convcnp.core.compiling import compiled
from convcnp.core.grid import Ends
from convcnp.core.reading import AHEAD, KEPT_CELLS, Step, chosen_of, shape_of

Lengths = tuple[int, ...]  # cells of each task, one task after the other on the line


@dataclass(frozen=True, eq=False)
class Rows:
    """What `Reading` is, as loops take it."""

    reads: ndarray  # (n k,), numbers of rows, k for every row that is made
    read_by: ndarray  # (R k,), numbers of rows that are made of a row
    meets: ndarray  # (T, 2): a cell of the kernel, and where it lies between cells of rows
    shape: tuple[int, int, int]  # rows read for a row, cells in each, and cells in a row made
    lengths: Lengths  # cells that are made for each task


def rows_of(step: Step, kernel_size: int, lengths: Lengths, ends: Ends) -> Rows:
    """Prepare a layer for all fields of these lengths."""
    prepare = _rows if sum(lengths) <= KEPT_CELLS else _rows.__wrapped__
    return prepare(step, kernel_size, lengths, ends)


@lru_cache(maxsize=64)  # of the layers of a step, and of lengths that come again and again
def _rows(step: Step, kernel_size: int, lengths: Lengths, ends: Ends) -> Rows:
    unit, half, read, made = shape_of(step, kernel_size, math.gcd(*lengths))
    cells = np.array(lengths)
    found = {"same": cells, "halved": (cells + sum(ends)) // 2, "doubled": 2 * cells}[step]
    first = -ends[0] // 2 if step == "halved" else 0
    width = 2 * half + 1
    reads = np.zeros((AHEAD + found.sum()) // made * width, np.int64)
    read_by = np.full((AHEAD + cells.sum()) // read * width, AHEAD // made - 1)
    begin = AHEAD // made, AHEAD // read
    compiled(loops.find_rows)(cells // read, found // made, first, begin, half, reads, read_by)
    shape = (width, read, made)
    return Rows(reads, read_by, _meets(step, kernel_size, unit), shape, tuple(found.tolist()))


@cache
def _meets(step: Step, kernel_size: int, unit: int) -> ndarray:
    """Return which cell of a kernel lies between which cells of rows."""
    half = -(-(kernel_size // 2) // unit)
    return torch.nonzero(chosen_of(step, kernel_size, unit, half)).numpy()


@lru_cache(maxsize=64)
def inside_of(lengths: Lengths, ends: Ends) -> ndarray:
    """Return the rows that stay without the ends of each task."""
    before, after = ends
    first = AHEAD + np.cumsum([0, *lengths])
    kept = [np.arange(begin + before, end - after) for begin, end in pairwise(first)]
    return np.concatenate([np.arange(AHEAD), *kept])
