"""Light curves against the Gaussian process that is fitted to each, and the simulator's speed."""

from __future__ import annotations

import random
from dataclasses import replace
from statistics import mean, median

import numpy as np
import torch

from benchmarks.timing import Finding, Times, interleaved
from convcnp.data.lotka_volterra import LotkaVolterraSource
from convcnp.data.plasticc import PlasticcSource
from convcnp.data.source import seeded
from convcnp.errors import DataError
from convcnp.models.base import Model
from convcnp.models.convcnp import ConvCNP
from convcnp.paper.baselines import kaggle_gp
from convcnp.predict.zoo import load

BATCH_SIZE = 50


@torch.inference_mode()
def light_curves(quick: bool) -> list[Finding]:
    """Compare predicting objects, those of similar size at once, with fitting the GP to each."""
    xl = ConvCNP.xl(dim_y=6, points_per_unit=256.0).eval()
    ours = load("plasticc-convcnp-ours")
    assert isinstance(ours.source, PlasticcSource)
    return [
        _to_gp("ConvCNPXL", xl, PlasticcSource(), 50.0, quick),
        _to_gp("ours, told the errors,", ours.model, ours.source, None, quick),
    ]


def _to_gp(
    label: str, model: Model, source: PlasticcSource, least: float | None, quick: bool
) -> Finding:
    name = f"light curves, {label} to GP"
    source = source.held_out("test")
    try:
        batches = source.curves().size.argsort().split(BATCH_SIZE)[:: 8 if quick else 2]
    except DataError as error:
        return Finding(name, None, "", parts={"not available": str(error)})
    one, many, gp = Times(), Times(), Times()
    for step, objects in enumerate(batches):
        task = source.take(objects, seeded(1, step))
        measured = replace(source, units="none", errors=True).take(objects, seeded(1, step))
        repeated = interleaved({"model": lambda _, task=task: model(task)}, 3, warmup=1)["model"]
        many.wall.append(median(repeated.wall))
        many.cpu.append(median(repeated.cpu))
        for i in range(0, len(objects), 10):
            with one.measure():
                model(task[i])
            with gp.measure():
                kaggle_gp.predict(measured[i])
    objects_in_all = sum(map(len, batches))
    per_object, per_object_cpu = (sum(t) / objects_in_all for t in (many.wall, many.cpu))
    parts = {
        f"ms per object, {BATCH_SIZE} at once": round(1e3 * per_object, 2),
        "ms, one object": round(1e3 * mean(one.wall), 2),
        "GP ms": round(1e3 * mean(gp.wall), 2),
        "ratio, one object": round(mean(gp.wall) / mean(one.wall), 1),
        "processor-time ratio": round(mean(gp.cpu) / per_object_cpu, 1),
    }
    return Finding(name, mean(gp.wall) / per_object, "x", least=least, parts=parts)


def simulation(quick: bool) -> list[Finding]:
    """Compare the events per second of the simulator and of a plain event loop."""
    source = LotkaVolterraSource()
    runs = source.runs(np.random.default_rng(0))
    next(runs)  # compiles
    ours, plain, draws = Times(), Times(), Times()
    events, plain_events = [], []
    rng = random.Random(0)
    for _ in range(3 if quick else 10):
        with ours.measure():
            events.append(sum(len(next(runs).times) for _ in range(20)))
        with plain.measure():
            plain_events.append(run_plainly(rng))
    for step in range(3 if quick else 10):
        with draws.measure():
            source.draw(50, seeded(0, step))

    def per_event(seconds: list[float], counts: list[int]) -> float:
        return sum(seconds) / sum(counts)

    parts = {
        "ns per event": round(1e9 * per_event(ours.wall, events), 1),
        "plain ns per event": round(1e9 * per_event(plain.wall, plain_events), 1),
        "processor-time ratio": round(
            per_event(plain.cpu, plain_events) / per_event(ours.cpu, events), 1
        ),
        "ms to draw 50 tasks": round(draws.milliseconds, 1),
    }
    ratio = per_event(plain.wall, plain_events) / per_event(ours.wall, events)
    return [Finding("simulation, to a plain event loop", ratio, "x", least=50.0, parts=parts)]


def run_plainly(rng: random.Random, max_events: int = 10_000) -> int:
    """Simulate one run at the paper's rates, the straightforward way; return its events."""
    theta_1, theta_2, theta_3, theta_4 = 0.01, 0.5, 1.0, 0.01
    time, predators, prey = 0.0, 50, 100
    series = [(time, predators, prey)]
    while predators > 0 and prey > 0 and time < 100 and len(series) < max_events:
        rates = (
            theta_1 * predators * prey,
            theta_2 * predators,
            theta_3 * prey,
            theta_4 * predators * prey,
        )
        time += rng.expovariate(sum(rates))
        event = rng.choices((0, 1, 2, 3), rates)[0]
        if event == 0:
            predators += 1
        elif event == 1:
            predators -= 1
        elif event == 2:
            prey += 1
        else:
            prey -= 1
        series.append((time, predators, prey))
    return len(series)
