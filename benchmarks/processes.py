"""Training in one process and in two: steps a second, by the clock, on a machine with nothing else.

    python -m benchmarks.processes --out results/processes.json

Two processes need two free cores: where others want them too, what is measured is the others. What
it takes to start, to validate and to evaluate is measured with few steps, and taken off.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from convcnp.training.provenance import commit, hardware, versions

EXPERIMENTS = ("experiments/table1/eq-convcnp.toml", "experiments/table1/eq-convcnpxl.toml")
FEW = 10  # steps


def seconds(experiment: str, devices: int, steps: int, folder: Path) -> float:
    """Train for some steps, and return the seconds of the whole command."""
    settings = (f"training.steps={steps}", "training.validation_tasks=2", "evaluation.num_tasks=2")
    options = [part for setting in settings for part in ("--set", setting)]
    command = [sys.executable, "-m", "convcnp", "run", experiment, "--devices", str(devices)]
    started = time.perf_counter()
    subprocess.run(
        [*command, *options, "--out", str(folder / f"{Path(experiment).stem}-{devices}-{steps}")],
        check=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},  # a core each, whatever their number
    )
    return time.perf_counter() - started


def main() -> None:
    """Measure, and write what was found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=400)
    given = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as temporary:
        for experiment in EXPERIMENTS:
            for devices in (1, 2):
                few, many = (
                    seconds(experiment, devices, steps, Path(temporary))
                    for steps in (FEW, FEW + given.steps)
                )
                about = {"experiment": experiment, "processes": devices}
                rate = {"steps_per_second": round(given.steps / (many - few), 2)}
                found.append({**about, **rate, "load": round(os.getloadavg()[0], 1)})
                print(found[-1], flush=True)
    about = {"hardware": hardware(), "versions": versions(), "commit": commit()}
    given.out.write_text(json.dumps({**about, "measured": found}, indent=2) + "\n")


if __name__ == "__main__":
    main()
