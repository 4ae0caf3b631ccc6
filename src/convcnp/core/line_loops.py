"""What a layer along a line does beside its products: plain loops, which numba compiles.

`core.tape` calls them in training. The same in operations of torch is in `core.line`.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray


def read(
    rows: ndarray,  # (R, c)
    reads: ndarray,  # (N,), numbers of rows
    first: int,
    near: ndarray,  # (N, C)
) -> None:
    """Copy the rows that are read into some columns, beginning with the first of them."""
    columns = rows.shape[1]
    for i in range(reads.shape[0]):
        # Rows by themselves: in a matrix, indices that could count from the end are slow.
        row, copied = rows[reads[i]], near[i, first : first + columns]
        for column in range(columns):
            copied[column] = row[column]


def lay_out(
    weight: ndarray,  # (D, C, K)
    meets: ndarray,  # (T, 2): a cell of the kernel, and where it lies between cells of rows
    made: int,
    matrix: ndarray,  # (k r C, m D)
    back: ndarray,  # (k m D, r C)
) -> None:
    """Write a kernel as the matrix from what a row is made of to it, and as the one back."""
    outputs, inputs = weight.shape[0], weight.shape[1]
    wide = back.shape[1]
    matrix[:] = 0
    back[:] = 0
    for i in range(meets.shape[0]):
        cell, place = meets[i, 0], meets[i, 1]
        before, after = (place // made) * inputs, (place % made) * outputs
        row, inside = before // wide, before % wide
        for c in range(inputs):
            for d in range(outputs):
                matrix[before + c, after + d] += weight[d, c, cell]
                back[row * matrix.shape[1] + after + d, inside + c] += weight[d, c, cell]


def activate(
    found: ndarray,  # (S, D)
    bias: ndarray,  # (D,)
    is_cut: bool,
) -> None:
    """Add a bias and, if it is asked for, cut off what is negative."""
    for i in range(found.shape[0]):
        for channel in range(found.shape[1]):
            value = found[i, channel] + bias[channel]
            found[i, channel] = 0.0 if is_cut and value < 0.0 else value


def cut(
    grad: ndarray,  # (S, D), maybe with gaps between its rows
    found: ndarray,  # (S, D), as `activate` leaves it
    given: ndarray,  # (S, D)
    of_bias: ndarray,  # (D,)
) -> None:
    """Find the gradient of what was cut off at zero, and its sum, that of the bias."""
    total = np.zeros(found.shape[1])  # float64, for there are thousands of rows
    for i in range(found.shape[0]):
        for channel in range(found.shape[1]):
            value = grad[i, channel] if found[i, channel] > 0.0 else 0.0
            given[i, channel] = value
            total[channel] += value
    of_bias[:] = total


def read_back(
    given: ndarray,  # (n, m D)
    reads: ndarray,  # (n k,)
    read_by: ndarray,  # (N k,), numbers of rows that are made of a row
    near: ndarray,  # (N k, m D)
) -> None:
    """Copy the gradients of all that is made of a row; those of the constant are summed up."""
    rows = reads.shape[0] // given.shape[0]
    near[:rows] = 0
    for i in range(rows, read_by.shape[0]):
        row, copied = given[read_by[i]], near[i]
        for column in range(given.shape[1]):
            copied[column] = row[column]
    for i in range(reads.shape[0]):
        if reads[i] == 0:
            near[i % rows] += given[i // rows]


def collect(
    of_matrix: ndarray,  # (r C, k m D)
    meets: ndarray,  # (T, 2)
    made: int,
    of_weight: ndarray,  # (D, C, K), zero
) -> None:
    """Find the gradient of a kernel, given that of its matrix with the rows read inside."""
    outputs, inputs = of_weight.shape[0], of_weight.shape[1]
    wide = of_matrix.shape[0] // inputs
    for i in range(meets.shape[0]):
        cell, place = meets[i, 0], meets[i, 1]
        row, inside = place // made // wide, place // made % wide
        after = (row * made + place % made) * outputs
        for c in range(inputs):
            for d in range(outputs):
                of_weight[d, c, cell] += of_matrix[inside * inputs + c, after + d]
