"""Which rows of a line a compiled layer reads, and what it is read by."""

import inspect

import numpy as np
import pytest
import torch

from convcnp.core import rows as module
from convcnp.core.reading import AHEAD, reading_of
from convcnp.core.rows import inside_of, rows_of
from helpers import assert_equal

every_step = pytest.mark.parametrize("step", ["same", "halved", "doubled"])


@every_step
@pytest.mark.parametrize("kernel_size", [1, 3, 5])
@pytest.mark.parametrize("cells", [6, 7, 8])
def test_tasks_of_one_length_are_read_as_in_operations_of_torch(step, kernel_size, cells):
    ends = (2, 4 + cells % 2) if step == "halved" else (0, 0)
    rows = rows_of(step, kernel_size, (cells, cells), ends)
    reading = reading_of(step, kernel_size, 2, cells, ends, torch.float64)
    assert (rows.shape, rows.lengths) == (reading.shape, (reading.cells, reading.cells))
    np.testing.assert_array_equal(rows.reads, reading.reads)
    np.testing.assert_array_equal(rows.read_by, reading.read_by)
    met = torch.zeros_like(reading.chosen)
    met[tuple(rows.meets.T)] = 1
    assert_equal(met, reading.chosen, 0)


@every_step
def test_tasks_of_different_lengths_are_read_as_each_by_itself(step):
    lengths = (8, 4, 12)
    rows = rows_of(step, 5, lengths, (0, 0))
    many, read, made = rows.shape
    reads = rows.reads.reshape(-1, many)
    maker, first = AHEAD // made, AHEAD // read
    assert not reads[:maker].any()
    for length, found in zip(lengths, rows.lengths, strict=True):
        alone = rows_of(step, 5, (length,), (0, 0)).reads.reshape(-1, many)[AHEAD // made :]
        moved = np.where(alone == 0, 0, alone + first - AHEAD // read)
        np.testing.assert_array_equal(reads[maker : maker + len(moved)], moved)
        assert found == len(moved) * made
        maker, first = maker + len(moved), first + length // read
    assert maker == len(reads)


@every_step
def test_what_is_read_is_found_again_by_what_it_is_read_by(step):
    rows = rows_of(step, 5, (6, 2, 10), (0, 0))
    many = rows.shape[0]
    for i, row in enumerate(rows.reads):
        if row:
            assert rows.read_by[row * many + i % many] == i // many


def test_rows_of_two_cells_are_left_where_one_task_has_an_odd_number():
    assert rows_of("same", 5, (6, 8), (0, 0)).shape[1] == 2
    assert rows_of("same", 5, (6, 7), (0, 0)).shape[1] == 1


@every_step
def test_the_loop_is_the_same_compiled(step, monkeypatch):
    by_itself = inspect.unwrap(module._rows)
    compiled = by_itself(step, 5, (6, 2), (0, 0))
    monkeypatch.setattr(module, "compiled", inspect.unwrap)
    plain = by_itself(step, 5, (6, 2), (0, 0))
    np.testing.assert_array_equal(plain.reads, compiled.reads)
    np.testing.assert_array_equal(plain.read_by, compiled.read_by)


def test_ends_are_left_out_task_by_task():
    assert inside_of((3, 5), (1, 1)).tolist() == [0, 1, 2, 3, 5, 8, 9, 10]


def test_large_lines_are_not_kept(monkeypatch):
    monkeypatch.setattr(module, "KEPT_CELLS", 10)
    assert rows_of("same", 5, (6, 4), (0, 0)) is rows_of("same", 5, (6, 4), (0, 0))
    assert rows_of("same", 5, (6, 6), (0, 0)) is not rows_of("same", 5, (6, 6), (0, 0))
