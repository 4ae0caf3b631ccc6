"""Interleaved timing, and what a benchmark finds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median


@dataclass(frozen=True)
class Finding:
    """One number, the bound it should keep, and the numbers it was made from."""

    name: str
    value: float | None  # nothing, if it could not be measured
    unit: str
    least: float | None = None
    most: float | None = None
    parts: dict[str, float | str] = field(default_factory=dict)

    @property
    def target(self) -> str:
        """The bound in words, empty if there is none."""
        if self.least is not None:
            return f"at least {self.least:g} {self.unit}"
        return "" if self.most is None else f"at most {self.most:g} {self.unit}"

    @property
    def is_met(self) -> bool | None:
        """Whether the bound is kept; nothing if there is none."""
        if self.value is None:
            return None
        if self.least is not None:
            return self.value >= self.least
        return None if self.most is None else self.value <= self.most


@dataclass(frozen=True)
class Times:
    """Seconds of every repetition, by the clock and by the processor."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    @contextmanager
    def measure(self) -> Iterator[None]:
        """Add the time of the block."""
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.wall.append(time.perf_counter() - wall)
        self.cpu.append(time.process_time() - cpu)

    @property
    def milliseconds(self) -> float:
        """The median by the clock."""
        return 1e3 * median(self.wall)


Contestant = Callable[[int], object]  # does the work of a repetition, given its number


def interleaved(
    contestants: dict[str, Contestant], repetitions: int, warmup: int = 3
) -> dict[str, Times]:
    """Let the contestants take turns, so that a busy machine disturbs all of them alike."""
    times = {name: Times() for name in contestants}
    for i in range(warmup):
        for work in contestants.values():
            work(i)
    for i in range(repetitions):
        for name, work in contestants.items():
            with times[name].measure():
                work(i)
    return times


def speed_up(name: str, ours: Times, plain: Times, least: float | None) -> Finding:
    """Return how many times as fast we are, by the ratio of medians."""
    paired = [b / a for a, b in zip(ours.wall, plain.wall, strict=True)]
    return Finding(
        name,
        median(plain.wall) / median(ours.wall),
        "x",
        least=least,
        parts={
            "ms": round(ours.milliseconds, 2),
            "plain ms": round(plain.milliseconds, 2),
            "paired ratio": round(median(paired), 2),
            "processor-time ratio": round(median(plain.cpu) / median(ours.cpu), 2),
        },
    )
