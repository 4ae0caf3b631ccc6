"""Checkpoints: a run goes on as if it had never been stopped."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from convcnp.data.functions import GPSource
from convcnp.errors import CheckpointError
from convcnp.models.convcnp import ConvCNP
from convcnp.storage import read_tensors
from convcnp.training.checkpoint import BEST, CHECKPOINT, RunState
from convcnp.training.loop import train
from helpers import metrics_of, seeded_model, small_training

WORKER = Path(__file__).with_name("kill_worker.py")


def state_of(model, average=None):
    optimizer = torch.optim.Adam(model.parameters())
    return RunState(model, optimizer, average)


def test_a_state_makes_a_round_trip(tmp_path):
    ours, theirs = (
        state_of(seeded_model(), seeded_model()),
        state_of(ConvCNP.small(), ConvCNP.small()),
    )
    ours.model.head.weight.grad = torch.ones_like(ours.model.head.weight)
    ours.optimizer.step()
    ours.progress.step, ours.progress.losses = 3, [0.5]
    ours.write(tmp_path / "file")
    theirs.read(tmp_path / "file")
    assert theirs.progress == ours.progress
    for one, other in (
        (ours.model.state_dict(), theirs.model.state_dict()),
        (ours.average.state_dict(), theirs.average.state_dict()),
        (ours.best, theirs.best),
    ):
        assert all(torch.equal(one[name], other[name]) for name in one)
    assert not torch.equal(theirs.best["head.weight"], theirs.model.head.weight)
    states = [state.optimizer.state_dict()["state"] for state in (ours, theirs)]
    assert states[0].keys() == states[1].keys() != set()


def test_a_cut_checkpoint_is_refused_with_a_sentence(tmp_path):
    train(seeded_model(), GPSource(), small_training(), tmp_path)
    path = tmp_path / CHECKPOINT
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(CheckpointError, match=r"must be a.*safetensors file.*cut short"):
        train(seeded_model(), GPSource(), small_training(), tmp_path, resume=True)


def test_a_checkpoint_of_another_model_is_refused_with_a_sentence(tmp_path):
    train(seeded_model(), GPSource(), small_training(), tmp_path)
    with pytest.raises(CheckpointError, match="must hold a run of this experiment"):
        train(
            ConvCNP.small(dim_y=2),
            GPSource(dim_y=2),
            small_training(),
            tmp_path,
            resume=True,
        )


def start_worker(directory, pause="none"):
    return subprocess.Popen([sys.executable, str(WORKER), str(directory), pause])


def step_reached(directory):
    """Read the step from a checkpoint that the worker may replace meanwhile."""
    if not (directory / CHECKPOINT).exists():
        return 0
    content = (directory / CHECKPOINT).read_bytes()  # in one go; a reader by name opens it twice
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return json.loads(header["__metadata__"]["json"])["progress"]["step"]


def wait_for(condition, process, seconds=120):
    until = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None or process.returncode == 0, "the worker failed"
        assert time.monotonic() < until, "the worker did not get there"
        time.sleep(0.002)


def final_weights(directory):
    """The best weights, and all tensors of the last step."""
    return tuple(read_tensors(directory / name)[0] for name in (BEST, CHECKPOINT))


def test_a_run_killed_twice_once_in_a_write_ends_with_the_same_bits(tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    undisturbed = start_worker(whole)
    for step, pause in ((3, "none"), (11, "in-write")):
        process = start_worker(killed, pause)
        wait_for(lambda at=step: step_reached(killed) >= at, process)
        if pause == "in-write":
            wait_for((killed / "writing").exists, process)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    assert start_worker(killed).wait() == 0
    assert undisturbed.wait() == 0
    for ours, theirs in zip(final_weights(whole), final_weights(killed), strict=True):
        assert set(ours) == set(theirs)
        assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert metrics_of(whole) == metrics_of(killed)
