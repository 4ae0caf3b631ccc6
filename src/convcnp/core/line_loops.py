"""What a layer along a line does: products of matrices in plain loops, which numba compiles.

`core.tape` calls them in training. The same in operations of torch is in `core.line`.
"""

from __future__ import annotations

import numpy as np
from numpy import ndarray

SOME = 128  # rows that are multiplied at once: twice as many take a fifth longer


def find_rows(
    read: ndarray,  # (B,), rows of each task
    made: ndarray,  # (B,), rows that are made of them
    first: int,  # which row of a task is in the middle of what its first one is made of
    begin: tuple[int, int],  # where the first task's rows begin, of those made and read
    half: int,  # rows that are read to either side
    reads: ndarray,  # (n k,), zero: what is far from data
    read_by: ndarray,  # (R k,), holds the row that nothing reads
) -> None:
    """Number the rows that are read for a row, and those that are made of one."""
    maker, start = begin
    width = 2 * half + 1
    for task in range(read.shape[0]):
        for i in range(made[task]):
            for j in range(width):
                place = first + i + j - half
                if 0 <= place < read[task]:
                    reads[maker * width + j] = start + place
                    read_by[(start + place) * width + j] = maker
            maker += 1
        start += read[task]


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


def multiply(
    parts: tuple[ndarray, ...],  # (R, c) each, side by side (R, r C)
    reads: ndarray,  # (n k,), numbers of rows, k for every row that is made
    matrix: ndarray,  # (k r C, m D)
    bias: ndarray,  # (D,)
    is_cut: bool,
    found: ndarray,  # (n, m D)
) -> None:
    """Multiply all that is read for a row, add a bias and, if asked, cut off what is negative.

    Some rows after the others: what is copied for them stays in the cache.
    """
    rows = reads.shape[0] // found.shape[0]
    wide, long = matrix.shape[0] // rows, found.shape[1]
    near = np.empty((SOME, matrix.shape[0]), found.dtype)
    added = np.empty(long, found.dtype)
    for i in range(long):
        added[i] = bias[i % bias.shape[0]]
    for start in range(0, found.shape[0], SOME):
        made = found[start : start + SOME]
        some = near[: made.shape[0]]
        first = 0
        for part in parts:
            for i in range(some.shape[0] * rows):
                row, begin = part[reads[start * rows + i]], i % rows * wide + first
                # Rows by themselves: in a matrix, indices that could count from the end are slow.
                copied = some[i // rows, begin : begin + part.shape[1]]
                for column in range(part.shape[1]):
                    copied[column] = row[column]
            first += part.shape[1]
        np.dot(some, matrix, made)
        for i in range(made.shape[0]):
            row = made[i]
            for column in range(long):
                value = row[column] + added[column]
                row[column] = 0.0 if is_cut and value < 0.0 else value


def multiply_back(
    grad: ndarray,  # (n, m D), of what was made
    found: ndarray,  # (n, m D), as `multiply` leaves it
    is_cut: bool,
    reads: ndarray,  # (n k,)
    read_by: ndarray,  # (R k,), numbers of rows that are made of a row
    back: ndarray,  # (k m D, r C)
    parts: tuple[ndarray, ...],  # (R, c) each, side by side (R, r C)
) -> tuple[ndarray, ndarray, ndarray]:
    """Return the gradients of what was read (R, r C), of the matrix (r C, k m D) and of rows' bias.

    Those of the constant are summed up.
    """
    rows, long = reads.shape[0] // grad.shape[0], grad.shape[1]
    given = np.empty_like(grad)
    total = np.zeros(long)  # float64, for there are thousands of rows
    for i in range(grad.shape[0]):
        row, made, written = grad[i], found[i], given[i]
        for column in range(long):
            value = 0.0 if is_cut and made[column] <= 0.0 else row[column]
            written[column] = value
            total[column] += value
    constant = np.zeros((rows, long), given.dtype)
    for i in range(reads.shape[0]):
        if reads[i] == 0:
            constant[i % rows] += given[i // rows]
    near = np.empty((SOME, rows * long), given.dtype)
    of_rows = np.empty((parts[0].shape[0], back.shape[1]), given.dtype)
    of_matrix = np.zeros((back.shape[1], back.shape[0]), given.dtype)
    product = np.empty_like(of_matrix)
    for start in range(0, of_rows.shape[0], SOME):
        some = near[: min(SOME, of_rows.shape[0] - start)]
        for i in range(some.shape[0] * rows):
            read = start * rows + i
            row = constant[i] if read < rows else given[read_by[read]]
            copied = some[i // rows, i % rows * long : (i % rows + 1) * long]
            for column in range(long):
                copied[column] = row[column]
        np.dot(some, back, of_rows[start : start + SOME])
        first = 0
        for part in parts:
            of_part = product[first : first + part.shape[1]]
            np.dot(part[start : start + SOME].T, some, of_part)
            first += part.shape[1]
        of_matrix += product
    return of_rows, of_matrix, total


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
