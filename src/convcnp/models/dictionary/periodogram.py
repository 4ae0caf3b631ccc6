"""Periods of a series: a floating-mean Lomb-Scargle periodogram, by FFT."""

from __future__ import annotations

import math

import numpy as np
import torch
from jaxtyping import Complex, Float, Int
from torch import Tensor

from convcnp.models.dictionary.series import scattered

_PER_RESOLVED = 8  # frequencies per 1 / span
_FASTEST = 0.48  # cycles per gap: just below what a regular series can tell
_SLOWEST = 0.8  # cycles in the series
_CYCLES = 4096.0  # in the series at most: clusters a century apart must not need longer sums
_PER_CYCLE = 8  # cells per cycle of the fastest frequency, where times lie on no lattice
_LONGEST = 4096  # points; of a longer series the middle is searched
_FEWEST = 8  # observations: of fewer no period is looked for
_KNOWN_CYCLES = 1.8  # in a long series, at least, of what comes round slowly
_TURNS = 10.0  # in a stretch of a long series, of what comes round quickly
_LONGER = 4  # times as long is the next stretch on which a period is looked at, more closely
_UNSURE = 4  # steps of a periodogram, that a stretch leaves open for one several times as long
_RIDGE = 1e-9  # keeps least squares solvable where waves agree on all times
_WIDTH = 0.5  # in 1 / span: half of how wide a peak is
_HARMONICS = 6  # of a season's shape, in looking for its period
_LEAST_CYCLES = 2.5  # of a period that is known by its harmonics alone
_SLOW_WAVES = 3  # beside a line: what wanders is no season
_EXACT = 1e-3  # of the variance: what leaves less unexplained is as good as any
_MARGIN = 4.0  # nats: a fraction of a frequency is one of several


def power(
    x: Float[np.ndarray, " n"], y: Float[np.ndarray, "r n"], frequency: Float[np.ndarray, " f"]
) -> Float[np.ndarray, "r f"]:
    r"""Return the share of variance that a sine and a constant explain at every frequency.

    By direct sums, in the notation of Zechmeister and Kürster (2009).
    """
    y = _centred(y)
    wave = np.exp(2j * math.pi * frequency[:, None] * x)  # (f, n)
    # Twice the frequency is the square of the wave.
    with_y = (wave @ y.T).T / len(x)
    return _explained(wave.mean(1), (wave**2).mean(1), with_y, y)


def _centred(y: np.ndarray) -> np.ndarray:
    return y - y.mean(1, keepdims=True)


def _explained(
    once: np.ndarray, twice: np.ndarray, with_y: np.ndarray, y: np.ndarray
) -> np.ndarray:
    """Return the normalised power from the means of e^{iwt}, e^{2iwt} and y e^{iwt}.

    `y` has mean zero, so that its products with the waves need no correction.
    """
    cosine, sine = once.real, once.imag
    cc = (1 + twice.real) / 2 - cosine**2
    ss = (1 - twice.real) / 2 - sine**2
    cs = twice.imag / 2 - cosine * sine
    yc, ys = with_y.real, with_y.imag  # (r, f)
    determinant = cc * ss - cs**2
    explained = ss * yc**2 + cc * ys**2 - 2 * cs * yc * ys
    total = (y**2).mean(1, keepdims=True)
    # Where sine and cosine agree on all times (twice the sampling rate), nothing is explained.
    solvable = (determinant > 1e-6) & (total > 0)
    share = np.divide(explained, total * determinant, out=np.zeros_like(yc), where=solvable)
    return share.clip(0, 1)


