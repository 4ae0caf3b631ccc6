"""Lattices: the times at which alone a regular series has rows."""

import numpy as np
import pandas as pd
import pytest

from convcnp.frames.columns import Columns
from convcnp.frames.lattice import lattice
from convcnp.frames.series import SeriesTable


def table(times, **columns):
    frame = pd.DataFrame({"t": times, "v": np.arange(float(len(times))), **columns})
    return SeriesTable.of(frame, Columns(("v",), time="t", group="id" if columns else None))


@pytest.mark.parametrize(
    "whole",
    [
        pd.date_range("2024-01-01", periods=60),
        pd.date_range("2024-03-01", periods=60, tz="Europe/Berlin"),
        pd.bdate_range("2024-01-01", periods=60),
        pd.date_range("2020-01-01", periods=60, freq="MS"),
        pd.Series(np.arange(60) / 10),
    ],
    ids=["days", "days of a zone", "weekdays", "months", "numbers"],
)
def test_a_lattice_goes_through_gaps_and_ahead(whole):
    rows = np.delete(np.arange(55), [0, 7, *range(20, 30)])
    seen = table(whole[rows])
    asked = seen.axis.numbers(pd.Series(whole, name="t"))[[0, 24, 59]]
    found = lattice(seen, 0, asked)
    assert found is not None
    expected = seen.axis.numbers(pd.Series(whole, name="t"))
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_irregular_rows_and_times_between_are_on_no_lattice():
    random = np.random.default_rng(0)
    none = np.empty(0)
    assert lattice(table(np.sort(random.uniform(0, 60, 60))), 0, none) is None
    assert lattice(table(np.arange(60) + random.uniform(-0.1, 0.1, 60)), 0, none) is None
    assert lattice(table([0, 1, 2, 2.5, 3, 4]), 0, none) is None
    assert lattice(table([0.0, 1, 2]), 0, none) is None
    assert lattice(table(np.arange(60.0)), 0, np.array([3.5])) is None
    assert lattice(table(np.arange(4.0)), 0, np.array([10.0, 20, 30, 40, 50])) is None


def test_each_series_has_its_own():
    mixed = table([0.0, 1, 2, 4, 0, 10, 20, 30], id=list("aaaabbbb"))
    assert lattice(mixed, 1, np.array([50.0])).tolist() == [0, 10, 20, 30, 40, 50]
