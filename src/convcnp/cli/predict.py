"""The command `convcnp predict`: a file in, a file and a picture out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from convcnp.cli.console import say as say_plainly
from convcnp.cli.console import warn, warnings_said
from convcnp.cli.options import (
    Error,
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
from convcnp.errors import SettingError, TableError, did_you_mean

if TYPE_CHECKING:
    import pandas as pd

_WORTH_A_BAR = 20_000  # rows


class What(Enum):
    """What bands are of, where standard errors are known."""

    value = "value"
    measurement = "measurement"


def predict_file(
    file: str,
    *,
    time: str | None = None,
    value: Sequence[str] | None = None,
    group: str | Sequence[str] | None = None,
    inputs: Sequence[str] | None = None,
    missing: Sequence[str] | None = None,
    lower: float | None = None,
    upper: float | None = None,
    positive: bool = False,
    error: Sequence[str] | None = None,
    of: Literal["value", "measurement"] | None = None,
    at: str | None = None,
    ahead: str | None = None,
    quantiles: str = "0.05,0.95",
    samples: int = 0,
    seed: int = 0,
    model: str = "general",
    out: Path | None = None,
    plot: Path | None = None,
    draw: Sequence[str] | None = None,
    say: Callable[[str], None] = say_plainly,
) -> None:
    """Read a table, predict, write the answer, and say on standard error what was done."""
    columns = columns_among(locals())
    from convcnp.cli.progress import bar
    from convcnp.core.bounds import Limits
    from convcnp.frames.reading import read_table
    from convcnp.frames.targets import TargetText
    from convcnp.predict.answers import drawn_means, rounded
    from convcnp.predict.zoo import load

    levels = _levels(quantiles)
    at = _where(at, ahead)
    check_outputs([file, at or ""], out, plot)
    predictor = load(model)
    predictor.check_takes_tables()
    with warnings_said(warn):
        request = predictor.request(
            read_table(file).frame,
            at=None if at is None else TargetText(at),
            columns=columns,
            limits=Limits.given(lower, upper, positive),
        ).asked_of(of)
        check_request(request, columns.missing, draw or ())
        say(request.description)
        with bar("Predicting", at_least=_WORTH_A_BAR) as progress:
            answer = request.predict(
                quantiles=levels, samples=samples, seed=seed, progress=progress
            )
        for remark in (*request.remarks, *drawn_means(answer, request.columns.values, levels)):
            say(remark)
        # The picture before the files: if it cannot be drawn, nothing is written.
        pictures = {} if plot is None else _drawn(request, answer, plot, draw or ())
    write_answer(rounded(answer, request.columns.values), out, pictures)
    for path in (*([] if out is None else [out]), *pictures):
        say(f"Wrote {path}.")


def check_request(
    request: Any,  # noqa: ANN401 - of series, or of points
    missing: Sequence[str] = (),
    drawn: Sequence[str] = (),
) -> None:
    """Refuse limits that do not hold all values, and series to draw that are not there.

    What is named for missing values, and is not there, is warned of.
    """
    from convcnp.frames.sentinels import named_in_vain

    list(request.jobs())
    _check_drawn(request, drawn)
    if said := named_in_vain(request.container.frame, request.columns, missing):
        warn(said)


def _check_drawn(request: Any, chosen: Sequence[str]) -> None:  # noqa: ANN401
    if chosen and request.columns.inputs:
        raise SettingError(
            "--draw chooses series, but these are points in the plane; leave it out."
        )
    names = [] if request.table.labels is None else list(map(str, request.table.labels))
    if chosen and not names:
        raise SettingError(
            f"--draw chooses among several series, got {chosen[0]!r} and a single one; leave it "
            "out."
        )
    for name in chosen:
        if name not in names:
            raise TableError(
                f"Expected series of the table to draw, got {name!r}{did_you_mean(name, names)}"
            )


def _drawn(
    request: Any,  # noqa: ANN401 - of series, or of points
    answer: pd.DataFrame,
    plot: Path,
    chosen: Sequence[str],
) -> dict[Path, bytes]:
    """Draw series, on as many pages as they need, or a map, in the form that the file has."""
    from convcnp.plots.drawing import form_of, page_paths
    from convcnp.plots.maps import draw_map
    from convcnp.plots.series import draw_series

    if not request.columns.inputs:
        pages = draw_series(request, answer, form_of(plot), chosen)
        return dict(zip(page_paths(plot, len(pages)), pages, strict=True))
    return {plot: draw_map(request, answer, form_of(plot))}


def _where(at: str | None, ahead: str | None) -> str | None:
    if ahead is None:
        return at
    if at is not None:
        raise SettingError(
            f"Expected --at or --ahead, got both, {at!r} and {ahead!r}; leave out one of them."
        )
    return f"+{ahead.strip().removeprefix('+')}"


def _refuse_in_lake(**given: object) -> None:
    for name, value in given.items():
        if value:
            raise SettingError(
                f"--{name} is for one table, got {value} for many files; leave it out, or predict "
                "one of them alone."
            )


def _levels(text: str) -> list[float]:
    from convcnp.predict.answers import check_quantiles

    try:
        levels = [float(part) for part in text.split(",") if part.strip()]
    except ValueError as error:
        raise SettingError(
            f"--quantiles must be numbers between commas, got {text!r}; write 0.05,0.5,0.95."
        ) from error
    check_quantiles(levels)
    return levels


def predict(
    file: Annotated[
        str,
        typer.Argument(
            help="Table with times and values: CSV, Parquet, Excel and others, or - for stdin. A "
            "folder, or a pattern in quotes, for many files of series."
        ),
    ],
    time: Time = None,
    value: Value = None,
    group: Group = None,
    inputs: Inputs = None,
    missing: Missing = None,
    lower: Lower = None,
    upper: Upper = None,
    positive: Positive = False,
    error: Error = None,
    of: Annotated[
        What | None,
        typer.Option(
            help="Where errors are known: bands of the value (if left out), or of a new "
            "measurement with the series' median error."
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            help="Where to predict: gaps, a number of evenly spaced times (of points, along each "
            "side of a map), START:STOP:STEP, or a table with the time column or the inputs. The "
            "gaps, if there are any, if left out."
        ),
    ] = None,
    ahead: Annotated[
        str | None,
        typer.Option(
            help="Predict so far ahead of every series instead: 14 of its steps, 14d, 3months."
        ),
    ] = None,
    quantiles: Annotated[str, typer.Option(help="Levels, such as 0.05,0.5,0.95.")] = "0.05,0.95",
    samples: Annotated[
        int, typer.Option(min=0, help="Coherent curves to draw, a column each.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of these curves.")] = 0,
    model: ModelName = "general",
    out: Out = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            "--map",
            help="Also draw the series, or a map of points, to this PNG, SVG or PDF. Beyond six "
            "panels there are pages: of the PDF, or files such as p-2.png.",
        ),
    ] = None,
    draw: Annotated[
        list[str] | None, typer.Option(help="Series to draw, by its name. Repeatable.")
    ] = None,
    engine: Annotated[
        str | None, typer.Option(help="Of many files: pool, of processes here, or ray.")
    ] = None,
    address: Annotated[
        str | None, typer.Option(help="Of a Ray cluster; one is started here if left out.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes for many files; all cores if left out.")
    ] = None,
    memory: Annotated[
        str | None, typer.Option(help="Memory of each of them, about, such as 2GB.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with many files where it was ended.")
    ] = False,
) -> None:
    """Fill the gaps of your own series or maps, or predict them anywhere, with uncertainty.

    One row per asked time: the mean, the standard deviation and quantiles of what would be
    observed, in your units. Nothing is trained: a general model ships with the package.
    """
    columns = columns_among(locals())
    from convcnp.cli.lake import is_lake, predict_lake, refuse_without_lake

    spread: dict[str, Any] = {
        "engine": engine,
        "address": address,
        "workers": workers,
        "memory": memory,
        "resume": resume,
    }
    if is_lake(file, out) or engine is not None:
        from convcnp.core.bounds import Limits
        from convcnp.scale.form import Asked

        _refuse_in_lake(samples=samples, plot=plot, inputs=inputs, of=of, draw=draw)
        limits = Limits.given(lower, upper, positive)
        asked = Asked(model, columns, _where(at, ahead), _levels(quantiles), limits)
        predict_lake(file, out, asked, **spread)
        return
    refuse_without_lake([(f"--{name}", value) for name, value in spread.items()])
    predict_file(
        file,
        time=time,
        value=value,
        group=group,
        inputs=inputs,
        missing=missing,
        lower=lower,
        upper=upper,
        positive=positive,
        error=error,
        of=None if of is None else of.value,
        at=at,
        ahead=ahead,
        quantiles=quantiles,
        samples=samples,
        seed=seed,
        model=model,
        out=out,
        plot=plot,
        draw=draw,
    )
