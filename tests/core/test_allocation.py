"""What the C library does with memory that tensors free."""

import ctypes
import platform
import subprocess
import sys

import pytest

from convcnp.core.allocation import keep_freed_memory

FREED = """
import torch
from convcnp.core import allocation
from pathlib import Path

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20

allocation.{how}()
kept = []
before = resident()
many = [torch.ones(2**21) for _ in range(24)]  # 8 MiB each
kept.append(torch.ones(8))  # beyond them in the heap, if they are there
del many
print(resident() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of the GNU C library")
@pytest.mark.parametrize(
    ("how", "least", "most"), [("keep_freed_memory", 150, 250), ("return_freed_memory", -10, 20)]
)
def test_freed_memory_is_kept_or_given_back(how, least, most):
    command = [sys.executable, "-c", FREED.format(how=how)]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert least <= float(found) <= most


class Library:
    """Takes note of the settings of its memory."""

    def __init__(self):
        self.settings = {}

    def mallopt(self, parameter, value):
        self.settings[parameter] = value


def settings_made_for(name, monkeypatch):
    library = Library()
    monkeypatch.setattr(platform, "libc_ver", lambda: (name, ""))
    monkeypatch.setattr(ctypes, "CDLL", lambda path: library)
    keep_freed_memory()
    return library.settings


def test_glibc_keeps_what_was_freed(monkeypatch):
    trim, block = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of malloc.h
    assert settings_made_for("glibc", monkeypatch) == {trim: 512 * 2**20, block: 32 * 2**20}


def test_other_libraries_are_left_alone(monkeypatch):
    assert settings_made_for("", monkeypatch) == {}
