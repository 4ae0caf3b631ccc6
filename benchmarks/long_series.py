"""Long simulated series with a block missing: `python -m benchmarks.long_series`.

Kinds that people have, of 800 to 9,000 observations: how well the dictionary of Gaussian processes
predicts the block, beside a straight line through it and, where a rhythm is exact, the mean of the
same phases elsewhere.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from convcnp import Task, load
from convcnp.core.threads import one_thread
from convcnp.training.provenance import commit, hardware, versions

SIZES, SEEDS = (800, 1500, 3500, 9000), 3
ASKED = 60  # times in the block, and elsewhere
ROOT = Path(__file__).parents[1]
Random = np.random.Generator


class Kind(NamedTuple):
    """A kind of series: its values, and the period of its slowest exact rhythm."""

    values: Callable[[int, Random], ndarray]
    period: Callable[[int], float] | None = None  # of so many observations


def wandering(n: int, kept: float, step: float, random: Random) -> ndarray:
    """Return values of which so much is kept from one to the next."""
    values = step * random.normal(size=n)
    values[0] /= math.sqrt(1 - kept**2)
    for i in range(1, n):
        values[i] += kept * values[i - 1]
    return values


def smooth(n: int, length: float, random: Random) -> ndarray:
    """Return a smooth curve of variance one."""
    knots = int(3 * n / length) + 8
    near = np.exp(-0.5 * ((np.linspace(0, knots - 6, n)[:, None] - np.arange(knots)) / 1.2) ** 2)
    return near @ random.normal(size=knots) / np.sqrt((near**2).sum(1))


def waves(n: int, period: float, *heights: float) -> ndarray:
    """Return a rhythm, given the heights of its harmonics, each shifted by a little more."""
    phase = 2 * np.pi * np.arange(n) / period
    return sum((h * np.sin(k * phase + k) for k, h in enumerate(heights, 1)), np.zeros(n))


def levels(n: int, random: Random) -> ndarray:
    """Return a level that jumps now and then."""
    jumps = (random.random(n) < 0.004) | (np.arange(n) == 0)
    return 5 * random.normal(size=n)[np.maximum.accumulate(np.where(jumps, np.arange(n), 0))]


def week(n: int) -> ndarray:
    """Return hours of five days, and of a weekend that is half as busy."""
    is_weekend = (np.arange(n) // 24) % 7 > 4
    return waves(n, 24, 4, 1.6) * np.where(is_weekend, 0.5, 1) + 1.5 * ~is_weekend


KINDS = {
    "a year of days on weather": Kind(
        lambda n, r: waves(n, 365.25, 8, 2) + wandering(n, 0.8, 1.5, r), lambda n: 365.25
    ),
    "days and weekends of hours": Kind(
        lambda n, r: week(n) + wandering(n, 0.7, 0.4, r), lambda n: 168.0
    ),
    "three rhythms": Kind(
        lambda n, r: (
            waves(n, 24, 1) + waves(n, 168, 0.7) + waves(n, 55, 0.5) + 0.3 * r.normal(size=n)
        )
    ),
    "hours of three years": Kind(
        lambda n, r: waves(n, n / 3.3, 10) + waves(n, 24, 4) + wandering(n, 0.985, 0.5, r),
        lambda n: n / 3.3,
    ),
    "minutes of six days": Kind(
        lambda n, r: waves(n, n / 6.5, 15, 5) + wandering(n, 0.998, 0.3, r) + r.normal(size=n),
        lambda n: n / 6.5,
    ),
    "tides": Kind(
        lambda n, r: (
            waves(n, 124.2, 1)
            + waves(n, 120, 0.6)
            + waves(n, 258, 0.3)
            + wandering(n, 0.95, 0.05, r)
        )
    ),
    "a rhythm that drifts": Kind(
        lambda n, r: (
            (2 + smooth(n, 200, r)) * np.sin(2 * np.pi * np.arange(n) / 30 + smooth(n, 300, r))
            + 0.3 * r.normal(size=n)
        )
    ),
    "counts with a season": Kind(
        lambda n, r: r.poisson(np.exp(1 + waves(n, 52, 0.8) + wandering(n, 0.9, 0.1, r))).astype(
            float
        ),
        lambda n: 52.0,
    ),
    "a walk": Kind(lambda n, r: r.normal(size=n).cumsum()),
    "what wanders slowly": Kind(
        lambda n, r: wandering(n, 0.9, 0.1, r).cumsum() + 0.2 * r.normal(size=n)
    ),
    "a smooth curve": Kind(lambda n, r: smooth(n, 60, r) + 0.05 * r.normal(size=n)),
    "what wanders and returns": Kind(
        lambda n, r: wandering(n, 0.98, 0.3, r) + 0.3 * r.normal(size=n)
    ),
    "levels that jump": Kind(lambda n, r: levels(n, r) + 0.3 * r.normal(size=n)),
    "noise": Kind(lambda n, r: r.normal(size=n)),
}


def measured(name: str, n: int, seed: int) -> dict[str, Any]:
    """Hide a block and some points of one series, predict them, and say how well."""
    random = np.random.default_rng([list(KINDS).index(name), n, seed])
    y, x = KINDS[name].values(n, random), np.arange(float(n))
    length = int(random.integers(15, n // 12))
    start = int(random.integers(n // 5, n - n // 5 - length))
    in_block = (x >= start) & (x < start + length)
    hidden = in_block | (random.random(n) < (0.3 if seed == 2 else 0.05))  # the third: irregular
    asked = np.r_[thinned(np.flatnonzero(in_block)), thinned(np.flatnonzero(hidden & ~in_block))]
    task = Task.from_arrays(x[~hidden], y[~hidden], x[asked], y[asked])
    model = load("gp-dictionary").model
    started = time.process_time()
    with one_thread():
        found = model(task)
    seconds = time.process_time() - started
    block = in_block[asked]
    crps, held = (
        numbers[0, :, 0].double().numpy()
        for numbers in (found.crps(task.y_target), found.covers(task.y_target))
    )
    return {
        "kind": name,
        "observations": n,
        "seed": seed,
        "missing": length,
        "crps": round(float(crps[block].mean() / y.std()), 4),
        "crps_elsewhere": round(float(crps[~block].mean() / y.std()), 4),
        "held": round(float(held[block].mean()), 3),
        "error": round(float(abs(found.mean[0, block, 0].numpy() - y[asked][block]).mean()), 4),
        "error_by_hand": {
            way: round(float(abs(values - y[asked][block]).mean()), 4)
            for way, values in by_hand(name, x, y, hidden, asked[block]).items()
        },
        "seconds": round(seconds, 3),
    }


def thinned(places: ndarray) -> ndarray:
    """Return some of the places, evenly spread."""
    return places[:: max(1, len(places) // ASKED)]


def by_hand(
    name: str, x: ndarray, y: ndarray, hidden: ndarray, asked: ndarray
) -> dict[str, ndarray]:
    """Return what people would fill a block with: a line, and the mean of the same phases."""
    found = {"line": np.interp(x[asked], x[~hidden], y[~hidden])}
    if (period := KINDS[name].period) is not None:
        turns = (x[asked][:, None] - x[~hidden]) / period(len(x))
        near = abs(turns - turns.round()) < 0.02
        found["phases"] = (near @ y[~hidden]) / near.sum(1)
    return found


def long_series(kinds: list[str], sizes: tuple[int, ...], seeds: int) -> dict[str, Any]:
    """Measure all of these, and return all that belongs to the answer."""
    return {
        "rows": [measured(kind, n, s) for kind in kinds for n in sizes for s in range(seeds)],
        "hardware": hardware(),
        "versions": versions(),
        "commit": commit(),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.long_series", description=__doc__)
    parser.add_argument("--kinds", nargs="*", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--out", type=Path, default=ROOT / "results/long-series.json")
    options = parser.parse_args()
    found = long_series(options.kinds, SIZES, SEEDS)
    options.out.write_text(json.dumps(found, indent=2) + "\n")
    print(f"Wrote {options.out}.")
