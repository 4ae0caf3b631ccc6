"""`convcnp predict` of many files: folders and patterns, in a pool of processes or on Ray."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

from convcnp.cli.console import say, warn, warnings_said
from convcnp.cli.progress import new_bar
from convcnp.errors import OutputError, ProcessError, SettingError

if TYPE_CHECKING:
    from convcnp.scale.form import Asked
    from convcnp.scale.job import Progress, Summary
    from convcnp.scale.pool import Engine

_PATTERN = "*?["  # signs of a pattern
_SHOWN = 5  # warnings and broken files that are told one by one


def is_lake(file: str, out: Path | None) -> bool:
    """Tell whether many files are meant: a folder, a pattern, or answers into a folder."""
    path = Path(file)
    is_pattern = any(sign in file for sign in _PATTERN) and not path.exists()
    return is_pattern or path.is_dir() or (out is not None and out.is_dir())


def refuse_without_lake(given: Sequence[tuple[str, object]]) -> None:
    """Refuse options that mean nothing where one table is predicted in one process."""
    for name, value in given:
        if value:
            raise SettingError(
                f"{name} is for many files; give a folder or a pattern such as 'lake/*.parquet', "
                "and a folder for --out, or leave it out."
            )


def predict_lake(
    file: str,
    out: Path | None,
    asked: Asked,
    *,
    engine: str | None = None,
    address: str | None = None,
    workers: int | None = None,
    memory: str | None = None,
    resume: bool = False,
) -> None:
    """Predict many files into a folder, with a bar, and tell what came of it."""
    from convcnp.scale.job import ERRORS, MEMORY, predict_files, read_memory

    if out is None:
        what = "is a folder" if Path(file).is_dir() else "means many files"
        raise OutputError(
            f"Expected a folder for the answers of many files, as {file} {what}; name it with "
            "--out, or give the file of one table."
        )
    if out.suffix.lower() in (".csv", ".parquet"):
        raise OutputError(
            f"Expected a folder for the answers of many files, got the file {out}; choose a name "
            "without an ending."
        )
    with warnings_said(warn), _bars() as progress:
        summary = predict_files(
            file,
            out,
            asked,
            engine=_engine(engine, address, workers),
            memory=MEMORY if memory is None else read_memory(memory),
            resume=resume,
            progress=progress,
        )
    _tell(summary, out)
    if summary.broken:
        broken = " ".join(list(summary.broken.values())[:_SHOWN])
        raise ProcessError(
            f"Expected tables that can be read, but {len(summary.broken)} could not: {broken} All "
            f"others are predicted, without its rows; {out / ERRORS} names it."
        )


def _engine(engine: str | None, address: str | None, workers: int | None) -> Engine:
    from convcnp.scale.on_ray import on_ray
    from convcnp.scale.pool import in_one_process, in_pool

    if engine == "ray":
        return on_ray(workers, address)
    if engine not in (None, "pool"):
        raise SettingError(f"--engine must be pool or ray, got {engine!r}; choose one.")
    if address is not None:
        raise SettingError(f"--address is that of a Ray cluster, got {address}; add --engine ray.")
    workers = workers or os.cpu_count() or 1
    return in_one_process if workers == 1 else in_pool(workers)


@contextmanager
def _bars() -> Iterator[Progress]:
    """Show a bar of pieces and buckets, with the series and rows so far."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[figures]}"),
        TimeRemainingColumn(),
    )
    with new_bar(Console(stderr=True), *columns) as shown:
        rows: dict[str, int] = {}

        def update(stage: str, done: int, total: int, summary: Summary) -> None:
            if stage not in rows:
                rows[stage] = int(shown.add_task(stage, total=total, figures=""))
            figures = f"{summary.series:,} series, {summary.rows:,} rows"
            if not summary.series:
                figures = f"{summary.rows_in:,} rows"
            shown.update(shown.task_ids[rows[stage]], completed=done, figures=figures)

        yield update


def _tell(summary: Summary, out: Path) -> None:
    from convcnp.scale.job import ERRORS

    say(summary.description)
    if summary.without_series:
        say(f"{summary.without_series:,} rows belong to no series and are left out.")
    for kind, count in summary.warnings.most_common(_SHOWN):
        say(f"In {count:,} {'bucket' if count == 1 else 'buckets'}: {kind}")
    if summary.answered and not summary.errors:
        say(f"Wrote {out}.")
    elif summary.errors:
        say(f"Wrote {out}; {out / ERRORS} says why {summary.errors:,} series are not there.")
    else:
        say("No value is missing, and nothing was written; ask for times with --at or --ahead.")
