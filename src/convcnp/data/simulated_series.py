"""Series such as instruments and registers write, in units of their own, with gaps as real ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.random import Generator as Random
from numpy.typing import NDArray

from convcnp.core.task import Task
from convcnp.core.units import InGaps, Normaliser
from convcnp.data.simulated import FEWEST, Array, Kinds, Simulated, drawn_kind
from convcnp.data.source import Familiar, Part

_LARGEST = 1e9  # value: a spike beyond tells a model nothing


@dataclass(frozen=True)
class SimulatedSeries(Simulated):
    """Random series of the kinds that people measure, which Gaussian processes are only some of.

    Seasons of fixed and of drifting shape, alone and one within the other; autoregressions and
    random walks; changing noise and regimes; counts, rain with dry days, peaks on a flat baseline,
    growth and decay, cycles of populations; rounded, saturated, with outliers. Times are regular,
    jittered, random, in bursts or in nights. What is hidden: points at random, blocks up to several
    seasons long, months, an end, or almost everything.

    Args:
        max_points: As in `Simulated`.
        max_targets: Likewise.
        sizes: Give the series of a batch similar lengths, or each its own.
    """

    inputs: ClassVar[int] = 1
    normaliser: ClassVar[Normaliser] = InGaps()
    familiar: ClassVar[Familiar] = Familiar(
        (0.5, 2.0), largest=np.inf, spacing=1.0, has_repeats=True
    )

    sizes: Literal["batch", "task"] = "batch"

    def _drawn(self, random: Random, batch_size: int) -> list[Task]:
        shared = random.uniform()
        tasks = []
        for _ in range(batch_size):
            longest = self._log_uniform(shared if self.sizes == "batch" else random.uniform())
            points = max(int(longest * random.uniform(0.7, 1)), FEWEST)
            x, y = drawn_series(random, points)
            tasks.append(self._split(random, x, y, hidden_points(random, x)))
        return tasks

    def held_out(self, part: Part) -> SimulatedSeries:
        """Return the same kinds of series, each of its own length; other seeds, other series."""
        return replace(self, sizes="task")


def drawn_series(random: Random, points: int) -> tuple[Array, Array]:
    """Draw times and values of one series, in units of its own."""
    x = _times(random, points)
    kind = drawn_kind(random, KINDS)
    y = KINDS[kind][0](random, x)
    y = _measured(random, np.nan_to_num(y), is_bounded=kind in _BOUNDED)
    # Units of its own: a day may be one, or 86,400; a mean may be many spreads away from zero.
    unit, scale = np.exp(random.normal(0, 3, 2))
    if kind not in _BOUNDED and random.uniform() < 0.7:
        y = y + np.std(y) * random.normal(0, 1) * np.exp(random.normal(1, 1.5))
    x = random.normal(0, 10) + unit * x
    return x, np.clip(scale * y, -_LARGEST, _LARGEST)


# --- Times and what is hidden ---------------------------------------------------------------------


def _times(random: Random, points: int) -> Array:
    """Draw times with typical gaps of one."""
    kind = random.choice(5, p=[0.45, 0.15, 0.2, 0.1, 0.1])
    if kind == 0:
        return np.arange(float(points))
    if kind == 1:
        return np.arange(float(points)) + random.uniform(-0.4, 0.4, points)
    if kind == 2:
        return np.cumsum(random.exponential(1, points))
    if kind == 3:
        return np.cumsum(np.exp(random.uniform(0.5, 1.5) * random.normal(size=points)))
    night = random.integers(3, 12)  # some hours of every day, or days of every season
    return np.arange(points) + night * random.uniform(0.5, 3) * (np.arange(points) // night)


def hidden_points(random: Random, x: Array) -> NDArray[np.bool_]:
    """Choose what is hidden; at least two points are seen, and one is not."""
    points, index = len(x), np.arange(len(x))
    kind = random.choice(6, p=[0.25, 0.25, 0.15, 0.15, 0.1, 0.1])
    hidden = np.zeros(points, dtype=bool)
    if kind in (0, 3):
        hidden |= random.uniform(size=points) < random.uniform(0.05, 0.6)
    if kind in (1, 3):
        for _ in range(random.integers(1, 4)):
            size = max(1, int(points * np.exp(random.uniform(np.log(0.01), np.log(0.25)))))
            start = random.integers(points)
            hidden |= (index >= start) & (index < start + size)
    if kind == 2:  # one block, not at an end
        size = max(1, int(points * random.uniform(0.05, 0.3)))
        start = random.integers(1, max(points - size, 2))
        hidden |= (index >= start) & (index < start + size)
    if kind == 4:
        hidden |= index >= points * random.uniform(0.6, 0.97)
        hidden = hidden if random.uniform() < 0.7 else hidden[::-1].copy()
    if kind == 5:
        hidden |= random.uniform(size=points) > random.uniform(2, 8) / points
    seen = random.permutation(points)
    hidden[seen[:2]], hidden[seen[2]] = False, True
    return hidden


# --- Kinds ----------------------------------------------------------------------------------------


def _smooth(random: Random, x: Array, length: float | None = None) -> Array:
    """Draw a smooth random function of unit spread, by cosines of random frequencies."""
    span = max(float(np.ptp(x)), 1.0)
    length = np.exp(random.uniform(0, np.log(2 * span))) if length is None else length
    tails = random.choice([1e9, 5.0, 3.0, 1.0])  # EQ, Matern-5/2, -3/2 and -1/2
    frequency = random.normal(size=64) / np.sqrt(random.chisquare(tails, 64) / tails) / length
    phase = random.uniform(0, 2 * np.pi, 64)
    return np.cos(x[:, None] * frequency + phase).sum(1) / np.sqrt(32)


def _period(random: Random, x: Array) -> float:
    """Draw a period that is seen at least one and a half times."""
    longest = max(float(np.ptp(x)) / 1.5, 3.0)
    common = [c for c in (4.0, 7.0, 12.0, 24.0, 52.0, 365.0) if c < longest]
    if common and random.uniform() < 0.5:
        return float(random.choice(common))
    return float(np.exp(random.uniform(np.log(2.5), np.log(longest))))


def _season(random: Random, x: Array, period: float, drift: float = 0.0) -> Array:
    """Draw a season of any shape: harmonics that fall off, at a phase that may wander."""
    phase = x / period
    if drift:
        phase = phase + drift * _smooth(random, x, length=3 * period)
    order = np.arange(1, 7)
    fall = order ** -random.uniform(0.7, 3.0) * random.normal(size=6)
    fall[0] = 1.0
    waves = fall * np.cos(2 * np.pi * (phase[:, None] * order + random.uniform(size=6)))
    shape = waves.sum(1)
    return shape / max(float(np.std(shape)), 1e-9)


def _seasonal(random: Random, x: Array) -> Array:
    y = _season(random, x, _period(random, x))
    return y + np.exp(random.uniform(-4, 1)) * _smooth(random, x, length=np.ptp(x) / 3 + 1)


def _nested(random: Random, x: Array) -> Array:
    short = np.exp(random.uniform(np.log(3), np.log(25)))
    long = short * random.choice([7.0, 12.0, 52.0, np.exp(random.uniform(1.2, 3))])
    return _season(random, x, long) + random.uniform(0.2, 1.5) * _season(random, x, short)


def _drifting(random: Random, x: Array) -> Array:
    period = _period(random, x)
    swing = np.exp(random.uniform(0.1, 0.8) * _smooth(random, x, length=4 * period))
    return swing * _season(random, x, period, drift=random.uniform(0, 0.25))


def _autoregressive(random: Random, x: Array) -> Array:
    """Draw an Ornstein-Uhlenbeck process, a random walk, or one of its cousins with a cycle."""
    gaps = np.diff(x, prepend=x[0])
    memory = np.exp(random.uniform(0, np.log(4 * len(x))))
    keep = np.exp(-gaps / memory)
    shock = np.sqrt(np.maximum(1 - keep**2, 0)) * random.standard_t(random.choice([3, 30]), len(x))
    turn = 2 * np.pi / _period(random, x) if random.uniform() < 0.4 else 0.0
    state, values = complex(random.normal(), random.normal()), []
    for kept, gap, push in zip(keep, gaps, shock, strict=True):
        state = state * kept * np.exp(1j * turn * gap) + push
        values.append(state.real)
    return np.array(values)


def _regimes(random: Random, x: Array) -> Array:
    """Draw levels that jump, each with a noise of its own."""
    cuts = np.sort(random.uniform(x[0], x[-1], random.integers(1, 5)))
    regime = np.searchsorted(cuts, x)
    level, noise = random.normal(size=len(cuts) + 1), np.exp(random.normal(-1.5, 1, len(cuts) + 1))
    return level[regime] + noise[regime] * random.normal(size=len(x)) + 0.3 * _smooth(random, x)


def _counts(random: Random, x: Array) -> Array:
    rate = np.exp(random.uniform(-1, 5) + random.uniform(0.2, 1.2) * _latent(random, x))
    if random.uniform() < 0.4:  # more scatter than a Poisson's
        rate = rate * random.gamma(2.0, 0.5, len(x))
    return random.poisson(np.clip(rate, 0, 1e6)).astype(float)


def _rain(random: Random, x: Array) -> Array:
    wet = _latent(random, x) + random.normal(size=len(x)) > random.uniform(-0.5, 1.2)
    return wet * random.gamma(random.uniform(0.5, 2), 1.0, len(x))


def _peaks(random: Random, x: Array) -> Array:
    """Draw peaks that rise quickly and decay slowly, on a flat baseline."""
    y = 0.02 * random.normal() * np.ones_like(x)
    for _ in range(random.integers(1, 4)):
        start = random.uniform(x[0], x[-1])
        rise, decay = np.exp(random.uniform(-0.5, np.log(np.ptp(x) / 6 + 1.5), 2))
        since = (x - start) / rise
        y = y + random.gamma(2.0) * np.where(
            since < 0, np.exp(-0.5 * since**2), np.exp(-(x - start) / (rise + decay))
        )
    return y


def _growth(random: Random, x: Array) -> Array:
    """Draw logistic growth, decay to a level, or a dose that is absorbed and eliminated."""
    unit = (x - x[0]) / max(float(np.ptp(x)), 1e-9)
    kind, rate = random.integers(3), np.exp(random.uniform(0.5, 3))
    if kind == 0:
        return 1 / (1 + np.exp(-rate * 2 * (unit - random.uniform(0.1, 0.9))))
    if kind == 1:
        return random.uniform(0, 1) + np.exp(-rate * unit)
    fast = rate * random.uniform(1.5, 10)
    return fast / (fast - rate) * (np.exp(-rate * unit) - np.exp(-fast * unit)) + 1e-3


def _cycles(random: Random, x: Array) -> Array:
    """Draw populations: the exponential of a cycle that wanders."""
    period = max(3.0, min(_period(random, x), float(np.ptp(x)) / 2))
    cycle = _season(random, x, period, drift=random.uniform(0, 0.2))
    return np.exp(random.uniform(0.4, 1.5) * cycle + 0.3 * _autoregressive(random, x))


def _latent(random: Random, x: Array) -> Array:
    """Draw what lies behind counts and rain: a season, or something smooth."""
    if random.uniform() < 0.5:
        return _season(random, x, _period(random, x))
    return _smooth(random, x)


def _sum(random: Random, x: Array) -> Array:
    """Draw a sum of smooth and rough functions, sometimes exponentiated."""
    count = random.integers(1, 4)
    y = sum(np.exp(random.uniform(-3, 0)) * _smooth(random, x) for _ in range(count))
    y = np.asarray(y) + _smooth(random, x)
    return np.exp(random.uniform(0.3, 1.2) * y) if random.uniform() < 0.15 else y


KINDS: Kinds = {
    "sum": (_sum, 5),
    "seasonal": (_seasonal, 3),
    "nested": (_nested, 1.5),
    "drifting": (_drifting, 2),
    "autoregressive": (_autoregressive, 3),
    "regimes": (_regimes, 1),
    "counts": (_counts, 1.5),
    "rain": (_rain, 1),
    "peaks": (_peaks, 1),
    "growth": (_growth, 1),
    "cycles": (_cycles, 1.5),
}
_BOUNDED = ("counts", "rain", "growth", "cycles", "peaks")  # zero means something


def _measured(random: Random, y: Array, *, is_bounded: bool) -> Array:
    """Add what measuring adds: noise that may change, outliers, rounding, a sensor's limits."""
    spread = max(float(np.std(y)), 1e-9)
    if is_bounded:
        if random.uniform() < 0.5:
            y = y * np.exp(np.exp(random.uniform(-6, -1.2)) * random.normal(size=len(y)))
        return y
    noise = spread * np.exp(random.uniform(np.log(0.003), np.log(0.7)))
    if random.uniform() < 0.15:
        noise = noise * np.exp(0.8 * _smooth(random, np.arange(float(len(y)))))
    y = y + noise * random.normal(size=len(y))
    if random.uniform() < 0.1:
        outlier = random.uniform(size=len(y)) < 0.03
        y = y + outlier * 5 * spread * random.standard_t(3, len(y))
    if random.uniform() < 0.08:
        y = np.clip(y, *np.quantile(y, [0.0, random.uniform(0.7, 0.98)]))
    if random.uniform() < 0.25:
        step = spread * np.exp(random.uniform(np.log(0.01), np.log(0.5)))
        y = np.round(y / step) * step
    return y
