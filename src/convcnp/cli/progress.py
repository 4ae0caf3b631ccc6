"""Progress of what takes long: a bar on a terminal; elsewhere lines for a run, or nothing."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

if TYPE_CHECKING:
    from convcnp.training.checkpoint import Progress as RunProgress
    from convcnp.training.loop import Reporter

OnProgress = Callable[[int, int], None]  # what is done, and all there is to do


def new_bar(console: Console, *columns: ProgressColumn, is_kept: bool = False) -> Progress:
    """Return a bar that only a terminal shows; unless it is kept, it goes when it is done."""
    return Progress(
        *(columns or Progress.get_default_columns()),
        console=console,
        refresh_per_second=2,  # drawing the bar takes as long as a small training step
        disable=not console.is_terminal,
        transient=not is_kept,
    )


@contextmanager
def bar(name: str, at_least: int = 0, console: Console | None = None) -> Iterator[OnProgress]:
    """Yield a function to call with what is done and all there is to do.

    Args:
        at_least: Less to do than this is not worth a bar.
    """
    with new_bar(console or Console(stderr=True)) as shown:
        row = None

        def update(done: int, total: int) -> None:
            nonlocal row
            if total >= at_least:
                row = shown.add_task(name, total=total) if row is None else row
                shown.update(row, completed=done, total=total)

        yield update


@contextmanager
def downloads_shown() -> Iterator[None]:
    """Show a bar for each file of a data set that is downloaded meanwhile."""
    from convcnp.data.files import download_bar

    token = download_bar.set(bar)
    try:
        yield
    finally:
        download_bar.reset(token)


def both(first: Reporter, second: Reporter) -> Reporter:
    """Report to one and to the other."""

    def report(progress: RunProgress, metrics: dict[str, float]) -> None:
        first(progress, metrics)
        second(progress, metrics)

    return report


class ProgressReporter:
    """Show a run's loss, log-likelihood and time left; pass it to `train` as `report`.

    Example::

        with ProgressReporter("eq-convcnp", steps=51_200) as report:
            train(..., report=report)
    """

    def __init__(self, name: str, steps: int, console: Console | None = None) -> None:
        self.name, self.steps = name, steps
        self.console = console or Console(stderr=True)
        self._score, self._next_update = float("nan"), 0.0
        self._bar = new_bar(
            self.console,
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[figures]}"),
            TimeRemainingColumn(),
            is_kept=True,
        )

    def __enter__(self) -> ProgressReporter:
        self._bar.start()
        self._row = self._bar.add_task(self.name, total=self.steps, figures="")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def __call__(self, progress: RunProgress, metrics: dict[str, float]) -> None:
        """Take note of a finished step, and of the metrics if the model was just validated."""
        self._score = metrics.get("log_likelihood", self._score)
        if self.console.is_terminal:
            if not metrics and time.monotonic() < self._next_update:
                return
            self._next_update = time.monotonic() + 0.25
            recent = progress.losses[-100:]
            loss = sum(recent) / len(recent) if recent else metrics["loss"]
            figures = _figures(loss, self._score)
            self._bar.update(self._row, completed=progress.step, figures=figures)
        elif metrics:
            left = (self.steps - progress.step) * progress.seconds / progress.step
            self.console.print(
                f"{self.name}: step {progress.step} of {self.steps}, loss {metrics['loss']:.3f}, "
                f"log-likelihood {self._score:.3f}, {left:.0f} s left",
                soft_wrap=True,
                highlight=False,
                markup=False,
                emoji=False,
            )


def _figures(loss: float, score: float) -> str:
    """Tell what is known so far: there is no log-likelihood before the first validation."""
    known = "" if math.isnan(score) else f"  log-likelihood {score:.3f}"
    return f"loss {loss:.3f}{known}"
