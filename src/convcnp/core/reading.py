"""Which rows of a line a layer reads, and how its weights lie between what it reads and makes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from convcnp.core.grid import Ends
from convcnp.core.products import MANY, product

Step = Literal["same", "halved", "doubled"]  # cells that a layer makes of those that it reads

AHEAD = 4  # cells before those of the tasks
_EVEN_BITS = 4  # of numbers of rows: eight of them between one and its double
KEPT_CELLS = 2**14  # of lines whose indices are kept: those of larger ones would fill the memory


@dataclass(frozen=True, eq=False)
class Reading:
    """Which rows a layer reads to make a row, and which rows it makes of one.

    A row is one cell or two. Three rows of two hold all that a kernel of five cells needs for two
    cells, and few large rows are quicker to find and to multiply than many small ones.
    """

    reads: Int[Tensor, " N"]  # numbers of rows, as many for every row that is made
    read_from: int  # rows
    chosen: Float[Tensor, "K krm"]  # by cell of the kernel and by cells: whether they meet
    shape: tuple[int, int, int]  # rows read for a row, cells in each, and cells in a row made
    cells: int  # that are made for each task

    @cached_property
    def read_by(self) -> Int[Tensor, " M"]:
        """Numbers of rows, as many for every row that is read: those that are made of it."""
        reads = self.reads.view(-1, self.shape[0])
        nothing = AHEAD // self.shape[2] - 1
        read_by = reads.new_full((self.read_from, self.shape[0]), nothing)
        maker, which = torch.nonzero(reads, as_tuple=True)
        read_by[reads[maker, which], which] = maker
        return read_by.flatten()

    @cached_property
    def beyond(self) -> Float[Tensor, "k n"]:
        """One where a row is made of what is far from data, by which of the rows that it reads."""
        return (self.reads.view(-1, self.shape[0]) == 0).T.to(self.chosen).contiguous()

    def product(
        self, rows: Float[Tensor, "R C"], matrix: Float[Tensor, "kc d"], bias: Float[Tensor, " d"]
    ) -> Float[Tensor, "S D"]:
        """Multiply all that is read for a row by a matrix, and add a bias."""
        wide, outputs = matrix.shape
        rows = rows.view(-1, wide // self.shape[0])
        if self.made * wide * outputs < MANY:
            near = rows.index_select(0, self.reads).view(-1, wide)
            return torch.addmm(bias, near, matrix).view(-1, outputs // self.shape[2])
        near = rows.index_select(0, self._in_few_sizes).view(-1, wide)
        return product(near, matrix, bias)[: self.made].view(-1, outputs // self.shape[2])

    @cached_property
    def made(self) -> int:
        """Rows that are made."""
        return len(self.reads) // self.shape[0]

    @cached_property
    def _in_few_sizes(self) -> Int[Tensor, " N"]:
        """Numbers of rows, more than are read, so that large products have few sizes."""
        step = max(2 ** (self.made.bit_length() - _EVEN_BITS), 1)
        return functional.pad(self.reads, (0, self.shape[0] * (-self.made % step)))

    def matrix(self, weight: Float[Tensor, "D C 1 K"]) -> Float[Tensor, "kc d"]:
        """Return the weights between the channels of all cells of rows."""
        rows, read, made = self.shape
        outputs, inputs = weight.shape[:2]
        found = torch.mm(self.chosen.T, weight.permute(3, 1, 0, 2).reshape(-1, inputs * outputs))
        found = found.view(rows * read, made, inputs, outputs).transpose(1, 2)
        return found.reshape(-1, made * outputs)

    def weight(self, matrix: Float[Tensor, "c kd"], outputs: int) -> Float[Tensor, "D C 1 K"]:
        """Return the gradient of the weights, given that of the matrix with its rows inside."""
        rows, read, made = self.shape
        found = matrix.view(read, -1, rows, made, outputs).permute(2, 0, 3, 1, 4)
        inputs = found.shape[3]
        found = torch.mm(self.chosen, found.reshape(-1, inputs * outputs))
        return found.view(-1, inputs, outputs, 1).permute(2, 1, 3, 0)


def reading_of(
    step: Step, kernel_size: int, batch: int, cells: int, ends: Ends, dtype: torch.dtype
) -> Reading:
    """Prepare a layer for all fields of a size."""
    prepare = _reading if batch * cells <= KEPT_CELLS else _reading.__wrapped__
    return prepare(step, kernel_size, batch, cells, ends, dtype)


@lru_cache(maxsize=1024)  # of the sizes that are trained on or predicted again and again
def _reading(
    step: Step, kernel_size: int, batch: int, cells: int, ends: Ends, dtype: torch.dtype
) -> Reading:
    unit, half, read, made = shape_of(step, kernel_size, cells)
    first, many = 0, cells // read
    if step == "halved":
        first, many = -ends[0] // 2, (cells + sum(ends)) // 2
    place = first + torch.arange(many)[:, None] + torch.arange(-half, half + 1)
    begin = (AHEAD + cells * torch.arange(batch)[:, None, None]) // read
    is_inside = (place >= 0) & (place < cells // read)
    reads = torch.where(is_inside, begin + place, 0).flatten(0, 1)
    reads = torch.cat([reads.new_zeros(AHEAD // made, reads.shape[1]), reads])
    return Reading(
        reads.flatten(),
        read_from=(AHEAD + batch * cells) // read,
        chosen=chosen_of(step, kernel_size, unit, half).to(dtype),
        shape=(reads.shape[1], read, made),
        cells=many * made,
    )


def shape_of(step: Step, kernel_size: int, cells: int) -> tuple[int, int, int, int]:
    """Return cells in a row of a kernel, rows to either side, and cells in a row read and made.

    Args:
        cells: Of a task; where they are odd, rows of two do not fit.
    """
    unit = 1 if step == "same" and (cells % 2 or kernel_size == 1) else 2
    half = -(-(kernel_size // 2) // unit)
    return unit, half, 1 if step == "doubled" else unit, 1 if step == "halved" else unit


def chosen_of(step: Step, kernel_size: int, unit: int, half: int) -> Float[Tensor, "K kcd"]:
    """Tell which of a kernel's cells lies between a cell of a row that is read and one made."""
    cell, row, read, made = torch.meshgrid(
        *map(torch.arange, (kernel_size, 2 * half + 1, unit, unit)), indexing="ij"
    )
    chosen = (cell - kernel_size // 2 == unit * (row - half) + read - made).float()
    if step == "halved":
        chosen = chosen[..., :1]
    if step == "doubled":
        chosen = chosen.sum(2)  # a cell that is repeated is both of a row's
    return chosen.flatten(1)


def doubling(weight: Float[Tensor, "D C 1 K"]) -> Float[Tensor, "2*D C 1 k"]:
    """Return the weights that make two cells of one, as repeating it and convolving does.

    Cells are read as they are, and fewer of them: three in place of five.
    """
    outputs, inputs, _, size = weight.shape
    half = -(-(size // 2) // 2)
    chosen = chosen_of("doubled", size, 2, half).to(weight)
    found = (weight.reshape(-1, size) @ chosen).view(outputs, inputs, -1, 2)
    return found.permute(3, 0, 1, 2).reshape(2 * outputs, inputs, 1, -1)


def inside_of(batch: int, cells: int, ends: Ends) -> Int[Tensor, " N"]:
    """Return the rows that stay without the ends of each task."""
    prepare = _inside if batch * cells <= KEPT_CELLS else _inside.__wrapped__
    return prepare(batch, cells, ends)


@lru_cache(maxsize=256)  # likewise
def _inside(batch: int, cells: int, ends: Ends) -> Int[Tensor, " N"]:
    rows = torch.arange(AHEAD + batch * cells)
    before, after = ends
    of_tasks = rows[AHEAD:].view(batch, cells)[:, before : cells - after]
    return torch.cat([rows[:AHEAD], of_tasks.flatten()])
