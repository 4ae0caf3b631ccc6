"""Tables of the comparison on real series: every row, and what they come to."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from convcnp.core.predictive import coverage_key
from convcnp.errors import ResultError
from convcnp.paper.comparison import METHODS, TOLD_ERRORS
from convcnp.paper.real_series import FIRST_SERIES, SERIES
from convcnp.paper.removals import FORECAST, GAPS, REMOVALS
from convcnp.paper.table import Table
from convcnp.training.run import read_result

WITH_ERRORS = "real-series-errors"  # a table, and the folder of its results
GROUPS = ("seasonal", "irregular", "positive", "other")


class Measure(NamedTuple):
    """A column of scores in the comparison on real series: where it is, and how it is written."""

    key: str
    title: str
    form: str
    summary: Callable[[Iterable[float]], float] = statistics.fmean  # over the seeds of the removal


LIKELIHOOD = Measure("log_likelihood", "Log-likelihood per removed point", ".2f")
CRPS = Measure("crps", "CRPS in the series' units", ".3g")
COVERAGE = Measure(coverage_key(0.9), "Coverage of the 90 % interval", ".0%")
# The median: a machine with other work to do is sometimes slow.
SECONDS = Measure("seconds", "Seconds", ".2g", statistics.median)


class Row(NamedTuple):
    """One series with points removed in one way, and the scores of each method that was run."""

    series: str
    group: str
    num_points: int
    removal: str
    scores: dict[str, list[dict[str, float]]]  # by method, one per seed

    def value(self, method: str, measure: Measure) -> float | None:
        """Return a method's score over the seeds, if it was run."""
        found = self.scores.get(method)
        return measure.summary(score[measure.key] for score in found) if found else None


@dataclass(frozen=True)
class Rows:
    """Rows, and what they come to: losses count as much as wins."""

    rows: list[Row]

    def pairs(self, method: str, other: str, measure: Measure) -> list[tuple[float, float]]:
        """Return the scores of two methods, in rows where both were run."""
        both = [(row.value(method, measure), row.value(other, measure)) for row in self.rows]
        return [(a, b) for a, b in both if a is not None and b is not None]

    def count(self, method: str, measure: Measure, sign: int) -> str:
        """Return in how many rows a method is at least as good as the fitted GP."""
        found = [sign * ours >= sign * gp for ours, gp in self.pairs(method, "gp", measure)]
        return f"{sum(found)} of {len(found)}" if found and method != "gp" else "—"

    def ratio(self, method: str, other: str) -> str:
        """Return the geometric mean of a method's CRPS over another's."""
        found = [ours / theirs for ours, theirs in self.pairs(method, other, CRPS)]
        return f"{statistics.geometric_mean(found):.3f}" if found and method != other else "—"

    def speed(self, method: str) -> str:
        """Return how many times faster than the fitted GP a method is, by the median."""
        ratios = [gp / ours for ours, gp in self.pairs(method, "gp", SECONDS)]
        return f"{statistics.median(ratios):,.0f}" if ratios and method != "gp" else "—"

    def mean(self, method: str, measure: Measure) -> str:
        """Return the mean of a method's scores."""
        values = [v for row in self.rows if (v := row.value(method, measure)) is not None]
        return number(statistics.fmean(values) if values else None, measure.form)

    def sums(self) -> list[list[str]]:
        """Return the last lines of a table: how each method does against the fitted GP."""
        sums: dict[str, Callable[[str], str]] = {
            "Log-likelihood at least the GP's": lambda m: self.count(m, LIKELIHOOD, 1),
            "CRPS at most the GP's": lambda m: self.count(m, CRPS, -1),
            "CRPS over the GP's, geometric mean": lambda m: self.ratio(m, "gp"),
            "Coverage of 90 % intervals, mean": lambda m: self.mean(m, COVERAGE),
            "Seconds, mean": lambda m: self.mean(m, SECONDS),
            "Times faster than the GP, median": self.speed,
        }
        return [[label, "", "", *map(cell, METHODS)] for label, cell in sums.items()]


def row_of(name: str, group: str, result: dict[str, Any], removal: str) -> Row:
    """Take one way of removing points from a result file."""
    scores = {
        method: found["scores"][removal]
        for method, found in result["methods"].items()
        if removal in found["scores"]
    }
    return Row(name, group, result["num_points"], removal, scores)


def read_rows(folder: Path) -> list[Row]:
    """Read the result files of all series."""
    rows = []
    for name in SERIES:
        if (path := folder / f"{name}.json").exists():
            result = read_result(path, "num_points", "group", "methods")
            rows += [row_of(name, result["group"], result, removal) for removal in REMOVALS]
    if not rows:
        raise ResultError(
            f"Expected result files of real series in {folder}, got none; run `convcnp compare`."
        )
    return rows


def score_table(measure: Measure, folder: Path) -> Table:
    """Build a row per series and way of making gaps; sums follow the log-likelihoods."""
    rows = Rows([row for row in read_rows(folder) if row.removal in GAPS])
    lines = [_line(row, row.removal, measure) for row in rows.rows]
    if measure is LIKELIHOOD:
        lines += rows.sums()
    return Table(measure.title, ["Series", "Points", "Removed", *_labels(METHODS)], lines)


