"""Trained models that ship with the package."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from convcnp.errors import ModelNotFoundError, SettingError, did_you_mean
from convcnp.storage import WEIGHTS, write_atomically

# What needs torch is imported where it is needed: to list models takes none.
if TYPE_CHECKING:
    from convcnp.predict.predictor import Predictor

USES = WEIGHTS / "uses.toml"  # a sentence for each: what it is for


def load(name: str | Path) -> Predictor:
    """Load a model that ships with the package by its name, or one's own from a run's directory.

    Example:
        >>> predictor = load("eq-convcnp")
        >>> predictor.model.num_parameters
        6516
    """
    from convcnp.predict.predictor import Predictor
    from convcnp.training.checkpoint import BEST, RESULT

    directory = Path(name)
    if (directory / BEST).exists():
        weights, description = directory / BEST, directory / RESULT
    else:
        weights, description = WEIGHTS / f"{name}.safetensors", WEIGHTS / f"{name}.json"
    if not weights.exists() or not description.exists():
        _refuse(str(name))
    return Predictor.read(Path(name).name, weights, description)


def is_shipped(name: str) -> bool:
    """Tell whether a model of this name ships with the package."""
    return (WEIGHTS / f"{name}.json").exists()


def available() -> Iterator[dict[str, Any]]:
    """Yield the results of all shipped models, what each is `for`, and its weights in `bytes`.

    Those for data of one's own come first.

    Example:
        >>> next(available())["for"]
        'Any series, and points in the plane, without training: begin with this one.'
    """
    uses = tomllib.loads(USES.read_text())
    order = {name: place for place, name in enumerate(uses)}
    for path in sorted(WEIGHTS.glob("*.json"), key=lambda p: (order.get(p.stem, len(uses)), p)):
        result = json.loads(path.read_text())
        size = path.with_suffix(".safetensors").stat().st_size
        yield result | {"for": uses.get(path.stem, ""), "bytes": size}


def publish(directory: Path, results: Path, *, weights: bool = True) -> list[Path]:
    """Copy a finished run's result into the table's folder, and its weights into the package."""
    from convcnp.training.checkpoint import BEST, RESULT

    if not (directory / RESULT).exists() or not (directory / BEST).exists():
        raise ModelNotFoundError(
            f"Expected a finished run in {directory}, but {RESULT} or {BEST} is missing; let "
            "`convcnp run` finish first."
        )
    name = _name(directory / RESULT)
    cell = Path(name).name
    copies = {results / f"{name}.json": directory / RESULT}
    if weights:
        if is_shipped(cell) and (other := _name(WEIGHTS / f"{cell}.json")) != name:
            raise SettingError(
                f"The weights of {other} ship under the name {cell!r}, which {name} has as well; "
                "publish this one without weights."
            )
        copies[WEIGHTS / f"{cell}.safetensors"] = directory / BEST
        copies[WEIGHTS / f"{cell}.json"] = directory / RESULT
    for target, origin in copies.items():
        write_atomically(target, origin.read_bytes())
    return list(copies)


def rescore(name: str, scores: dict[str, Any], results: Path) -> list[Path]:
    """Put new scores into the result of a shipped model; how it was trained stays as it is."""
    from convcnp.training.provenance import commit

    if not is_shipped(name):
        _refuse(name)
    shipped = WEIGHTS / f"{name}.json"
    result = json.loads(shipped.read_text()) | scores | {"scored_at_commit": commit()}
    paths = [shipped, results / f"{_name(shipped)}.json"]
    for path in paths:
        write_atomically(path, (json.dumps(result, indent=2) + "\n").encode())
    return paths


def _name(result: Path) -> str:
    """Return the experiment that a result file is of, with its table."""
    from convcnp.training.run import read_result

    return str(read_result(result, "name")["name"])


def _refuse(name: str) -> None:
    hint = did_you_mean(name, (path.stem for path in WEIGHTS.glob("*.json")))
    raise ModelNotFoundError(
        f"Expected the name of a shipped model or the directory of a finished run, got {name!r}"
        f"{hint} `convcnp models` lists them."
    )
