"""The models that ship with the package, each loaded when it is first asked for."""

from __future__ import annotations

import json
import re
import threading
from functools import cached_property
from pathlib import Path
from typing import Any

from convcnp.app.questions import Shipped
from convcnp.data.source import NamedSource
from convcnp.errors import ModelNotFoundError, did_you_mean
from convcnp.predict.predictor import Predictor
from convcnp.predict.zoo import available, load
from convcnp.training.catalogue import find_source

PAPER = Path(__file__).with_name("paper.json")  # written by `make tables`
_LONGER = re.compile(r"-long(er)?$")  # of a cell's name


class Models:
    """Shipped models by name; a page names no other, and no path.

    Example:
        >>> Models()["eq-convcnp"].model.num_parameters
        6516
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: dict[str, Predictor] = {}

    @cached_property
    def listed(self) -> list[Shipped]:
        """All of them, with their numbers and the paper's."""
        paper = json.loads(PAPER.read_text())
        return [_described(result, paper) for result in available()]

    def __getitem__(self, name: str) -> Predictor:
        names = [shipped.name for shipped in self.listed]
        if name not in names:
            raise ModelNotFoundError(
                f"Expected the name of a shipped model, got {name!r}{did_you_mean(name, names)}"
            )
        with self._lock:
            if name not in self._loaded:
                self._loaded[name] = load(name)
                self._loaded[name].source  # noqa: B018 - made here, not by two threads at once
            return self._loaded[name]


def _described(result: dict[str, Any], paper: dict[str, Any]) -> Shipped:
    name, experiment = Path(result["name"]).name, result["experiment"]
    source: NamedSource = find_source(experiment["data"]["name"])
    model = experiment["model"]["name"]
    return Shipped(
        name=name,
        use=result["for"],
        data=experiment["data"]["name"],
        takes=source.takes,
        inputs=source.dim_x,
        outputs=source.dim_y,
        paper=paper.get(_LONGER.sub("", result["name"])),  # theirs were not trained shorter
        completes=model.startswith("grid-"),
        **{key: result[key] for key in _NUMBERS},
    )


_NUMBERS = ("log_likelihood", "standard_error", "parameters", "bytes")
