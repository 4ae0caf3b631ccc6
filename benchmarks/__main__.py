"""`python -m benchmarks`: measure, print a table, and write what was found as JSON."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_info

from benchmarks.dictionary import dictionary
from benchmarks.images import image_memory, image_steps
from benchmarks.lines import lines
from benchmarks.loops import loops
from benchmarks.memory import memory
from benchmarks.parts import parts
from benchmarks.prediction import many_series, one_series, prediction
from benchmarks.series import light_curves, simulation
from benchmarks.startup import startup
from benchmarks.steps import drawing, margins, steps
from benchmarks.timing import Finding
from benchmarks.training import overhead, throughput
from convcnp.training.provenance import commit, hardware, versions

BENCHMARKS: dict[str, Callable[[bool], list[Finding]]] = {
    "steps": steps,
    "drawing": drawing,
    "margins": margins,
    "parts": parts,
    "lines": lines,
    "loops": loops,
    "prediction": prediction,
    "one-series": one_series,
    "many-series": many_series,
    "dictionary": dictionary,
    "memory": memory,
    "throughput": throughput,
    "overhead": overhead,
    "light-curves": light_curves,
    "simulation": simulation,
    "image-steps": image_steps,
    "image-memory": image_memory,
    "startup": startup,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmarks that were asked for, all by default."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(BENCHMARKS):
        parser.error(f"unknown: {', '.join(unknown)}; choose from {', '.join(BENCHMARKS)}.")
    benchmarks = BENCHMARKS | {"steps": partial(steps, compiled=options.compile)}
    console, findings = Console(), []
    for name in options.names or BENCHMARKS:
        with console.status(f"{name} ..."):
            findings += benchmarks[name](options.quick)
    console.print(_table(findings))
    options.out.write_text(json.dumps(_report(findings, options.quick), indent=2) + "\n")
    console.print(f"Wrote {options.out}.")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    known = ", ".join(BENCHMARKS)
    parser.add_argument("names", nargs="*", metavar="name", help=f"{known}; all, if left out")
    parser.add_argument("--quick", action="store_true", help="a few repetitions only")
    parser.add_argument(
        "--compile", action="store_true", help="also time torch.compile, which takes minutes"
    )
    parser.add_argument("--out", type=Path, default=Path("bench.json"), help="where to write JSON")
    return parser


def _table(findings: Sequence[Finding]) -> Table:
    table = Table("benchmark", "measured", "target", "met", "from")
    for finding in findings:
        table.add_row(
            finding.name,
            "" if finding.value is None else f"{finding.value:.3g} {finding.unit}",
            finding.target,
            {True: "yes", False: "no", None: ""}[finding.is_met],
            "\n".join(f"{name}: {value}" for name, value in finding.parts.items()),
            end_section=True,
        )
    return table


def _report(findings: Sequence[Finding], quick: bool) -> dict[str, object]:
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "quick": quick,
        "load": os.getloadavg(),
        "hardware": hardware(),
        "products": _products(),
        "versions": versions(),
        "commit": commit(),
        "findings": [
            vars(finding) | {"target": finding.target, "is_met": finding.is_met}
            for finding in findings
        ],
    }


def _products() -> dict[str, str]:
    """Return the processors whose routines multiply in compiled loops, by library."""
    return {
        f"{library['internal_api']} {library['version']}": library["architecture"]
        for library in threadpool_info()
        if library["user_api"] == "blas"
    }


if __name__ == "__main__":
    main()
