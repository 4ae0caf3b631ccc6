"""The training loop: schedules, metrics, learning, and exact resumption."""

import dataclasses
import json
import math
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from convcnp import EQ, Task
from convcnp.core.heads import GaussianHead
from convcnp.data.gp import GPSource
from convcnp.errors import CheckpointError, DivergedError
from convcnp.models.convcnp import ConvCNP
from convcnp.storage import read_tensors
from convcnp.training.evaluation import fixed_tasks, log_likelihoods
from convcnp.training.loop import (
    BEST,
    CHECKPOINT,
    LAST,
    METRICS,
    TrainingSettings,
    learning_rate,
    train,
)

WORKER = Path(__file__).parents[1] / "kill_worker.py"


def settings(**changes):
    small = {
        "steps": 6,
        "batch_size": 2,
        "validate_every": 3,
        "validation_tasks": 4,
        "checkpoint_every": 2,
    }
    return TrainingSettings(**{**small, **changes})


def seeded_model():
    torch.manual_seed(0)
    return ConvCNP.small(points_per_unit=16.0)


def test_a_constant_schedule_warms_up_and_stays():
    rates = [learning_rate(settings(warmup=3, learning_rate=0.4), step) for step in range(5)]
    assert rates == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.4])


def test_a_cosine_schedule_falls_to_nothing_at_the_last_step():
    chosen = settings(steps=100, schedule="cosine", learning_rate=1.0)
    assert learning_rate(chosen, 0) == 1.0
    assert learning_rate(chosen, 50) == pytest.approx(0.5)
    assert 0 < learning_rate(chosen, 99) < 1e-3


def test_a_run_leaves_metrics_and_weights(tmp_path):
    model = seeded_model()
    progress = train(model, GPSource(kernel=EQ()), settings(), tmp_path)
    rows = metrics_of(tmp_path)
    assert rows[0] == ["step", "loss", "log_likelihood", "learning_rate"]
    assert [row[0] for row in rows[1:]] == ["3", "6"]
    assert progress.best_score == max(float(row[2]) for row in rows[1:])
    best, _ = read_tensors(tmp_path / BEST)
    assert all(torch.equal(best[name], value) for name, value in model.state_dict().items())
    assert set(read_tensors(tmp_path / LAST)[0]) == set(best)
    assert not model.training


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(tmp_path):
    def weights(seed, name):
        train(model := seeded_model(), GPSource(kernel=EQ()), settings(seed=seed), tmp_path / name)
        return model.state_dict()["cnn.layers.0.conv.weight"]

    first = weights(1, "a")
    assert torch.equal(first, weights(1, "b"))
    assert not torch.equal(first, weights(2, "c"))


def test_averaged_weights_differ_from_the_last(tmp_path):
    train(seeded_model(), GPSource(kernel=EQ()), settings(average=0.9), tmp_path)
    best, last = read_tensors(tmp_path / BEST)[0], read_tensors(tmp_path / LAST)[0]
    assert not torch.equal(best["head.weight"], last["head.weight"])


def test_patience_stops_a_run_that_no_longer_improves(tmp_path):
    chosen = settings(steps=400, validate_every=1, patience=2, learning_rate=1e-30)
    progress = train(seeded_model(), GPSource(kernel=EQ()), chosen, tmp_path)
    assert progress.step < 400
    assert progress.stale == 2
    again = train(seeded_model(), GPSource(kernel=EQ()), chosen, tmp_path, resume=True)
    assert again.step == progress.step


class NotFiniteSource(GPSource):
    """Gives values so large that a squared error overflows, from the fourth batch on."""

    def values(self, x, generator):
        big = 1e25 if generator.initial_seed() in self.bad else 1.0
        return super().values(x, generator) * big


@pytest.mark.parametrize("damage", ["", "step,loss,log_likelihood,learning_rate,seconds\n\n10,-0."])
def test_a_damaged_table_of_metrics_does_not_stop_a_run_from_going_on(tmp_path, damage):
    train(seeded_model(), GPSource(kernel=EQ()), settings(), tmp_path)
    (tmp_path / "metrics.csv").write_text(damage)
    train(seeded_model(), GPSource(kernel=EQ()), settings(), tmp_path, resume=True)
    assert (tmp_path / "metrics.csv").read_text().startswith("step,loss")


