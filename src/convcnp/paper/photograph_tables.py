"""Tables of the comparison on photographs."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from convcnp.core.predictive import coverage_key
from convcnp.errors import ResultError
from convcnp.paper.damages import DAMAGES
from convcnp.paper.photographs import METHODS, PHOTOS
from convcnp.paper.table import Table
from convcnp.training.run import read_result

_COVERAGE = coverage_key(0.9)
_NONE = "—"


def _read(folder: Path) -> dict[str, dict[str, Any]]:
    """Return what each method scored, by photograph."""
    found = {
        name: read_result(path, "methods")["methods"]
        for name in PHOTOS
        if (path := folder / f"{name}.json").exists()
    }
    if not found:
        raise ResultError(
            f"Expected results of photographs in {folder}, but there are none; run `convcnp "
            "compare-photographs`."
        )
    return found


def _values(found: dict[str, dict[str, Any]], method: str, damage: str, key: str) -> list[float]:
    """Return a score of a method for every photograph, if it was run on all of them."""
    scores = [
        methods.get(method, {}).get("scores", {}).get(damage, {}) for methods in found.values()
    ]
    values = [score[key] for score in scores if key in score]
    return values if len(values) == len(found) else []


def photographs_table(folder: Path) -> Table:
    """Return the means over all photographs: a row per damage, a column per method."""
    found = _read(folder)
    rows = []
    for damage, (label, _) in DAMAGES.items():
        row = [label]
        for method in METHODS:
            psnr, ssim = (_values(found, method, damage, key) for key in ("psnr", "ssim"))
            means = (
                f"{statistics.fmean(psnr):.1f} / {statistics.fmean(ssim):.2f}" if psnr else _NONE
            )
            row.append(means)
        covered = _values(found, "general", damage, _COVERAGE)
        rows.append([*row, f"{statistics.fmean(covered):.0%}" if covered else _NONE])
    heads = [method.label for method in METHODS.values()]
    header = ["Lost", *heads, f"Within the 90 % band of {METHODS['general'].label.lower()}"]
    return Table("Photographs: PSNR in dB / SSIM of the lost pixels", header, rows)


def each_photograph_table(folder: Path) -> Table:
    """Return the PSNR of every photograph and damage."""
    found = _read(folder)
    rows = [
        [name, DAMAGES[damage].label, *(_one(found[name], method, damage) for method in METHODS)]
        for name in found
        for damage in DAMAGES
    ]
    header = ["Photograph", "Lost", *(method.label for method in METHODS.values())]
    return Table("Photographs: PSNR in dB of the lost pixels", header, rows)


def _one(methods: dict[str, Any], method: str, damage: str) -> str:
    score = methods.get(method, {}).get("scores", {}).get(damage)
    return f"{score['psnr']:.1f}" if score else _NONE


PHOTOGRAPHS = {"photographs": photographs_table, "photographs-each": each_photograph_table}
