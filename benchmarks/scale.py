"""Many series from a folder of files: one process, a pool, and Ray, each in a process of its own.

    python -m benchmarks.scale --out results/scale.json --short 100000 --long 200

Rates are those of the machine that the file names, and of whatever else it did meanwhile: `load`
says how many processes wanted its cores. Starting is part of them. The memory is that of the
largest process; Ray's workers belong to another, and are not seen.
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

import numpy as np
import pandas as pd

from convcnp.training.provenance import commit, hardware, versions

POINTS = {"short": 20, "long": 5000}
ENGINES = {
    "one process": ["--workers", "1"],
    "pool of 2": ["--workers", "2"],
    "Ray, 2 actors": ["--engine", "ray", "--workers", "2"],
}


def write_lake(folder: Path, series: int, points: int, files: int = 8) -> None:
    """Write series of irregular times over files, some values missing."""
    folder.mkdir()
    random = np.random.default_rng(0)
    for number, members in enumerate(np.array_split(np.arange(series), files)):
        owner = np.repeat(members, points)
        times = np.cumsum(random.uniform(0.5, 1.5, (len(members), points)), 1).ravel()
        values = np.sin(times / 5 + owner) + 0.1 * random.normal(size=len(times))
        values[random.random(len(times)) < 0.1] = np.nan
        frame = pd.DataFrame({"id": owner, "time": times, "value": values})
        frame.to_parquet(folder / f"{number}.parquet", index=False)


def measure(lake: Path, out: Path, options: list[str], model: str) -> dict[str, float]:
    """Run the command, and return seconds and the largest memory of one of its processes."""
    command = [sys.executable, "-m", "convcnp", "predict", str(lake), "--out", str(out)]
    started = time.perf_counter()
    process = subprocess.Popen([*command, "--group", "id", "--model", model, *options])
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"The command failed: {options}.")
    seconds = time.perf_counter() - started
    processor = used.ru_utime + used.ru_stime
    return {
        "seconds": round(seconds, 1),
        "processor_seconds": round(processor, 1),
        "peak_megabytes": round(used.ru_maxrss / 1024),
    }


def main() -> None:
    """Measure what is asked for, and write it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--short", type=int, default=0, help="Series of 20 points.")
    parser.add_argument("--long", type=int, default=0, help="Series of 5,000 points.")
    parser.add_argument("--model", default="eq-convcnp")
    parser.add_argument("--engines", default=",".join(ENGINES))
    given = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as temporary:
        for kind, points in POINTS.items():
            series = getattr(given, kind)
            if not series:
                continue
            lake = Path(temporary) / kind
            write_lake(lake, series, points)
            for engine in given.engines.split(","):
                measured = measure(
                    lake, Path(temporary) / f"{kind} {engine}", ENGINES[engine], given.model
                )
                rate = series / measured["seconds"]
                found.append(
                    {"series": series, "points": points, "engine": engine}
                    | measured
                    | {"series_per_second": round(rate, 1), "load": round(os.getloadavg()[0], 1)}
                )
                print(found[-1], flush=True)
    about = {"model": given.model, "hardware": hardware(), "versions": versions()}
    content = {**about, "commit": commit(), "measured": found}
    given.out.write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    main()
