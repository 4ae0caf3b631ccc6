"""Tables made of result files, beside the paper's numbers."""

from __future__ import annotations

import csv
import io
import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from convcnp.errors import ResultError


@dataclass(frozen=True)
class Table:
    """A title, a header, and rows of text."""

    title: str
    header: list[str]
    rows: list[list[str]]

    def markdown(self) -> str:
        """Return the table in Markdown."""
        lines = [self.header, [":--"] + ["--:"] * (len(self.header) - 1), *self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"

    def csv(self) -> str:
        """Return the table as comma-separated values."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.header, *self.rows])
        return text.getvalue()


def build_table(name: str, experiments: Path, results: Path) -> Table:
    """Build a table: a row per model, ours above the paper's, and below all the exact GP, if known.

    Args:
        experiments: Folder with a subfolder per table, which holds the paper's numbers.
        results: Folder with a subfolder per table, which holds one result file per cell.
    """
    try:
        paper = tomllib.loads((experiments / name / "paper.toml").read_text())
    except FileNotFoundError as error:
        known = sorted(path.parent.name for path in experiments.glob("*/paper.toml"))
        raise ResultError(
            f"Expected the name of a table under {experiments}, one of {known}, got {name!r}; run "
            "this in the project's folder, or name the folders with --experiments and --results."
        ) from error
    cells = {path.stem: _read(path) for path in sorted((results / name).glob("*.json"))}
    columns = [
        column
        for column in paper["columns"]
        if column in paper["values"] or any(f"{column}-{row}" in cells for row in paper["rows"])
    ]
    rows = []
    for model, label in paper["rows"].items():
        ours = [cells.get(f"{column}-{model}") for column in columns]
        parameters = next((f"{cell['parameters']:,}" for cell in ours if cell), "")
        rows.append([label, parameters, *map(_score, ours)])
        theirs = [paper["values"].get(column, {}).get(model) for column in columns]
        if any(theirs):
            counted = f"{paper['parameters'][model]:,}" if "parameters" in paper else ""
            rows.append([f"{label}, paper", counted, *(f"{t[0]:.2f}" if t else "" for t in theirs)])
    by_column = [[cells.get(f"{column}-{row}") for row in paper["rows"]] for column in columns]
    if any(cell and "exact_gp" in cell for column in by_column for cell in column):
        rows.append(["Exact GP", "", *map(_ceiling, by_column)])
    header = ["Model", "Parameters", *(paper["columns"][column] for column in columns)]
    return Table(paper["title"], header, rows)


def _read(path: Path) -> dict[str, Any]:
    try:
        result: dict[str, Any] = json.loads(path.read_text())
    except ValueError as error:
        raise ResultError(
            f"{path} must be a result file in JSON ({error}); run its experiment again."
        ) from error
    return result


def _score(cell: dict[str, Any] | None) -> str:
    return f"{cell['log_likelihood']:.2f} ± {cell['standard_error']:.2f}" if cell else "—"


def _ceiling(cells: list[dict[str, Any] | None]) -> str:
    """Return the exact GP's score on a column's tasks, which all its cells share."""
    return _score(next((cell.get("exact_gp") for cell in cells if cell), None))