class Periodogram:
    """The power of one or more forms of a series, at all frequencies worth a look.

    Args:
        x: Times in gaps, increasing from zero.
        step: Of the lattice on which all times lie; their sums are then exact.
    """

    def __init__(self, x: Float[np.ndarray, " n"], step: float | None) -> None:
        self.x = x
        self.span = float(x[-1] - x[0])
        self.fastest = min(_FASTEST, _CYCLES / self.span)
        self.step = 1 / (_PER_CYCLE * self.fastest) if step is None else step
        cells = round(self.span / self.step) + 2
        self.length = 2 ** math.ceil(math.log2(_PER_RESOLVED * cells))
        resolution = 1 / (self.length * self.step)
        self.first = math.ceil(_SLOWEST / self.span / resolution)
        self.last = int(min(self.fastest / resolution, self.length / 2 - 1))
        index = np.arange(self.first, self.last + 1)
        self.frequency = index * resolution
        ones = self._sums(np.ones_like(x)[None])[0] / len(x)  # all frequencies
        self.once, self.twice = ones[index], _at(ones, 2 * index, self.length)

    def __call__(self, y: Float[np.ndarray, "r n"]) -> Float[np.ndarray, "r f"]:
        """Return the share of variance explained at every frequency."""
        y = _centred(y)
        with_y = self._sums(y)[:, self.first : self.last + 1] / len(self.x)
        return _explained(self.once, self.twice, with_y, y)

    def _sums(self, values: Float[np.ndarray, "r n"]) -> Complex[np.ndarray, "r f"]:
        """Return the sums of value times e^{iwt}, at multiples of the resolution."""
        ticks = (self.x - self.x[0]) / self.step
        nearest = ticks.round()
        below = np.floor(ticks) if np.abs(ticks - nearest).max() > 1e-5 else nearest
        share, cell = ticks - below, below.astype(int)
        grid = [
            np.bincount(cell, row * (1 - share), self.length)
            + np.bincount(cell + 1, row * share, self.length)
            for row in values
        ]
        # The FFT has the other sign.
        return np.fft.rfft(grid).conj()


def _at(
    spectrum: Complex[np.ndarray, " f"], index: Int[np.ndarray, " k"], length: int
) -> Complex[np.ndarray, " k"]:
    """Look up a real signal's spectrum beyond its half: the other half mirrors it."""
    beyond = index > length // 2
    value = spectrum[np.where(beyond, length - index, index)]
    return np.where(beyond, value.conj(), value)


def find_periods(
    x: Float[Tensor, " n"], z: Float[Tensor, "r n"], step: float | None
) -> list[float]:
    """Return up to three periods in gaps, from the observations alone.

    The first has the highest power, or is the one of which that is a harmonic. The second stands
    highest above a power-law background once the first and its harmonics are taken out. Where
    either was found by a harmonic, that one is the third. The forms of a series are pooled.

    Of a longer series averages of all of it are searched, for what comes round slowly, and then a
    stretch from the middle, for up to two that come round quickly.
    """
    # Many small steps, which take NumPy a third of the time.
    return [1 / frequency for frequency in _frequencies(x.numpy(), z.numpy(), step)]


