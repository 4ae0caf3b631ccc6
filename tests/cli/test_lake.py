"""`convcnp predict` of folders and patterns."""

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
        (["--out", "answers", "--group", "", "--time", "time"], "name it with group="),
        (["--out", "answers", "--group", "statoin"], "did you mean 'station'"),
    ],
)
def test_what_cannot_be_asked_of_a_lake_is_refused(tmp_path, monkeypatch, more, sentence):
    monkeypatch.chdir(tmp_path)
    lake = write_lake(tmp_path / "lake", some_series(4))
    done = invoke("predict", lake, *MODEL, "--workers", 1, *more)
    assert isinstance(done.exception, ConvCNPError)
    assert sentence in str(done.exception)


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
