"""Many series from a folder of files: one process, a pool, and Ray, each in a process of its own.

    python -m benchmarks.scale --out results/scale.json --short 100000 --long 200

Rates are series per second of processor time, of all processes together and without what it takes
to start (measured on a few series): so they hold also where other work takes most of the machine,
and are what one core does. Wall-clock time and how many processes wanted the cores stand beside.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from convcnp.training.provenance import commit, hardware, versions

POINTS = {"short": 20, "long": 5000}
FEW = 16  # series, to see what starting takes
STEP = 0.05  # between times, about, as the model knows them
ENGINES = {
    "one process": ["--workers", "1"],
    "pool of 2": ["--workers", "2"],
    "Ray, 2 actors": ["--engine", "ray", "--workers", "2"],
}
_TICKS = os.sysconf("SC_CLK_TCK")  # a second
_PAGE = os.sysconf("SC_PAGE_SIZE")


def write_lake(folder: Path, series: int, points: int, files: int = 8) -> None:
    """Write series of irregular times over files, some values missing."""
    folder.mkdir()
    random = np.random.default_rng(0)
    for number, members in enumerate(np.array_split(np.arange(series), files)):
        owner = np.repeat(members, points)
        gaps = random.uniform(0.5 * STEP, 1.5 * STEP, (len(members), points))
        times = np.cumsum(gaps, 1).ravel()
        values = np.sin(4 * times + owner) + 0.1 * random.normal(size=len(times))
        values[random.random(len(times)) < 0.1] = np.nan
        frame = pd.DataFrame({"id": owner, "time": times, "value": values})
        frame.to_parquet(folder / f"{number}.parquet", index=False)


def measure(lake: Path, out: Path, options: list[str], model: str) -> dict[str, float]:
    """Run the command, and return the time and memory of it and all processes it starts."""
    command = [sys.executable, "-m", "convcnp", "predict", str(lake), "--out", str(out)]
    started, processor, peak = time.perf_counter(), {}, 0
    process = subprocess.Popen([*command, "--group", "id", "--model", model, *options])
    while process.poll() is None:
        used = {pid: found for pid in family(process.pid) if (found := usage(pid))}
        processor.update({pid: ticks for pid, (ticks, _) in used.items()})
        peak = max(peak, sum(pages for _, pages in used.values()))
        time.sleep(0.2)
    if process.returncode:
        sys.exit(f"The command failed: {options}.")
    return {
        "seconds": round(time.perf_counter() - started, 1),
        "processor_seconds": round(sum(processor.values()) / _TICKS, 2),
        "peak_megabytes": round(peak * _PAGE / 1e6),
    }


def family(pid: int) -> Iterator[int]:
    """Yield a process and those that it started, and so on."""
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found = children.read_text().split()
        except OSError:  # it has just ended
            continue
        for child in found:
            yield from family(int(child))


def usage(pid: int) -> tuple[int, int] | None:
    """Return the ticks and resident pages of a process, unless it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[11]) + int(fields[12]), int(fields[21])


def start(engine: str, model: str, folder: Path) -> float:
    """Return the processor time that an engine takes for a few series: that to start."""
    lake = folder / f"few {engine}"
    write_lake(lake, FEW, POINTS["short"])
    return measure(lake, Path(f"{lake} out"), ENGINES[engine], model)["processor_seconds"]


def compared(
    points: int, series: int, model: str, starts: dict[str, float], folder: Path
) -> Iterator[dict[str, float]]:
    """Yield what each engine takes for series of so many points."""
    lake = folder / f"{points}"
    write_lake(lake, series, points)
    for engine, options in ENGINES.items():
        found = measure(lake, folder / f"{points} {engine}", options, model)
        work = found["processor_seconds"] - starts[engine]
        yield {
            **{"series": series, "points": points, "engine": engine, **found},
            "processor_seconds_to_start": starts[engine],
            "series_per_processor_second": round(series / work, 1),
            "load": round(os.getloadavg()[0], 1),
        }


def main() -> None:
    """Measure what is asked for, and write it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--short", type=int, default=0, help="Series of 20 points.")
    parser.add_argument("--long", type=int, default=0, help="Series of 5,000 points.")
    parser.add_argument("--model", default="eq-convcnp")
    given = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        starts = {engine: start(engine, given.model, folder) for engine in ENGINES}
        for kind, points in POINTS.items():
            if series := getattr(given, kind):
                for each in compared(points, series, given.model, starts, folder):
                    found.append(each)
                    print(each, flush=True)
    about = {"model": given.model, "hardware": hardware(), "versions": versions()}
    content = {**about, "commit": commit(), "measured": found}
    given.out.write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    main()
