"""Settings of a model of one's own, chosen from its data, each explained in a sentence."""

from __future__ import annotations

import dataclasses
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from convcnp.data.source import NamedSource
from convcnp.errors import check_positive
from convcnp.frames.columns import Columns
from convcnp.training.checkpoint import Progress
from convcnp.training.experiment import Experiment, apply_override, read_toml
from convcnp.training.loop import TrainingSettings, train

Say = Callable[[str], None]

MINUTES = 10.0
_CELLS = 2**14  # of a batch
_REHEARSED = 6  # steps
_OPTIMIZER = "muon"  # a user's minutes go twice as far as with Adam (decision 40)
_RATE_OF_ADAM = 2e-3


@dataclass(frozen=True)
class Wanted:
    """What a user asked for beyond the data itself.

    Args:
        columns: Those that are named.
        settings: The content of an experiment file, as far as it is given.
        minutes: How long training may take.
    """

    columns: Columns = dataclasses.field(default_factory=Columns)
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    minutes: float = MINUTES

    @classmethod
    def of(
        cls,
        columns: Columns | None = None,
        config: Path | None = None,
        overrides: Sequence[str] = (),
        minutes: float = MINUTES,
    ) -> Wanted:
        """Read settings from a TOML file and from overrides such as `training.seed=1`."""
        check_positive("minutes", minutes)
        settings = {} if config is None else read_toml(config)
        for override in overrides:
            apply_override(settings, override)
        for kind in ("data", "model"):
            if isinstance(settings.get(kind), str):
                settings[kind] = {"name": settings[kind]}
        return cls(columns or Columns(), settings, minutes)


@dataclass(frozen=True)
class Plan:
    """An experiment with all its settings, and the source of its tasks, read already."""

    experiment: Experiment
    source: NamedSource


def merge(content: dict[str, Any], change: Mapping[str, Any]) -> None:
    """Put the changes into the content, table by table."""
    for key, value in change.items():
        if isinstance(value, Mapping) and isinstance(content.get(key), dict):
            merge(content[key], value)
        else:
            content[key] = value


class Choices:
    """Settings that are given, and settings that are chosen, each with a sentence."""

    def __init__(self, given: Mapping[str, Any], say: Say) -> None:
        self.content: dict[str, Any] = {"data": {}, "model": {}, "training": {}, "evaluation": {}}
        merge(self.content, given)
        self.say = say

    def choose(self, key: str, value: Any, reason: str | None = None) -> Any:  # noqa: ANN401
        """Take the given value, or this one and say why; return what was taken."""
        kind, name = key.split(".")
        settings = self.content[kind]
        if name in settings:
            if reason is not None:
                self.say(f"{key} = {settings[name]}, as given.")
        else:
            settings[name] = value
            if reason is not None:
                self.say(reason)
        return settings[name]

    def check(self, data: str, model: str) -> None:
        """Refuse a mistake in what is given, before any work."""
        named: dict[str, Any] = {"data": {"name": data}, "model": {"name": model}}
        merge(named, self.content)
        Experiment.parse(named)


def training_choices(
    choices: Choices,
    source: NamedSource,
    cells: float,
    minutes: float,
    *,
    learning_rate: float,
    most: int,
) -> Plan:
    """Choose the batch, then time a few steps and choose how many fit into the minutes.

    Args:
        source: Of the training tasks, as all settings of the data are chosen by now.
        cells: Of the grid of one task.
        learning_rate: Of Muon; Adam, if it is asked for, has its own.
        most: Tasks in a step: few learn more in the same time (decision 39).
    """
    batch = int(2 ** np.clip(round(math.log2(_CELLS / cells)), 1, math.log2(most)))
    choices.choose(
        "training.batch_size",
        batch,
        f"A step sees {batch} tasks, of some {cells:,.0f} grid cells each.",
    )
    optimizer = choices.choose("training.optimizer", _OPTIMIZER)
    rate = learning_rate if optimizer == _OPTIMIZER else _RATE_OF_ADAM
    choices.choose("training.learning_rate", rate)
    for key, value in {"schedule": "cosine", "average": 0.999}.items():
        choices.choose(f"training.{key}", value)
    choices.choose("evaluation.num_tasks", 200)
    pace = _rehearse(Experiment.parse(choices.content), source)
    steps = _rounded(0.75 * 60 * minutes / pace.step)
    steps = choices.choose(
        "training.steps",
        steps,
        f"Training takes {steps:,} steps, as a step takes {1000 * pace.step:.0f} ms and "
        f"{minutes:g} minutes were given.",
    )
    tasks = choices.choose("training.validation_tasks", 100)
    validations = float(np.clip(0.25 * 60 * minutes / (pace.validated * tasks), 3, 20))
    choices.choose("training.validate_every", max(1, int(steps / validations)))
    choices.choose("training.checkpoint_every", max(1, min(int(10 / pace.step), steps)))
    choices.choose("training.warmup", min(500, steps // 10))
    return Plan(Experiment.parse(choices.content), source)


def _rounded(steps: float) -> int:
    """Return two digits of a number of steps, of which there are at least twenty."""
    return int(np.clip(float(f"{steps:.2g}"), 20, 1_000_000))


@dataclass(frozen=True)
class _Pace:
    """Seconds of a training step, and of a task that is validated."""

    step: float
    validated: float


def _rehearse(experiment: Experiment, source: NamedSource) -> _Pace:
    """Train a throw-away copy for a few steps, the first of which does not count."""
    settings: TrainingSettings = experiment.training.model_copy(
        update={
            "steps": _REHEARSED,
            "validate_every": _REHEARSED,
            "validation_tasks": 4,
            "checkpoint_every": _REHEARSED,
        }
    )
    seconds: list[float] = []

    def note(progress: Progress, metrics: dict[str, float]) -> None:
        seconds.append(progress.seconds)

    with tempfile.TemporaryDirectory() as folder:
        held_out = source.held_out("validation")
        train(
            experiment.build_model(),
            source,
            settings,
            Path(folder),
            validation=held_out,
            report=note,
        )
    each = np.diff(seconds)  # the last includes the validation
    step = float(np.median(each[:-1]))
    return _Pace(step, max(float(each[-1]) - step, 1e-3) / 4)