def _frequencies(x: np.ndarray, z: np.ndarray, step: float | None) -> list[float]:
    if len(x) <= _LONGEST:
        return _found(x, z, step)
    middle = slice((len(x) - _LONGEST) // 2, (len(x) + _LONGEST) // 2)
    times = x[middle] - x[middle][0]
    slowest, quickest = _KNOWN_CYCLES / float(x[-1]), _TURNS / float(times[-1])
    slow = [f for f in _of_averages(x, z) if slowest < f < quickest]
    rest = _without(x, z, *slow)
    quick = [f for f in _found(times, rest[:, middle], step) if f > quickest / 2][:2]
    return [*slow, *_followed(x, rest, quick)]


def _of_averages(x: np.ndarray, z: np.ndarray) -> list[float]:
    """Return the frequencies of a long series' averages over parts of equal length."""
    width = float(x[-1]) / _LONGEST
    _, place, count = np.unique(np.floor(x / width), return_inverse=True, return_counts=True)
    times = np.bincount(place, x) / count / width
    averages = np.stack([np.bincount(place, row) for row in z]) / count
    return [frequency / width for frequency in _found(times - times[0], averages, None)]


def _found(x: np.ndarray, z: np.ndarray, step: float | None) -> list[float]:
    """Return up to three frequencies of a series that is seen whole."""
    spectrum = Periodogram(x, step) if len(x) >= _FEWEST else None
    if spectrum is None or len(spectrum.frequency) < 3:
        return []
    highest = _highest(spectrum, spectrum(_without(x, z)).mean(0))
    highest = _refined(x, z, highest, spectrum.span)
    first = _fundamental(x, z, highest)
    rest = _without(x, _without(x, z, first), highest)
    left = spectrum(rest).mean(0)
    height = np.log(left.clip(min=1e-9))
    height = height - _power_law(np.log(spectrum.frequency), height)
    multiples = first * np.arange(1, _HARMONICS + 1)
    near = np.abs(spectrum.frequency[:, None] - multiples) < _WIDTH / spectrum.span
    height = np.where(near.any(1), -np.inf, height)
    found = [first]
    if np.isfinite(height).any():
        next_highest = _refined(x, rest, _highest(spectrum, height), spectrum.span)
        found.append(_fundamental(x, rest, next_highest))
        highest = highest if highest != first else next_highest
    return found if highest in found else [*found, highest]


def _followed(x: np.ndarray, z: np.ndarray, found: list[float]) -> list[float]:
    """Refine frequencies on ever longer stretches, of which as many points are seen.

    What a stretch tells of a frequency is too little for one several times as long.
    """
    points = _LONGEST
    while points < len(x):
        points = min(_LONGER * points, len(x))
        some = np.array(scattered(_LONGEST, points)) + (len(x) - points) // 2
        times, seen = x[some] - x[some[0]], z[:, some]
        found = [_refined(times, seen, each, float(times[-1]), _UNSURE) for each in found]
    return found


def _fundamental(x: np.ndarray, z: np.ndarray, frequency: float) -> float:
    """Return the frequency that this one is a multiple of, if others of its multiples are there.

    A season that is no sine may have more power in a harmonic. The frequency and its fractions
    are fitted with up to six harmonics each, beside a line and slow waves; the Bayesian
    information criterion chooses.
    """
    span, best, found = float(x[-1]), math.inf, frequency
    # A third of the observations at most may go into waves.
    affordable = min(_HARMONICS, max(1, len(x) // 6))
    slow_enough = [f for f in range(2, affordable + 1) if frequency / f * span >= _LEAST_CYCLES]
    candidates = [frequency / fraction for fraction in (1, *slow_enough)]
    criteria = _criterion(x, z, np.array(candidates), affordable).tolist()
    for fraction, (candidate, criterion) in enumerate(zip(candidates, criteria, strict=True), 1):
        # As many harmonics as it takes to have the one that was seen, or more.
        most = max(fraction, min(affordable, int(_FASTEST / candidate)))
        least = min(criterion[fraction - 1 : most]) + (_MARGIN if fraction > 1 else 0.0)
        if least < best:
            best, found = least, candidate
    return found if found == frequency else _refined(x, z, found, span)


def _criterion(
    x: np.ndarray, z: np.ndarray, frequency: Float[np.ndarray, " f"], most: int
) -> Float[np.ndarray, "f most"]:
    """Return the information criterion of one harmonic, of two, and so on, over all forms."""
    away, n = x / x[-1], len(x)
    number, slow = np.arange(1, most + 1), np.arange(2, 2 + _SLOW_WAVES)
    once = np.exp(2j * math.pi * frequency[:, None] * x)
    waves = np.repeat(once[:, None], most, 1).cumprod(1)  # (f, k, n)
    columns = np.empty((len(frequency), 2 + _SLOW_WAVES + 2 * most, n))
    columns[:, 0], columns[:, 1] = 1, away - 0.5
    columns[:, 2 : 2 + _SLOW_WAVES] = np.cos(math.pi * slow[:, None] * away)
    columns[:, 2 + _SLOW_WAVES :: 2] = waves.real
    columns[:, 3 + _SLOW_WAVES :: 2] = waves.imag
    basis = np.linalg.qr(columns.transpose(0, 2, 1))[0]  # (f, n, c)
    # An orthogonal basis: what its first columns explain does not depend on the others.
    explained = ((z @ basis) ** 2).cumsum(2)[:, :, 2 + _SLOW_WAVES + 1 :: 2]  # (f, r, k)
    total = (z**2).sum(1, keepdims=True)
    left = np.maximum(np.maximum(total - explained, _EXACT * total), 1e-300)
    return n / 2 * np.log(left).mean(1) + math.log(n) * number


def _highest(spectrum: Periodogram, height: np.ndarray) -> float:
    return float(spectrum.frequency[height.argmax()])


def _refined(x: np.ndarray, z: np.ndarray, frequency: float, span: float, unsure: int = 1) -> float:
    """Return the frequency of the peak's top, to a thousandth of what the span resolves.

    A line is fitted beside: taken out before, it would pull slow periods aside. The second
    harmonic halves the error where a season is no pure sine.

    Args:
        unsure: How many steps of the periodogram the frequency may be off.
    """
    width = 1 / (_PER_RESOLVED * span)
    for most in (unsure, 1, 1):
        near = frequency + most * width * np.linspace(-1, 1, 8 * most + 1)
        near = near[near > 0]
        frequency = float(near[_beside_line(x, z, near).argmax()])
        width /= 4
    return frequency


def _beside_line(x: np.ndarray, z: np.ndarray, frequency: np.ndarray) -> np.ndarray:
    """Return what a line and two harmonics explain at even frequencies, over all forms."""
    # Each wave is the one before, turned by as much as the second is against the first.
    steps = np.diff(frequency, prepend=0)
    turns = np.exp(2j * math.pi * steps[:2, None] * x)
    waves = turns[np.arange(len(frequency)).clip(max=1)].cumprod(0)  # (f, n)
    twice = waves**2
    design = np.empty((len(frequency), 6, len(x)))
    design[:, 0], design[:, 1] = 1, x / x[-1] - 0.5
    design[:, 2], design[:, 3], design[:, 4], design[:, 5] = (
        *(waves.real, waves.imag),
        *(twice.real, twice.imag),
    )
    gram = design @ design.transpose(0, 2, 1) + _RIDGE * len(x) * np.eye(6)  # (f, 6, 6)
    seen = design @ z.T  # (f, 6, r)
    explained = (seen * np.linalg.solve(gram, seen)).sum(1)
    return (explained / (z**2).sum(1).clip(min=1e-300)).sum(1)


def without(x: Float[Tensor, " n"], z: Float[Tensor, "r n"]) -> Float[Tensor, "r n"]:
    """Take a line out, by least squares."""
    return torch.from_numpy(_without(x.numpy(), z.numpy()))


def _without(x: np.ndarray, z: np.ndarray, *frequencies: float) -> np.ndarray:
    """Take a line out, and two harmonics of frequencies if there are some, by least squares."""
    span = x[-1] or 1.0  # nothing, if all were observed at once
    columns = [np.ones_like(x), x / span - 0.5]
    for frequency in frequencies:
        angle = 2 * math.pi * frequency * x
        columns += [wave(k * angle) for k in (1, 2) for wave in (np.cos, np.sin)]
    design = np.stack(columns, 1)  # (n, c)
    gram = design.T @ design + _RIDGE * len(x) * np.eye(len(columns))
    return z - (design @ np.linalg.solve(gram, design.T @ z.T)).T


def _power_law(log_frequency: np.ndarray, log_power: np.ndarray) -> np.ndarray:
    """Return the least-squares line through the logarithms."""
    away = log_frequency - log_frequency.mean()
    slope = (away * log_power).mean() / (away**2).mean()
    return log_power.mean() + slope * away
