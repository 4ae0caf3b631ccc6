"""Files of data sets: the user's folder first, then upstream with a checked hash; a cache."""

import hashlib
import http.server
import os
import threading
from contextlib import contextmanager

import numpy as np
import pytest

from convcnp.data.files import Upstream, cache_folder, cached, data_file, data_folder, download_bar
from convcnp.errors import DataError

CONTENT = b"some data"


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """Neither a data folder nor anything downloaded before."""
    monkeypatch.delenv("CONVCNP_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def upstream(nowhere):
    """Serve a folder with one file, and count what is asked of it."""
    served = nowhere / "served"
    served.mkdir()
    (served / "file.bin").write_bytes(CONTENT)
    asked = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=str(served))

        def log_message(self, *arguments):
            asked.append(self.path)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/", asked
    server.shutdown()
    thread.join()
    server.server_close()


def md5(content: bytes) -> str:
    return hashlib.md5(content).hexdigest()


def test_the_data_folder_is_that_of_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("CONVCNP_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    for nothing in ("", None):
        if nothing is None:
            monkeypatch.delenv("CONVCNP_DATA")
        else:
            monkeypatch.setenv("CONVCNP_DATA", nothing)
        assert data_folder() is None


def test_the_first_file_of_the_data_folder_is_taken(monkeypatch, tmp_path):
    monkeypatch.setenv("CONVCNP_DATA", str(tmp_path))
    (tmp_path / "set").mkdir()
    for name in ("part.bin", "whole.bin"):
        (tmp_path / "set" / name).touch()
        assert data_file("set", ["whole.bin", "part.bin"], "its home").name == name


def test_a_missing_file_without_upstream_is_refused(nowhere):
    with pytest.raises(
        DataError,
        match=r"Expected a.bin or b.bin in the folder set of the folder that CONVCNP_DATA names "
        r"\(not set\), but it is not there; get it from its home",
    ):
        data_file("set", ["a.bin", "b.bin"], "its home")


def test_a_file_is_downloaded_once(upstream):
    url, asked = upstream
    for _ in range(2):
        path = data_file("set", ["file.bin"], Upstream(url + "file.bin", md5(CONTENT)))
        assert path.read_bytes() == CONTENT
    assert len(asked) == 1


def test_bytes_that_arrive_are_reported_under_the_name_of_the_file(upstream):
    url, _ = upstream
    seen = []

    @contextmanager
    def bar(name):
        yield lambda done, total: seen.append((name, done, total))

    token = download_bar.set(bar)
    try:
        data_file("set", ["file.bin"], Upstream(url + "file.bin", md5(CONTENT)))
    finally:
        download_bar.reset(token)
    assert seen[-1] == ("file.bin", len(CONTENT), len(CONTENT))


def test_a_file_with_another_hash_is_refused_and_not_kept(upstream):
    url, asked = upstream
    for _ in range(2):
        with pytest.raises(DataError, match=r"the file known here, but .*hash.*try again later"):
            data_file("set", ["file.bin"], Upstream(url + "file.bin", md5(b"other")))
    assert len(asked) == 2


def test_a_home_that_does_not_answer_is_named(upstream):
    url, _ = upstream
    with pytest.raises(DataError, match=r"missing.bin to answer .*404.*put the file there"):
        data_file("set", ["missing.bin"], Upstream(url + "missing.bin", md5(CONTENT)))


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
