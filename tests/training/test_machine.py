"""What is set while a model is trained."""

import ctypes
import platform
import signal
import subprocess

import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from convcnp.errors import SettingError
from convcnp.training.machine import (
    check_half_precision,
    flushing_denormals,
    keep_freed_memory,
    multiplying_alone,
)
from convcnp.training.processes import Processes


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


def test_loops_multiply_on_one_thread_for_as_long_as_asked():
    def threads():
        return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

    with threadpool_limits(limits=2, user_api="blas"):
        with multiplying_alone():
            assert threads() == {1}
        assert threads() == {2}


def test_denormals_are_flushed_for_as_long_as_asked():
    small = torch.full((8,), 1e-39)
    with flushing_denormals():
        assert (small / 2 * 2).sum() == 0
    assert (small / 2 * 2).sum() > 0


@pytest.mark.parametrize("check", [check_half_precision, lambda: Processes(precision="bf16-mixed")])
def test_a_processor_that_stops_at_a_product_in_half_precision_is_said(monkeypatch, check):
    def stopped(command, **options):
        return subprocess.CompletedProcess(command, -signal.SIGILL)

    monkeypatch.setattr(subprocess, "run", stopped)
    with pytest.raises(SettingError, match="ONEDNN_MAX_CPU_ISA"):
        check()
    Processes(precision="32")  # which needs no such product
