"""Methods side by side on real series with points removed: scores, and the time they take."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from convcnp.core.predictive import Predictive
from convcnp.core.task import Task
from convcnp.data.source import seeded
from convcnp.extras import import_extra
from convcnp.paper.baselines.fitted_gp import FittedGP
from convcnp.paper.baselines.interpolation import Interpolation, cubic_spline, linear
from convcnp.paper.real_series import REMOVALS, SERIES, RealSeries, check_known, real_series
from convcnp.predict.user_units import InUserUnits
from convcnp.predict.zoo import load
from convcnp.storage import write_atomically, writing
from convcnp.training.provenance import commit, hardware, versions
from convcnp.training.run import read_result

Method = Callable[[Task], Predictive]
Scores = dict[str, list[dict[str, Any]]]  # by removal, one per seed
Report = Callable[[str, str, Scores], None]

GENERAL_MODEL = "general"  # its name among the shipped models
SEEDS = (0, 1, 2)  # of the removal


def _general() -> Method:
    predictor = load(GENERAL_MODEL)
    return InUserUnits(predictor.model, predictor.experiment.source())


class NamedMethod(NamedTuple):
    """A method's heading in tables, and how to set it up."""

    label: str
    build: Callable[[], Method]


METHODS = {
    "general": NamedMethod("General model", _general),
    "gp": NamedMethod("Fitted GP", FittedGP),
    "splines": NamedMethod("Cubic splines", lambda: Interpolation(cubic_spline)),
    "linear": NamedMethod("Linear interpolation", lambda: Interpolation(linear)),
}


def compare(
    series: Sequence[str],
    methods: Sequence[str],
    out: Path,
    report: Report = lambda series, method, scores: None,
) -> list[Path]:
    """Score methods on series, and merge their results into one file per series.

    What other methods scored before stays, and each method says on what machine and with which
    versions it ran: so a new model needs no fitted GP again. A file is written after every method.

    Args:
        report: Called after every method on every series, with both names and the scores.
    """
    check_known("--series", series, SERIES)
    check_known("--methods", methods, METHODS)
    origin = _origin()
    ready = {name: _warmed(METHODS[name].build()) for name in methods}
    paths = []
    for name in series:
        measured = real_series(name)
        for method, predict in ready.items():
            found = scores(measured, predict)
            _merge(out / f"{name}.json", measured, method, {"scores": found, **origin})
            report(name, method, found)
        paths.append(out / f"{name}.json")
    return paths


def scores(series: RealSeries, method: Method) -> Scores:
    """Score a method on a series, for every way and seed of removing points."""
    return {
        removal: [
            {"seed": seed, **score(method, series.without(remove(series.num_points, seeded(seed))))}
            for seed in SEEDS
        ]
        for removal, remove in REMOVALS.items()
    }


def score(method: Method, task: Task) -> dict[str, Any]:
    """Predict a task's targets, and return the scores per target and the time.

    Seconds are those of the processor, fitting and predicting together, on one thread: what an
    idle machine would take, whatever else this one does.
    """
    assert task.y_target is not None
    with import_extra("threadpoolctl", "baselines").threadpool_limits(1):
        start = time.process_time()
        predictive = method(task)
        seconds = time.process_time() - start
    return {
        "num_context": task.x_context.shape[1],
        "num_target": task.x_target.shape[1],
        "log_likelihood": predictive.log_likelihood(task.y_target).item(),
        "crps": predictive.crps(task.y_target).mean().item(),
        "coverage": predictive.covers(task.y_target).double().mean().item(),
        "seconds": seconds,
    }


def _warmed(method: Method) -> Method:
    """Call a method once: the first call imports libraries, which is not the time it takes."""
    x = np.arange(12.0)
    method(Task.from_arrays(x, np.sin(x), x + 0.5))
    return method


def _origin() -> dict[str, Any]:
    modules = {name: name for name in ("numpy", "scipy", "statsmodels")}
    modules |= {"scikit-learn": "sklearn", "vega-datasets": "vega_datasets"}
    found = {
        name: str(import_extra(module, "baselines").__version__) for name, module in modules.items()
    }
    return {"hardware": hardware(), "versions": versions() | found, "commit": commit()}


def _merge(path: Path, series: RealSeries, method: str, result: dict[str, Any]) -> None:
    """Write one method's result into a series' file, and leave those of other methods alone."""
    known = (read_result(path, "methods")["methods"] if path.exists() else {}) | {method: result}
    content = {
        "name": f"{path.parent.name}/{path.stem}",
        "quantity": series.quantity,
        "unit": series.unit,
        "time_unit": series.time_unit,
        "source": series.source,
        "num_points": series.num_points,
        "methods": {name: known[name] for name in METHODS if name in known},
    }
    with writing(path.parent):
        write_atomically(path, (json.dumps(content, indent=2) + "\n").encode())
