"""The command line."""

from __future__ import annotations

import ctypes
import json
import platform
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from convcnp.errors import ConvCNPError, import_extra

app = typer.Typer(
    help="Predictions with honest uncertainty from irregular series and scattered points.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

Results = Annotated[Path, typer.Option(help="Folder of the result files.")]
Experiments = Annotated[Path, typer.Option(help="Folder of the experiment files.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


@app.command()
def run(
    file: Annotated[
        Path, typer.Argument(help="Experiment file, such as experiments/table1/eq-convcnp.toml.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="Directory of the run; runs/TABLE/CELL if left out.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue a run that was stopped: same result.")
    ] = False,
    smoke: Annotated[
        bool, typer.Option("--smoke", help="A few steps only, to see that it works.")
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Override a setting, such as training.seed=1. Repeatable."),
    ] = None,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Also write metrics for TensorBoard.")
    ] = False,
    accelerator: Annotated[str, typer.Option(help="Where to train: cpu or gpu.")] = "cpu",
    devices: Annotated[int, typer.Option(min=1, help="Devices, one process each.")] = 1,
    threads: Annotated[
        int, typer.Option(min=1, help="CPU threads; one is quickest for small networks.")
    ] = 1,
) -> None:
    """Train and evaluate one experiment, and write its result."""
    import torch

    from convcnp.experiment import Experiment
    from convcnp.reporting import ProgressReporter
    from convcnp.runner import run as run_experiment

    torch.set_num_threads(threads)
    _keep_freed_memory()
    experiment = Experiment.load(file, settings or [], smoke=smoke)
    name = f"{file.resolve().parent.name}/{file.stem}"
    directory = out or Path("runs", *(["smoke"] if smoke else []), name)
    fabric = import_extra("lightning_fabric", "train").Fabric(
        accelerator=accelerator, devices=devices
    )
    fabric.launch()
    try:
        with ProgressReporter(file.stem, experiment.training.steps) as report:
            result = run_experiment(
                experiment,
                name,
                directory,
                resume=resume,
                fabric=fabric,
                tensorboard=tensorboard,
                report=report,
            )
    except KeyboardInterrupt:
        _say(f"Stopped. The run is kept in {directory}; the same command with --resume goes on.")
        raise typer.Exit(130) from None
    print(f"{file.stem}: {_sentence(result)} Wrote {directory}.")


@app.command()
def evaluate(
    name: Annotated[
        str, typer.Argument(help="A shipped model (see `convcnp models`) or a run's directory.")
    ],
    tasks: Annotated[int, typer.Option(min=1, help="Number of tasks.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, max=2**30 - 1, help="Seed of the tasks.")] = 2026,
    as_json: AsJson = False,
) -> None:
    """Compute a trained model's log-likelihood again, on tasks of the kind it was trained on."""
    from convcnp.experiment import EvaluationSettings
    from convcnp.runner import evaluate as score
    from convcnp.zoo import load

    predictor = load(name)
    source = predictor.experiment.source().held_out("test")
    result = score(predictor.model, source, EvaluationSettings(num_tasks=tasks, seed=seed))
    if as_json:
        print(json.dumps({"name": predictor.name, "seed": seed, **result}))
    else:
        print(f"{predictor.name}: {_sentence(result)}")


@app.command()
def models(as_json: AsJson = False) -> None:
    """List the trained models that ship with the package."""
    from convcnp.zoo import available

    shipped = list(available())
    if as_json:
        print(json.dumps(shipped))
        return
    table = RichTable()
    table.add_column("Name", no_wrap=True)
    for heading in ("Data", "Log-likelihood", "Parameters", "Size"):
        table.add_column(heading)
    for result in shipped:
        table.add_row(
            Path(result["name"]).name,
            result["experiment"]["data"]["name"],
            f"{result['log_likelihood']:.2f} ± {result['standard_error']:.2f}",
            f"{result['parameters']:,}",
            f"{result['bytes'] / 1000:.0f} kB",
        )
    Console().print(table)


@app.command()
def table(
    name: Annotated[str, typer.Argument(help="Name of the table, such as table1.")],
    form: Annotated[str, typer.Option("--format", help="terminal, markdown or csv.")] = "terminal",
    experiments: Experiments = Path("experiments"),
    results: Results = Path("results"),
) -> None:
    """Print a table of the paper, its numbers beside ours."""
    from convcnp.errors import ResultError
    from convcnp.tables import build_table

    if form not in ("terminal", "markdown", "csv"):
        raise ResultError(f"--format must be terminal, markdown or csv, got {form!r}; choose one.")
    built = build_table(name, experiments, results)
    if form != "terminal":
        print(built.markdown() if form == "markdown" else built.csv(), end="")
        return
    rich_table = RichTable(*built.header, title=built.title)
    for row in built.rows:
        rich_table.add_row(*row)
    Console().print(rich_table)


@app.command()
def figure(
    name: Annotated[
        str, typer.Argument(help="figure2, appendix-eq, images-mnist, photo and so on.")
    ],
    out: Annotated[Path, typer.Option(help="Folder for the pictures.")] = Path("out"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of what is drawn at random.")] = 1,
    results: Results = Path("results"),
    runs: Annotated[Path, typer.Option(help="Folder of runs, for models that do not ship.")] = Path(
        "runs"
    ),
) -> None:
    """Draw a figure of the paper with the shipped models."""
    from convcnp.image_figures import draw_figure

    print(f"Wrote {draw_figure(name, out, seed, results=results, runs=runs)}.")


@app.command()
def complete(
    photo: Annotated[Path, typer.Argument(help="A picture: PNG, JPEG, grey or colour, any size.")],
    mask: Annotated[
        Path | None,
        typer.Option(help="A picture of the same size; where it is bright, pixels are missing."),
    ] = None,
    keep: Annotated[
        str | None, typer.Option(help="Share of the pixels to keep, such as 5%, drawn at random.")
    ] = None,
    box: Annotated[
        str | None, typer.Option(help="Remove a box: left,top,width,height in pixels.")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="A shipped model or a run's directory; the best one shipped.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the pictures.")] = Path("out"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the pixels kept.")] = 1,
) -> None:
    """Fill the missing pixels of a picture, and show where not to trust them.

    Transparent pixels are missing, too.
    """
    from rich.progress import Progress

    from convcnp.completion import Photo, all_but, default_model, read_mask, within
    from convcnp.completion import complete as fill
    from convcnp.errors import SettingError
    from convcnp.zoo import load

    given = Photo.read(photo)
    if mask is not None:
        given = given.without(read_mask(mask, given.shape))
    if keep is not None:
        given = given.without(all_but(keep, given.shape, seed))
    if box is not None:
        given = given.without(within(box, given.shape))
    if not given.missing.any():
        raise SettingError(
            f"Expected missing pixels, but all of {photo} are there; say which to fill with "
            "--mask, --keep or --box, or make them transparent."
        )
    predictor = load(model or default_model())
    with Progress(console=Console(stderr=True), transient=True) as bar:
        row = bar.add_task("completing")
        completion = fill(
            predictor.model,
            given,
            progress=lambda done, total: bar.update(row, completed=done, total=total),
        )
    share = given.missing.float().mean().item()
    print(
        f"Filled {share:.1%} of {given.shape[1]} x {given.shape[0]} pixels with {predictor.name}; "
        f"standard deviation there {completion.doubt[given.missing].mean():.3f} on average."
    )
    for path in completion.write(out, photo.stem):
        print(f"Wrote {path}.")


@app.command(hidden=True)
def publish(
    directory: Annotated[Path, typer.Argument(help="Directory of a finished run.")],
    results: Results = Path("results"),
    weights: Annotated[bool, typer.Option(help="Ship the weights with the package.")] = True,
) -> None:
    """Copy a run's result into the results folder, and its weights into the package."""
    from convcnp.zoo import publish as copy_run

    for path in copy_run(directory, results, weights=weights):
        print(f"Wrote {path}.")


def _keep_freed_memory() -> None:
    """Let the C library keep what a training step frees: the next step wants it again.

    Without it every step maps and clears its larger tensors anew, a tenth of its time.
    """
    if platform.libc_ver()[0] == "glibc":
        trim_threshold, mmap_threshold = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of malloc.h
        library = ctypes.CDLL(None)
        library.mallopt(mmap_threshold, 2**25)
        library.mallopt(trim_threshold, 2**28)


def _sentence(result: dict[str, Any]) -> str:
    text = (
        f"log-likelihood per target point {result['log_likelihood']:.3f} ± "
        f"{result['standard_error']:.3f} over {result['num_tasks']} tasks"
    )
    exact = result.get("exact_gp")
    return f"{text} (exact GP: {exact['log_likelihood']:.3f})." if exact else f"{text}."


def _say(text: str) -> None:
    Console(stderr=True).print(text, highlight=False, soft_wrap=True)


def main() -> None:
    """Run the command line; an error of ours is a sentence and exit code 2."""
    try:
        app()
    except ConvCNPError as error:
        _say(f"[bold red]Error:[/] {escape(str(error))}")
        sys.exit(2)


if __name__ == "__main__":
    main()
