"""Prediction of one series, of many at once, and of long ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

import numpy as np
import pandas as pd
import torch

import convcnp
from benchmarks.memory import long_series
from benchmarks.timing import Finding, Times, interleaved
from convcnp import Task, predict_in_tiles
from convcnp.core.cnn import UNet
from convcnp.models.convcnp import ConvCNP

SIZES = (10**3, 10**4, 10**5, 10**6)
SHIPPED = ("eq-convcnp", "eq-convcnpxl", "eq-convcnp-ours")
POINTS, GAPS = 100, 10  # of each of many series


def prediction(quick: bool) -> list[Finding]:
    """Predict at as many targets as there are context points, on a domain that grows with them."""
    model = ConvCNP.small()
    tasks = {size: long_series(size) for size in SIZES}
    times = {size: Times() for size in SIZES}
    predict_in_tiles(model, tasks[SIZES[1]])
    for _ in range(1 if quick else 3):
        for size, task in tasks.items():
            for _ in range(max(1, 10**5 // size)):
                with times[size].measure():
                    predict_in_tiles(model, task)
    per_point = {size: 1e6 * median(times[size].wall) / size for size in SIZES}
    parts = {f"us per point at {size:,}": round(value, 2) for size, value in per_point.items()}
    growth = per_point[10**6] / per_point[10**4]
    return [
        Finding("prediction, 10^6 to 10^4 points", growth, "x per point", most=1.5, parts=parts)
    ]


@torch.inference_mode()
def one_series(quick: bool) -> list[Finding]:
    """Predict one series of 50 points at 400 places by each shipped model of EQ functions.

    By the processor's time: the slowest is the one that counts.
    """
    x = 4 * torch.rand(1, 50, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    places = torch.linspace(0, 4, 400, dtype=torch.float64)[None, :, None]
    task = Task(x, torch.sin(4 * x), places)
    models = {name: convcnp.load(name).model for name in SHIPPED}
    times = interleaved(
        {name: lambda _, model=model: model(task) for name, model in models.items()},
        repetitions=20 if quick else 300,
    )
    taken = {name: 1e3 * median(times[name].cpu) for name in SHIPPED}
    parts = {f"{name} ms": round(milliseconds, 2) for name, milliseconds in taken.items()}
    slowest = max(taken.values())
    return [Finding("prediction, 50 points at 400 places", slowest, "ms", most=2.0, parts=parts)]


def many_series(quick: bool) -> list[Finding]:
    """Fill the gaps of many series from a table, on grids that end with the data and on wide ones.

    On wide grids, half the receptive radius lies beyond the data, as was so before decision 31.
    They gain by what came later as well (docs/speed.md).
    """
    predictor = convcnp.load("general-convcnp")
    assert isinstance(predictor.model, ConvCNP)
    table = _table(num_series=100 if quick else 2000)
    found = {"tight": Times(), "wide": Times()}
    predictor.predict(_table(num_series=10), "gaps", group="series")
    for _ in range(1 if quick else 3):
        with found["tight"].measure():
            predictor.predict(table, "gaps", group="series")
        with _on_wide_grids(predictor.model), found["wide"].measure():
            predictor.predict(table, "gaps", group="series")
    per_second = {name: len(table) / POINTS / median(times.wall) for name, times in found.items()}
    ratio = median(found["wide"].cpu) / median(found["tight"].cpu)
    parts = {f"series per s, {name} grids": round(speed) for name, speed in per_second.items()}
    return [Finding("prediction, many series", ratio, "x", least=2.5, parts=parts)]


@contextmanager
def _on_wide_grids(model: ConvCNP) -> Iterator[None]:
    assert isinstance(model.cnn, UNet)
    model.cnn.takes_tight_grids = False
    try:
        yield
    finally:
        model.cnn.takes_tight_grids = True


def _table(num_series: int) -> pd.DataFrame:
    """Return noisy waves at whole times, some of whose values are missing."""
    rng = np.random.default_rng(0)
    x = np.arange(float(POINTS))
    phase, size = rng.uniform(0, 6, (num_series, 1)), rng.uniform(0.5, 2, (num_series, 1))
    y = size * np.sin(x / 5 + phase) + 0.1 * rng.standard_normal((num_series, POINTS))
    for row in y:
        row[rng.choice(POINTS - 2, GAPS, replace=False) + 1] = np.nan
    names = np.repeat([f"series {i}" for i in range(num_series)], POINTS)
    return pd.DataFrame({"series": names, "time": np.tile(x, num_series), "value": y.ravel()})
