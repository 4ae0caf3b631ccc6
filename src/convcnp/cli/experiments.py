"""Commands for experiments: run one, score a trained model again, list and publish models."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from convcnp.cli.console import complain, say, show_table
from convcnp.cli.options import (
    TIMEOUT,
    Accelerator,
    AsJson,
    Devices,
    Nodes,
    Precision,
    Results,
    Resume,
    Settings,
    Threads,
    Timeout,
)
from convcnp.errors import SettingError

if TYPE_CHECKING:
    from convcnp.data.source import NamedSource
    from convcnp.training.experiment import Experiment
    from convcnp.training.processes import Processes


def run(
    file: Annotated[
        Path, typer.Argument(help="Experiment file, such as experiments/table1/eq-convcnp.toml.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="Directory of the run; runs/TABLE/CELL if left out.")
    ] = None,
    resume: Resume = False,
    smoke: Annotated[
        bool, typer.Option("--smoke", help="A few steps only, to see that it works.")
    ] = False,
    settings: Settings = None,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Also write metrics for TensorBoard.")
    ] = False,
    accelerator: Accelerator = "cpu",
    devices: Devices = None,
    nodes: Nodes = None,
    precision: Precision = "32",
    timeout: Timeout = TIMEOUT,
    threads: Threads = 1,
) -> None:
    """Train and evaluate one experiment, and write its result."""
    from convcnp.training.experiment import Experiment

    with training(accelerator, devices, nodes, precision, timeout, threads) as processes:
        experiment = Experiment.load(file, settings or [], smoke=smoke)
        name = f"{file.resolve().parent.name}/{file.stem}"
        directory = out or Path("runs", *(["smoke"] if smoke else []), name)
        say_if_new(directory, resume)
        try:
            result = _run_told(processes, experiment, name, directory, resume, tensorboard)
        except KeyboardInterrupt:
            stop(directory)
        if processes.is_first:
            print(f"{file.stem}: {result_in_words(result)}\nWrote {directory}.")


def _run_told(
    processes: Processes,
    experiment: Experiment,
    name: str,
    directory: Path,
    resume: bool,
    tensorboard: bool,
) -> dict[str, Any]:
    """Run an experiment, with bars, and with metrics for TensorBoard if they are asked for."""
    from convcnp.cli.progress import ProgressReporter, both, downloads_shown
    from convcnp.paper.scores import further_scores
    from convcnp.training.run import run as run_experiment
    from convcnp.training.tensorboard import TensorBoard

    fabric = processes.launch()
    writes_metrics = tensorboard and processes.is_first
    with (
        downloads_shown(),
        ProgressReporter(Path(name).name, experiment.training.steps) as bar,
        TensorBoard(directory) if writes_metrics else nullcontext() as metrics_writer,
    ):
        return run_experiment(
            experiment,
            name,
            directory,
            resume=resume,
            fabric=fabric,
            report=both(bar, metrics_writer) if metrics_writer else bar,
            further_scores=further_scores,
        )


@contextmanager
def training(
    accelerator: str,
    devices: int | None,
    nodes: int | None,
    precision: str,
    timeout: float,
    threads: int,
) -> Iterator[Processes]:
    """Let the first of the processes that train together speak, and all end when one fails."""
    import torch

    from convcnp.training.processes import Processes

    torch.set_num_threads(threads)
    processes = Processes(accelerator, devices, nodes, precision, timeout)
    with processes.one_voice(complain):
        yield processes


def evaluate(
    name: Annotated[
        str, typer.Argument(help="A shipped model (see `convcnp models`) or a run's directory.")
    ],
    tasks: Annotated[
        int | None, typer.Option(min=2, help="Number of tasks; as many as in its result.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=2**30 - 1, help="Seed of the tasks; that of its result."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="The table, or folder or zip file of images, that it was trained on."),
    ] = None,
    part: Annotated[
        str,
        typer.Option(
            help="Of its data: test, validation, or training, to see what was learned by heart."
        ),
    ] = "test",
    into: Annotated[
        Path | None,
        typer.Option(help="Folder of the result files: a shipped model's gets the new scores."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compute a trained model's log-likelihood again, on tasks of the kind it was trained on."""
    from convcnp.cli.progress import downloads_shown
    from convcnp.paper.scores import further_scores
    from convcnp.predict.zoo import load, rescore
    from convcnp.training.run import evaluate as score

    asked = {"num_tasks": tasks, "seed": seed}
    if into is not None and (part != "test" or any(v is not None for v in asked.values())):
        raise SettingError(
            f"--into keeps scores on the tasks of a model's own result, got --tasks {tasks} --seed "
            f"{seed} --part {part}; leave those out."
        )
    predictor = load(name)
    source = _part(_with_data(predictor.experiment, data).source(), part)
    settings = predictor.experiment.evaluation.model_copy(
        update={key: value for key, value in asked.items() if value is not None}
    )
    with downloads_shown():
        result = score(predictor.model, source, settings, further_scores)
    if into is not None:
        for path in rescore(predictor.name, result, into):
            say(f"Wrote {path}.")
    if as_json:
        print(json.dumps({"name": predictor.name, "seed": settings.seed, **result}))
    else:
        print(f"{predictor.name}: {result_in_words(result)}")


