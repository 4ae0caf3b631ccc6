"""Weights that a training begins with: those of a model that ships, or of an earlier run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from convcnp.errors import ExperimentError, did_you_mean
from convcnp.models.base import Model
from convcnp.storage import WEIGHTS, read_tensors
from convcnp.training.checkpoint import BEST, RESULT


def begin_with(model: Model, name: str, runs: Path | None = None) -> dict[str, Any]:
    """Give a model the weights of another, and return what these have seen in training.

    Args:
        runs: Folder of runs, for models that do not ship.

    Example:
        >>> from convcnp.models.convcnp import ConvCNP
        >>> begin_with(ConvCNP.small(), "eq-convcnp")["steps"]
        51200
    """
    weights, told = WEIGHTS / f"{name}.safetensors", WEIGHTS / f"{name}.json"
    if not weights.exists() and runs is not None:
        weights, told = runs / name / BEST, runs / name / RESULT
    if not (weights.exists() and told.exists()):
        hint = did_you_mean(name, (path.stem for path in WEIGHTS.glob("*.safetensors")))
        where = "" if runs is None else f" or that was trained before into {runs}"
        raise ExperimentError(f"start must name a model that ships{where}, got {name!r}{hint}")
    tensors, _ = read_tensors(weights)
    try:
        model.load_state_dict(tensors)
    except RuntimeError as error:
        raise ExperimentError(
            f"start must name a model like the one to train, but the weights of {name!r} do not "
            f"fit it ({str(error).splitlines()[-1].strip()}); give both the same model settings."
        ) from error
    result = json.loads(told.read_text())
    earlier = result.get("start", {})
    sums = {key: result[key] + earlier.get(key, 0) for key in _SUMMED if key in result}
    return {"name": name} | sums


_SUMMED = ("steps", "epochs", "seconds")  # of all trainings, one after the other
