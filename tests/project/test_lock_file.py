"""The lock files: what `make install` takes is what was tested, to the last byte."""

import re

import pytest
from tests.helpers import ROOT
from tools.lock import HEADER, hashes_in, locked, pins

LOCK = (ROOT / "requirements.lock").read_text()
PAGE = """
<a href="files/thing-1.0.tar.gz#sha256={a}" data-x="1">thing-1.0.tar.gz</a>
<a href="files/thing-1.0-cp311-cp311-manylinux_2_17_x86_64.whl#sha256={b}">
  thing-1.0-cp311-cp311-manylinux_2_17_x86_64.whl</a>
<a href="files/thing-1.0-cp310-cp310-manylinux_2_17_x86_64.whl#sha256={c}">
  thing-1.0-cp310-cp310-manylinux_2_17_x86_64.whl</a>
<a href="files/thing-1.0-cp311-cp311-win_amd64.whl#sha256={c}">
  thing-1.0-cp311-cp311-win_amd64.whl</a>
<a href="files/thing-1.0.1.tar.gz#sha256={c}">thing-1.0.1.tar.gz</a>
""".format(a=64 * "a", b=64 * "b", c=64 * "c")


def test_every_version_but_torch_s_has_its_hashes():
    requirements = LOCK.removeprefix(HEADER).replace("\\\n", "").splitlines()
    assert len(requirements) > 100
    for line in requirements:
        assert re.fullmatch(r"[\w.-]+==\S+(\s+--hash=sha256:[0-9a-f]{64})+", line), line
    assert "torch" not in dict(pins(requirements))


def test_torch_is_pinned_in_a_file_of_its_own():
    assert dict(pins((ROOT / "requirements-torch.lock").read_text().splitlines())).keys() == {
        "torch"
    }


def test_both_are_installed_and_hashes_are_required():
    makefile = (ROOT / "Makefile").read_text()
    assert "--require-hashes -r requirements.lock" in makefile
    assert "-r requirements-torch.lock" in makefile


def test_files_of_the_version_that_fit_are_taken_from_the_index():
    assert hashes_in(PAGE, "1.0") == [64 * "a", 64 * "b"]
    assert hashes_in(PAGE, "1.0.1") == [64 * "c"]


def test_a_version_of_which_no_file_fits_is_named():
    with pytest.raises(SystemExit, match=r"no file of thing 2\.0"):
        locked("thing", "2.0", hashes_in(PAGE, "2.0"))


def test_builds_are_not_part_of_a_version():
    assert list(pins(["torch==2.13.0+cpu", "# a word", "-e ."])) == [("torch", "2.13.0")]
