"""Training end to end against a plain loop, and what the package's loop adds to its steps."""

from __future__ import annotations

import io
import time
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
import torch
from rich.console import Console
from torch.nn.utils import clip_grad_norm_

from benchmarks.plain import copy_weights, plainly_training
from benchmarks.steps import LEAST, build, draw, every
from benchmarks.timing import Finding, Times
from convcnp import ConvCNP, Task
from convcnp.cli.progress import ProgressReporter
from convcnp.data.functions import GPSource
from convcnp.data.source import Source, seeded
from convcnp.training.checkpoint import Progress
from convcnp.training.loop import Reporter, TrainingSettings, train

SHARE = 5  # the plain loop takes a fifth of the steps
TURN = 4  # plain steps in a row
CHECKPOINT_EVERY = 20  # while the loop's overhead is measured


def throughput(quick: bool) -> list[Finding]:
    """Compare the processor's time of steps, drawing included, of the package's and a plain loop.

    They take turns of a fraction of a second: a machine that others use is fast and slow by turns.
    The plain loop has a process of its own, in which it is as anyone would write it: what `train`
    tells the C library and the processor does not reach it.
    """
    num_steps = 60 if quick else 1_000
    sizes = plain_sizes(num_steps)
    findings = []
    with TemporaryDirectory() as directory:
        for preset, least in LEAST.items():
            _train(build(preset), 2, Path(directory))  # imports, outside the measurement
            with _Plainly(preset, sizes) as plainly:
                cpu = time.process_time()
                _train(build(preset), num_steps, Path(directory), report=plainly)
                ours = (time.process_time() - cpu) / num_steps
            plain = sum(plainly.seconds) / len(sizes)
            parts = {"ms": round(1e3 * ours, 2), "plain ms": round(1e3 * plain, 2)}
            findings.append(
                Finding(f"training, {preset}", plain / ours, "x", least=least, parts=parts)
            )
    return findings


class _Plainly:
    """After every few steps of the loop, let another process take a few plain ones."""

    def __init__(self, preset: str, sizes: list[tuple[int, int]]) -> None:
        self.remaining, self.seconds = sizes, list[float]()
        spawning = get_context("spawn")
        self.connection, other = spawning.Pipe()
        self.process = spawning.Process(target=_take_steps, args=(other, preset), daemon=True)

    def __enter__(self) -> _Plainly:
        self.process.start()
        self._take(self.remaining[:TURN])  # imports, and a first step
        self.seconds.clear()
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.send(None)
        self.process.join()

    def __call__(self, progress: Progress, metrics: dict[str, float]) -> None:
        if progress.step % (SHARE * TURN) == 0:
            self._take(self.remaining[:TURN])
            self.remaining = self.remaining[TURN:]

    def _take(self, sizes: list[tuple[int, int]]) -> None:
        self.connection.send(sizes)
        self.seconds.append(self.connection.recv())


def _take_steps(connection: Connection, preset: str) -> None:
    """Take plain steps of the sizes that are sent, and send the processor's seconds, to the end."""
    take = plainly_training(copy_weights(build(preset)), np.random.default_rng(0))
    while (sizes := connection.recv()) is not None:
        started = time.process_time()
        for num_context, num_target in sizes:
            take(num_context, num_target)
        connection.send(time.process_time() - started)


def plain_sizes(num_steps: int) -> list[tuple[int, int]]:
    """Return context and target sizes for the plain loop, out of those that `train` draws."""
    tasks = [GPSource().draw(1, seeded(0, step, 0)) for step in range(num_steps)]
    few = every(SHARE, tasks)
    return [(task.x_context.shape[1], task.x_target.shape[1]) for task in few]


def overhead(quick: bool) -> list[Finding]:
    """Compare the loop's steps with the same steps taken by hand, in turns, on tasks drawn before.

    The small preset is the harder one: what a loop adds does not depend on the model.
    """
    num_steps = 60 if quick else 400
    predrawn = _Predrawn([draw(i) for i in range(num_steps)])
    console = Console(file=io.StringIO(), force_terminal=True)
    with TemporaryDirectory() as directory, ProgressReporter("overhead", num_steps, console) as bar:
        turns = _Turns(build("convcnp"), predrawn.tasks, bar)
        _train(build("convcnp"), num_steps, Path(directory), predrawn, turns)
    ordinary, writing = turns.differences()
    by_hand = turns.by_hand.milliseconds
    per_step = ordinary + (writing - ordinary) / TrainingSettings().checkpoint_every
    parts = {
        "step by hand ms": round(by_hand, 2),
        "added ms": round(ordinary, 3),
        "checkpoint ms, every 640 steps": round(writing - ordinary, 2),
    }
    return [Finding("training loop", 100 * per_step / by_hand, "% added", most=5.0, parts=parts)]


@dataclass
class _Predrawn:
    """A source that hands out finished tasks."""

    tasks: list[Task]
    dim_x: int = 1
    dim_y: int = 1

    def __post_init__(self) -> None:
        self._remaining = iter(self.tasks)

    def draw(self, batch_size: int, generator: torch.Generator) -> Task:
        return next(self._remaining)

    def ceiling(self, task: Task) -> None:
        return None


class _Turns:
    """After each step of the loop, report it, and take the same step by hand."""

    def __init__(self, model: ConvCNP, tasks: list[Task], report: Reporter) -> None:
        self.model, self.tasks, self.report = model, tasks, report
        self.optimizer = torch.optim.Adam(
            model.parameters(), lr=3e-4, weight_decay=1e-5, fused=True
        )
        self.in_loop: list[float] = []
        self.by_hand = Times()
        self._started = time.perf_counter()

    def __call__(self, progress: Progress, metrics: dict[str, float]) -> None:
        self.report(progress, metrics)
        self.in_loop.append(time.perf_counter() - self._started)
        with self.by_hand.measure():
            self._step(self.tasks[progress.step - 1])
        self._started = time.perf_counter()

    def _step(self, task: Task) -> None:
        assert task.y_target is not None
        loss = -self.model(task).log_likelihood(task.y_target).mean()
        loss.backward()
        clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()

    def differences(self) -> tuple[float, float]:
        """Return the milliseconds that the loop added to ordinary steps, and to those it saved."""
        pairs = list(zip(self.in_loop, self.by_hand.wall, strict=True))
        added = [1e3 * (loop - hand) for loop, hand in pairs]
        writing = added[CHECKPOINT_EVERY - 1 : -1 : CHECKPOINT_EVERY]  # the last one validates
        del added[CHECKPOINT_EVERY - 1 :: CHECKPOINT_EVERY]
        return median(added), median(writing)


def _train(
    model: ConvCNP,
    num_steps: int,
    directory: Path,
    source: Source | None = None,
    report: Reporter = lambda progress, metrics: None,
) -> None:
    settings = TrainingSettings(
        steps=num_steps,
        validate_every=10**9,
        validation_tasks=1,
        checkpoint_every=CHECKPOINT_EVERY if source else 640,
    )
    train(model, source or GPSource(), settings, directory, validation=GPSource(), report=report)
