"""The command line."""

from __future__ import annotations

import ctypes
import json
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from convcnp.errors import ConvCNPError, SettingError, import_extra

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
Resume = Annotated[
    bool, typer.Option("--resume", help="Continue a run that was stopped: same result.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="Override a setting, such as training.seed=1. Repeatable."),
]
Threads = Annotated[
    int, typer.Option(min=1, help="CPU threads; one is quickest for small networks.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


@app.command()
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
    accelerator: Annotated[str, typer.Option(help="Where to train: cpu or gpu.")] = "cpu",
    devices: Annotated[int, typer.Option(min=1, help="Devices, one process each.")] = 1,
    threads: Threads = 1,
) -> None:
    """Train and evaluate one experiment, and write its result."""
    import torch

    from convcnp.cli.progress import ProgressReporter
    from convcnp.training.experiment import Experiment
    from convcnp.training.run import run as run_experiment

    torch.set_num_threads(threads)
    _keep_freed_memory()
    experiment = Experiment.load(file, settings or [], smoke=smoke)
    name = f"{file.resolve().parent.name}/{file.stem}"
    directory = out or Path("runs", *(["smoke"] if smoke else []), name)
    lightning = import_extra("lightning_fabric", "train")
    try:
        fabric = lightning.Fabric(accelerator=accelerator, devices=devices)
    except (ValueError, RuntimeError) as error:
        raise SettingError(
            f"--accelerator must be one that this machine has, got {accelerator!r} ({error}); cpu "
            "is always there."
        ) from error
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
        _stop(directory)
    print(f"{file.stem}: {_sentence(result)}\nWrote {directory}.")


@app.command()
def train(
    out: Annotated[Path, typer.Option(help="Directory of the model and its run.")],
    data: Annotated[
        Path | None,
        typer.Option(
            help="Table (CSV, TSV or Parquet), or folder or zip file of images, to learn from. "
            "Not needed to --resume."
        ),
    ] = None,
    time: Annotated[str | None, typer.Option(help="Time column; guessed if left out.")] = None,
    value: Annotated[
        list[str] | None,
        typer.Option(help="Value column; all numeric ones if left out. Repeatable."),
    ] = None,
    group: Annotated[
        str | None, typer.Option(help="Column that tells series, or sets of points, apart.")
    ] = None,
    channel: Annotated[
        str | None, typer.Option(help="Column of a long table that says whose value a row holds.")
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option(help="Input column of points in the plane, in place of a time. Give two."),
    ] = None,
    minutes: Annotated[float, typer.Option(help="How long training may take, about.")] = 10.0,
    config: Annotated[
        Path | None, typer.Option(help="TOML file with settings of your own.")
    ] = None,
    settings: Settings = None,
    resume: Resume = False,
    threads: Threads = 1,
) -> None:
    """Train a model on your own series, points in the plane, or images.

    Every setting is chosen from the data and explained in a sentence; --config and --set override
    them. The directory is what `convcnp predict --model` and `convcnp.load` take, and `convcnp
    complete --model` if it is a model of images.
    """
    import torch

    from convcnp.cli.progress import ProgressReporter
    from convcnp.training.own.choices import Wanted
    from convcnp.training.own.train import train_own

    torch.set_num_threads(threads)
    _keep_freed_memory()
    names = {"time": time, "value": value, "group": group, "channel": channel, "inputs": inputs}
    wanted = Wanted.of(names, config, settings or [], minutes)
    try:
        result = train_own(
            data, out, wanted, resume=resume, say=_say_plainly, reporting=ProgressReporter
        )
    except KeyboardInterrupt:
        _stop(out)
    print(f"{out.name}: {_sentence(result)} Wrote {out}.")


@app.command()
def predict(
    file: Annotated[
        str, typer.Argument(help="Table with times and values: CSV, TSV, Parquet, or - for stdin.")
    ],
    time: Annotated[str | None, typer.Option(help="Time column; guessed if left out.")] = None,
    value: Annotated[
        list[str] | None,
        typer.Option(help="Value column; all numeric ones if left out. Repeatable."),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            help="Column that tells several series apart; guessed if left out, '' is none."
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            help="Where to predict: gaps, a number of evenly spaced times, START:STOP:STEP, or a "
            "table with the time column. The gaps, if there are any, if left out."
        ),
    ] = None,
    quantiles: Annotated[str, typer.Option(help="Levels, such as 0.05,0.5,0.95.")] = "0.05,0.95",
    samples: Annotated[
        int, typer.Option(min=0, help="Coherent curves to draw, a column each.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of these curves.")] = 0,
    model: Annotated[
        str, typer.Option(help="A shipped model (see `convcnp models`) or a run's directory.")
    ] = "general",
    out: Annotated[
        Path | None, typer.Option(help="Write here, CSV or Parquet; standard output if left out.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw the first series to this PNG.")
    ] = None,
) -> None:
    """Fill the gaps of your own series, or predict them anywhere, with uncertainty.

    One row per asked time: the mean, the standard deviation and quantiles of what would be
    observed, in your units. Nothing is trained: a general model ships with the package.
    """
    from convcnp.cli.predict import predict_file

    predict_file(
        file,
        time=time,
        value=value,
        group=group,
        at=at,
        quantiles=quantiles,
        samples=samples,
        seed=seed,
        model=model,
        out=out,
        plot=plot,
        say=_say,
    )


@app.command()
def check(
    model: Annotated[
        str, typer.Argument(help="A run's directory, or a shipped model (see `convcnp models`).")
    ],
    data: Annotated[
        Path,
        typer.Option(help="Table, or folder or zip file of images, to hide values of and predict."),
    ],
    time: Annotated[str | None, typer.Option(help="Time column.")] = None,
    value: Annotated[list[str] | None, typer.Option(help="Value column. Repeatable.")] = None,
    group: Annotated[
        str | None, typer.Option(help="Column that tells several series apart.")
    ] = None,
    tasks: Annotated[int, typer.Option(min=1, help="Number of tasks.")] = 200,
    seed: Annotated[int, typer.Option(min=0, max=2**30 - 1, help="Seed of the tasks.")] = 0,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw the calibration to this PNG.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say how far to trust a model: hide values of a table or pixels, predict them, and compare.

    Of the data that a model was trained on, only the part that training never saw is used. The
    columns are those of training unless they are named. Pixels run from 0 to 1.
    """
    from convcnp.predict.calibration import check_file, table_of

    found = check_file(
        model,
        data,
        names={"time": time, "value": value, "group": group},
        tasks=tasks,
        seed=seed,
        plot=plot,
        say=_say_plainly,
    )
    if as_json:
        print(json.dumps({name: one.summary for name, one in found.items()}))
        return
    heading, rows = table_of(found)
    rich_table = RichTable(*heading, caption="Shares of values inside intervals of 50 to 95 %.")
    for row in rows:
        rich_table.add_row(*row)
    Console().print(rich_table)
    for name, one in found.items():
        print(f"{name}: the predicted uncertainty is {one.verdict}.")


@app.command()
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
    as_json: AsJson = False,
) -> None:
    """Compute a trained model's log-likelihood again, on tasks of the kind it was trained on."""
    from convcnp.predict.zoo import load
    from convcnp.training.run import evaluate as score

    predictor = load(name)
    source = predictor.experiment.source().held_out("test")
    asked = {"num_tasks": tasks, "seed": seed}
    settings = predictor.experiment.evaluation.model_copy(
        update={key: value for key, value in asked.items() if value is not None}
    )
    result = score(predictor.model, source, settings)
    if as_json:
        print(json.dumps({"name": predictor.name, "seed": settings.seed, **result}))
    else:
        print(f"{predictor.name}: {_sentence(result)}")


@app.command()
def models(as_json: AsJson = False) -> None:
    """List the trained models that ship with the package."""
    from convcnp.predict.zoo import available

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
    name: Annotated[str, typer.Argument(help="Name of the table, such as table1 or real-series.")],
    form: Annotated[str, typer.Option("--format", help="terminal, markdown or csv.")] = "terminal",
    experiments: Experiments = Path("experiments"),
    results: Results = Path("results"),
) -> None:
    """Print a table of the paper, its numbers beside ours; or of `compare`."""
    from convcnp.errors import ResultError
    from convcnp.paper.tables import build_table

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
def compare(
    series: Annotated[
        list[str] | None, typer.Option(help="A real series; all if left out. Repeatable.")
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            help="general, gp, celerite, components, seasonal-naive, splines or linear; all if "
            "left out. Repeatable."
        ),
    ] = None,
    removals: Annotated[
        list[str] | None,
        typer.Option(help="random, blocks, middle or forecast; all if left out. Repeatable."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the result files.")] = Path(
        "results/real-series"
    ),
) -> None:
    """Compare the general model with what people would fit, on real series.

    Results join those of other methods and removals that the folder has; `convcnp table
    real-series` shows them, and `convcnp table real-series-summary` sums them up.
    """
    import torch

    from convcnp.paper.comparison import METHODS
    from convcnp.paper.comparison import compare as score_methods
    from convcnp.paper.real_series import SERIES
    from convcnp.paper.removals import REMOVALS

    torch.set_num_threads(1)  # times are compared on one thread
    paths = score_methods(
        series or list(SERIES),
        methods or list(METHODS),
        out,
        removals=removals or list(REMOVALS),
        report=_told,
    )
    print(f"Wrote {len(paths)} result file{'s' if len(paths) > 1 else ''} to {out}.")


@app.command()
def figure(
    name: Annotated[
        str,
        typer.Argument(help="figure2, figure3, light-curves, images-mnist, real-series and so on."),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the pictures.")] = Path("out"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of what is drawn at random.")] = 1,
    results: Results = Path("results"),
    runs: Annotated[Path, typer.Option(help="Folder of runs, for models that do not ship.")] = Path(
        "runs"
    ),
    method: Annotated[
        str, typer.Option(help="Of the figure real-series: general, gp, celerite and so on.")
    ] = "general",
) -> None:
    """Draw a figure of the paper with the shipped models, or real series with blocks missing."""
    from convcnp.paper.figures.paper import draw_paper_figure
    from convcnp.paper.figures.shelf import Shelf

    print(f"Wrote {draw_paper_figure(name, Shelf(results, runs, method), out, seed)}.")


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
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of the pixels kept.")] = 1,
) -> None:
    """Fill the missing pixels of a picture, and show where not to trust them.

    Transparent pixels are missing, too.
    """
    from rich.progress import Progress

    from convcnp.data.images.photo import Photo
    from convcnp.errors import SettingError, writing
    from convcnp.predict.completion import DEFAULT_MODEL, all_but, read_mask, within
    from convcnp.predict.completion import complete as fill
    from convcnp.predict.zoo import load

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
    predictor = load(model or DEFAULT_MODEL)
    with writing(out):  # to hear of it before all is predicted
        out.mkdir(parents=True, exist_ok=True)
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
    from convcnp.predict.zoo import publish as copy_run

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
    text = f"{text} (exact GP: {exact['log_likelihood']:.3f})." if exact else f"{text}."
    return "\n".join([text, *_further(result)])


