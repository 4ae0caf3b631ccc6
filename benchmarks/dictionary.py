"""How long the dictionary of Gaussian processes takes for series of many lengths."""

from __future__ import annotations

from statistics import median

import numpy as np
import torch

from benchmarks.timing import Finding, Times
from convcnp.core.task import Task
from convcnp.models.dictionary.model import GaussianProcessDictionary

_SIZES = (100, 300, 1_000, 100_000)
_TARGETS = 100
_MOST = {300: 50.0}  # milliseconds of the processor, on one thread


@torch.inference_mode()
def dictionary(quick: bool) -> list[Finding]:
    """Measure the processor's time on one thread, weighing and predicting together."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return [_predicted(size, quick) for size in (_SIZES[:2] if quick else _SIZES)]
    finally:
        torch.set_num_threads(before)


def _predicted(size: int, quick: bool) -> Finding:
    task, times = seasonal(size), Times()
    repetitions = 3 if quick or size > 1_000 else 15
    GaussianProcessDictionary()(task if size <= 1_000 else seasonal(1_000))
    for _ in range(repetitions):
        model = GaussianProcessDictionary()  # one that does not know the series
        with times.measure():
            model(task)
    name = f"dictionary, {size:,} points"
    parts: dict[str, float | str] = {"ms by the clock": round(times.milliseconds, 1)}
    return Finding(name, 1e3 * median(times.cpu), "ms", most=_MOST.get(size), parts=parts)


def seasonal(size: int) -> Task:
    """Make a season on a random walk, regular in time, and ask between its points."""
    random = np.random.default_rng(0)
    x = np.arange(float(size))
    y = np.sin(2 * np.pi * x / 12) + np.cumsum(random.normal(0, 0.1, size))
    at = np.linspace(0, size - 1, _TARGETS)
    return Task.from_arrays(x, y + random.normal(0, 0.2, size), at)
