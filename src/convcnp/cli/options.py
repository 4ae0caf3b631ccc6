"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from convcnp.frames.columns import Columns

Results = Annotated[Path, typer.Option(help="Folder of the result files.")]
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
TIMEOUT = 1800.0  # seconds

Accelerator = Annotated[str, typer.Option(help="Where to train: cpu or gpu.")]
Devices = Annotated[
    int | None,
    typer.Option(min=1, help="Devices of a machine, one process each, which share every batch."),
]
Nodes = Annotated[
    int | None,
    typer.Option(min=1, help="Machines; each starts this command, see the guide to scale."),
]
Precision = Annotated[str, typer.Option(help="32, or bf16-mixed on devices that have it.")]
Timeout = Annotated[float, typer.Option(min=1, help="Seconds that processes wait for one another.")]
Inputs = Annotated[
    list[str] | None,
    typer.Option(help="Input column of points in the plane, in place of a time. Give two."),
]
Time = Annotated[str | None, typer.Option(help="Time column; guessed if left out.")]
Value = Annotated[
    list[str] | None,
    typer.Option(help="Value column; all numeric ones if left out. Repeatable."),
]
Group = Annotated[
    list[str] | None,
    typer.Option(
        help="Column that tells several series apart, or several, such as strain+replicate; "
        "guessed if left out, '' is none."
    ),
]
Channel = Annotated[
    str | None, typer.Option(help="Column of a long table that says whose value a row holds.")
]
Lower = Annotated[float | None, typer.Option(help="No value is smaller; the answer's neither.")]
Upper = Annotated[float | None, typer.Option(help="No value is larger; the answer's neither.")]
Positive = Annotated[bool, typer.Option("--positive", help="No value is negative: --lower 0.")]
ModelName = Annotated[
    str, typer.Option(help="A shipped model (see `convcnp models`) or a run's directory.")
]
Out = Annotated[
    Path | None, typer.Option(help="Write here, CSV or Parquet; standard output if left out.")
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        help="Number or word that stands for missing values, such as -999; none keeps those that "
        "would be noticed. Repeatable."
    ),
]
Error = Annotated[
    list[str] | None,
    typer.Option(
        help="Column of a value's standard errors; flux_err beside flux is recognised, '' is none. "
        "Repeatable, in the order of the values."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


def columns_among(options: Mapping[str, Any]) -> Columns:
    """Take the names of columns from the options of a command."""
    from convcnp.frames.columns import ColumnNames, Columns

    names = ColumnNames.__annotations__
    return Columns.named(**{name: options[name] for name in names if name in options})
