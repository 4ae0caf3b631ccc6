"""Files that are whole at any moment."""

import errno
import multiprocessing
import os

import pytest
import torch

from convcnp.errors import CheckpointError, OutputError
from convcnp.storage import (
    is_file,
    is_leftover,
    read_tensors,
    write_atomically,
    write_tensors,
    write_together,
    writing,
)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_users_own_file_of_the_old_temporary_name_stays(tmp_path):
    (tmp_path / ".x.part").write_bytes(b"mine")
    write_atomically(tmp_path / "x", b"new")
    assert (tmp_path / ".x.part").read_bytes() == b"mine"


def test_a_link_that_was_laid_for_us_is_not_followed(tmp_path, monkeypatch):
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    monkeypatch.setattr("secrets.token_hex", lambda size: "guessed")
    (tmp_path / ".convcnp-part-guessed").symlink_to(victim)
    (tmp_path / ".x.part").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_atomically(tmp_path / "x", b"new")
    assert victim.read_bytes() == b"precious"


def write_many_times(path, letter):
    for _ in range(200):
        write_atomically(path, letter * 100_000)


def test_two_processes_that_write_one_file_never_tear_it(tmp_path):
    path = tmp_path / "x"
    write_atomically(path, b"a" * 100_000)
    fork = multiprocessing.get_context("fork")
    writers = [fork.Process(target=write_many_times, args=(path, x)) for x in (b"a", b"b")]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        content = path.read_bytes()
        assert len(content) == 100_000
        assert len(set(content)) == 1
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_mode_and_link_are_kept(tmp_path):
    path, link = tmp_path / "x", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o600)
    link.symlink_to(path)
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_new_file_has_the_usual_mode(tmp_path):
    (tmp_path / "usual").write_bytes(b"")
    write_atomically(tmp_path / "x", b"new")
    assert (tmp_path / "x").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_what_is_read_only_or_no_file_is_left_alone(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(PermissionError, match="read-only"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="no ordinary file"):
        write_atomically(tmp_path / "pipe", b"new")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(OSError, match="symbolic links"):
        write_atomically(tmp_path / "loop", b"new")


def test_files_are_written_together_or_not_at_all(tmp_path):
    first, second = tmp_path / "new" / "deep" / "first", tmp_path / "second"
    second.write_bytes(b"old")
    second.chmod(0o444)
    with pytest.raises(PermissionError):
        write_together({first: b"1", second: b"2"})
    assert [p.name for p in tmp_path.iterdir()] == ["second"]
    second.chmod(0o644)
    write_together({first: b"1", second: b"2"})
    assert (first.read_bytes(), second.read_bytes()) == (b"1", b"2")


def test_what_a_killed_process_leaves_is_known_by_its_name(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: seen.extend(tmp_path.iterdir()))
    write_atomically(tmp_path / "x", b"new")
    assert is_leftover(seen[0])
    assert not is_leftover(tmp_path / "x")


def test_a_directory_that_cannot_be_written_is_named(tmp_path):
    with (
        pytest.raises(OutputError, match=r"but .*inner cannot \(No space left on device\); choose"),
        writing(tmp_path / "inner"),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_tensors_and_what_is_said_of_them_make_a_round_trip(tmp_path):
    tensors = {"a": torch.arange(6).view(2, 3).T, "b": torch.tensor(1.5)}
    write_tensors(tmp_path / "new" / "file", tensors, {"step": 3})
    read, metadata = read_tensors(tmp_path / "new" / "file")
    assert all(torch.equal(read[name], tensors[name]) for name in tensors)
    assert metadata == {"step": 3}


@pytest.mark.parametrize("content", [None, b"", b"not tensors", 8 * b"\xff"])
def test_a_file_that_holds_no_tensors_is_refused(tmp_path, content):
    path = tmp_path / "file"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CheckpointError, match="must be a readable safetensors file"):
        read_tensors(path)


def test_a_name_may_be_empty_or_too_long():
    assert not is_file("")
    assert not is_file(5000 * "a")
    assert is_file("/")
