"""Tables of the comparison on real points in the plane: every row, and what they come to."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from convcnp.errors import ResultError
from convcnp.paper.measured_fields import FIELD_REMOVALS, FIELDS
from convcnp.paper.plane_comparison import PLANE_METHODS
from convcnp.paper.real_series_tables import (
    COVERAGE,
    CRPS,
    LIKELIHOOD,
    SECONDS,
    Measure,
    Row,
    Rows,
    number,
    row_of,
)
from convcnp.paper.table import Table
from convcnp.training.run import read_result

ERROR = Measure("absolute_error", "Mean absolute error in the set's units", ".4g")
_LABELS = [method.label for method in PLANE_METHODS.values()]


def read_plane_rows(folder: Path) -> list[Row]:
    """Read the result files of all sets."""
    rows = []
    for name in FIELDS:
        if (path := folder / f"{name}.json").exists():
            result = read_result(path, "num_points", "on_globe", "methods")
            group = "globe" if result["on_globe"] else "plane"
            rows += [row_of(name, group, result, removal) for removal in FIELD_REMOVALS]
    if not rows:
        raise ResultError(
            f"Expected result files of points in {folder}, got none; run `convcnp compare-plane`."
        )
    return rows


def plane_table(measure: Measure, folder: Path) -> Table:
    """Build a row per set and way of removing points."""
    lines = [
        [
            *(row.series, str(row.num_points), row.removal),
            *(number(row.value(method, measure), measure.form) for method in PLANE_METHODS),
        ]
        for row in read_plane_rows(folder)
    ]
    return Table(measure.title, ["Set", "Points", "Removed", *_LABELS], lines)


def plane_summary(folder: Path) -> Table:
    """Build a row per method: how it does against the fitted GP, over all rows."""
    rows = Rows(read_plane_rows(folder))
    header = [
        *("Method", "Log-likelihood ≥ GP", "CRPS ≤ GP", "CRPS / GP", "Error ≤ GP"),
        *("Coverage of 90 %", "Seconds, mean", "Times faster than GP"),
    ]
    lines = [
        [
            PLANE_METHODS[method].label,
            *(rows.count(method, LIKELIHOOD, 1), rows.count(method, CRPS, -1)),
            *(rows.ratio(method, "gp"), rows.count(method, ERROR, -1)),
            *(rows.mean(method, COVERAGE), rows.mean(method, SECONDS), rows.speed(method)),
        ]
        for method in PLANE_METHODS
    ]
    return Table("Summary of the comparison on points in the plane", header, lines)


PLANE: dict[str, Callable[[Path], Table]] = {
    "plane": partial(plane_table, ERROR),
    "plane-crps": partial(plane_table, CRPS),
    "plane-log-likelihood": partial(plane_table, LIKELIHOOD),
    "plane-summary": plane_summary,
}
