"""A job: the numbers of one process, in whole files, however often it is ended."""

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from convcnp.errors import CheckpointError, OutputError, ProcessError, SettingError
from convcnp.scale.job import predict_files, read_memory
from convcnp.scale.pool import in_pool
from convcnp.scale.worker import Worker
from lakes import answers_in, asked, check_same, some_series, write_lake


def hashes(folder):
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.glob("*.parquet"))
    }


@pytest.mark.parametrize("words", [True, False])
def test_a_lake_gives_the_numbers_of_one_table(tmp_path, words):
    frame = some_series(40, words=words)
    silent = "s7" if words else 7
    frame.loc[frame["station"] == silent, ["temp", "rain"]] = None
    lake = write_lake(tmp_path / "lake", frame)
    seen = []
    summary = predict_files(
        str(lake), tmp_path / "out", asked(), progress=lambda *told: seen.append(told[:3])
    )
    answers = answers_in(tmp_path / "out")
    check_same(answers, frame)
    assert len(answers) == summary.rows
    assert summary.series == summary.answered + summary.nothing_asked + summary.errors == 40
    errors = pd.read_parquet(tmp_path / "out/errors.parquet")
    assert errors["station"].tolist() == [silent]
    assert "40 series" in summary.description
    assert [told[:2] for told in seen][:3] == [("Sorting", 1), ("Sorting", 2), ("Sorting", 3)]
    assert seen[-1] == ("Predicting", 16, 16)


@pytest.mark.slow
@pytest.mark.parametrize("words", [True, False])
def test_five_thousand_series_in_a_pool_give_the_numbers_of_one_table(tmp_path, words):
    frame = some_series(5000, words=words)
    lake = write_lake(tmp_path / "lake", frame)
    predict_files(str(lake), tmp_path / "out", asked(), engine=in_pool(2))
    check_same(answers_in(tmp_path / "out"), frame)


def test_a_job_that_ended_goes_on_to_the_same_files(tmp_path, monkeypatch):
    lake = write_lake(tmp_path / "lake", some_series(40))
    predict_files(str(lake), tmp_path / "whole", asked())
    real, done = Worker.predict, []

    def fails_after_three(self, bucket):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(bucket)
        return real(self, bucket)

    monkeypatch.setattr(Worker, "predict", fails_after_three)
    with pytest.raises(KeyboardInterrupt):
        predict_files(str(lake), tmp_path / "out", asked())
    monkeypatch.setattr(Worker, "predict", lambda self, i: (done.append(i), real(self, i))[1])
    with pytest.raises(OutputError, match="add resume=True to go on"):
        predict_files(str(lake), tmp_path / "out", asked())
    with pytest.raises(CheckpointError, match="its form are others by now"):
        predict_files(str(lake), tmp_path / "out", asked(at="3"), resume=True)
    summary = predict_files(str(lake), tmp_path / "out", asked(), resume=True)
    assert summary.skipped == 3
    assert sorted(done) == list(range(16))
    assert hashes(tmp_path / "out") == hashes(tmp_path / "whole") != {}
    again = predict_files(str(lake), tmp_path / "out", asked(), resume=True)
    assert (again.skipped, again.series) == (16, summary.series)


def test_a_broken_file_is_named_and_the_others_are_done(tmp_path):
    lake = write_lake(tmp_path / "lake", some_series(10))
    (lake / "f9.parquet").write_bytes(b"PAR1 and nothing")
    summary = predict_files(str(lake), tmp_path / "out", asked())
    assert list(summary.broken) == [str(lake / "f9.parquet")]
    errors = pd.read_parquet(tmp_path / "out/errors.parquet")
    assert errors["file"].tolist() == [str(lake / "f9.parquet")]
    assert summary.answered > 0


def test_other_things_and_other_forms_are_refused(tmp_path):
    lake = write_lake(tmp_path / "lake", some_series(6))
    (tmp_path / "full").mkdir()
    (tmp_path / "full/letter.txt").write_text("dear")
    with pytest.raises(OutputError, match=r"holds letter\.txt; choose another"):
        predict_files(str(lake), tmp_path / "full", asked())
    with pytest.raises(OutputError, match="is none; choose another"):
        predict_files(str(lake), tmp_path / "full/letter.txt", asked())
    some_series(3, words=False).to_parquet(lake / "f8.parquet", index=False)
    with pytest.raises(ProcessError, match="'station' holds whole numbers in"):
        predict_files(str(lake), tmp_path / "out", asked())


def test_memory_is_read():
    assert read_memory("500MB") == 5 * 10**8
    for text in ("much", "5", "-1GB"):
        with pytest.raises(SettingError, match="memory must be at least 10MB"):
            read_memory(text)


@pytest.mark.slow
def test_a_command_killed_in_the_middle_goes_on_to_the_same_files(tmp_path):
    # Slow enough to be caught in the middle.
    lake = write_lake(tmp_path / "lake", some_series(100, step="1D"))
    predict_files(str(lake), tmp_path / "whole", asked())
    command = [sys.executable, "-m", "convcnp", "predict", str(lake), "--model", "eq-convcnp"]
    command += ["--out", str(tmp_path / "out"), "--workers", "2", "--resume"]
    command += ["--group", "station"]
    for victim in ("driver", "worker"):
        process = subprocess.Popen(command, start_new_session=True)
        try:
            before = len(hashes(tmp_path / "out"))
            until = time.monotonic() + 300
            while len(hashes(tmp_path / "out")) <= before + 1:
                assert process.poll() is None and time.monotonic() < until
                time.sleep(0.01)
            if victim == "driver":
                os.kill(process.pid, signal.SIGKILL)
            else:
                children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
                os.kill(int(children.read_text().split()[-1]), signal.SIGKILL)
            assert process.wait(300) in (-signal.SIGKILL, 2)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert subprocess.run(command, check=False, timeout=600).returncode == 0
    assert hashes(tmp_path / "out") == hashes(tmp_path / "whole")
