"""The command `convcnp fill`: a table in, the same table out, without its gaps."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from convcnp.cli.console import say, warnings_said
from convcnp.cli.options import Missing
from convcnp.cli.output import check_outputs, write_answer

_WORTH_A_BAR = 20_000  # rows


def fill(
    file: Annotated[
        str, typer.Argument(help="Table with times and values, as for predict, or - for stdin.")
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
    missing: Missing = None,
    max_gap: Annotated[
        str | None,
        typer.Option(help="Leave longer gaps empty: 14d, 3 months, or a number of the time."),
    ] = None,
    model: Annotated[
        str, typer.Option(help="A shipped model (see `convcnp models`) or a run's directory.")
    ] = "general",
    out: Annotated[
        Path | None, typer.Option(help="Write here, CSV or Parquet; standard output if left out.")
    ] = None,
) -> None:
    """Give your table back with its gaps filled.

    Columns, order and observed values stay. Missing cells get the mean of what would be observed,
    missing rows of regular series are put in, and a column `filled` names the values that were.
    """
    from convcnp.cli.progress import bar
    from convcnp.frames.columns import Columns
    from convcnp.frames.reading import read_table
    from convcnp.predict.filling import fill as fill_gaps
    from convcnp.predict.zoo import load

    check_outputs([file], out, None)
    predictor = load(model)
    predictor.check_takes_tables()
    columns = Columns.named(time=time, value=value, group=group, missing=missing)
    with warnings_said():
        request = predictor.request(read_table(file).frame, columns=columns)
        with bar("Filling", at_least=_WORTH_A_BAR) as progress:
            filling = fill_gaps(request, max_gap, progress)
    say(filling.description)
    write_answer(filling.table, out)
    if out is not None:
        say(f"Wrote {out}.")
