"""A job: the files of a lake in, a folder of answers out, killed and resumed as it may be."""

from __future__ import annotations

import hashlib
import json
import math
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from convcnp.errors import CheckpointError, OutputError, ProcessError, SettingError
from convcnp.extras import import_extra
from convcnp.predict.predictor import Predictor
from convcnp.predict.zoo import load
from convcnp.scale.form import Asked, Form
from convcnp.scale.inputs import Inputs
from convcnp.scale.pool import Engine, in_one_process
from convcnp.scale.unify import unify_types
from convcnp.scale.worker import Layout, Report, Worker, described
from convcnp.storage import check_folder, is_leftover, write_atomically, write_together
from convcnp.training.lock import LOCK, locked

JOB, ERRORS = "job.json", "errors.parquet"
MEMORY = 2**30  # bytes of each worker

_PER_CELL = 8 * 32  # bytes that a cell takes while it is predicted, answers and copies included
_BUCKETS = 16  # at least, so that workers end together
SAMPLE = 100_000  # rows that columns are chosen from
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}

Progress = Callable[[str, int, int, "Summary"], None]  # what is done of what, and of how many


@dataclass
class Summary:
    """What came of a job: series in are series answered, without a gap, and failed."""

    series: int = 0
    answered: int = 0
    nothing_asked: int = 0
    errors: int = 0
    rows: int = 0  # of answers
    rows_in: int = 0
    without_series: int = 0  # rows that belong to none
    broken: dict[str, str] = field(default_factory=dict)  # files, and why they cannot be read
    warnings: Counter[str] = field(default_factory=Counter)  # buckets, by kind
    seconds: float = 0.0
    skipped: int = 0  # buckets that were done before

    def add(self, report: Report) -> None:
        """Count what a bucket had."""
        for name in ("series", "answered", "nothing_asked", "errors", "rows"):
            setattr(self, name, getattr(self, name) + report[name])
        self.warnings.update(report["warnings"])

    @property
    def description(self) -> str:
        """All counts in a sentence."""
        without = f"{self.nothing_asked:,} without a gap, " if self.nothing_asked else ""
        skipped = f"; {self.skipped} buckets were done before" if self.skipped else ""
        rate = self.series / max(self.seconds, 1e-9)
        return (
            f"{self.series:,} series: {self.answered:,} predicted in {self.rows:,} rows, {without}"
            f"{self.errors:,} errors; {rate:,.{0 if rate > 10 else 1}f} series a second"
            f"{skipped}."
        )


def predict_files(
    pattern: str,
    out: Path,
    asked: Asked | None = None,
    *,
    engine: Engine = in_one_process,
    memory: int = MEMORY,
    resume: bool = False,
    progress: Progress = lambda stage, done, total, summary: None,
) -> Summary:
    """Predict the series of many files into a folder of Parquet files, one for each bucket.

    A bucket's file is there whole or not at all, and `resume` goes on where a job was ended. What
    cannot be predicted is named in errors.parquet.

    Args:
        pattern: A file, a folder, or a pattern such as `lake/*.parquet`.
        engine: Who does the work: `in_one_process`, `in_pool(workers)`, or `on_ray(...)`.
        memory: Bytes that a worker may use, about.

    Example::

        from convcnp.scale.pool import in_pool

        summary = predict_files("lake/*.parquet", Path("filled"), engine=in_pool(8))
    """
    started = time.monotonic()
    layout = Layout(out)
    _check_out(layout, resume)
    import_extra("pyarrow", "parquet")
    asked = asked or Asked()
    predictor = load(asked.model)
    inputs = Inputs.find(pattern)
    with locked(out):
        worker = _begun(predictor, asked, inputs, layout, memory)
        summary = Summary(broken=dict(inputs.broken))
        _sort(worker, engine, summary, progress)
        _predict(worker, engine, summary, progress)
        unify_types([layout.answers(i) for i in range(worker.buckets)])
        _write_errors(worker, summary)
        shutil.rmtree(layout.work / "sorted", ignore_errors=True)
    summary.seconds = time.monotonic() - started
    return summary


