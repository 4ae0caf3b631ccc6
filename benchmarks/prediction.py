"""Prediction of long series: the time per point must not grow with their length."""

from __future__ import annotations

from statistics import median

from benchmarks.memory import long_series
from benchmarks.timing import Finding, Times
from convcnp import predict_in_tiles
from convcnp.models.convcnp import ConvCNP

SIZES = (10**3, 10**4, 10**5, 10**6)


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