def forecast_table(folder: Path) -> Table:
    """Build two rows per series, of the forecast's log-likelihood and CRPS, and the sums."""
    rows = Rows([row for row in read_rows(folder) if row.removal == FORECAST])
    lines = [
        _line(row, label, measure)
        for row in rows.rows
        for label, measure in (("log-likelihood", LIKELIHOOD), ("CRPS", CRPS))
    ]
    header = ["Series", "Points", "Score", *_labels(METHODS)]
    return Table("Forecast of the last 12 %", header, lines + rows.sums())


def summary_table(folder: Path) -> Table:
    """Build a row per method and kind of rows: removals, groups of series, the first and others."""
    rows = read_rows(folder)
    gaps = [row for row in rows if row.removal in GAPS]
    first = [row for row in gaps if row.series in FIRST_SERIES]
    kinds = {"all gaps": gaps}
    kinds |= {name: [row for row in rows if row.removal == name] for name in REMOVALS}
    kinds |= {f"{name} series": [row for row in gaps if row.group == name] for name in GROUPS}
    kinds["first series, random and blocks"] = [row for row in first if row.removal != "middle"]
    kinds["further series"] = [row for row in gaps if row not in first]
    header = [
        *("Rows", "Method", "Number", "Log-likelihood ≥ GP", "CRPS ≤ GP", "CRPS / GP"),
        *("CRPS / celerite2", "Coverage of 90 %", "Times faster than GP"),
    ]
    lines = [
        _summary(kind, method, Rows([row for row in chosen if method in row.scores]))
        for kind, chosen in kinds.items()
        for method in METHODS
    ]
    return Table("Summary of the comparison on real series", header, lines)


def errors_table(folder: Path) -> Table:
    """Build a row per series with published errors and removal: models that are told, or not.

    Each gain has its standard error over the times that points were removed; the last row has the
    means of the rows.
    """
    told = list(TOLD_ERRORS)
    rows = [row for row in read_rows(folder) if set(told) <= set(row.scores)]
    header = ["Series", "Points", "Removed", "Times"]
    for name in told:
        header += [METHODS[_untold(name)].label, TOLD_ERRORS[name].label, "Gain"]
    lines = []
    gains: dict[str, list[Gain]] = {name: [] for name in told}
    for row in rows:
        line = [row.series, str(row.num_points), row.removal, str(len(row.scores[told[0]]))]
        for name in told:
            gains[name].append(Gain.of(row, name))
            both = (row.value(each, LIKELIHOOD) for each in (_untold(name), name))
            line += [*(number(value, ".2f") for value in both), str(gains[name][-1])]
        lines.append(line)
    last = ["Mean", "", "", ""]
    for name in told:
        means = [Rows(rows).mean(each, LIKELIHOOD) for each in (_untold(name), name)]
        last += [*means, str(Gain.mean(gains[name]))]
    return Table("Log-likelihood per removed point, told errors or not", header, [*lines, last])


class Gain(NamedTuple):
    """What a model gains by being told errors, and the standard error of that."""

    value: float
    error: float

    @classmethod
    def of(cls, row: Row, told: str) -> Gain:
        """Compare both ways each time that points were removed."""
        each = [
            with_errors[LIKELIHOOD.key] - without[LIKELIHOOD.key]
            for with_errors, without in zip(
                row.scores[told], row.scores[_untold(told)], strict=True
            )
        ]
        error = statistics.stdev(each) / len(each) ** 0.5 if len(each) > 1 else 0.0
        return cls(statistics.fmean(each), error)

    @classmethod
    def mean(cls, gains: list[Gain]) -> Gain:
        """Return the mean of independent gains."""
        total = math.hypot(*(gain.error for gain in gains))
        return cls(statistics.fmean(gain.value for gain in gains), total / len(gains))

    def __str__(self) -> str:
        return f"{self.value:+.2f} ± {self.error:.2f}" if self.error else f"{self.value:+.2f}"


def _untold(told: str) -> str:
    return told.removesuffix("-errors")


def _summary(kind: str, method: str, rows: Rows) -> list[str]:
    return [
        *(kind, METHODS[method].label, str(len(rows.rows))),
        *(rows.count(method, LIKELIHOOD, 1), rows.count(method, CRPS, -1)),
        *(rows.ratio(method, "gp"), rows.ratio(method, "celerite")),
        *(rows.mean(method, COVERAGE), rows.speed(method)),
    ]


def _line(row: Row, label: str, measure: Measure) -> list[str]:
    cells = (number(row.value(method, measure), measure.form) for method in METHODS)
    return [row.series, str(row.num_points), label, *cells]


def _labels(methods: Iterable[str]) -> list[str]:
    return [METHODS[method].label for method in methods]


def number(value: float | None, form: str) -> str:
    """Write a number, or a dash where there is none."""
    return "—" if value is None else format(value, form)


REAL_SERIES: dict[str, Callable[[Path], Table]] = {
    "real-series": partial(score_table, LIKELIHOOD),
    "real-series-crps": partial(score_table, CRPS),
    "real-series-coverage": partial(score_table, COVERAGE),
    "real-series-seconds": partial(score_table, SECONDS),
    "real-series-forecast": forecast_table,
    "real-series-summary": summary_table,
    WITH_ERRORS: errors_table,
}