def read_memory(text: str) -> int:
    """Read an amount of memory such as 500MB or 4G.

    Example:
        >>> read_memory("1.5 GB")
        1500000000
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\s*", text.lower())
    amount = float(match[1]) * _UNITS[match[2]] if match else 0
    if amount < 10**7:
        raise SettingError(f"memory must be at least 10MB, such as 500MB or 4GB, got {text!r}.")
    return int(amount)


def most_rows(form: Form, memory: int) -> int:
    """Return the rows that may be predicted together with so many bytes."""
    return max(1, memory // (_PER_CELL * (2 + len(form.columns.values))))


def _check_out(layout: Layout, resume: bool) -> None:
    """Refuse a folder that holds other things, or cannot be written."""
    out = layout.out
    if out.exists() and not out.is_dir():
        raise OutputError(f"Expected a folder for the answers, but {out} is none; choose another.")
    check_folder(out)
    held = (
        [p for p in out.iterdir() if p.name != LOCK and not is_leftover(p)] if out.exists() else []
    )
    if not held:
        return
    if not (layout.work / JOB).exists():
        raise OutputError(
            f"Expected a new or empty folder for the answers, but {out} holds {held[0].name}; "
            "choose another with out=."
        )
    if not resume:
        raise OutputError(
            f"Expected a new or empty folder for the answers, but {out} holds those of a job; add "
            "resume=True to go on with it, or choose another with out=."
        )


def _begun(
    predictor: Predictor, asked: Asked, inputs: Inputs, layout: Layout, memory: int
) -> Worker:
    """Describe a job, or take the description of the one that goes on, which must be the same."""
    first = inputs.pieces[0]
    form = Form.of(predictor, asked, first.read().head(SAMPLE).reset_index(drop=True), first.path)
    rows = most_rows(form, memory)
    path = layout.work / JOB
    known = json.loads(path.read_text()) if path.exists() else {}
    buckets = known.get("buckets") or max(_BUCKETS, math.ceil(4 * inputs.rows / rows))
    worker = Worker(form, layout, inputs.pieces, buckets, rows)
    job = described(worker) | {"weights": _digest(predictor)}
    if known and known != job:
        changed = next(key for key in job if known.get(key) != job[key])
        raise CheckpointError(
            f"Expected the job of {layout.out} again, but its {changed} are others by now; give "
            "the same files and options, or choose another folder with out=."
        )
    write_atomically(path, json.dumps(job).encode())
    return worker


def _digest(predictor: Predictor) -> str:
    found = hashlib.blake2b(digest_size=8)
    for value in predictor.model.state_dict().values():
        found.update(value.detach().cpu().contiguous().numpy().tobytes())
    return found.hexdigest()


def _sort(worker: Worker, engine: Engine, summary: Summary, progress: Progress) -> None:
    """Sort all pieces into buckets, unless every bucket is done."""
    if all(worker.layout.report(bucket).exists() for bucket in range(worker.buckets)):
        return
    total = len(worker.pieces)
    for done, (_, report) in enumerate(engine(worker, "sort", range(total)), 1):
        _check(report)
        if "broken" in report:
            summary.broken[report["path"]] = report["broken"]
        summary.rows_in += report.get("rows", 0)
        summary.without_series += report.get("without_series", 0)
        progress("Sorting", done, total, summary)


def _predict(worker: Worker, engine: Engine, summary: Summary, progress: Progress) -> None:
    waiting = []
    for bucket in range(worker.buckets):
        path = worker.layout.report(bucket)
        if path.exists():
            summary.add(json.loads(path.read_text()))
            summary.skipped += 1
        else:
            waiting.append(bucket)
    for done, (_, report) in enumerate(engine(worker, "predict", waiting), 1):
        _check(report)
        summary.add(report)
        progress("Predicting", summary.skipped + done, worker.buckets, summary)


def _check(report: Report) -> None:
    if "fatal" in report:
        raise ProcessError(report["fatal"])


def _write_errors(worker: Worker, summary: Summary) -> None:
    """Write down what could not be predicted or read: a row for each series and file."""
    rows: list[dict[str, Any]] = []
    for bucket in range(worker.buckets):
        report = json.loads(worker.layout.report(bucket).read_text())
        rows += [
            {worker.form.group: label, "file": None, "error": sentence}
            for label, sentence in report["failed"]
        ]
    rows += [
        {worker.form.group: None, "file": path, "error": sentence}
        for path, sentence in sorted(summary.broken.items())
    ]
    if rows:
        frame = pd.DataFrame(rows)
        label = frame[worker.form.group]
        frame[worker.form.group] = label.astype(
            "Int64" if all(isinstance(x, int) for x in label.dropna()) else "string"
        )
        content = frame.astype({"file": "string"}).to_parquet(index=False)
        write_together({worker.layout.out / ERRORS: content})
