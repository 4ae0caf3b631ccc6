"""Tables made of result files, beside the paper's numbers."""

from __future__ import annotations

import csv
import io
import statistics
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from convcnp.errors import ResultError
from convcnp.paper.comparison import METHODS
from convcnp.paper.real_series import REMOVALS, SERIES
from convcnp.training.run import read_result


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


class Measure(NamedTuple):
    """A column of scores in the comparison on real series: where it is, and how it is written."""

    key: str
    title: str
    form: str
    summary: Callable[[Iterable[float]], float] = statistics.fmean  # over the seeds of the removal


LAYOUTS = ("paper.toml", "layout.toml")

REAL_SERIES = {
    "real-series": Measure("log_likelihood", "Log-likelihood per removed point", ".2f"),
    "real-series-crps": Measure("crps", "CRPS in the series' units", ".3g"),
    "real-series-coverage": Measure("coverage", "Coverage of the 90 % interval", ".0%"),
    # The median: a machine with other work to do is sometimes slow.
    "real-series-seconds": Measure("seconds", "Seconds", ".2g", statistics.median),
}


def build_table(name: str, experiments: Path, results: Path) -> Table:
    """Build a table from result files: one of the paper's, or of the comparison on real series.

    Args:
        experiments: Folder with a subfolder per table, which says how it is laid out.
        results: Folder with a subfolder per table, which holds the result files.
    """
    if name in REAL_SERIES:
        return _real_series_table(REAL_SERIES[name], results / "real-series")
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
            f"{sorted([*REAL_SERIES, *known])}, got {name!r}; run this in the project's folder, or "
            "name the folders with --experiments and --results."
        )
    paper = tomllib.loads(known[name].read_text())
    cells = {path.stem: read_result(path) for path in sorted((results / name).glob("*.json"))}
    return (_grid if isinstance(paper["columns"], dict) else _listing)(paper, cells)


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


class _Row(NamedTuple):
    """One series with points removed in one way, and the scores of each method that was run."""

    series: str
    num_points: int
    removal: str
    scores: dict[str, list[dict[str, float]]]  # by method, one per seed

    def value(self, method: str, measure: Measure) -> float | None:
        found = self.scores.get(method)
        return measure.summary(score[measure.key] for score in found) if found else None


def _real_series_table(measure: Measure, folder: Path) -> Table:
    """Build a row per series and way of removing points; sums follow the log-likelihoods."""
    rows = list(_real_series_rows(folder))
    if not rows:
        raise ResultError(
            f"Expected result files of real series in {folder}, got none; run `convcnp compare`."
        )
    lines = [
        [
            *(row.series, str(row.num_points), row.removal),
            *(_number(row.value(method, measure), measure.form) for method in METHODS),
        ]
        for row in rows
    ]
    if measure.key == "log_likelihood":
        lines += _sums(rows)
    header = ["Series", "Points", "Removed", *(method.label for method in METHODS.values())]
    return Table(measure.title, header, lines)


def _real_series_rows(folder: Path) -> Iterable[_Row]:
    for name in SERIES:
        if (path := folder / f"{name}.json").exists():
            result = read_result(path, "num_points", "methods")
            for removal in REMOVALS:
                scores = {m: found["scores"][removal] for m, found in result["methods"].items()}
                yield _Row(name, result["num_points"], removal, scores)


def _sums(rows: list[_Row]) -> list[list[str]]:
    """Count over all rows how each method does against the fitted GP, losses as much as wins."""
    likelihood, score, coverage, seconds = REAL_SERIES.values()

    def pairs(method: str, measure: Measure) -> list[tuple[float, float]]:
        both = [(row.value(method, measure), row.value("gp", measure)) for row in rows]
        return [(ours, gp) for ours, gp in both if ours is not None and gp is not None]

    def count(method: str, measure: Measure, sign: int) -> str:
        found = [sign * ours >= sign * gp for ours, gp in pairs(method, measure)]
        return f"{sum(found)} of {len(found)}" if found and method != "gp" else "—"

    def speed(method: str) -> str:
        ratios = [gp / ours for ours, gp in pairs(method, seconds)]
        return f"{statistics.median(ratios):,.0f}" if ratios and method != "gp" else "—"

    def mean(method: str, measure: Measure) -> str:
        values = [v for row in rows if (v := row.value(method, measure)) is not None]
        return _number(statistics.fmean(values) if values else None, measure.form)

    sums: dict[str, Callable[[str], str]] = {
        "Log-likelihood at least the GP's": lambda method: count(method, likelihood, 1),
        "CRPS at most the GP's": lambda method: count(method, score, -1),
        "Coverage of 90 % intervals, mean": lambda method: mean(method, coverage),
        "Seconds, mean": lambda method: mean(method, seconds),
        "Times faster than the GP, median": speed,
    }
    return [[label, "", "", *map(cell, METHODS)] for label, cell in sums.items()]


def _number(value: float | None, form: str) -> str:
    return "—" if value is None else format(value, form)
