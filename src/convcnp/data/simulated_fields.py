"""Fields over the plane such as people map, at points such as people visit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator as Random
from numpy.typing import NDArray

from convcnp.core.task import Task
from convcnp.core.units import AsIs, Normaliser
from convcnp.data.simulated import Array, Kinds, Simulated, drawn_kind
from convcnp.data.source import Familiar, Part


@dataclass(frozen=True)
class SimulatedFields(Simulated):
    """Random fields of the kinds that people map, which Gaussian processes are only some of.

    Smooth and rough ones, stretched in any direction or not; concentrations, counts, hills, steps
    along a fault, sheets that dip; with a slope, with noise, with outliers. Points are scattered,
    clustered, on a lattice, or along tracks; inputs have units of their own, sometimes one each.
    What is hidden: points at random, one block, all beyond a line, or almost everything.

    Args:
        max_points: As in `Simulated`.
        max_targets: Likewise.
    """

    inputs: ClassVar[int] = 2
    normaliser: ClassVar[Normaliser] = AsIs()
    familiar: ClassVar[Familiar] = Familiar(
        (1e-300, np.inf), largest=np.inf, spacing=1.0, has_repeats=True
    )

    dim_x: int = 2

    def _drawn(self, random: Random, batch_size: int) -> list[Task]:
        shares = random.uniform(size=batch_size)
        return [self._one(random, int(self._log_uniform(share))) for share in shares]

    def _one(self, random: Random, points: int) -> Task:
        x, y = drawn_field(random, points)
        hidden = hidden_places(random, x)
        # Units of their own, and places far from zero.
        unit = np.exp(random.normal(0, 3)) * np.ones(2)
        if random.uniform() < 0.2:
            unit = np.exp(random.normal(0, 3, 2))
        return self._split(random, unit * (random.normal(0, 10, 2) + x), y, hidden)

    def held_out(self, part: Part) -> SimulatedFields:
        """Return the same kinds of fields; other seeds, other fields."""
        return self


def drawn_field(random: Random, points: int) -> tuple[Array, Array]:
    """Draw places in about the unit square, and the values there."""
    x = drawn_places(random, points)
    kind = drawn_kind(random, FIELDS)
    y = FIELDS[kind][0](random, x)
    if kind not in _BOUNDED:
        y = _measured(random, y)
    return x, np.exp(random.normal(0, 3)) * y


# --- Places and what is hidden --------------------------------------------------------------------


def drawn_places(random: Random, points: int) -> Array:
    """Draw scattered, clustered, regular points, or points along tracks."""
    kind = random.choice(5, p=[0.4, 0.2, 0.15, 0.15, 0.1])
    if kind == 1:
        centres = random.uniform(size=(max(2, points // int(random.integers(4, 20))), 2))
        width = np.exp(random.uniform(np.log(0.02), np.log(0.2)))
        return centres[random.integers(len(centres), size=points)] + width * random.normal(
            size=(points, 2)
        )
    if kind in (2, 3):
        side = int(np.ceil(np.sqrt(1.2 * points)))
        lattice = np.stack(np.meshgrid(np.arange(side), np.arange(side)), -1).reshape(-1, 2)
        jitter = random.uniform(-0.4, 0.4, lattice.shape) * (kind == 3)
        return (random.permutation(lattice + jitter)[:points] + 0.5) / side
    x = random.uniform(size=(points, 2))
    if kind == 4:  # dense along one input, a few values of the other
        x[:, 1] = np.round(x[:, 1] * 6) / 6 + 0.005 * random.normal(size=points)
    return x


def hidden_places(random: Random, x: Array) -> NDArray[np.bool_]:
    """Choose what is hidden; at least three points are seen, and one is not."""
    points = len(x)
    kind = random.choice(4, p=[0.5, 0.3, 0.1, 0.1])
    if kind == 0:
        hidden = random.uniform(size=points) < random.uniform(0.1, 0.5)
    elif kind == 1:  # all that is near one of them
        away = ((x - x[random.integers(points)]) ** 2).sum(1)
        hidden = away <= np.quantile(away, random.uniform(0.05, 0.25))
    elif kind == 2:  # all beyond a line
        angle = random.uniform(0, 2 * np.pi)
        along = x @ np.array([np.cos(angle), np.sin(angle)])
        hidden = along > np.quantile(along, random.uniform(0.8, 0.97))
    else:
        hidden = random.uniform(size=points) > random.uniform(3, 10) / points
    order = random.permutation(points)
    hidden[order[:3]], hidden[order[3]] = False, True
    return hidden


# --- Kinds ----------------------------------------------------------------------------------------


def _smooth(random: Random, x: Array) -> Array:
    """Draw a random field of unit spread, stretched or not, by waves of random frequencies."""
    length = np.exp(random.uniform(np.log(0.05), np.log(1.5)))
    tails = random.choice([1e9, 5.0, 3.0, 1.0])  # EQ, Matern-5/2, -3/2 and -1/2
    frequency = random.normal(size=(2, 128)) / np.sqrt(random.chisquare(tails, 128) / tails)
    if random.uniform() < 0.5:
        stretch, angle = np.exp(random.normal(0, 0.8)), random.uniform(0, np.pi)
        cosine, sine = np.cos(angle), np.sin(angle)
        turn = np.array([[cosine, -sine], [sine, cosine]])
        frequency = turn @ (frequency * np.array([[stretch**0.5], [stretch**-0.5]]))
    phase = random.uniform(0, 2 * np.pi, 128)
    return np.cos(x @ frequency / length + phase).sum(1) / 8


def _sum(random: Random, x: Array) -> Array:
    """Draw a sum of fields."""
    y = _smooth(random, x)
    for _ in range(random.integers(0, 3)):
        y = y + np.exp(random.uniform(-3, 0)) * _smooth(random, x)
    return y


def _sloped(random: Random, x: Array) -> Array:
    """Draw a plane, and something on it."""
    return x @ random.normal(0, 3, 2) + np.exp(random.uniform(-3, 0)) * _smooth(random, x)


def _concentration(random: Random, x: Array) -> Array:
    """Draw what is positive and skewed, measured with an error that grows with it."""
    y = random.uniform(0.3, 1.5) * _sum(random, x)
    return np.exp(y + np.exp(random.uniform(-4, 0)) * random.normal(size=len(x)))


def _counts(random: Random, x: Array) -> Array:
    rate = np.exp(random.uniform(0, 5) + random.uniform(0.2, 1.0) * _smooth(random, x))
    return random.poisson(rate).astype(float)


def _hills(random: Random, x: Array) -> Array:
    """Draw some hills, round or long, on level ground."""
    y = 0.1 * random.uniform() * _smooth(random, x)
    for _ in range(random.integers(1, 8)):
        away = (x - random.uniform(size=2)) @ np.linalg.qr(random.normal(size=(2, 2)))[0]
        width = np.exp(random.uniform(np.log(0.08), np.log(0.5), 2))
        y = y + random.normal(0.5, 1) * np.exp(-0.5 * ((away / width) ** 2).sum(1))
    return y


def _fault(random: Random, x: Array) -> Array:
    """Draw a step along a line, or two sheets that meet there."""
    angle = random.uniform(0, 2 * np.pi)
    beyond = (x - random.uniform(0.3, 0.7, 2)) @ np.array([np.cos(angle), np.sin(angle)])
    y = (beyond > 0) * 1.0 if random.uniform() < 0.5 else np.maximum(beyond, 0) * 3
    return y + random.uniform(0, 0.5) * _smooth(random, x)


FIELDS: Kinds = {
    "sum": (_sum, 5),
    "sloped": (_sloped, 2),
    "concentration": (_concentration, 2),
    "counts": (_counts, 1),
    "hills": (_hills, 2),
    "fault": (_fault, 1),
}
_BOUNDED = ("concentration", "counts")  # zero means something


def _measured(random: Random, y: Array) -> Array:
    """Add what measuring adds: noise, outliers, rounding, a level."""
    spread = max(float(np.std(y)), 1e-9)
    y = y + spread * np.exp(random.uniform(np.log(0.003), np.log(1.0))) * random.normal(size=len(y))
    if random.uniform() < 0.1:
        y = y + (random.uniform(size=len(y)) < 0.03) * 5 * spread * random.standard_t(3, len(y))
    if random.uniform() < 0.25:
        step = spread * np.exp(random.uniform(np.log(0.01), np.log(0.5)))
        y = np.round(y / step) * step
    return y + spread * random.normal() * np.exp(random.normal(1, 1.5))
