"""Between the entries of the catalogue: like ones, with one of their numbers changed, or all."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from convcnp.models.dictionary.catalogue import ENDLESS, Base, Kernel, Sampling, assembled
from convcnp.models.dictionary.kernels import EQ, Entries

# Factors of one step; a period's is in cycles over the series, of which a resolved peak is one.
_SCALE, _SHARPNESS, _ODDS, _NOISE, _CYCLES = 1.6, 1.8, 2.0, 2.5, 0.1
_MOVES = (0.5, 1.5, 3.0)  # steps of a period, before all else
_PRICE = 2.0  # nats, of moving a period
_FARTHEST = 1.5  # steps at once, where all numbers are changed together
_PARTS = 4  # of a step
_SHAPES, _SHARES = (1.0, 4.0), (0.2, 0.8)  # of a season beside an entry
_ALIKE = 0.05  # of periods, whose ratio is so near to one
_FLAT = 0.02  # nats: a number that changes less than this is left alone


class Item(NamedTuple):
    """One entry, taken apart."""

    kernel: Kernel
    noise: float
    log_prior: float
    family: int

    @property
    def key(self) -> bytes:
        """All its numbers to seven digits: entries with one key are the same, and count once."""
        parts = sorted((*base, weight) for base, weight in self.kernel.items())
        numbers = array("f", (self.noise,))
        for part in parts:
            numbers.extend(part)
        return numbers.tobytes()

    def drifts_slowly(self, told: float) -> bool:
        """Tell whether a season of a longer period than this one drifts."""
        return any(
            told < period < math.inf and scale < ENDLESS for _, scale, period, _ in self.kernel
        )


class PossibleSeasons(NamedTuple):
    """What may come round exactly in a long series, whatever else is found of it."""

    periods: list[float]
    price: float  # nats, of each
    family: int  # of entries that have several

    @classmethod
    def of(cls, entries: Entries) -> PossibleSeasons:
        """Return those that the entries know."""
        periods = entries.bases.period[entries.bases.period.isfinite()].unique()
        price = -entries.log_prior[entries.family > 0].max() if len(periods) else 0.0
        return cls(periods.tolist(), float(price), int(entries.family.max()))


NO_SEASONS = PossibleSeasons([], 0.0, 0)


class Number(NamedTuple):
    """One of the numbers of an entry: of the whole, or of the part at this place."""

    kind: str
    place: int = 0


def items(entries: Entries) -> list[Item]:
    """Take entries apart."""
    bases = entries.bases
    columns = [bases.length_scale, bases.period, bases.sharpness]
    parts: list[Base] = list(
        zip(bases.shape.tolist(), *(column.tolist() for column in columns), strict=True)
    )
    kernels: list[Kernel] = [{} for _ in entries.weights]
    places = entries.weights.nonzero()
    weights = entries.weights[places.unbind(1)].tolist()
    for (kernel, part), weight in zip(places.tolist(), weights, strict=True):
        kernels[kernel][parts[part]] = weight
    others = (entries.noise, entries.log_prior, entries.family)
    rows = zip(entries.kernel.tolist(), *(other.tolist() for other in others), strict=True)
    return [Item(kernels[kernel], *rest) for kernel, *rest in rows]


def put_together(found: Sequence[Item]) -> Entries:
    """Make entries of items again."""
    kernels = [(item.kernel, (item.noise,)) for item in found]
    return assembled(kernels, [i.log_prior for i in found], [i.family for i in found])


def numbers(item: Item, sampling: Sampling) -> list[Number]:
    """Return what can be changed in an entry: noise, lengths, sharpness, shares and periods."""
    found = [Number("noise")]
    for place, (_, scale, period, sharpness) in enumerate(item.kernel):
        found += [Number("length", place)] if scale < ENDLESS else []
        found += [Number("sharpness", place)] if period < math.inf and sharpness > 0 else []
        found += [Number("period", place)] if period < math.inf and period <= sampling.told else []
        found += [Number("odds", place)] if place else []  # shares sum to one
    return found


def changed(item: Item, steps: Mapping[Number, float], sampling: Sampling) -> Item:
    """Return the entry with some of its numbers changed by so many steps.

    Args:
        sampling: Of the series, by which periods are resolved and seasons told.
    """

    noise, bases, weights = item.noise, list(item.kernel), list(item.kernel.values())
    for (kind, place), step in steps.items():
        if kind == "noise":
            noise *= _NOISE**step
        elif kind == "odds":
            weights[place] *= _ODDS**step
        else:
            bases[place] = _changed(*bases[place], kind, step, sampling)
    total = sum(weights)
    kernel: Kernel = {}
    for base, weight in zip(bases, weights, strict=True):
        kernel[base] = kernel.get(base, 0.0) + weight / total
    return Item(kernel, noise, item.log_prior, item.family)


def _changed(
    shape: int,
    scale: float,
    period: float,
    sharpness: float,
    kind: str,
    step: float,
    sampling: Sampling,
) -> Base:
    """Return a base with one of its numbers changed."""
    if kind == "length":
        scale *= _SCALE**step
    elif kind == "sharpness":
        sharpness *= _SHARPNESS**step
    else:
        frequency = 1 / period + step * _CYCLES / sampling.span
        period = 1 / frequency if frequency > 0 else period
    sharpest = sampling.sharpest(period) if sharpness > 0 else 0.0
    return shape, scale, period, min(sharpness, sharpest)


def moved_periods(item: Item, sampling: Sampling) -> list[Item]:
    """Return the entry with all its periods moved, if it has any, less and more far.

    They pay for it: of many periods one always fits the chance in a series.
    """
    periods = [number for number in numbers(item, sampling) if number.kind == "period"]
    steps = [sign * step for step in _MOVES for sign in (-1, 1)] if periods else []
    item = item._replace(log_prior=item.log_prior - _PRICE)
    return [changed(item, dict.fromkeys(periods, step), sampling) for step in steps]


def variations(item: Item, sampling: Sampling) -> list[Item]:
    """Return the entry with one number changed, down and up, for each of its numbers in turn."""
    return [
        changed(item, {n: step}, sampling) for n in numbers(item, sampling) for step in (-1.0, 1.0)
    ]


def without_drift(item: Item) -> Item:
    """Return the entry with its seasons exact; a rhythm that a rough envelope damps is none."""
    parts: Kernel = {}
    for (shape, scale, period, sharpness), weight in item.kernel.items():
        drifts = shape == EQ and period < math.inf
        base = (shape, ENDLESS if drifts else scale, period, sharpness)
        parts[base] = parts.get(base, 0.0) + weight
    return item._replace(kernel=parts)


def with_another_season(item: Item, seasons: PossibleSeasons, sampling: Sampling) -> list[Item]:
    """Return the entry beside an exact season that it has not, in shares and shapes."""
    found = []
    for period in seasons.periods:
        if any(abs(own / period - 1) < _ALIKE for _, _, own, _ in item.kernel):
            continue
        sharpest = sampling.sharpest(period)
        shapes = dict.fromkeys(min(sharpness, sharpest) for sharpness in _SHAPES)
        for sharpness, share in product(shapes, _SHARES):
            kernel = {base: weight * (1 - share) for base, weight in item.kernel.items()}
            kernel[EQ, ENDLESS, period, sharpness] = share
            noise = item.noise * (1 - share)
            found.append(Item(kernel, noise, item.log_prior - seasons.price, seasons.family))
    return found


def improved(item: Item, here: float, around: Iterable[float], sampling: Sampling) -> Item:
    """Return the entry with all numbers changed at once, each to the top of its parabola.

    Args:
        here: The evidence of the entry.
        around: That of its `variations`.
    """
    scores = list(around)
    pairs = zip(numbers(item, sampling), scores[::2], scores[1::2], strict=True)
    return changed(item, {n: _top(below, here, above) for n, below, above in pairs}, sampling)


def _top(below: float, here: float, above: float) -> float:
    """Return where a parabola through three heights, a step apart, has its top."""
    if not math.isfinite(below + here + above) or max(below, above) < here - 1e6:
        return 0.0
    slope, curvature = (above - below) / 2, below - 2 * here + above
    if curvature > -_FLAT:
        return math.copysign(1.0, slope) if abs(slope) > _FLAT else 0.0
    # Rounded, so that the last digits of the evidence, in single precision, leave no trace.
    top = round(-slope / curvature * _PARTS) / _PARTS
    return max(-_FARTHEST, min(_FARTHEST, top))
