"""Predators and prey by the stochastic Lotka-Volterra model (Section 5.3, Appendix C.4)."""

from __future__ import annotations

import inspect
import typing
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from functools import cache
from typing import ClassVar, Literal, NamedTuple, TypeVar

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from convcnp.core.task import Task
from convcnp.core.units import Fixed, Normaliser
from convcnp.data.source import Familiar, Part
from convcnp.data.splits import drawn_sizes, split
from convcnp.errors import SettingError, check_positive
from convcnp.extras import import_extra

CHANNELS = ("prey", "predators")
# Tasks count animals in units of this many thousands, so that networks see numbers about one.
UNIT = 100.0
_PATIENCE = 10_000  # runs in a row that may be rejected before we give up

Range = tuple[float, float]
_Function = TypeVar("_Function", bound=Callable[..., typing.Any])


class Outcome(IntEnum):
    """How a run ended."""

    PREY_DIED_OUT = 0
    PREDATORS_DIED_OUT = 1
    SURVIVED = 2  # both populations were alive at `max_time`
    EXPLODED = 3  # more than `max_events` events


@dataclass(frozen=True)
class Rates:
    r"""Ranges from which each run's rates and initial populations are drawn, log-uniformly.

    With :math:`X` predators and :math:`Y` prey, predators are born at the rate
    :math:`\theta_1 X Y` and die at :math:`\theta_2 X`; prey are born at :math:`\theta_3 Y` and are
    eaten at :math:`\theta_4 X Y`. The defaults are the paper's.

    Args:
        scale: What a count is multiplied by, to be of the size of the lynx-hare series (thousands).
    """

    # Paper: does not say where runs begin; 50 predators and 100 prey are usual for these rates.
    theta_1: Range = (0.01, 0.01)
    theta_2: Range = (0.5, 0.5)
    theta_3: Range = (1.0, 1.0)
    theta_4: Range = (0.01, 0.01)
    predators: Range = (49, 51)
    prey: Range = (99, 101)
    scale: Range = (2 / 7, 2 / 7)

    def __post_init__(self) -> None:
        for field in fields(self):
            low, high = getattr(self, field.name)
            check_positive(f"the lower end of {field.name}", low)
            if not low <= high < float("inf"):
                raise SettingError(
                    f"{field.name} must be a range (low, high), got ({low}, {high}); swap its ends."
                )

    def draw(self, rng: np.random.Generator) -> Float[ndarray, " 7"]:
        """Draw one value from each range, in the order of the fields."""
        low, high = np.log([getattr(self, field.name) for field in fields(self)]).T
        return np.exp(rng.uniform(low, high))


# Wide enough for cycles of 5 to 50 years and for the numbers of the lynx-hare series. Runs are
# followed for 50 years, and kept if both populations live: real ones have.
BROAD = Rates(
    theta_1=(0.002, 0.01),
    theta_2=(0.3, 1.2),
    theta_3=(0.3, 1.2),
    theta_4=(0.002, 0.01),
    predators=(20, 400),
    prey=(20, 400),
    scale=(0.07, 0.7),
)


class Run(NamedTuple):
    """One simulation: the populations after each event, beginning with the start."""

    times: Float[ndarray, " E"]
    populations: Float[ndarray, "E 2"]  # prey and predators
    end: float  # when the last state ended
    outcome: Outcome
    scale: float

    def at(self, times: Float[ndarray, " K"]) -> Float[ndarray, "K 2"]:
        """Return the scaled populations at any times, in thousands."""
        latest = np.searchsorted(self.times, times, side="right") - 1
        return self.scale * self.populations[latest]


def gillespie(
    rng: np.random.Generator,
    theta: Float[ndarray, " 4"],
    max_time: float,
    times: Float[ndarray, " E"],
    populations: Float[ndarray, "E 2"],
) -> tuple[int, float, int]:
    """Simulate events one by one until a population dies out, the time is up or no room is left.

    Row 0 of `times` and `populations` is the start; the rows after it are filled. Compiled by
    `simulator`; as plain Python it gives the same numbers.

    Returns:
        The number of rows filled, the time of the end, and the outcome.
    """
    theta_1, theta_2, theta_3, theta_4 = theta[0], theta[1], theta[2], theta[3]
    time, prey, predators = times[0], populations[0, 0], populations[0, 1]
    for event in range(1, len(times)):
        meetings = predators * prey
        born = theta_1 * meetings
        died = born + theta_2 * predators
        bred = died + theta_3 * prey
        total = bred + theta_4 * meetings
        time += rng.standard_exponential() / total
        if time >= max_time:
            return event, max_time, 2
        which = total * rng.random()
        if which < born:
            predators += 1
        elif which < died:
            predators -= 1
        elif which < bred:
            prey += 1
        else:
            prey -= 1
        if prey == 0:
            return event, time, 0
        if predators == 0:
            return event, time, 1
        times[event] = time
        populations[event, 0] = prey
        populations[event, 1] = predators
    return len(times), time, 3


Simulator = Callable[
    [np.random.Generator, ndarray, float, ndarray, ndarray], tuple[int, float, int]
]


@cache
def simulator() -> Simulator:
    """Return `gillespie`, compiled."""
    return compiled(gillespie)


