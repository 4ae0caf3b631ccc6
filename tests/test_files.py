"""Files of data sets: found in the data folder, and kept in the cache."""

import os

import numpy as np
import pytest

from convcnp.data.files import cache_folder, cached, data_file, data_folder
from convcnp.errors import DataError


def test_the_data_folder_is_the_one_the_environment_names(tmp_path, monkeypatch):
    monkeypatch.setenv("CONVCNP_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    monkeypatch.delenv("CONVCNP_DATA")
    assert data_folder() is None


def test_a_data_file_may_have_several_names(tmp_path, monkeypatch):
    monkeypatch.setenv("CONVCNP_DATA", str(tmp_path))
    (tmp_path / "stars").mkdir()
    (tmp_path / "stars/b.csv").touch()
    assert data_file("stars", ["a.csv", "b.csv"], "its home") == tmp_path / "stars/b.csv"
    with pytest.raises(DataError, match=r"c\.csv in the folder stars .*get it from its home"):
        data_file("stars", ["c.csv"], "its home")


@pytest.fixture
def counted(tmp_path, monkeypatch):
    """A file, and a reader that notes each time it is called."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path, calls = tmp_path / "numbers.txt", []
    path.write_text("1 2 3")

    def read(path):
        calls.append(path)
        return {"numbers": np.array(path.read_text().split(), dtype=float)}

    return path, read, calls


def test_a_file_is_read_once_until_it_changes(counted):
    path, read, calls = counted
    for _ in range(3):
        assert cached(path, read)["numbers"].tolist() == [1, 2, 3]
    assert len(calls) == 1
    path.write_text("4 5 6 7")
    assert cached(path, read)["numbers"].tolist() == [4, 5, 6, 7]
    path.write_text("8 5 6 7")  # as long as before
    os.utime(path, ns=(0, 10**18))
    assert cached(path, read)["numbers"].tolist() == [8, 5, 6, 7]


def test_a_damaged_cache_is_made_again(counted):
    path, read, calls = counted
    cached(path, read)
    (kept,) = cache_folder().iterdir()
    for damaged in (b"", b"PK\x03\x04", kept.read_bytes()[:-50]):
        kept.write_bytes(damaged)
        assert cached(path, read)["numbers"].tolist() == [1, 2, 3]
    assert len(calls) == 4


def test_a_cache_that_cannot_be_written_is_done_without(counted):
    path, read, calls = counted
    cache_folder().parent.write_text("a file where the folder should be")
    for _ in range(2):
        assert cached(path, read)["numbers"].tolist() == [1, 2, 3]
    assert len(calls) == 2
