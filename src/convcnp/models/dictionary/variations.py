"""Between the entries of the catalogue: like ones, with one of their numbers changed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from convcnp.models.dictionary.catalogue import Base, Kernel, assembled
from convcnp.models.dictionary.kernels import Entries

_SCALE, _SHARPNESS, _ODDS, _NOISE = 1.6, 1.8, 2.0, 2.5  # factors, up and down
_ENDLESS = 1e6  # gaps: longer ones are exact, and stay so


class Item(NamedTuple):
    """One entry, taken apart."""

    kernel: Kernel
    noise: float
    log_prior: float
    family: int


def items(entries: Entries) -> list[Item]:
    """Take entries apart."""
    bases = entries.bases
    columns = [bases.length_scale, bases.period, bases.sharpness]
    parts: list[Base] = list(
        zip(bases.shape.tolist(), *(column.tolist() for column in columns), strict=True)
    )
    kernels = [
        {part: weight for part, weight in zip(parts, row, strict=True) if weight}
        for row in entries.weights.tolist()
    ]
    others = (entries.noise, entries.log_prior, entries.family)
    rows = zip(entries.kernel.tolist(), *(other.tolist() for other in others), strict=True)
    return [Item(kernels[kernel], *rest) for kernel, *rest in rows]


def put_together(found: list[Item]) -> Entries:
    """Make entries of items again."""
    kernels = [(item.kernel, (item.noise,)) for item in found]
    return assembled(kernels, [i.log_prior for i in found], [i.family for i in found])


def variations(item: Item) -> Iterator[Item]:
    """Yield the entry with one number changed: a length, a sharpness, a share, or the noise."""
    for factor in (1 / _NOISE, _NOISE):
        yield item._replace(noise=item.noise * factor)
    for base, weight in item.kernel.items():
        for changed in _like(base):
            yield item._replace(kernel=_replaced(item.kernel, base, changed))
        if len(item.kernel) > 1:
            for factor in (1 / _ODDS, _ODDS):
                total = 1 + (factor - 1) * weight
                kernel = {
                    b: w * (factor if b == base else 1) / total for b, w in item.kernel.items()
                }
                yield item._replace(kernel=kernel)


def _like(base: Base) -> Iterator[Base]:
    shape, scale, period, sharpness = base
    if scale < _ENDLESS:
        for factor in (1 / _SCALE, _SCALE):
            yield shape, scale * factor, period, sharpness
    if period < math.inf and sharpness > 0:
        for factor in (1 / _SHARPNESS, _SHARPNESS):
            yield shape, scale, period, sharpness * factor


def _replaced(kernel: Kernel, old: Base, new: Base) -> Kernel:
    replaced: Kernel = {}
    for base, weight in kernel.items():
        key = new if base == old else base
        replaced[key] = replaced.get(key, 0.0) + weight
    return replaced
