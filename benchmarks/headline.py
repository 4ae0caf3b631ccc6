"""From nothing to the paper's numbers: `python -m benchmarks.headline`.

Our recipe (`experiments/table1/*-convcnp-ours.toml`, with fewer steps) is trained until 1,000
validation tasks are predicted as well as the paper's ConvCNPXL predicts, and its processor time is
set beside the paper's 51,200 steps at the plain version's time per step.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.plain import copy_weights, plainly_training
from benchmarks.steps import build
from benchmarks.training import plain_sizes
from convcnp.core.allocation import keep_freed_memory
from convcnp.training.checkpoint import Progress
from convcnp.training.experiment import Experiment
from convcnp.training.loop import train
from convcnp.training.machine import flushing_denormals
from convcnp.training.provenance import commit, hardware, versions

PAPER = {"eq": 1.06, "matern": 0.53}  # ConvCNPXL in Table 1
PAPER_STEPS = 51_200
SCHEDULE = (
    "training.steps=4000",
    "training.warmup=100",
    "training.average=0.99",
    "training.validate_every=200",
    "training.validation_tasks=1000",
)
ROOT = Path(__file__).parents[1]


class _Passed(Exception):
    """The paper's number was passed."""


def reach(data: str, number: float, seed: int) -> dict[str, Any]:
    """Train until validation tasks are predicted better than this, and say what it took."""
    path = ROOT / f"experiments/table1/{data}-convcnp-ours.toml"
    experiment = Experiment.load(path, [*SCHEDULE, f"training.seed={seed}"])
    model, source = experiment.build_model(), experiment.source()
    scores: dict[int, float] = {}

    def report(progress: Progress, metrics: dict[str, float]) -> None:
        if metrics:
            scores[progress.step] = round(metrics["log_likelihood"], 4)
            if metrics["log_likelihood"] > number:
                raise _Passed

    started, has_passed = time.process_time(), False
    with TemporaryDirectory() as directory:
        try:
            train(
                *(model, source, experiment.training, Path(directory)),
                validation=source.held_out("validation"),
                report=report,
            )
        except _Passed:
            has_passed = True
    return {
        "data": data,
        "seed": seed,
        "has_passed": has_passed,
        "steps": max(scores),
        "processor_seconds": round(time.process_time() - started, 1),
        "log_likelihood": scores,
    }


def plain_milliseconds(num_steps: int) -> float:
    """Return the processor time of a step of the plain ConvCNPXL, drawing its tasks included."""
    take = plainly_training(copy_weights(build("convcnpxl")), np.random.default_rng(0))
    times = []
    with flushing_denormals():
        for size in plain_sizes(num_steps):
            started = time.process_time()
            take(*size)
            times.append(time.process_time() - started)
    return 1e3 * median(times)


def headline(seeds: int, plain_steps: int = 250) -> Iterator[dict[str, Any]]:
    """Measure both, and return all that belongs to the answer, after every run anew."""
    keep_freed_memory()
    plain, runs = plain_milliseconds(plain_steps), []
    here = commit()  # before a result is written into it
    for seed in range(seeds):
        for data, number in PAPER.items():
            runs.append(reach(data, number, seed))
            yield {
                "paper": PAPER,
                "paper_steps": PAPER_STEPS,
                "plain_step_ms": round(plain, 1),
                "plain_hours": round(PAPER_STEPS * plain / 3.6e6, 2),
                "runs": sorted(runs, key=lambda run: run["data"]),
                "schedule": SCHEDULE,
                "hardware": hardware(),
                "versions": versions(),
                "commit": here,
            }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.headline", description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=ROOT / "results/headline.json")
    options = parser.parse_args()
    for found in headline(options.seeds):
        options.out.write_text(json.dumps(found, indent=2) + "\n")
        print(f"Wrote {options.out} after {len(found['runs'])} runs.", flush=True)
