"""From an experiment file to a result file: train, evaluate, record."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from convcnp.core.task import Task
from convcnp.data.source import FiniteSource, NamedSource, Source
from convcnp.errors import CheckpointError, ExperimentError, ResultError
from convcnp.models.base import Model
from convcnp.storage import write_atomically, writing
from convcnp.training.checkpoint import CHECKPOINT, EXPERIMENT, RESULT, Progress
from convcnp.training.evaluation import TEST_SEEDS, Score, fixed_tasks, log_likelihoods
from convcnp.training.experiment import EvaluationSettings, Experiment
from convcnp.training.lock import locked
from convcnp.training.loop import Reporter, train
from convcnp.training.provenance import commit, hardware, versions
from convcnp.training.start import begin_with
from convcnp.training.together import by_first, by_first_then_others, is_first, num_processes

if TYPE_CHECKING:
    from lightning_fabric import Fabric


# What else a model of such tasks is judged by.
FurtherScores = Callable[[Model, Source, EvaluationSettings], dict[str, Any]]


def no_further_scores(model: Model, source: Source, settings: EvaluationSettings) -> dict[str, Any]:
    """Judge a model by its log-likelihood alone."""
    return {}


def run(
    experiment: Experiment,
    name: str,
    directory: Path,
    *,
    resume: bool = False,
    fabric: Fabric | None = None,
    report: Reporter = lambda progress, metrics: None,
    source: NamedSource | None = None,
    further_scores: FurtherScores = no_further_scores,
) -> dict[str, Any]:
    """Train and evaluate, and return the result that was written to the run's directory.

    Of several processes only the first evaluates; the others return nothing of a result.

    Args:
        name: The table's folder and the cell's name, such as `table1/eq-convcnp`.
        directory: Holds the resolved experiment, metrics, checkpoint, weights and the result.
        source: The experiment's own, where its data were read already.
        further_scores: What else to put into the result, as the paper's data sets ask for.
    """
    with ExitStack() as stack:

        def prepare() -> None:
            stack.enter_context(locked(directory))
            _prepare(experiment, directory, resume=resume)

        by_first(fabric, prepare)
        model = experiment.build_model()
        start = begin_with(model, experiment.start, directory.parent) if experiment.start else None
        given = source
        source = by_first_then_others(
            fabric, lambda: experiment.source() if given is None else given
        )
        progress = train(
            model,
            source,
            experiment.training,
            directory,
            validation=source.held_out("validation"),
            fabric=fabric,
            resume=resume,
            report=report,
        )
        if not is_first(fabric):
            return {}
        result = {
            "name": name,
            **evaluate(model, source.held_out("test"), experiment.evaluation, further_scores),
            **_description(experiment, model, source, progress),
            **({} if start is None else {"start": start}),
            "processes": num_processes(fabric),
        }
        write_atomically(directory / RESULT, (json.dumps(result, indent=2) + "\n").encode())
    return result


def _description(
    experiment: Experiment, model: Model, source: NamedSource, progress: Progress
) -> dict[str, Any]:
    """Say how a model came about."""
    return {
        "parameters": model.num_parameters,
        "seed": experiment.training.seed,
        "steps": progress.step,
        **_epochs(source, experiment.training.batch_size * progress.step),
        "best_step": progress.best_step,
        "validation_log_likelihood": progress.best_score if progress.best_step else None,
        "seconds": round(progress.seconds, 1),
        "hardware": hardware(),
        "versions": versions(),
        "commit": commit(),
        "experiment": experiment.model_dump(),
    }


def _epochs(source: NamedSource, tasks: int) -> dict[str, Any]:
    """Say how many images there are to train on, and how often each was seen on average."""
    if source.takes != "images" or not isinstance(source, FiniteSource):
        return {}
    images = len(source)
    return {"training_images": images, "epochs": round(tasks / images, 2)}


def evaluate(
    model: Model,
    source: Source,
    settings: EvaluationSettings,
    further_scores: FurtherScores = no_further_scores,
) -> dict[str, Any]:
    """Score a model on fixed tasks, beside the best possible prediction where it is known."""

    def tasks() -> Iterator[Task]:
        return fixed_tasks(source, settings.num_tasks, TEST_SEEDS[settings.seed])

    model.eval()
    device = next((parameter.device for parameter in model.parameters()), "cpu")
    result: dict[str, Any] = dataclasses.asdict(Score.of(log_likelihoods(model, tasks(), device)))
    if source.ceiling(next(tasks())) is not None:
        exact = Score.of(log_likelihoods(source.ceiling, tasks()))  # type: ignore[arg-type]
        result["exact_gp"] = dataclasses.asdict(exact)
    return result | further_scores(model, source, settings)


def _prepare(experiment: Experiment, directory: Path, *, resume: bool) -> None:
    """Refuse to overwrite another run, then write down the resolved experiment."""
    content = as_toml(experiment)
    path = directory / EXPERIMENT
    if (directory / CHECKPOINT).exists() and not resume:
        raise ExperimentError(
            f"Expected a new or empty directory, but {directory} holds a run; add resume=True to "
            "continue it, or choose another with out=."
        )
    if resume and path.exists() and path.read_text() != content:
        raise CheckpointError(
            f"{directory} must hold a run of the same experiment, but {path} differs from the file "
            "and overrides given; continue with the same ones, or choose another directory with "
            "out=."
        )
    with writing(directory):
        write_atomically(path, content.encode())


def as_toml(experiment: Experiment) -> str:
    """Write an experiment with all its settings as the content of a file."""
    return tomli_w.dumps(experiment.model_dump(exclude_none=True))


def read_result(path: Path, *needed: str) -> dict[str, Any]:
    """Read a result file that has at least these keys."""
    try:
        result: dict[str, Any] = json.loads(path.read_text())
        absent = [key for key in needed if key not in result]
    except (ValueError, TypeError) as error:
        raise ResultError(
            f"{path} must be a result file in JSON ({error}); run its experiment again."
        ) from error
    if absent:
        raise ResultError(
            f"{path} must be a result file with {', '.join(needed)}, but has no {absent[0]}; run "
            "its experiment again."
        )
    return result