def _further(result: dict[str, Any]) -> Iterator[str]:
    """Tell what a model was judged by beside its own tasks, a line each."""
    for name, score in result.get("lynx_hare", {}).items():
        yield (
            f"Lynx and hare in thousands, {name.replace('_', ' ')}: log-likelihood "
            f"{score['log_likelihood']:.3f}; {100 * score['coverage_50']:.0f} % in the 50 % band, "
            f"{100 * score['coverage_90']:.0f} % in the 90 % band."
        )
    for points in ("all_points", "kept_points") if "light_curves" in result else ():
        for name, score in result["light_curves"][points].items():
            yield (
                f"{points.replace('_', ' ').capitalize()}, {name.replace('_', ' ')}: "
                f"log-likelihood {score['log_likelihood']:.3f} ± {score['standard_error']:.3f} "
                f"(median {score['median_log_likelihood']:.3f}), squared error "
                f"{score['squared_error']:.4f} ± {score['squared_error_standard_error']:.4f}."
            )


def _stop(directory: Path) -> NoReturn:
    """Say after Ctrl-C how to go on."""
    from convcnp.training.run import EXPERIMENT

    kept = f"The run is kept in {directory}; the same command with --resume goes on."
    _say(f"Stopped. {kept if (directory / EXPERIMENT).exists() else 'Nothing was written yet.'}")
    raise typer.Exit(130)


def _say_plainly(text: str) -> None:
    """Say what may hold brackets, such as lists."""
    _say(escape(text))


def _told(series: str, method: str, scores: dict[str, list[dict[str, Any]]]) -> None:
    for removal, found in scores.items():
        mean = {
            key: sum(score[key] for score in found) / len(found)
            for key in ("log_likelihood", "crps", "coverage", "seconds")
        }
        _say(
            f"{series}, {removal}, {method}: log-likelihood {mean['log_likelihood']:.3f}, CRPS "
            f"{mean['crps']:.3g}, coverage {mean['coverage']:.0%}, {mean['seconds']:.3g} s"
        )


def _say(text: str) -> None:
    Console(stderr=True).print(text, highlight=False, soft_wrap=True)


def main() -> None:
    """Run the command line; an error of ours, or of a file, is a sentence and exit code 2."""
    try:
        app()
    except ConvCNPError as error:
        _fail(str(error))
    except OSError as error:
        _fail(
            f"Expected files that can be read and written, but {error.filename or 'one'} cannot be "
            f"({error.strerror or error}); check the path, its permissions and the space left."
        )


def _fail(sentence: str) -> NoReturn:
    _say(f"[bold red]Error:[/] {escape(sentence)}")
    sys.exit(2)
