"""The command `convcnp predict`: a file in, a file and a picture out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from convcnp.cli.console import say as say_plainly
from convcnp.cli.console import warn, warnings_said
from convcnp.cli.output import check_outputs, is_file, write_answer, write_file
from convcnp.errors import SettingError, TableError

if TYPE_CHECKING:
    import pandas as pd

    from convcnp.frames.series import Columns, SeriesTable
    from convcnp.frames.time_axis import TimeAxis
    from convcnp.predict.predictor import Predictor

_WORTH_A_BAR = 20_000  # rows


def predict_file(
    file: str,
    *,
    time: str | None = None,
    value: Sequence[str] | None = None,
    group: str | None = None,
    at: str | None = None,
    quantiles: str = "0.05,0.95",
    samples: int = 0,
    seed: int = 0,
    model: str = "general",
    out: Path | None = None,
    plot: Path | None = None,
    say: Callable[[str], None] = say_plainly,
) -> None:
    """Read a table, predict, write the answer, and say on standard error what was done."""
    from convcnp.frames.reading import read_table
    from convcnp.predict.zoo import load

    levels = _levels(quantiles)
    check_outputs([file, at or ""], out, plot)
    predictor = load(model)
    predictor.check_takes_tables()
    with warnings_said(warn):
        predict = _predict_points if predictor.model.dim_x == 2 else _predict_series
        # The picture first: if it cannot be drawn, nothing is written.
        request = _Request(
            names={"time": time, "value": value, "group": group},
            at=at,
            wanted={"quantiles": levels, "samples": samples, "seed": seed},
            draw=plot is not None,
            say=say,
        )
        answer, picture = predict(predictor, read_table(file), request)
    write_answer(answer, out)
    if plot is not None:
        write_file(plot, picture)
    for path in (out, plot):
        if path is not None:
            say(f"Wrote {path}.")


class _Request(NamedTuple):
    """What the user asked for, whatever the model takes."""

    names: dict[str, Any]  # of the columns
    at: str | None
    wanted: dict[str, Any]  # of the answer
    draw: bool
    say: Callable[[str], None]


def _predict_series(
    predictor: Predictor, frame: pd.DataFrame, request: _Request
) -> tuple[pd.DataFrame, bytes]:
    """Predict series of a table, and draw them if that is asked for."""
    from convcnp.cli.progress import bar
    from convcnp.frames.series import SeriesTable
    from convcnp.frames.targets import asked_times
    from convcnp.plots.series import draw_series

    frame, columns = predictor.prepared(frame, **request.names)
    table = SeriesTable.of(frame, columns)
    asked = _asked(request.at, table.axis, columns)
    request.say(_described(columns, table, asked_times(table, asked).meaning, predictor))
    with bar("Predicting", at_least=_WORTH_A_BAR) as progress:
        answer = predictor.predict(
            frame,
            asked,
            **request.wanted,
            time=columns.time,
            value=columns.values,
            group=columns.group or "",
            progress=progress,
        )
    return answer, draw_series(predictor, table, answer) if request.draw else b""


def _predict_points(
    predictor: Predictor, frame: pd.DataFrame, request: _Request
) -> tuple[pd.DataFrame, bytes]:
    """Predict points in the plane, and draw a map if that is asked for."""
    from convcnp.cli.progress import bar
    from convcnp.frames.reading import read_table
    from convcnp.plots.maps import draw_map

    table = predictor.points_table(frame)
    asked: Any = request.at
    if request.at not in (None, "gaps"):
        asked = int(asked) if asked.isdecimal() else read_table(asked)
    values = ", ".join(map(repr, table.layout.values))
    where = " and ".join(map(repr, table.layout.inputs))
    meaning = table.asked(asked).meaning
    request.say(f"Predicting {values} over {where} with {predictor.name!r}, at {meaning}.")
    with bar("Predicting", at_least=_WORTH_A_BAR) as progress:
        answer = predictor.predict(
            frame, asked, **request.wanted, **request.names, progress=progress
        )
    return answer, draw_map(predictor, table) if request.draw else b""


def _levels(text: str) -> list[float]:
    from convcnp.predict.predictor import check_quantiles

    try:
        levels = [float(part) for part in text.split(",") if part.strip()]
    except ValueError as error:
        raise SettingError(
            f"--quantiles must be numbers between commas, got {text!r}; write 0.05,0.5,0.95."
        ) from error
    check_quantiles(levels)
    return levels


def _asked(at: str | None, axis: TimeAxis, columns: Columns) -> Any:  # noqa: ANN401
    """Read what --at says: gaps, a number, START:STOP:STEP, or a file."""
    from convcnp.frames.reading import read_table

    if at is None or at == "gaps":
        return at
    if at.isdecimal():
        return int(at)
    if at == "-" or is_file(at):
        return read_table(at)
    parts = at.split("..") if ".." in at else at.split(":")
    try:
        start, stop, step = parts
        return _even_steps(axis, start.strip(), stop.strip(), step.strip(), columns.time)
    except (ValueError, OverflowError, TableError) as error:
        raise TableError(
            "--at must be gaps, a number of times, START:STOP:STEP (START..STOP..STEP for clock "
            "times; steps of dates have a unit, such as 6h or 1D) or a file that exists, got "
            f"{at!r}; check it."
        ) from error


def _even_steps(axis: TimeAxis, start: str, stop: str, step: str, name: str) -> pd.Index:
    import numpy as np
    import pandas as pd

    from convcnp.frames.targets import MOST

    if axis.dtype.kind in "mM":
        if step.replace(".", "").isdecimal():
            raise ValueError(step)  # pandas would count nanoseconds
        width = pd.Timedelta(step) / pd.Timedelta(seconds=1)
    else:
        width = float(step)
    first, last = axis.numbers(pd.Series([start, stop], name=name))
    count = (last - first) / width + 1e-9
    if not 0 <= count < MOST:
        raise ValueError(step)
    return axis.times(first + width * np.arange(int(count) + 1))


def _described(columns: Columns, table: SeriesTable, meaning: str, predictor: Predictor) -> str:
    many = f" of {len(table.series):,} series by {columns.group!r}" if columns.group else ""
    values = ", ".join(repr(value) for value in columns.values)
    return f"Predicting {values} over {columns.time!r}{many} with {predictor.name!r}, at {meaning}."


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
    )
