"""What a worker does, in any process: sort a piece into buckets, predict a bucket."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from convcnp.errors import ConvCNPError, TableError
from convcnp.predict.predictor import Predictor
from convcnp.scale.bucket import answer_bucket
from convcnp.scale.form import Form
from convcnp.scale.inputs import Piece
from convcnp.scale.parts import read_bucket, write_parts
from convcnp.storage import write_atomically, write_together

WORK = ".convcnp"  # the folder, in that of the answers, of what is under way

Report = dict[str, Any]


@dataclass(frozen=True)
class Layout:
    """Where the files of a job are."""

    out: Path

    @property
    def work(self) -> Path:
        """The folder of what is under way."""
        return self.out / WORK

    def sorted_piece(self, number: int) -> Path:
        """Return the file with the rows of a piece, sorted into buckets."""
        return self.work / "sorted" / f"{number:06d}.arrow"

    def sorted_report(self, number: int) -> Path:
        """Return what is told of a piece once it is sorted."""
        return self.work / "sorted" / f"{number:06d}.json"

    def answers(self, bucket: int) -> Path:
        """Return the file of a bucket's answers."""
        return self.out / f"part-{bucket:05d}.parquet"

    def report(self, bucket: int) -> Path:
        """Return what is told of a bucket once it is predicted, and not before."""
        return self.work / f"bucket-{bucket:05d}.json"


@dataclass(frozen=True)
class Worker:
    """A worker of a job; its model is loaded once, when it is first needed.

    Args:
        pieces: All pieces that are read.
        buckets: How many there are.
        most_rows: Of a series, and of series that are predicted together.
    """

    form: Form
    layout: Layout
    pieces: tuple[Piece, ...]
    buckets: int
    most_rows: int

    @cached_property
    def predictor(self) -> Predictor:
        """The model, in one thread: there are as many workers as cores."""
        torch.set_num_threads(1)
        return self.form.predictor()

    def sort(self, number: int) -> Report:
        """Sort the rows of a piece into buckets; a file that cannot be read is told of."""
        piece, report = self.pieces[number], self.layout.sorted_report(number)
        if report.exists():
            return dict(json.loads(report.read_text()))
        try:
            frame = piece.read()
        except TableError as error:
            return {"path": piece.path, "broken": str(error)}
        path = self.layout.sorted_piece(number)
        without = write_parts(self.form, piece, frame, self.buckets, path)
        told = {"rows": len(frame), "without_series": without}
        write_atomically(report, json.dumps(told).encode())
        return told

    def predict(self, bucket: int) -> Report:
        """Predict the series of a bucket, and write their answers, whole or not at all."""
        paths = [self.layout.sorted_piece(number) for number in range(len(self.pieces))]
        frame = read_bucket([path for path in paths if path.exists()], bucket)
        found = answer_bucket(self.predictor, self.form, frame, self.most_rows)
        answer = found.answer
        if answer is not None:
            write_together({self.layout.answers(bucket): _parquet(answer)})
        report = found.counts(self.form.group) | {
            "failed": [[_plain(label), sentence] for label, sentence in found.errors],
            "warnings": dict(found.warnings),
        }
        write_atomically(self.layout.report(bucket), json.dumps(report).encode())
        return report


def _parquet(answer: Any) -> bytes:  # noqa: ANN401 - a DataFrame
    content: bytes = answer.to_parquet(index=False)
    return content


def _plain(label: Any) -> Any:  # noqa: ANN401 - a cell of any kind
    """Return a label as JSON has it."""
    label = label.item() if hasattr(label, "item") else label
    return label if isinstance(label, int | float | str) else str(label)


def call(worker: Worker, method: str, number: int) -> Report:
    """Call a worker, and return the sentence of an error that ends the job."""
    try:
        found: Report = getattr(worker, method)(number)
    except ConvCNPError as error:
        return {"fatal": str(error)}
    except OSError as error:
        return {"fatal": f"Expected files that can be written, but it failed ({error})."}
    return found


def described(worker: Worker) -> dict[str, Any]:
    """Return all that a job's answers depend on, as JSON has it."""
    form = asdict(worker.form)
    form["axis"] = {name: str(value) for name, value in form["axis"].items()}
    files = {
        piece.path: [Path(piece.path).stat().st_size, Path(piece.path).stat().st_mtime_ns]
        for piece in worker.pieces
    }
    parts = {"form": form, "files": files, "buckets": worker.buckets}
    return dict(json.loads(json.dumps(parts)))