def compiled(function: _Function) -> _Function:
    """Compile a simulation; other threads run on while it works."""
    numba = import_extra("numba", "simulation")
    # Unwrapped: in the tests a check of its annotations is wrapped around it.
    return typing.cast(_Function, numba.njit(nogil=True, cache=True)(inspect.unwrap(function)))


@dataclass(frozen=True)
class LotkaVolterraSource:
    """Runs of the predator-prey model, each observed at times drawn uniformly over its length.

    Args:
        rates: Where rates and initial populations come from.
        kept: Runs that ended otherwise are rejected.
        max_time: Runs are followed for this long.
        max_events: Runs are followed for this many events.
        num_points: Points of each run: context and targets together.
        min_context: Smallest number of context points.
        max_context: Largest number of context points.
        sizes: Draw the number of context points once for a batch, as the paper does, or per task.
    """

    # Paper: removes series of more than 100 units or 10,000 events, and those "where one of the
    # populations is entirely zero". A series ends when a population has died out (decision 10).
    options: ClassVar[tuple[str, ...]] = (
        "max_time",
        "max_events",
        "num_points",
        "min_context",
        "max_context",
        "sizes",
    )
    takes: ClassVar[Literal["tables"]] = "tables"

    normaliser: ClassVar[Normaliser] = Fixed(  # of thousands
        gap=(1.0,), level=(0.0, 0.0), scale=(UNIT, UNIT)
    )
    familiar: ClassVar[Familiar] = Familiar((0.1, 10.0), largest=3.0, spacing=0.6)

    rates: Rates = Rates()
    kept: tuple[Outcome, ...] = (Outcome.PREY_DIED_OUT, Outcome.PREDATORS_DIED_OUT)
    max_time: float = 100.0
    max_events: int = 10_000
    num_points: int = 150
    min_context: int = 3
    max_context: int = 80
    sizes: Literal["batch", "task"] = "batch"
    dim_x: int = 1
    dim_y: int = 2

    def __post_init__(self) -> None:
        check_positive("max_time", self.max_time)
        check_positive("max_events", self.max_events)
        if not 0 <= self.min_context <= self.max_context < self.num_points:
            raise SettingError(
                "Context sizes must satisfy 0 <= min_context <= max_context < num_points, got "
                f"{self.min_context}, {self.max_context} and {self.num_points}."
            )

    def draw(self, batch_size: int, generator: torch.Generator) -> Task:
        """Draw runs that are kept, and split the points at which each is seen."""
        num_context = drawn_sizes(
            self.min_context, self.max_context, batch_size, self.sizes, generator
        )
        rng = numpy_generator(generator)
        runs = self.kept_runs(rng)
        x, y = zip(*(self._observed(next(runs), rng) for _ in range(batch_size)), strict=True)
        return split(_stacked(x)[..., None], _stacked(y).float() / UNIT, num_context)

    def _observed(self, run: Run, rng: np.random.Generator) -> tuple[ndarray, ndarray]:
        times = run.end * rng.random(self.num_points)
        return times, run.at(times)

    def runs(self, rng: np.random.Generator) -> Iterator[Run]:
        """Simulate run after run, whatever becomes of them."""
        times = np.zeros(self.max_events + 1)
        populations = np.zeros((self.max_events + 1, 2))  # whole numbers: floats are quicker
        simulate = simulator()
        while True:
            *theta, predators, prey, scale = self.rates.draw(rng)
            populations[0] = max(1, round(prey)), max(1, round(predators))
            rows, end, outcome = simulate(rng, np.array(theta), self.max_time, times, populations)
            yield Run(
                times[:rows].copy(), populations[:rows].copy(), end, Outcome(outcome), float(scale)
            )

    def kept_runs(self, rng: np.random.Generator) -> Iterator[Run]:
        """Simulate run after run, without those that are rejected."""
        rejected: Counter[Outcome] = Counter()
        for run in self.runs(rng):
            if run.outcome in self.kept:
                rejected.clear()
                yield run
            else:
                rejected[run.outcome] += 1
            if rejected.total() == _PATIENCE:
                raise SettingError(
                    f"Some runs must end as one of {[o.name for o in self.kept]}, but of "
                    f"{_PATIENCE} runs in a row none did ({dict(rejected)}); change the rates, "
                    "max_time or max_events."
                )

    def census(self, num_runs: int, generator: torch.Generator) -> dict[str, int | float]:
        """Count how runs end, and how many of them are kept."""
        runs = self.runs(numpy_generator(generator))
        counts = Counter(next(runs).outcome for _ in range(num_runs))
        ends = {outcome.name.lower(): counts[outcome] for outcome in Outcome}
        return {"runs": num_runs, "kept": sum(counts[outcome] for outcome in self.kept), **ends}

    def held_out(self, part: Part) -> LotkaVolterraSource:
        """Return the same process with sizes drawn per task; other seeds make other runs."""
        return replace(self, sizes="task")

    def ceiling(self, task: Task) -> None:
        """Return the best possible prediction, where it is known: here it is not."""


def numpy_generator(generator: torch.Generator) -> np.random.Generator:
    """Return a generator for numpy whose state follows from that of one for torch."""
    return np.random.default_rng(int(torch.randint(2**62, (1,), generator=generator)))


def _stacked(arrays: tuple[ndarray, ...]) -> Tensor:
    return torch.from_numpy(np.stack(arrays))
