"""Training steps whose set convolutions are compiled loops, against operations of torch."""

from __future__ import annotations

import copy
from statistics import median

from benchmarks.steps import build, draw, package_step
from benchmarks.timing import Finding, interleaved
from convcnp import ConvCNP
from convcnp.core.allocation import keep_freed_memory
from convcnp.training.machine import flushing_denormals


def loops(quick: bool) -> list[Finding]:
    """Compare both ways on the same tasks, in turns (decision 38)."""
    keep_freed_memory()
    tasks = [draw(i) for i in range(10 if quick else 60)]
    findings = []
    for preset in ("convcnp", "convcnpxl", "convcnp-ours"):
        model = build(preset)
        steps = {"loops": package_step(model), "torch": package_step(_without_loops(model))}
        with flushing_denormals():
            times = interleaved(
                {
                    way: lambda i, step=step: step(tasks[i % len(tasks)])
                    for way, step in steps.items()
                },
                len(tasks) if quick else 4 * len(tasks),
            )
        taken = {way: 1e3 * median(found.cpu) for way, found in times.items()}
        parts: dict[str, float | str] = {f"{way} ms": round(ms, 2) for way, ms in taken.items()}
        name = f"set convolutions by loops, step of {preset}"
        findings.append(Finding(name, taken["torch"] / taken["loops"], "x", parts=parts))
    return findings


def _without_loops(model: ConvCNP) -> ConvCNP:
    """Return the same model, which trains by the set convolutions that it predicts with."""
    other = copy.deepcopy(model)
    other.encoder.eval()
    other.decoder.eval()
    return other