def _part(source: NamedSource, part: str) -> NamedSource:
    """Return the source of the tasks of a part, if there is such a part."""
    from convcnp.data.splits import PARTS

    found = next((known for known in PARTS if known == part), None)
    if found is None:
        raise SettingError(f"--part must be one of {', '.join(PARTS)}, got {part!r}; choose one.")
    if part != "test" and not hasattr(source, "part"):
        raise SettingError(
            f"--part is for models of a data set, got {part!r} for one whose tasks are made up "
            "anew; leave it out."
        )
    return source.held_out(found)


def _with_data(experiment: Experiment, data: Path | None) -> Experiment:
    """Let a model's source read the data that the user names, and no other that its file names."""
    named = experiment.data.get("path")
    if named is None and data is not None:
        raise SettingError(
            f"--data is for models that were trained on a table or images, got {data} for one of "
            f"{experiment.data['name']!r}; leave it out."
        )
    if named is None:
        return experiment
    if data is None:
        raise SettingError(
            f"Expected the data that this model was trained on, which its description says is "
            f"{named}; name it with --data, to let it be read."
        )
    return experiment.model_copy(update={"data": {**experiment.data, "path": str(data.resolve())}})


def models(
    numbers: Annotated[
        bool, typer.Option("--numbers", help="Show scores and sizes instead of uses.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the trained models that ship with the package, and what each is for."""
    from convcnp.predict.zoo import available

    shipped = list(available())
    if as_json:
        print(json.dumps(shipped))
        return
    if not numbers:
        uses = [[Path(result["name"]).name, result["for"]] for result in shipped]
        show_table(["Name", "What it is for"], uses, whole=["Name"])
        return
    rows = [
        [
            Path(result["name"]).name,
            result["experiment"]["data"]["name"],
            f"{result['log_likelihood']:.2f} ± {result['standard_error']:.2f}",
            f"{result['parameters']:,}",
            f"{result['bytes'] / 1000:.0f} kB",
        ]
        for result in shipped
    ]
    show_table(["Name", "Data", "Log-likelihood", "Parameters", "Size"], rows, whole=["Name"])


def publish(
    directory: Annotated[Path, typer.Argument(help="Directory of a finished run.")],
    results: Results = Path("results"),
    weights: Annotated[bool, typer.Option(help="Ship the weights with the package.")] = True,
) -> None:
    """Copy a run's result into the results folder, and its weights into the package."""
    from convcnp.predict.zoo import publish as copy_run

    for path in copy_run(directory, results, weights=weights):
        print(f"Wrote {path}.")


def say_if_new(directory: Path, resume: bool) -> None:
    """Say that there is nothing to go on from, if that is so."""
    from convcnp.training.checkpoint import CHECKPOINT

    if resume and not (directory / CHECKPOINT).exists():
        say(f"There is no checkpoint in {directory} to go on from: the run starts afresh.")


def stop(directory: Path) -> NoReturn:
    """Say after Ctrl-C how to go on."""
    from convcnp.training.checkpoint import EXPERIMENT

    kept = f"The run is kept in {directory}; the same command with --resume goes on."
    say(f"Stopped. {kept if (directory / EXPERIMENT).exists() else 'Nothing was written yet.'}")
    raise typer.Exit(130)


def result_in_words(result: dict[str, Any]) -> str:
    """Tell a result: the log-likelihood, and what else the model was judged by, a line each."""
    text = (
        f"log-likelihood per target point {result['log_likelihood']:.3f} ± "
        f"{result['standard_error']:.3f} over {result['num_tasks']} tasks"
    )
    exact = result.get("exact_gp")
    text = f"{text} (exact GP: {exact['log_likelihood']:.3f})." if exact else f"{text}."
    return "\n".join([text, *_further_scores(result)])


def _further_scores(result: dict[str, Any]) -> Iterator[str]:
    for name, score in result.get("lynx_hare", {}).items():
        yield (
            f"Lynx and hare in thousands, {name.replace('_', ' ')}: log-likelihood "
            f"{score['log_likelihood']:.3f}; {100 * score['coverage50']:.0f} % in the 50 % band, "
            f"{100 * score['coverage90']:.0f} % in the 90 % band."
        )
    for points in ("all_points", "kept_points") if "light_curves" in result else ():
        for name, score in result["light_curves"][points].items():
            yield (
                f"{points.replace('_', ' ').capitalize()}, {name.replace('_', ' ')}: "
                f"log-likelihood {score['log_likelihood']:.3f} ± {score['standard_error']:.3f} "
                f"(median {score['median_log_likelihood']:.3f}), squared error "
                f"{score['squared_error']:.4f} ± {score['squared_error_standard_error']:.4f}."
            )
