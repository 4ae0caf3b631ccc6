"""The command `convcnp predict`: a file in, a file and a picture out."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

from convcnp.cli.console import warnings_said
from convcnp.errors import OutputError, SettingError, TableError
from convcnp.extras import import_extra
from convcnp.frames.reading import read_table
from convcnp.frames.series import Columns, SeriesTable
from convcnp.frames.targets import MOST, asked_times
from convcnp.frames.time_axis import TimeAxis
from convcnp.plots.maps import draw_map
from convcnp.plots.series import draw_series
from convcnp.predict.batches import Progress as OnProgress
from convcnp.predict.predictor import Predictor, check_quantiles
from convcnp.predict.zoo import load
from convcnp.storage import write_atomically

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
    check_outputs([file, at or ""], out, plot)
    predictor = load(model)
    predictor.check_takes_tables()
    with warnings_said(lambda text: say(f"[bold yellow]Warning:[/] {escape(text)}")):
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
    _write(answer, out)
    if plot is not None:
        write_file(plot, picture)
    for path in (out, plot):
        if path is not None:
            say(escape(f"Wrote {path}."))


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
    frame, columns = predictor.prepared(frame, **request.names)
    table = SeriesTable.of(frame, columns)
    asked = _asked(request.at, table.axis, columns)
    request.say(escape(_described(columns, table, asked_times(table, asked).meaning, predictor)))
    with _bar() as progress:
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
    table = predictor.points_table(frame)
    asked: Any = request.at
    if request.at not in (None, "gaps"):
        asked = int(asked) if asked.isdecimal() else read_table(asked)
    values = ", ".join(map(repr, table.layout.values))
    where = " and ".join(map(repr, table.layout.inputs))
    meaning = table.asked(asked).meaning
    request.say(escape(f"Predicting {values} over {where} with {predictor.name!r}, at {meaning}."))
    with _bar() as progress:
        answer = predictor.predict(
            frame, asked, **request.wanted, **request.names, progress=progress
        )
    return answer, draw_map(predictor, table) if request.draw else b""


def _levels(text: str) -> list[float]:
    try:
        levels = [float(part) for part in text.split(",") if part.strip()]
    except ValueError as error:
        raise SettingError(
            f"--quantiles must be numbers between commas, got {text!r}; write 0.05,0.5,0.95."
        ) from error
    check_quantiles(levels)
    return levels


def check_outputs(inputs: Sequence[str], out: Path | None, plot: Path | None) -> None:
    """Refuse, before any work, what could not be written after it, or would replace an input."""
    if out is not None and out.suffix.lower() not in (".csv", ".parquet"):
        raise OutputError(f"--out must end in .csv or .parquet, got {out}; choose one.")
    if plot is not None:
        import_extra("matplotlib", "plot")
        if plot.suffix.lower() != ".png":
            raise OutputError(f"--plot must end in .png, got {plot}; pictures are written as PNG.")
    for path in (out, plot):
        if path is not None:
            _check_output(inputs, path)


def _check_output(inputs: Sequence[str], path: Path) -> None:
    try:
        is_usable = path.parent.is_dir() and not path.is_dir()
        is_input = path.exists() and any(_is_file(file) and path.samefile(file) for file in inputs)
    except OSError as error:
        raise OutputError(
            f"Expected a file that can be written, but {path} cannot be ({error.strerror}); choose "
            "another path."
        ) from error
    if not is_usable:
        raise OutputError(
            f"Expected a file that can be written, but {path} is a folder or lies in none; "
            "choose another path."
        )
    if is_input:
        raise OutputError(
            f"Expected another file to write than the tables that are read, got {path}; choose "
            "another path."
        )


def _asked(at: str | None, axis: TimeAxis, columns: Columns) -> Any:  # noqa: ANN401
    """Read what --at says: gaps, a number, START:STOP:STEP, or a file."""
    if at is None or at == "gaps":
        return at
    if at.isdecimal():
        return int(at)
    if at == "-" or _is_file(at):
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


def _is_file(name: str) -> bool:
    try:
        return bool(name) and Path(name).exists()
    except OSError:  # a name too long
        return False


def _even_steps(axis: TimeAxis, start: str, stop: str, step: str, name: str) -> pd.Index:
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
        _print(answer)
        return
    if out.suffix.lower() == ".parquet":
        import_extra("pyarrow", "parquet")
        write_file(out, answer.to_parquet(index=False))
    else:
        write_file(out, answer.to_csv(index=False).encode())


def write_file(path: Path, content: bytes) -> None:
    """Write a whole file, or say why not."""
    try:
        write_atomically(path, content)
    except OSError as error:
        raise OutputError(
            f"Expected to write {path}, but it failed ({error.strerror}); what was there before is "
            "unchanged. Make room, or choose another path."
        ) from error


def _print(answer: pd.DataFrame) -> None:
    try:
        answer.to_csv(sys.stdout, index=False)
        sys.stdout.flush()
    except OSError as error:
        # What is left in the buffer would fail again, loudly, when the program ends.
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        if error.errno == errno.EPIPE:  # the reader, such as `head`, has seen enough
            return
        raise OutputError(
            f"Expected to write to standard output, but it failed ({error.strerror}); make room, "
            "or choose a file with --out."
        ) from error
