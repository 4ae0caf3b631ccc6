"""Sums over the cells in reach of points on a line: plain loops, which numba compiles.

`core.compiled` calls them in training, where operations of torch on a few numbers take several
times as long to call as to compute; `core.window` has the same sums for everything else.
"""

from __future__ import annotations

import math

from numpy import ndarray

STEEPEST = 16.0  # squared spacing in length scales, up to which the products below cannot overflow
NEGLIGIBLE = -60.0  # exponent: smaller weights are nothing, and slow to compute with


def reached(
    x: ndarray,  # (B, K), in float64
    origin: ndarray,  # (B,), likewise
    spacing: float,
    decay: float,
    cells: int,
    first: ndarray,
    position: ndarray,
    weights: ndarray,
) -> None:
    """Find the first cell that every point reaches, where the point is, and its weights.

    A Gaussian on a regular grid is a product: the ratio of two neighbours changes by one factor.

    Args:
        decay: The squared spacing in length scales.
        cells: Of the grid.
        first: Filled with the first of the cells that a point reaches, maybe beyond the grid.
        position: Filled with the distance of a point from that cell, in cells.
        weights: Filled with the weight of every cell in reach.
    """
    wide = weights.shape[2]
    reach = wide // 2
    factor = math.exp(-decay)
    for task in range(x.shape[0]):
        for point in range(x.shape[1]):
            place = (x[task, point] - origin[task]) / spacing
            below = math.floor(place) if abs(place) < 2.0**60 else place
            fraction = place - below
            # A distant point reaches what lies beyond the grid, wherever that is.
            below = min(max(below, -2.0 * wide), cells + 2.0 * wide)
            first[task, point] = int(below) + 1 - reach
            position[task, point] = fraction + reach - 1
            if decay > STEEPEST:
                for cell in range(wide):
                    away = position[task, point] - cell
                    weights[task, point, cell] = math.exp(max(-0.5 * decay * away**2, NEGLIGIBLE))
                continue
            middle = math.exp(-0.5 * decay * fraction**2)
            up = math.exp(decay * (fraction - 0.5))
            down = math.exp(-decay * (fraction + 0.5))
            weights[task, point, reach - 1] = middle
            weight = middle
            for cell in range(reach, wide):
                weight *= up
                up *= factor
                weights[task, point, cell] = weight
            weight = middle
            for cell in range(reach - 2, -1, -1):
                weight *= down
                down *= factor
                weights[task, point, cell] = weight


def spread(
    first: ndarray,
    weights: ndarray,
    amounts: ndarray,  # (B, N, C)
    densities: int,
    epsilon: float,
    h: ndarray,  # (B, G, C), zero
) -> None:
    """Sum amounts over points on every cell; the first channels are densities of the others."""
    cells, channels = h.shape[1], h.shape[2]
    for task in range(h.shape[0]):
        for point in range(first.shape[1]):
            begin = first[task, point]
            for cell in range(max(begin, 0), min(begin + weights.shape[2], cells)):
                weight = weights[task, point, cell - begin]
                for channel in range(channels):
                    h[task, cell, channel] += weight * amounts[task, point, channel]
        for cell in range(cells):
            for channel in range(densities, channels):
                h[task, cell, channel] /= h[task, cell, channel % densities] + epsilon


def sums_back(
    h: ndarray,  # (B, G, C), as `spread` leaves it
    grad: ndarray,  # (B, G, C), of h
    densities: int,
    epsilon: float,
    of_sums: ndarray,  # (B, G, C)
) -> None:
    """Find the gradient of the sums before they were divided by densities."""
    cells, channels = h.shape[1], h.shape[2]
    for task in range(h.shape[0]):
        for cell in range(cells):
            for channel in range(densities):
                of_sums[task, cell, channel] = grad[task, cell, channel]
            for channel in range(densities, channels):
                own = channel % densities
                slope = grad[task, cell, channel] / (h[task, cell, own] + epsilon)
                of_sums[task, cell, channel] = slope
                of_sums[task, cell, own] -= slope * h[task, cell, channel]


def spread_back(
    first: ndarray,
    position: ndarray,
    weights: ndarray,
    amounts: ndarray,
    of_sums: ndarray,
    of_amounts: ndarray,  # (B, N, C), zero
) -> float:
    """Find the gradient of the amounts, and return the sum of weighted squared distances.

    That sum, times the decay, is the gradient of the length scale's logarithm.
    """
    cells, channels = of_sums.shape[1], of_sums.shape[2]
    total = 0.0
    for task in range(of_sums.shape[0]):
        for point in range(first.shape[1]):
            begin = first[task, point]
            for cell in range(max(begin, 0), min(begin + weights.shape[2], cells)):
                weight = weights[task, point, cell - begin]
                near = 0.0
                for channel in range(channels):
                    of_sum = of_sums[task, cell, channel]
                    near += of_sum * amounts[task, point, channel]
                    of_amounts[task, point, channel] += weight * of_sum
                total += near * weight * (position[task, point] - (cell - begin)) ** 2
    return total


def gather(
    first: ndarray,
    weights: ndarray,
    values: ndarray,  # (B, G, C)
    beyond: ndarray,  # (C,)
    found: ndarray,  # (B, M, C), zero
) -> None:
    """Sum a field around points; `beyond` is what it holds where the grid has ended."""
    cells, channels = values.shape[1], values.shape[2]
    for task in range(found.shape[0]):
        for point in range(found.shape[1]):
            begin = first[task, point]
            outside = 0.0
            for cell in range(begin, begin + weights.shape[2]):
                weight = weights[task, point, cell - begin]
                if 0 <= cell < cells:
                    for channel in range(channels):
                        found[task, point, channel] += weight * values[task, cell, channel]
                else:
                    outside += weight
            for channel in range(channels):
                found[task, point, channel] += outside * beyond[channel]


def gather_back(
    first: ndarray,
    position: ndarray,
    weights: ndarray,
    values: ndarray,
    beyond: ndarray,
    grad: ndarray,  # (B, M, C)
    of_values: ndarray,  # (B, G, C), zero
    of_beyond: ndarray,  # (C,), zero
) -> float:
    """Find the gradients of a field, and return the sum of `spread_back`."""
    cells, channels = values.shape[1], values.shape[2]
    total = 0.0
    for task in range(grad.shape[0]):
        for point in range(grad.shape[1]):
            begin = first[task, point]
            outside = 0.0
            at_constant = 0.0
            for channel in range(channels):
                at_constant += beyond[channel] * grad[task, point, channel]
            for cell in range(begin, begin + weights.shape[2]):
                weight = weights[task, point, cell - begin]
                near = 0.0
                if 0 <= cell < cells:
                    for channel in range(channels):
                        near += values[task, cell, channel] * grad[task, point, channel]
                        of_values[task, cell, channel] += weight * grad[task, point, channel]
                else:
                    near = at_constant
                    outside += weight
                total += near * weight * (position[task, point] - (cell - begin)) ** 2
            for channel in range(channels):
                of_beyond[channel] += outside * grad[task, point, channel]
    return total
