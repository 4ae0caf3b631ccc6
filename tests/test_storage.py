"""Files that are whole at any moment."""

import errno
import os

import pytest
import torch

from convcnp.errors import CheckpointError, OutputError
from convcnp.storage import is_file, read_tensors, write_atomically, write_tensors, writing


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
