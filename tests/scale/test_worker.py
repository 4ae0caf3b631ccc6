"""A worker: what it writes is whole, and what is done is not done again."""

import pandas as pd

from convcnp.predict.zoo import load
from convcnp.scale.form import Form
from convcnp.scale.inputs import Inputs
from convcnp.scale.worker import Layout, Worker, call, described
from lakes import MODEL, asked, some_series, write_lake


def worker_of(tmp_path, frame):
    form = Form.of(load(MODEL), asked(), frame, "a")
    pieces = Inputs.find(str(write_lake(tmp_path / "lake", frame))).pieces
    return Worker(form, Layout(tmp_path / "out"), pieces, 2, 10**6)


def test_pieces_are_sorted_once_and_buckets_written_with_a_report(tmp_path):
    worker = worker_of(tmp_path, some_series(8))
    told = [worker.sort(number) for number in range(3)]
    assert sum(report["rows"] for report in told) == len(some_series(8))
    written = worker.layout.sorted_piece(0).stat().st_mtime_ns
    assert worker.sort(0) == told[0]
    assert worker.layout.sorted_piece(0).stat().st_mtime_ns == written
    reports = [worker.predict(bucket) for bucket in range(2)]
    assert sum(report["series"] for report in reports) == 8
    rows = sum(len(pd.read_parquet(worker.layout.answers(bucket))) for bucket in range(2))
    assert rows == sum(report["rows"] for report in reports) > 0


def test_a_broken_piece_is_told_of_and_another_form_ends_the_job(tmp_path):
    worker = worker_of(tmp_path, some_series(8))
    path = tmp_path / "lake/f1.parquet"
    described(worker)
    path.write_bytes(path.read_bytes()[:100])
    assert "cannot be read" in worker.sort(1)["broken"]
    pd.DataFrame({"x": [1]}).to_parquet(tmp_path / "lake/f2.parquet", index=False)
    assert "has no column 'station'" in call(worker, "sort", 2)["fatal"]
