"""Predators and prey closer to life than the paper's: our second prior for hare and lynx."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray

from convcnp.core.task import Task
from convcnp.core.units import Fixed, Normaliser, OwnLevel
from convcnp.data.lotka_volterra import compiled, numpy_generator
from convcnp.data.source import Familiar, Part
from convcnp.data.table import observed_part
from convcnp.errors import SettingError

Draw = Callable[[float, float], ndarray]  # of a number between two, for every run

_STEPS = 10  # of a year
_BEFORE = 30  # years that pass before the first count
_REFUGE = 0.01  # of the carrying capacity: so many prey are never found
_FEWEST = 0.001  # predators, in their own units: as few as wander in


@dataclass(frozen=True)
class FurCounts:
    r"""Yearly counts of furs of predators and prey, in units of each series' own.

    Prey :math:`N` have a carrying capacity, of which they are a share; predators :math:`P` can eat
    no more than their fill (Rosenzweig and MacArthur, 1963):

    .. math:: \frac{dN}{dt} = N \Big(r (1 - N) - \frac{P}{N + h}\Big), \qquad
              \frac{dP}{dt} = P \Big(\frac{e N}{N + h} - m\Big)

    Years are better or worse for each by chance. What is counted is the mean of a year, as trappers
    brought it in: times their effort, which drifts over decades and is that of both, and an
    error of the count. Every run has rates of its own, with cycles of 6 to 16 years where these
    are small. Counts are hidden at random, in blocks, or at an end.

    Args:
        min_years: Length of the shortest run.
        max_years: Length of the longest.
    """

    options: ClassVar[tuple[str, ...]] = ("min_years", "max_years")
    takes: ClassVar[Literal["tables"]] = "tables"
    normaliser: ClassVar[Normaliser] = OwnLevel(
        Fixed(gap=(1.0,), level=(0.0, 0.0), scale=(1.0, 1.0))
    )
    familiar: ClassVar[Familiar] = Familiar((0.9, 30.0), largest=8.0, spacing=1.0)

    min_years: int = 60
    max_years: int = 120
    dim_x: int = 1
    dim_y: int = 2

    def __post_init__(self) -> None:
        if not 10 <= self.min_years <= self.max_years:
            raise SettingError(
                "Runs last 10 years or more, the longest at least as long as the shortest, got "
                f"min_years = {self.min_years} and max_years = {self.max_years}."
            )

    def draw(self, batch_size: int, generator: torch.Generator) -> Task:
        """Draw runs of different lengths, with some of their counts hidden."""
        rng = numpy_generator(generator)
        y = torch.from_numpy(self.counts(batch_size, rng))  # (B, years, 2)
        years = torch.from_numpy(rng.integers(self.min_years, self.max_years + 1, batch_size))
        x = torch.arange(y.shape[1], dtype=y.dtype)[None, :, None].expand(batch_size, -1, 1)
        known = (x < years[:, None, None]).expand(y.shape)
        observed = observed_part(x / years[:, None, None], known, generator)
        task = Task(
            x_context=x,
            y_context=y,
            x_target=x,
            y_target=y,
            context_mask=observed,
            target_mask=known & ~observed,
        )
        return self.normaliser.units(task).to_model(task)

    def counts(self, runs: int, rng: np.random.Generator) -> Float[ndarray, "B years 2"]:
        """Simulate runs, and count what is brought in every year, in multiples of its mean."""

        def between(low: float, high: float) -> ndarray:
            return np.exp(rng.uniform(np.log(low), np.log(high), runs))

        yearly = _populations(self.max_years, between, rng)
        effort = _drift(between(0.02, 0.4), between(5, 30), self.max_years, rng)
        error = np.stack([between(0.05, 0.4), between(0.05, 0.4)], -1)[:, None]
        noise = effort[..., None] + error * rng.standard_normal(yearly.shape)
        brought = yearly * np.exp(noise)
        found: ndarray = brought / brought.mean(1, keepdims=True)
        return found

    def held_out(self, part: Part) -> FurCounts:
        """Return the same process: other seeds make other runs."""
        return replace(self)

    def ceiling(self, task: Task) -> None:
        """Return the best possible prediction, where it is known: here it is not."""


def _populations(years: int, between: Draw, rng: np.random.Generator) -> Float[ndarray, "B Y 2"]:
    """Follow prey and predators, and return the means of every year."""
    balance, half = between(0.1, 0.4), between(0.1, 0.6)  # N where predators hold; h
    growth, period = between(0.5, 3.0), between(6.0, 16.0)
    frequency = 2 * np.pi / period
    # So that small cycles around the balance have this period.
    death = frequency**2 * (balance + half) / (growth * (1 - balance) * half)
    eaten = death * (balance + half) / balance
    luck = np.stack([between(0.02, 0.3), between(0.02, 0.3)], -1) / np.sqrt(_STEPS)  # (B, 2)
    start = np.log(np.stack([balance, growth * (1 - balance) * (balance + half)], -1))
    start += 0.5 * rng.standard_normal(start.shape)
    shocks = rng.standard_normal((len(start), _BEFORE + years, _STEPS, 2)) * luck[:, None, None]
    follow = follower()
    return follow(np.stack([growth, half, eaten, death], -1), start, shocks)[:, _BEFORE:]


def followed(
    rates: Float[ndarray, "B 4"], start: Float[ndarray, "B 2"], shocks: Float[ndarray, "B Y S 2"]
) -> Float[ndarray, "B Y 2"]:
    """Follow the logarithms of prey and predators, step by step; return the means of every year.

    Compiled by `follower`; as plain Python it gives the same numbers.
    """
    runs, years, steps, _ = shocks.shape
    found = np.zeros((runs, years, 2))
    for run in range(runs):
        growth, half, eaten, death = rates[run]
        of_prey, of_predators = start[run]
        for year in range(years):
            for step in range(steps):
                prey, predators = np.exp(of_prey), np.exp(of_predators)
                met = 1 / (prey + half)
                of_prey += (growth * (1 - prey) - predators * met) / steps
                of_predators += (eaten * prey * met - death) / steps
                of_prey = max(of_prey + shocks[run, year, step, 0], np.log(_REFUGE))
                of_predators = max(of_predators + shocks[run, year, step, 1], np.log(_FEWEST))
                found[run, year, 0] += np.exp(of_prey) / steps
                found[run, year, 1] += np.exp(of_predators) / steps
    return found


@cache
def follower() -> Callable[[ndarray, ndarray, ndarray], ndarray]:
    """Return `followed`, compiled."""
    return compiled(followed)


def _drift(
    size: Float[ndarray, " B"],
    memory: Float[ndarray, " B"],
    years: int,
    rng: np.random.Generator,
) -> Float[ndarray, "B years"]:
    """Return a logarithm that drifts: by how much, and over how many years."""
    kept = np.exp(-1 / memory)
    noise = rng.standard_normal((years, len(size)))
    found = np.zeros_like(noise)
    found[0] = noise[0]
    for year in range(1, years):
        found[year] = kept * found[year - 1] + np.sqrt(1 - kept**2) * noise[year]
    drift: ndarray = (size * found).T
    return drift
