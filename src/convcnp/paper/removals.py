"""Ways of removing points from a series, to predict them from the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Bool
from torch import Generator, Tensor

_SHARE_AT_RANDOM = 0.3
_NUM_BLOCKS, _SHARE_OF_BLOCK = 3, 0.06
_SHARE_OF_ONE = 0.12  # in the middle, and of a forecast
_SMALLEST_BLOCK = 2


def removed_at_random(num_points: int, generator: Generator) -> Bool[Tensor, " points"]:
    """Choose 30 % of the points, never the first or the last: every method is to interpolate."""
    count = round(_SHARE_AT_RANDOM * num_points)
    chosen = 1 + torch.randperm(num_points - 2, generator=generator)[:count]
    removed = torch.zeros(num_points, dtype=torch.bool)
    removed[chosen] = True
    return removed


def removed_in_blocks(num_points: int, generator: Generator) -> Bool[Tensor, " points"]:
    """Choose three blocks of 6 % of the points each; observations stand before and after each.

    A block has at least two points. Where three of them would be much more than 18 %, there are
    fewer.
    """
    size = _block_size(_SHARE_OF_BLOCK, num_points)
    fitting = round(_NUM_BLOCKS * _SHARE_OF_BLOCK * num_points / size)
    count = min(max(fitting, 1), _NUM_BLOCKS)
    free = num_points - count * size  # points that stay, at least one on either side
    starts = torch.randperm(free - 1, generator=generator)[:count].sort().values + 1
    starts = starts + size * torch.arange(count)
    removed = torch.zeros(num_points, dtype=torch.bool)
    for start in starts.tolist():
        removed[start : start + size] = True
    return removed


def removed_in_the_middle(num_points: int, generator: Generator) -> Bool[Tensor, " points"]:
    """Choose one block of 12 % of the points, somewhere in the middle half of the series."""
    size = _block_size(_SHARE_OF_ONE, num_points)
    first, last = num_points // 4, num_points - num_points // 4 - size
    start = int(torch.randint(first, last + 1, (), generator=generator))
    removed = torch.zeros(num_points, dtype=torch.bool)
    removed[start : start + size] = True
    return removed


def removed_at_the_end(num_points: int, generator: Generator) -> Bool[Tensor, " points"]:
    """Choose the last 12 % of the points, whatever the generator: a forecast."""
    removed = torch.zeros(num_points, dtype=torch.bool)
    removed[-_block_size(_SHARE_OF_ONE, num_points) :] = True
    return removed


def _block_size(share: float, num_points: int) -> int:
    return max(_SMALLEST_BLOCK, round(share * num_points))


class Removal(NamedTuple):
    """A way of removing points, and the seeds it is done with."""

    choose: Callable[[int, Generator], Tensor]
    seeds: tuple[int, ...] = (0, 1, 2)

    def repeated(self, times: int | None) -> tuple[int, ...]:
        """Return as many seeds, or its own; a removal that is always the same needs one."""
        return self.seeds if times is None or len(self.seeds) == 1 else tuple(range(times))


REMOVALS = {
    "random": Removal(removed_at_random),
    "blocks": Removal(removed_in_blocks),
    "middle": Removal(removed_in_the_middle),
    "forecast": Removal(removed_at_the_end, seeds=(0,)),  # there is one end
}
FORECAST = "forecast"
GAPS = tuple(name for name in REMOVALS if name != FORECAST)
