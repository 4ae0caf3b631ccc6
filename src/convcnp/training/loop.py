"""The training loop: one on every machine, resumable at every step."""

from __future__ import annotations

import copy
import csv
import math
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import torch
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
)
from torch.optim.swa_utils import get_ema_multi_avg_fn

from convcnp.core.allocation import keep_freed_memory
from convcnp.core.task import Task
from convcnp.data.source import Source, seeded
from convcnp.errors import DivergedError, SettingError
from convcnp.extras import import_extra
from convcnp.models.base import Model
from convcnp.storage import read_tensors, write_atomically, write_tensors
from convcnp.training.checkpoint import BEST, CHECKPOINT, Progress, RunState
from convcnp.training.clipping import clip
from convcnp.training.evaluation import (
    TRAINING_SEEDS,
    VALIDATION_SEEDS,
    fixed_tasks,
    log_likelihoods,
)
from convcnp.training.machine import flushing_denormals, multiplying_alone
from convcnp.training.muon import Muon
from convcnp.training.together import by_first, num_processes, summed

if TYPE_CHECKING:
    from lightning_fabric import Fabric

METRICS = "metrics.csv"

_DRAWN_AHEAD = 8  # steps


class TrainingSettings(BaseModel):
    """How a model is trained.

    Steps, batch size, learning rate and weight decay are the paper's (Appendix C), unless others
    are given. The paper does not clip gradients, average weights or stop early; of these only the
    clipping is on by default, as a rare batch can throw a run far back without it.

    Example:
        >>> TrainingSettings(steps=1000, learning_rate=1e-3, schedule="cosine").batch_size
        16
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    # Paper: Adam.
    optimizer: Literal["adam", "muon"] = "adam"  # muon learns more in a step (decision 40)
    steps: PositiveInt = 200 * 256
    batch_size: PositiveInt = 16
    learning_rate: PositiveFloat = 3e-4
    weight_decay: NonNegativeFloat = 1e-5
    schedule: Literal["constant", "cosine"] = "constant"
    warmup: NonNegativeInt = 0  # steps over which the learning rate rises from zero
    # Paper: does not clip.
    clip: NonNegativeFloat = 1.0  # largest norm of the gradient; 0 is no limit
    average: float | None = Field(None, gt=0, lt=1)  # decay of the moving average of the weights
    patience: PositiveInt | None = None  # stop after this many validations without a better one
    keep: Literal["last"] | None = None  # weights; those of the best validation if left out
    validate_every: PositiveInt = 2560
    validation_tasks: PositiveInt = 500
    checkpoint_every: PositiveInt = 640
    seed: int = Field(0, ge=0, lt=len(TRAINING_SEEDS))


Reporter = Callable[[Progress, dict[str, float]], None]  # called after every step's bookkeeping


def train(
    model: Model,
    source: Source,
    settings: TrainingSettings,
    directory: Path,
    *,
    validation: Source | None = None,
    fabric: Fabric | None = None,
    resume: bool = False,
    report: Reporter = lambda progress, metrics: None,
) -> Progress:
    """Train a model in place, ending with its best weights, and leave them in a directory.

    A run that was killed continues with `resume` and ends with the weights it would have had. A
    model without weights has nothing to learn, and is kept as it is.

    Several processes share every batch: each draws all of it, from the same key, and predicts every
    n-th task; the loss is divided by the tasks of all. So a step is that of one process, up to the
    order in which floating-point numbers are added. Only the first process touches files.

    Args:
        validation: Source of the tasks that choose the best weights; by default the training one.
        fabric: Where and in how many processes to train; one CPU process by default.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from convcnp.data.functions import SawtoothSource
        >>> from convcnp.models.convcnp import ConvCNP
        >>> settings = TrainingSettings(steps=2, validate_every=2, validation_tasks=4)
        >>> with TemporaryDirectory() as folder:
        ...     train(ConvCNP.small(), SawtoothSource(), settings, Path(folder)).step
        2
    """
    if not model.num_parameters:
        by_first(fabric, lambda: write_tensors(directory / BEST, {}))
        return Progress()
    _check_shares(settings, num_processes(fabric))
    run = _Run(model, settings, directory, fabric)
    if resume:
        run.restore()
    run.start_metrics()
    keep_freed_memory()
    with flushing_denormals(), multiplying_alone():
        run.loop(source, validation or source, report)
    return run.finish()


def _check_shares(settings: TrainingSettings, processes: int) -> None:
    for name in ("batch_size", "validation_tasks"):
        if getattr(settings, name) < processes:
            raise SettingError(
                f"training.{name} is divided among all processes and must be at least their number,"
                f" {processes}, got {getattr(settings, name)}; raise it, or use fewer devices."
            )


def _prefetched(source: Source, settings: TrainingSettings, first: int) -> Iterator[Task]:
    """Draw tasks in a background thread, a few steps at a time and as many ahead."""

    def draw(steps: range) -> list[Task]:
        return [source.draw(settings.batch_size, seeded(settings.seed, i)) for i in steps]

    # Every message between threads costs the training step some switching: so there are few.
    remaining = range(first, settings.steps)
    with ThreadPoolExecutor(1) as pool:
        drawn = pool.submit(draw, remaining[:_DRAWN_AHEAD])
        while remaining:
            tasks, remaining = drawn.result(), remaining[_DRAWN_AHEAD:]
            drawn = pool.submit(draw, remaining[:_DRAWN_AHEAD])
            yield from tasks


def learning_rate(settings: TrainingSettings, step: int) -> float:
    """Return the learning rate of a step, counted from zero."""
    warm = min(1.0, (step + 1) / (settings.warmup + 1))
    if settings.schedule == "constant":
        return warm * settings.learning_rate
    return warm * settings.learning_rate * 0.5 * (1 + math.cos(math.pi * step / settings.steps))


def _optimizer(model: Model, settings: TrainingSettings) -> torch.optim.Optimizer:
    kind = Muon if settings.optimizer == "muon" else partial(torch.optim.Adam, fused=True)
    return kind(model.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay)


class _Run:
    """The state of a run, and what is done with it at every step."""

    def __init__(
        self,
        model: Model,
        settings: TrainingSettings,
        directory: Path,
        fabric: Fabric | None,
    ) -> None:
        self.settings, self.directory = settings, directory
        fabric_module = import_extra("lightning_fabric", "train")
        self.fabric = fabric or fabric_module.Fabric(accelerator="cpu", devices=1)
        self.saved_step = 0
        self.model = model.to(self.fabric.device).train()
        optimizer = _optimizer(model, settings)
        self.wrapped, self.optimizer = self.fabric.setup(self.model, optimizer)
        self.average = copy.deepcopy(self.model).requires_grad_(False) if settings.average else None
        # Looking for them, part by part of a network, takes longer than averaging them.
        self.weights, self.averages = (
            [] if m is None else list(m.parameters()) for m in (self.model, self.average)
        )
        self.state = RunState(self.model, self.optimizer, self.average)

    @property
    def progress(self) -> Progress:
        """Where the run stands."""
        return self.state.progress

    @property
    def judged(self) -> Model:
        """The weights that are validated and kept: the average, if there is one."""
        return self.average or self.model

    def loop(self, source: Source, validation: Source, report: Reporter) -> None:
        """Train from the present step to the last, or until patience runs out."""
        settings, progress = self.settings, self.progress
        for task in _prefetched(source, settings, progress.step):
            if settings.patience is not None and progress.stale >= settings.patience:
                break
            started = time.perf_counter()
            self.step(task)
            due = progress.step % settings.validate_every == 0 or progress.step == settings.steps
            metrics = self.validate(validation) if due else {}
            progress.seconds += time.perf_counter() - started
            if progress.step % settings.checkpoint_every == 0 or metrics:
                self.write_checkpoint()
            report(progress, metrics)

    def step(self, task: Task) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(self.settings, self.progress.step)
        counted = int(task.has_targets.sum().clamp(min=1))  # in all processes
        task = self._share(task).to(self.fabric.device)
        scores = self.wrapped(task).log_likelihood(task.y_target)
        loss = -scores.sum() / counted
        # The gradients of processes are averaged, and here their sum is wanted.
        self.fabric.backward(self.fabric.world_size * loss)
        loss_value = summed(self.fabric, loss).item()
        self._refuse_divergence("loss", loss_value)
        if self.settings.clip:
            self._clip(self.settings.clip)
        self.optimizer.step()
        self.optimizer.zero_grad()
        if self.settings.average is not None:
            step = self.progress.step
            decay = min(self.settings.average, (1 + step) / (10 + step))
            get_ema_multi_avg_fn(decay)(self.averages, self.weights, step)
        self.progress.step += 1
        self.progress.losses.append(loss_value)

    def _clip(self, largest: float) -> None:
        """Shorten the gradient where it is too long, and refuse one without a length."""
        length = clip(self.weights, largest)
        self._refuse_divergence("norm of the gradient", length)

    def _share(self, task: Task) -> Task:
        """Return the tasks of a batch that this process predicts."""
        processes = self.fabric.world_size
        return task if processes == 1 else task[self.fabric.global_rank :: processes]

    def _refuse_divergence(self, name: str, value: float) -> None:
        if not math.isfinite(value):
            path = self.directory / CHECKPOINT
            saved = f"the run up to step {self.saved_step} is kept in {path}"
            kept = saved if path.exists() else "nothing was saved yet"
            raise DivergedError(
                f"The {name} must stay finite, got {value} at step {self.progress.step}; "
                f"{kept}. Start again with a lower training.learning_rate or training.clip."
            )

    def validate(self, source: Source) -> dict[str, float]:
        """Score the model on fixed tasks, keep it if it is the best, and write a row of metrics."""
        judged = self.judged.eval()
        seed = VALIDATION_SEEDS[self.settings.seed]
        tasks = fixed_tasks(source, self.settings.validation_tasks, seed)
        score = self._mean_score(judged, tasks)
        self.model.train()
        progress = self.progress
        if score > progress.best_score or self.settings.keep == "last":
            progress.best_score, progress.best_step, progress.stale = score, progress.step, 0
            self.state.best = {name: v.clone() for name, v in judged.state_dict().items()}
        else:
            progress.stale += 1
        metrics = {
            "step": progress.step,
            "loss": sum(progress.losses) / len(progress.losses),
            "log_likelihood": score,
            "learning_rate": learning_rate(self.settings, progress.step - 1),
            "seconds": round(progress.seconds, 1),
        }
        progress.losses.clear()
        by_first(self.fabric, lambda: self._write_metrics(metrics))
        return metrics

    def _mean_score(self, judged: Model, tasks: Iterator[Task]) -> float:
        """Return the mean log-likelihood of tasks, which all processes have a share of."""
        shares = (self._share(task) for task in tasks if len(task) > self.fabric.global_rank)
        scores = log_likelihoods(judged, shares, self.fabric.device)
        if self.fabric.world_size == 1:
            return scores.mean().item()
        sum_and_count = scores.new_tensor([scores.sum(), len(scores)], device=self.fabric.device)
        total, count = summed(self.fabric, sum_and_count).tolist()
        return float(total / count)

    def _write_metrics(self, metrics: dict[str, float]) -> None:
        with (self.directory / METRICS).open("a", newline="") as file:
            csv.DictWriter(file, metrics).writerow(metrics)

    def start_metrics(self) -> None:
        """Begin the metrics, or cut them back to the step we resume from."""
        by_first(self.fabric, self._start_metrics)

    def _start_metrics(self) -> None:
        path = self.directory / METRICS
        header = "step,loss,log_likelihood,learning_rate,seconds"
        text = path.read_text(errors="replace") if path.exists() else ""
        # A crash may have cut a row short, or a disk may have lost some.
        whole = re.findall(
            rf"^[0-9]{{1,18}}(?:,[^,\n]+){{{header.count(',')}}}$", text, re.MULTILINE
        )
        kept = [row for row in whole if int(row.split(",")[0]) <= self.progress.step]
        self.directory.mkdir(parents=True, exist_ok=True)
        lines = [header, *kept]
        write_atomically(path, ("\n".join(lines) + "\n").encode())

    def write_checkpoint(self) -> None:
        by_first(self.fabric, lambda: self.state.write(self.directory / CHECKPOINT))
        self.saved_step = self.progress.step

    def restore(self) -> None:
        """Go back to the checkpoint, if there is one."""
        path = self.directory / CHECKPOINT
        content = by_first(self.fabric, lambda: read_tensors(path) if path.exists() else None)
        if content is not None:
            self.state.load(*content, path)
            self.saved_step = self.progress.step

    def finish(self) -> Progress:
        by_first(self.fabric, lambda: write_tensors(self.directory / BEST, self.state.best))
        self.model.load_state_dict(self.state.best)
        self.model.eval()
        return self.progress
