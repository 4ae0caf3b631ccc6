"""Commands for a user's own data: train a model on it, and check how far to trust one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from convcnp.cli.console import say, show_table, warnings_said
from convcnp.cli.experiments import result_in_words, say_if_new, stop, training
from convcnp.cli.options import (
    TIMEOUT,
    Accelerator,
    AsJson,
    Channel,
    Devices,
    Error,
    Inputs,
    Lower,
    Missing,
    Nodes,
    Positive,
    Precision,
    Resume,
    Settings,
    Threads,
    Time,
    Timeout,
    Upper,
    Value,
    columns_among,
)
from convcnp.cli.output import check_outputs, write_files

if TYPE_CHECKING:
    from convcnp.predict.calibration import Calibration


def train(
    out: Annotated[Path, typer.Option(help="Directory of the model and its run.")],
    data: Annotated[
        Path | None,
        typer.Option(
            help="Table (CSV, TSV or Parquet), or folder or zip file of images, to learn from. "
            "Not needed to --resume."
        ),
    ] = None,
    time: Time = None,
    value: Value = None,
    group: Annotated[
        list[str] | None,
        typer.Option(
            help="Column that tells series, or sets of points, apart, or several, such as "
            "strain+replicate."
        ),
    ] = None,
    channel: Channel = None,
    inputs: Inputs = None,
    missing: Missing = None,
    error: Error = None,
    minutes: Annotated[float, typer.Option(help="How long training may take, about.")] = 10.0,
    config: Annotated[
        Path | None, typer.Option(help="TOML file with settings of your own.")
    ] = None,
    settings: Settings = None,
    resume: Resume = False,
    accelerator: Accelerator = "cpu",
    devices: Devices = None,
    nodes: Nodes = None,
    precision: Precision = "32",
    timeout: Timeout = TIMEOUT,
    threads: Threads = 1,
) -> None:
    """Train a model on your own series, points in the plane, or images.

    Every setting is chosen from the data and explained in a sentence; --config and --set override
    them. The directory is what `convcnp predict --model` and `convcnp.load` take, and `convcnp
    complete --model` if it is a model of images.
    """
    columns = columns_among(locals())
    from convcnp.cli.progress import ProgressReporter
    from convcnp.training.own.choices import Wanted
    from convcnp.training.own.train import train_own

    with training(accelerator, devices, nodes, precision, timeout, threads) as processes:
        wanted = Wanted.of(columns, config, settings or [], minutes)
        say_if_new(out, resume and out.exists())
        try:
            with warnings_said():
                result = train_own(
                    data,
                    out,
                    wanted,
                    resume=resume,
                    fabric=processes.launch(),
                    say=say,
                    reporting=ProgressReporter,
                )
        except KeyboardInterrupt:
            stop(out)
        if processes.is_first:
            print(f"{out.name}: {result_in_words(result)} Wrote {out}.")


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
        list[str] | None,
        typer.Option(
            help="Column that tells several series apart, or several, such as strain+replicate."
        ),
    ] = None,
    channel: Channel = None,
    inputs: Inputs = None,
    missing: Missing = None,
    error: Error = None,
    lower: Lower = None,
    upper: Upper = None,
    positive: Positive = False,
    tasks: Annotated[int, typer.Option(min=1, help="Number of tasks.")] = 200,
    seed: Annotated[int, typer.Option(min=0, max=2**30 - 1, help="Seed of the tasks.")] = 0,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw the calibration to this PNG, SVG or PDF.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say how far to trust a model: hide values of a table or pixels, predict them, and compare.

    Of the data that a model was trained on, only the part that training never saw is used. The
    columns are those of training unless they are named. Pixels run from 0 to 1.
    """
    columns = columns_among(locals())
    from convcnp.cli.progress import bar
    from convcnp.core.bounds import Limits
    from convcnp.plots.calibration import draw_calibration
    from convcnp.plots.drawing import form_of
    from convcnp.predict.calibration import Check
    from convcnp.predict.zoo import load

    check_outputs([str(data)], None, plot)
    predictor = load(model)
    with warnings_said():
        checked = Check.of(predictor, data, columns, Limits.given(lower, upper, positive))
    say(checked.description(tasks))
    with bar("Checking") as progress:
        found = checked.calibrations(tasks, seed, progress)
    for remark in checked.remarks(found):
        say(remark)
    if plot is not None:
        write_files({plot: draw_calibration(found, form_of(plot))})
        say(f"Wrote {plot}.")
    if as_json:
        print(json.dumps({name: one.summary for name, one in found.items()}))
        return
    _show_scores(found)
    for name, one in found.items():
        print(f"{name}: {one.skill}.")
        print(f"{name}: the predicted uncertainty is {one.verdict}.")


def _show_scores(found: dict[str, Calibration]) -> None:
    from convcnp.core.predictive import coverage_key
    from convcnp.predict.calibration import LEVELS

    levels = (f"{level:.0%}" for level in LEVELS)
    rows = [
        [
            name,
            f"{s['values']:,}",
            f"{s['log_likelihood']:.3f}",
            f"{s['crps']:.4g}",
            f"{s['error']:.4g}",
            *(f"{s[coverage_key(level)]:.1%}" for level in LEVELS),
        ]
        for name, s in ((name, calibration.summary) for name, calibration in found.items())
    ]
    show_table(
        ["", "Values", "Log-likelihood", "CRPS", "Error", *levels],
        rows,
        caption="Shares of values inside intervals of 50 to 95 %.",
    )
