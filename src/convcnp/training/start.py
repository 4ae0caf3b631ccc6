"""Weights that a training begins with: those of a model that ships with the package."""

from __future__ import annotations

import json
from typing import Any

from convcnp.errors import ExperimentError, did_you_mean
from convcnp.models.base import Model
from convcnp.storage import WEIGHTS, read_tensors


def begin_with(model: Model, name: str) -> dict[str, Any]:
    """Give a model the weights of a shipped one, and return what these have seen in training.

    Example:
        >>> from convcnp.models.convcnp import ConvCNP
        >>> begin_with(ConvCNP.small(), "eq-convcnp")["steps"]
        51200
    """
    path = WEIGHTS / f"{name}.safetensors"
    if not path.exists():
        hint = did_you_mean(name, (path.stem for path in WEIGHTS.glob("*.safetensors")))
        raise ExperimentError(f"start must name a model that ships, got {name!r}{hint}")
    tensors, _ = read_tensors(path)
    try:
        model.load_state_dict(tensors)
    except RuntimeError as error:
        raise ExperimentError(
            f"start must name a model like the one to train, but the weights of {name!r} do not "
            f"fit it ({str(error).splitlines()[-1].strip()}); give both the same model settings."
        ) from error
    result = json.loads((WEIGHTS / f"{name}.json").read_text())
    earlier = result.get("start", {})
    sums = {key: result[key] + earlier.get(key, 0) for key in _SUMMED if key in result}
    return {"name": name} | sums


_SUMMED = ("steps", "epochs", "seconds")  # of all trainings, one after the other
