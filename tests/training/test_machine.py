"""What is set while a model is trained."""

import signal
import subprocess

import pytest
import scipy.linalg  # noqa: F401 - its threads are counted
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from convcnp.errors import SettingError
from convcnp.training.machine import (
    check_half_precision,
    flushing_denormals,
    multiplying_alone,
)
from convcnp.training.processes import Processes


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
