"""The command `convcnp predict`: a file in, a file and a picture out."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import Progress

from convcnp.asking import asked_times
from convcnp.errors import ConvCNPWarning, OutputError, TableError, import_extra
from convcnp.frames import Columns, SeriesTable, TimeAxis, read_table
from convcnp.many import Progress as OnProgress
from convcnp.maps import draw_map
from convcnp.pictures import draw_series
from convcnp.predictor import Predictor
from convcnp.storage import write_atomically
from convcnp.zoo import load

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
    say: Callable[[str], None],
) -> None:
    """Read a table, predict, write the answer, and say on standard error what was done."""
    levels = _levels(quantiles)
    check_outputs(out, plot)
    predictor = load(model)
    with _warnings_said(say):
        if predictor.model.dim_x == 2:
            _predict_points(predictor, file, at, levels, out, plot, say)
            return
        frame, columns = predictor.prepared(read_table(file), time, value, group)
        table = SeriesTable.of(frame, columns)
        asked = _asked(at, table.axis, columns)
        say(_described(columns, table, asked_times(table, asked).meaning, predictor))
        with _bar() as progress:
            answer = predictor.predict(
                frame,
                asked,
                quantiles=levels,
                samples=samples,
                seed=seed,
                time=columns.time,
                value=columns.values,
                group=columns.group,
                progress=progress,
            )
        _write(answer, out)
        if plot is not None:
            draw_series(predictor, table, answer, plot)
    _say_written(out, plot, say)


def _predict_points(
    predictor: Predictor,
    file: str,
    at: str | None,
    levels: Sequence[float],
    out: Path | None,
    plot: Path | None,
    say: Callable[[str], None],
) -> None:
    """Predict points in the plane, with the columns of the training table."""
    frame = read_table(file)
    table = predictor.points_table(frame)
    if at is None or at == "gaps":
        wanted: Any = at
    else:
        wanted = int(at) if at.isdecimal() else read_table(at)
    values = ", ".join(map(repr, table.layout.values))
    where = " and ".join(map(repr, table.layout.inputs))
    meaning = table.asked(wanted).meaning
    say(f"Predicting {values} over {where} with {predictor.name!r}, at {meaning}.")
    with _bar() as progress:
        answer = predictor.predict(frame, wanted, quantiles=levels, progress=progress)
    _write(answer, out)
    if plot is not None:
        draw_map(predictor, table, plot)
    _say_written(out, plot, say)


def _say_written(out: Path | None, plot: Path | None, say: Callable[[str], None]) -> None:
    for path in (out, plot):
        if path is not None:
            say(f"Wrote {path}.")


def _levels(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError as error:
        raise TableError(
            f"--quantiles must be numbers between commas, got {text!r}; write 0.05,0.5,0.95."
        ) from error


def check_outputs(out: Path | None, plot: Path | None) -> None:
    """Refuse, before any work, what could not be written after it."""
    if out is not None and out.suffix.lower() not in (".csv", ".parquet"):
        raise OutputError(f"--out must end in .csv or .parquet, got {out}; choose one.")
    if plot is not None:
        import_extra("matplotlib", "plot")
        if plot.suffix.lower() != ".png":
            raise OutputError(f"--plot must end in .png, got {plot}; pictures are written as PNG.")
    for path in (out, plot):
        if path is not None and (path.is_dir() or not path.parent.is_dir()):
            raise OutputError(
                f"Expected a file that can be written, but {path} is a folder or lies in none; "
                "choose another path."
            )


def _asked(at: str | None, axis: TimeAxis, columns: Columns) -> Any:  # noqa: ANN401
    """Read what --at says: gaps, a number, START:STOP:STEP, or a file."""
    if at is None or at == "gaps":
        return at
    if at.isdecimal():
        return int(at)
    if Path(at).exists() or at == "-":
        return read_table(at)
    parts = at.split(":")
    try:
        start, stop, step = parts if len(parts) == 3 else at.split("..")
        return _even_steps(axis, start, stop, step, columns.time)
    except (ValueError, TableError) as error:
        raise TableError(
            "--at must be gaps, a number of times, START:STOP:STEP (START..STOP..STEP for clock "
            f"times) or a file that exists, got {at!r}; check it."
        ) from error


def _even_steps(axis: TimeAxis, start: str, stop: str, step: str, name: str) -> pd.Index:
    ends = pd.Series([start, stop], name=name)
    if axis.origin is None:
        width = float(step)
        first, last = (float(end) for end in ends)
    else:
        width = pd.Timedelta(step) / pd.Timedelta(seconds=1)
        first, last = axis.numbers(ends)
    if width <= 0 or last < first:
        raise ValueError(step)
    return axis.times(first + width * np.arange(int((last - first) / width + 1e-9) + 1))


def _described(columns: Columns, table: SeriesTable, meaning: str, predictor: Predictor) -> str:
    many = f" of {len(table.series):,} series by {columns.group!r}" if columns.group else ""
    values = ", ".join(repr(value) for value in columns.values)
    return f"Predicting {values} over {columns.time!r}{many} with {predictor.name!r}, at {meaning}."


@contextmanager
def _warnings_said(say: Callable[[str], None]) -> Iterator[None]:
    """Turn our warnings into sentences on standard error; others stay what they are."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvCNPWarning)
        try:
            yield
        finally:
            for text in dict.fromkeys(str(w.message) for w in caught):
                say(f"[bold yellow]Warning:[/] {text}")


@contextmanager
def _bar() -> Iterator[OnProgress]:
    console = Console(stderr=True)
    with Progress(console=console, disable=not console.is_terminal, transient=True) as bar:
        row = None

        def update(done: int, total: int) -> None:
            nonlocal row
            if total >= _WORTH_A_BAR:
                row = bar.add_task("Predicting", total=total) if row is None else row
                bar.update(row, completed=done)

        yield update


def _write(answer: pd.DataFrame, out: Path | None) -> None:
    if out is None:
        answer.to_csv(sys.stdout, index=False)
        return
    content = io.BytesIO()
    if out.suffix.lower() == ".parquet":
        import_extra("pyarrow", "parquet")
        answer.to_parquet(content, index=False)
    else:
        answer.to_csv(content, index=False)
    try:
        write_atomically(out, content.getvalue())
    except OSError as error:
        raise OutputError(
            f"Expected to write {out}, but it failed ({error.strerror}); what was there before is "
            "unchanged. Make room, or choose another path."
        ) from error
