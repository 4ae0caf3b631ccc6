"""The command `convcnp fill`: a table in, the same table out, without its gaps."""

from __future__ import annotations

from typing import Annotated

import typer

from convcnp.cli.console import say, warnings_said
from convcnp.cli.options import (
    Group,
    Inputs,
    Lower,
    Missing,
    ModelName,
    Out,
    Positive,
    Time,
    Upper,
    Value,
    columns_among,
)
from convcnp.cli.output import check_outputs, write_answer
from convcnp.cli.predict import check_request

_WORTH_A_BAR = 20_000  # rows


def fill(
    file: Annotated[
        str, typer.Argument(help="Table with times and values, as for predict, or - for stdin.")
    ],
    time: Time = None,
    value: Value = None,
    group: Group = None,
    inputs: Inputs = None,
    missing: Missing = None,
    lower: Lower = None,
    upper: Upper = None,
    positive: Positive = False,
    max_gap: Annotated[
        str | None,
        typer.Option(help="Leave longer gaps empty: 14d, 3months, or a number of the time."),
    ] = None,
    model: ModelName = "general",
    out: Out = None,
) -> None:
    """Give your table back with its gaps filled.

    Columns, order and observed values stay. Missing cells get the median of what would be observed,
    missing rows of regular series are put in, and a column `filled` names the values that were.
    """
    columns = columns_among(locals())
    from convcnp.cli.progress import bar
    from convcnp.core.bounds import Limits
    from convcnp.frames.reading import read_table
    from convcnp.predict.filling import fill as fill_gaps
    from convcnp.predict.zoo import load

    check_outputs([file], out, None)
    predictor = load(model)
    predictor.check_takes_tables()
    with warnings_said():
        request = predictor.request(
            read_table(file).frame, columns=columns, limits=Limits.given(lower, upper, positive)
        )
        check_request(request, columns.missing)
        with bar("Filling", at_least=_WORTH_A_BAR) as progress:
            filling = fill_gaps(request, max_gap, progress)
    say(filling.description)
    write_answer(filling.table, out)
    if out is not None:
        say(f"Wrote {out}.")
