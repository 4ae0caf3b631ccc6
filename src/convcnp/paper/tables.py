"""Tables made of result files, beside the paper's numbers."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from convcnp.errors import ResultError
from convcnp.paper.photograph_tables import PHOTOGRAPHS
from convcnp.paper.plane_tables import PLANE
from convcnp.paper.real_series_tables import REAL_SERIES, WITH_ERRORS
from convcnp.paper.table import Table
from convcnp.training.run import read_result

__all__ = ["LAYOUTS", "REAL_SERIES", "Table", "build_table", "layouts"]

LAYOUTS = ("paper.toml", "layout.toml")


def build_table(name: str, experiments: Path, results: Path) -> Table:
    """Build a table from result files: one of the paper's, or of a comparison.

    Args:
        experiments: Folder with a subfolder per table, which says how it is laid out.
        results: Folder with a subfolder per table, which holds the result files.
    """
    if name in REAL_SERIES:
        return REAL_SERIES[name](results / (name if name == WITH_ERRORS else "real-series"))
    if name in PHOTOGRAPHS:
        return PHOTOGRAPHS[name](results / "photographs")
    if name in PLANE:
        return PLANE[name](results / "plane")
    return _paper_table(name, experiments, results)


def layouts(experiments: Path) -> dict[str, Path]:
    """Return the files that lay out tables, by the names of their folders.

    Those with the paper's numbers are called `paper.toml`; those of our own tables, `layout.toml`.
    """
    return {path.parent.name: path for name in LAYOUTS for path in experiments.glob(f"*/{name}")}


def _paper_table(name: str, experiments: Path, results: Path) -> Table:
    """Build a table as its file lays it out, beside the paper's numbers if there are any.

    Named columns make a grid: a result file for each column and row, such as `eq-convcnp`. Listed
    columns each say where in a row's result file a number stands, such as `lynx_hare.interval`.
    """
    known = layouts(experiments)
    if name not in known:
        raise ResultError(
            f"Expected the name of a table under {experiments}, one of "
            f"{sorted([*REAL_SERIES, *PHOTOGRAPHS, *PLANE, *known])}, got {name!r}; run this in "
            "the project's folder, or name the folders with experiments= and results=."
        )
    paper = tomllib.loads(known[name].read_text())
    cells = {path.stem: read_result(path) for path in sorted((results / name).glob("*.json"))}
    cells |= _continued(cells)
    return (_grid if isinstance(paper["columns"], dict) else _listing)(paper, cells)


def _continued(cells: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return trainings that went on from a cell of the table, which they stand for in it.

    The last of several does. One that went on to other data has a cell of its own.
    """

    later = {
        start: name
        for name, cell in cells.items()
        if (start := cell.get("start", {}).get("name")) in cells
        and cells[start]["experiment"]["data"]["name"] == cell["experiment"]["data"]["name"]
    }

    def last(name: str) -> str:
        return last(later[name]) if name in later else name

    return {name: cells[last(name)] for name in later}


def _grid(paper: dict[str, Any], cells: dict[str, dict[str, Any]]) -> Table:
    """Lay out a row per model, ours above the paper's, and the exact GP below all."""
    columns = [
        column
        for column in paper["columns"]
        if column in paper["values"] or any(f"{column}-{row}" in cells for row in paper["rows"])
    ]
    rows = []
    for model, label in paper["rows"].items():
        ours = [cells.get(f"{column}-{model}") for column in columns]
        rows.append([label, _parameters(ours), *map(_score, ours)])
        theirs = [paper["values"].get(column, {}).get(model) for column in columns]
        if any(theirs):
            counted = f"{paper['parameters'][model]:,}" if "parameters" in paper else ""
            rows.append([f"{label}, paper", counted, *(f"{t[0]:.2f}" if t else "" for t in theirs)])
    by_column = [[cells.get(f"{column}-{row}") for row in paper["rows"]] for column in columns]
    if any(cell and "exact_gp" in cell for column in by_column for cell in column):
        rows.append(["Exact GP", "", *map(_ceiling, by_column)])
    header = ["Model", "Parameters", *(paper["columns"][column] for column in columns)]
    return Table(paper["title"], header, rows)


def _parameters(cells: Iterable[dict[str, Any] | None]) -> str:
    """Return the number of parameters of a row's models, which can depend on the data."""
    counts = {cell["parameters"] for cell in cells if cell}
    return (
        " to ".join(f"{count:,}" for count in sorted({min(counts), max(counts)})) if counts else ""
    )


def _listing(paper: dict[str, Any], cells: dict[str, dict[str, Any]]) -> Table:
    """Lay out the rows as they are listed, each above the paper's numbers if it has any."""
    columns, rows = paper["columns"], []
    for row in paper["rows"]:
        cell = cells.get(row["cell"])
        rows.append([row["label"], *(_entry(cell, column, row) for column in columns)])
        if "paper" in row:
            rows.append([f"{row['label']}, paper", *row["paper"]])
    return Table(paper["title"], ["Model", *(column["label"] for column in columns)], rows)


def _entry(cell: dict[str, Any] | None, column: dict[str, Any], row: dict[str, Any]) -> str:
    """Return a column's number in a result, with its standard error if the column names one."""
    paths = [column[key].format(**row) for key in ("value", "error") if key in column]
    numbers = [_at(cell, path) for path in paths]
    if None in numbers:
        return "—"
    return " ± ".join(f"{number:.{column.get('digits', 2)}f}" for number in numbers)


def _at(cell: dict[str, Any] | None, path: str) -> float | None:
    """Return the number at a dotted path of a result, if it has one."""
    found: Any = cell
    for key in path.split("."):
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _score(cell: dict[str, Any] | None) -> str:
    return f"{cell['log_likelihood']:.2f} ± {cell['standard_error']:.2f}" if cell else "—"


def _ceiling(cells: list[dict[str, Any] | None]) -> str:
    """Return the exact GP's score on a column's tasks, which all its cells share."""
    return _score(next((cell.get("exact_gp") for cell in cells if cell), None))
