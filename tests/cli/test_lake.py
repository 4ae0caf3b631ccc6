"""`convcnp predict` of folders and patterns."""

import os
from pathlib import Path

import pandas as pd
import pytest

from convcnp.cli.lake import is_lake
from convcnp.errors import ConvCNPError
from helpers import invoke
from lakes import answers_in, check_same, some_series, write_lake

MODEL = ["--model", "eq-convcnp", "--group", "station"]


def test_a_pattern_is_predicted_into_a_folder(tmp_path):
    frame = some_series(12)
    frame.loc[frame["station"] == "s7", ["temp", "rain"]] = None
    lake = write_lake(tmp_path / "lake", frame)
    out = tmp_path / "out"
    done = invoke("predict", f"{lake}/*.parquet", "--out", out, "--workers", 1, *MODEL)
    assert done.exit_code == 0, done.output
    check_same(answers_in(out), frame)
    assert "12 series: " in done.stderr
    assert "errors.parquet says why 1 series" in done.stderr
    again = invoke("predict", lake, "--out", out, "--workers", 1, *MODEL)
    assert "add resume=True" in str(again.exception)
    done = invoke("predict", f"{lake}/*.parquet", "--out", out, "--workers", 1, "--resume", *MODEL)
    assert "16 buckets were done before" in done.stderr


def test_a_broken_file_among_good_ones_is_named_and_the_command_fails(tmp_path):
    lake = write_lake(tmp_path / "lake", some_series(6))
    (lake / "f9.parquet").write_bytes(b"PAR1")
    done = invoke("predict", lake, "--out", tmp_path / "out", "--workers", 1, *MODEL)
    assert isinstance(done.exception, ConvCNPError)
    assert "f9.parquet, but it cannot be read" in str(done.exception)
    assert len(answers_in(tmp_path / "out"))


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ([], "name it with --out"),
        (["--out", "answers.csv"], "got the file answers.csv"),
        (["--out", "answers", "--engine", "spark"], "--engine must be pool or ray, got 'spark'"),
        (["--out", "answers", "--address", "here"], "add --engine ray"),
        (["--out", "answers", "--samples", "2"], "--samples is for one table"),
        (["--out", "answers", "--plot", "p.png"], "--plot is for one table"),
        (["--out", "answers", "--memory", "lots"], "memory must be at least 10MB"),
        (["--out", "answers", "--group", ""], "An empty group says that there is none, got 'stat"),
        (["--out", "answers", "--group", "time"], "got 'station+time'; put these into one"),
    ],
)
def test_what_cannot_be_asked_of_a_lake_is_refused(tmp_path, monkeypatch, more, sentence):
    monkeypatch.chdir(tmp_path)
    lake = write_lake(tmp_path / "lake", some_series(4))
    done = invoke("predict", lake, *MODEL, "--workers", 1, *more)
    assert isinstance(done.exception, ConvCNPError)
    assert sentence in str(done.exception)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--group", "", "--time", "time"], "name it with group="),
        (["--group", "statoin"], "did you mean 'station'"),
    ],
)
def test_a_lake_needs_a_column_that_tells_series_apart(tmp_path, more, sentence):
    lake = write_lake(tmp_path / "lake", some_series(4))
    done = invoke("predict", lake, "--out", tmp_path / "answers", "--model", "eq-convcnp", *more)
    assert sentence in str(done.exception)


def test_a_cluster_that_does_not_answer_is_named_and_nothing_written(tmp_path):
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'convcnp[ray]'")
    lake, out = write_lake(tmp_path / "lake", some_series(4)), tmp_path / "out"
    ray = ["--engine", "ray", "--address", "127.0.0.1:1"]
    done = invoke("predict", lake, "--out", out, *ray, *MODEL)
    assert isinstance(done.exception, ConvCNPError)
    assert "Expected a Ray cluster at 127.0.0.1:1" in str(done.exception)
    assert not out.exists()


def test_a_folder_that_may_not_be_written_is_named(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    if os.geteuid() == 0:  # whom modes do not stop
        closed = Path("/proc")
        if not closed.is_dir():
            pytest.skip("an administrator may write everywhere")
    lake = write_lake(tmp_path / "lake", some_series(4))
    done = invoke("predict", lake, "--out", closed / "out", "--workers", 1, *MODEL)
    assert isinstance(done.exception, ConvCNPError)
    assert str(closed / "out") in str(done.exception)


def test_tables_of_two_forms_are_refused_before_anything_is_answered(tmp_path):
    lake, out = write_lake(tmp_path / "lake", some_series(6)), tmp_path / "out"
    some_series(6).drop(columns="temp").to_parquet(lake / "f2.parquet", index=False)
    options = ["--out", out, "--workers", 1, *MODEL]
    done = invoke("predict", lake, *options)
    assert isinstance(done.exception, ConvCNPError)
    assert "f2.parquet has no column 'temp'" in str(done.exception)
    assert not list(out.glob("*.parquet"))


def test_a_folder_that_holds_other_things_is_left_alone(tmp_path):
    lake, out = write_lake(tmp_path / "lake", some_series(4)), tmp_path / "out"
    out.mkdir()
    (out / "letter.txt").write_text("dear")
    done = invoke("predict", lake, "--out", out, "--workers", 1, *MODEL)
    assert "holds letter.txt; choose another" in str(done.exception)
    assert [path.name for path in out.iterdir()] == ["letter.txt"]


def test_options_of_many_files_are_refused_for_one(tmp_path):
    some_series(3).to_csv(tmp_path / "one.csv", index=False)
    done = invoke("predict", tmp_path / "one.csv", "--workers", 2, *MODEL)
    assert "--workers is for many files" in str(done.exception)


def test_a_file_with_signs_of_a_pattern_is_a_file(tmp_path):
    path = tmp_path / "a[1].csv"
    pd.DataFrame({"t": [1]}).to_csv(path)
    assert not is_lake(str(path), None)
    assert is_lake(str(tmp_path / "a*.csv"), None)
    assert is_lake(str(tmp_path), None)
