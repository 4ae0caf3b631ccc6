"""One process at a time in a run's directory."""

import os
import signal
import subprocess
import sys

import pytest

from convcnp.errors import OutputError
from convcnp.storage import write_atomically
from convcnp.training.lock import LOCK, is_empty, locked, refuse_if_held

HOLDER = """
import sys, time
from pathlib import Path
from convcnp.training.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_directory_is_held_by_one_and_the_other_is_told_by_whom(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", HOLDER, tmp_path], stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"held\n"
        for held in (lambda: locked(tmp_path).__enter__(), lambda: refuse_if_held(tmp_path)):
            with pytest.raises(OutputError, match=rf"held by process {process.pid} on \S+; wait"):
                held()
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
    refuse_if_held(tmp_path)
    with locked(tmp_path):  # the system let go of it
        assert str(os.getpid()) in (tmp_path / LOCK).read_text()


def test_nothing_is_left_afterwards(tmp_path):
    with locked(tmp_path / "new"):
        assert is_empty(tmp_path / "new")
        with (
            pytest.raises(OutputError, match=r"^Expected a run.s directory for one process"),
            locked(tmp_path / "new"),
        ):
            pass
    assert list((tmp_path / "new").iterdir()) == []


def test_what_a_killed_process_had_begun_to_write_is_removed(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.replace", lambda *paths: None)
        write_atomically(tmp_path / "experiment.toml", b"cut sh")
    assert len(list(tmp_path.iterdir())) == 1
    assert is_empty(tmp_path)
    (tmp_path / "mine").touch()
    assert not is_empty(tmp_path)
    with locked(tmp_path):
        assert sorted(path.name for path in tmp_path.iterdir()) == [LOCK, "mine"]


def test_a_directory_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=r"but .*file cannot"), locked(tmp_path / "file"):
        pass