def test_tasks_that_ask_for_nothing_do_not_count(tmp_path):
    class Half(GPSource):
        def draw(self, batch_size, generator):
            task = super().draw(batch_size, generator)
            mask = task.target_mask & (torch.arange(batch_size) % 2 == 0)[:, None, None]
            fields = (task.x_context, task.y_context, task.x_target, task.y_target)
            return Task(*fields, task.context_mask, mask)

    model = seeded_model().eval()
    half = log_likelihoods(model, fixed_tasks(Half(kernel=EQ()), 20, 0))
    whole = log_likelihoods(model, fixed_tasks(GPSource(kernel=EQ()), 20, 0))
    assert torch.equal(half, whole[::2])


def test_a_loss_that_is_not_finite_stops_the_run_and_keeps_the_checkpoint(tmp_path):
    source = NotFiniteSource(kernel=EQ())
    from convcnp.data.source import seeded

    object.__setattr__(source, "bad", {seeded(0, 4, 0).initial_seed()})
    with pytest.raises(
        DivergedError,
        match=r"must stay finite, got nan at step 4; the run up to step 4 is kept.*lower",
    ):
        train(seeded_model(), source, settings(), tmp_path)
    tensors, metadata = read_tensors(tmp_path / CHECKPOINT)
    assert metadata["progress"]["step"] == 4
    assert all(value.isfinite().all() for value in tensors.values())


def test_training_reports_every_step_and_the_metrics_when_validated(tmp_path):
    seen = []
    train(
        seeded_model(),
        GPSource(kernel=EQ()),
        settings(),
        tmp_path,
        report=lambda progress, metrics: seen.append((progress.step, bool(metrics))),
    )
    assert seen == [(1, False), (2, False), (3, True), (4, False), (5, False), (6, True)]


def test_metrics_reach_tensorboard_if_asked(tmp_path):
    train(seeded_model(), GPSource(kernel=EQ()), settings(), tmp_path, tensorboard=True)
    assert list((tmp_path / "tensorboard").glob("events.out.tfevents.*"))


def test_a_cut_checkpoint_is_refused_with_a_sentence(tmp_path):
    train(seeded_model(), GPSource(kernel=EQ()), settings(), tmp_path)
    path = tmp_path / CHECKPOINT
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(CheckpointError, match=r"must be a.*safetensors file.*cut short"):
        train(seeded_model(), GPSource(kernel=EQ()), settings(), tmp_path, resume=True)


def test_a_checkpoint_of_another_model_is_refused_with_a_sentence(tmp_path):
    train(seeded_model(), GPSource(kernel=EQ()), settings(), tmp_path)
    with pytest.raises(CheckpointError, match="must hold a run of this experiment"):
        train(
            ConvCNP.small(dim_y=2),
            GPSource(kernel=EQ(), dim_y=2),
            settings(),
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


def metrics_of(directory):
    """All columns but the time."""
    return [line.split(",")[:4] for line in (directory / METRICS).read_text().splitlines()]


def final_weights(directory):
    best, last = (read_tensors(directory / name)[0] for name in (BEST, LAST))
    return best, last


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


@pytest.mark.slow
def test_a_model_overfits_a_single_task(tmp_path):
    task = GPSource(kernel=EQ()).draw(1, torch.Generator().manual_seed(0))

    @dataclasses.dataclass(frozen=True)
    class OneTask:
        dim_x: int = 1
        dim_y: int = 1

        def draw(self, batch_size, generator):
            return Task.stack([task] * batch_size)

        def ceiling(self, task):
            return None

    chosen = settings(steps=600, validate_every=100, learning_rate=3e-3, schedule="cosine")
    progress = train(seeded_model(), OneTask(), chosen, tmp_path)
    assert progress.best_score > 1.0  # knowing only the spread of the values would give -1.4


@pytest.mark.slow
def test_a_small_model_learns_in_a_minute(tmp_path):
    chosen = TrainingSettings(
        steps=1200, learning_rate=2e-3, schedule="cosine", validate_every=400, validation_tasks=200
    )
    progress = train(
        ConvCNP.small(head=GaussianHead(1e-3)), GPSource(kernel=EQ()), chosen, tmp_path
    )
    assert math.isfinite(progress.best_score)
    assert progress.best_score > -0.2
