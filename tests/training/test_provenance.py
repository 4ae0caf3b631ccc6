"""Where a number comes from."""

import os
import platform
import re
import subprocess

import torch

from convcnp.training import provenance
from convcnp.training.provenance import commit, hardware, versions


def test_the_machine_is_described():
    found = hardware()
    assert found["cpu"]
    assert found["cores"] == os.cpu_count()
    assert found["threads"] == torch.get_num_threads()
    assert (found["gpu"] is None) == (not torch.cuda.is_available())


def test_the_versions_are_those_that_run():
    assert versions()["torch"] == str(torch.__version__)
    assert versions()["python"] == platform.python_version()
    assert set(versions()) == {"convcnp", "torch", "python"}


def test_the_commit_is_that_of_the_checkout_and_says_if_files_differ():
    assert re.fullmatch(r"[0-9a-f]{12}(-dirty)?", commit())


def test_without_a_checkout_there_is_no_commit(monkeypatch):
    def fail(*arguments, **options):
        raise subprocess.CalledProcessError(128, "git")

    monkeypatch.setattr(provenance.subprocess, "run", fail)
    assert commit() is None
