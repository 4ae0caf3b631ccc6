"""The command `convcnp predict`: a file in, a file and a picture out."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

from convcnp.errors import OutputError, SettingError, import_extra, warnings_said
from convcnp.frames.columns import Columns
from convcnp.frames.reading import read_table
from convcnp.frames.targets import TargetText, is_file
from convcnp.plots.maps import draw_map
from convcnp.plots.series import draw_series
from convcnp.predict.answers import check_quantiles
from convcnp.predict.batches import Progress as OnProgress
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
        request = predictor.request(
            read_table(file).frame,
            at=None if at is None else TargetText(at),
            columns=Columns.named(time=time, value=value, group=group),
        )
        say(escape(request.description))
        with _bar() as progress:
            answer = request.predict(
                quantiles=levels, samples=samples, seed=seed, progress=progress
            )
        # The picture before the files: if it cannot be drawn, nothing is written.
        draw: Callable[[Any, pd.DataFrame], bytes] = (
            draw_map if request.columns.inputs else draw_series
        )
        picture = b"" if plot is None else draw(request, answer)
    _write(answer, out)
    if plot is not None:
        write_file(plot, picture)
    for path in (out, plot):
        if path is not None:
            say(escape(f"Wrote {path}."))


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
        is_input = path.exists() and any(is_file(file) and path.samefile(file) for file in inputs)
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
