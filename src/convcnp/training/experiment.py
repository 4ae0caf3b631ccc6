"""Experiment files: one TOML file is one number in a table."""

from __future__ import annotations

import dataclasses
import inspect
import tomllib
import typing
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from convcnp.data.source import NamedSource
from convcnp.errors import ExperimentError, did_you_mean
from convcnp.models.base import Model
from convcnp.training.catalogue import find_model, find_source
from convcnp.training.loop import TrainingSettings

_Settings = typing.TypeVar("_Settings", bound=BaseModel)


class EvaluationSettings(BaseModel):
    """On which tasks a trained model is scored."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    num_tasks: Annotated[int, Field(ge=2)] = 1000  # one has no standard error
    seed: int = Field(2026, ge=0, lt=2**30)


class Experiment(BaseModel):
    """Data, model, training and evaluation, all settings resolved."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    data: dict[str, Any]
    model: dict[str, Any]
    start: str | None = None  # begins with the weights of a model that ships, or of another run
    training: TrainingSettings = TrainingSettings()
    evaluation: EvaluationSettings = EvaluationSettings()

    @classmethod
    def load(cls, path: Path, overrides: Sequence[str] = (), *, smoke: bool = False) -> Experiment:
        """Read a file, apply overrides of the form `training.seed=1`, and check everything.

        Args:
            smoke: Shrink training and evaluation to a few seconds.
        """
        content = read_toml(path)
        for override in [*(_SMOKE if smoke else ()), *overrides]:
            apply_override(content, override)
        return cls.parse(content)

    @classmethod
    def parse(cls, content: dict[str, Any]) -> Experiment:
        """Check and resolve the content of an experiment file."""
        content = dict(content)
        for kind, settings in (("data", _data_settings), ("model", _model_settings)):
            if kind in content:
                content[kind] = _resolve(kind, content[kind], settings)
        return _validated(cls, content, "")

    def source(self) -> NamedSource:
        """Build the source of training tasks; its `held_out` has those of validation and test."""
        settings = dict(self.data)
        return dataclasses.replace(find_source(settings.pop("name")), **settings)  # type: ignore[type-var]

    def build_model(self) -> Model:
        """Build the untrained model; the same seed gives the same weights."""
        settings, source = dict(self.model), self.source()
        build, _, make = find_model(settings.pop("name"))
        if make is not None:
            of_head = {key: settings.pop(key) for key in _options(make) if key in settings}
            settings["head"] = make(**of_head)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.training.seed)
            return build(source.dim_x, source.dim_y, **settings)


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file of settings."""
    try:
        return tomllib.loads(path.read_text())
    except FileNotFoundError as error:
        hint = did_you_mean(str(path), map(str, path.parent.glob("*.toml")))
        raise ExperimentError(
            f"Expected an experiment file, but {path} does not exist{hint}"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise ExperimentError(f"{path} must be a readable TOML file: {error}.") from error


# Settings that descriptions of older models have, and that no longer belong to a model.
_RETIRED = ("max_cells",)

_SMOKE = (
    "training.steps=6",
    "training.validate_every=4",
    "training.checkpoint_every=2",
    "training.validation_tasks=8",
    "evaluation.num_tasks=8",
)


def _data_settings(name: str) -> type[BaseModel]:
    source = find_source(name)
    hints = typing.get_type_hints(type(source))
    return _settings({name: (hints[name], getattr(source, name)) for name in source.options})


def _model_settings(name: str) -> type[BaseModel]:
    _, functions, make = find_model(name)
    options: dict[str, tuple[Any, Any]] = {}
    # The head last: a file names it, where a class takes one.
    for function in (*functions, *([] if make is None else [make])):
        options |= _options(function)
    return _settings(options)


def _options(function: Callable[..., Any]) -> dict[str, tuple[Any, Any]]:
    """Return the types and defaults of a function's keyword-only arguments."""
    hints = typing.get_type_hints(function.__init__ if inspect.isclass(function) else function)
    return {
        parameter.name: (hints.get(parameter.name, Any), parameter.default)
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
    }


def _settings(options: dict[str, tuple[Any, Any]]) -> type[BaseModel]:
    config = ConfigDict(extra="forbid", frozen=True)
    return create_model("Settings", __config__=config, **options)  # type: ignore[call-overload]


def _resolve(
    kind: str, value: object, settings: Callable[[str], type[BaseModel]]
) -> dict[str, Any]:
    """Turn `model = "name"` or a table with a name into all its settings."""
    table = {"name": value} if isinstance(value, str) else value
    if not isinstance(table, dict) or not isinstance(table.get("name"), str):
        raise ExperimentError(
            f'{kind} must be a name or a table with a name, got {value!r}; write {kind} = "..."'
        )
    given = {key: item for key, item in table.items() if key not in ("name", *_RETIRED)}
    return {"name": table["name"]} | _validated(
        settings(table["name"]), given, f"{kind}."
    ).model_dump(exclude_none=True)


def _validated(model: type[_Settings], content: dict[str, Any], prefix: str) -> _Settings:
    """Validate, and turn the first complaint into a sentence."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        key = prefix + ".".join(map(str, first["loc"]))
        if first["type"] == "extra_forbidden":
            known = _fields_at(model, first["loc"][:-1])
            suggestion = did_you_mean(str(first["loc"][-1]), known)
            raise ExperimentError(
                f"Unknown key {key!r}{suggestion} Known here: {', '.join(sorted(known))}."
            ) from None
        if first["type"] == "missing" and key in ("data", "model", "data.name", "model.name"):
            raise ExperimentError(
                f"The key {key!r} is missing; every experiment names its data and model."
            ) from None
        raise ExperimentError(f"{key}: {first['msg'].lower()}, got {first['input']!r}.") from None


def _fields_at(model: type[BaseModel], location: Sequence[Any]) -> list[str]:
    for key in location:
        model = typing.cast(type[BaseModel], model.model_fields[key].annotation)
    return list(model.model_fields)


def apply_override(content: dict[str, Any], override: str) -> None:
    """Set one key, given as `a.b=value` with the value in TOML (or a bare word)."""
    key, separator, text = override.partition("=")
    if not separator or not key.strip():
        raise ExperimentError(
            f"An override must read key=value, got {override!r}; write training.seed=1."
        )
    try:
        value = tomllib.loads(f"value = {text.strip()}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()
    *parents, last = key.strip().split(".")
    for parent in parents:
        inner = content.setdefault(parent, {})
        if isinstance(inner, str):  # model = "convcnp" becomes a table
            inner = content[parent] = {"name": inner}
        if not isinstance(inner, dict):
            raise ExperimentError(
                f"{parent!r} in {override!r} must be a table of settings; check the key."
            )
        content = inner
    content[last] = value
