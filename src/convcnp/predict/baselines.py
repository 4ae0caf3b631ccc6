"""What anybody could do without a model: draw a line, repeat the season, take the nearest value."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from convcnp.models.dictionary.periodogram import find_periods

Array = NDArray[np.float64]

LINE, SEASON, NEAREST = "a line", "the season repeated", "the nearest value"
_SMALLEST_SPREAD = 1e-6  # of the values' range: an exact season leaves no errors
_FEWEST_ERRORS = 3  # that make a standard deviation; below, that of the values stands in
_FEWEST_CYCLES = 3.0  # of a season in a series
_NEARER = 0.75  # values one period away are, than those half a period away, if there is a season


def nearest_value(x: Array, y: Array, at: Array) -> Array:
    """Return the value of the nearest of points (N, Dx) at each of others (M, Dx)."""
    away = np.stack([((x - point) ** 2).sum(1).argmin() for point in at])
    found: Array = y[away]
    return found


def repeated(x: Array, y: Array, at: Array, period: float) -> tuple[Array, Array]:
    """Return mean and standard deviation at new times, of an ordered series.

    What was observed one period away is repeated: before, after, or the mean of both. Where nothing
    was observed one period away, two or more are tried; where nothing was observed at any number of
    periods, the line through the neighbours answers. The standard deviation is that of the errors
    which the same rule makes at the observations, on both sides or on one as at the target.

    Example:
        >>> x = np.arange(12.0)
        >>> mean, spread = repeated(x, np.sin(np.pi * x / 2), np.array([13.0]), period=4.0)
        >>> round(float(mean[0]), 6), bool(spread[0] < 1e-5)
        (1.0, True)
    """
    there = np.stack([_away(x, y, at, sign * period) for sign in (-1, 1)])  # (2, M)
    own = np.stack([_away(x, y, x, sign * period) for sign in (-1, 1)])  # (2, N)
    is_seen = ~np.isnan(there)
    mean = np.where(is_seen.any(0), _mean(there), np.interp(at, x, y))
    smallest = _SMALLEST_SPREAD * float(np.ptp(y) or max(abs(y[0]), 1.0))
    around = float(np.std(y))
    spread = np.select(
        [is_seen.all(0), is_seen[0], is_seen[1]],
        [_spread(y - guess, around) for guess in (own.mean(0), own[0], own[1])],
        default=around,
    )
    return mean, np.maximum(spread, smallest)


def season_of(x: Array, y: Array) -> float | None:
    """Return the period of an ordered series, if values one period away are the nearer ones.

    Example:
        >>> x = np.arange(60.0)
        >>> round(season_of(x, 0.01 * x**2 + np.sin(2 * np.pi * x / 12)) or 0, 1)
        12.0
        >>> season_of(x, 0.01 * x**2) is None
        True
    """
    steps = np.diff(x)
    gap = float(np.median(steps[steps > 0])) if (steps > 0).any() else 0.0
    if gap == 0 or len(y) <= _FEWEST_ERRORS:
        return None
    # A slow rise would stand above every season.
    place = (x - x[0]) / np.ptp(x)
    rest = y - np.polyval(np.polyfit(place, y, 2), place)
    if np.ptp(y) == 0 or rest.std() <= _SMALLEST_SPREAD * np.ptp(y):
        return None
    scaled = torch.from_numpy((rest - rest.mean()) / rest.std())[None]
    for period in find_periods(torch.from_numpy(x / gap), scaled, None):
        if np.ptp(x) < _FEWEST_CYCLES * period * gap or period < 2:
            continue
        whole, half = (_errors(x, rest, share * gap * period) for share in (1.0, 0.5))
        if whole < _NEARER * half:
            return period * gap
    return None


def _errors(x: Array, y: Array, period: float) -> float:
    """Return the mean error of repeating the observations so far away, on both sides."""
    guess = 0.5 * (_away(x, y, x, -period) + _away(x, y, x, period))
    errors = np.abs(y - guess)[~np.isnan(guess)]
    return float(errors.mean()) if len(errors) >= _FEWEST_ERRORS else np.inf


def _away(x: Array, y: Array, at: Array, shift: float) -> Array:
    """Return the values at the nearest number of shifts where there are any, else NaN.

    "Observed" means no farther than half a typical gap from an observation; the line through the
    neighbours says what.
    """
    nearby = 0.5001 * float(np.median(np.diff(x)))  # half a gap, and rounding
    found = np.full_like(at, np.nan)
    for count in range(1, int(np.ptp(x) / abs(shift)) + 2):
        left = np.flatnonzero(np.isnan(found))
        if not len(left):
            break
        times = at[left] + count * shift
        after = np.searchsorted(x, times).clip(1, len(x) - 1)
        is_near = np.minimum(np.abs(times - x[after - 1]), np.abs(times - x[after])) <= nearby
        found[left[is_near]] = np.interp(times[is_near], x, y)
    return found


def _mean(sides: Array) -> Array:
    """Return the mean of what is there of two sides; zero where neither is."""
    return np.nansum(sides, 0) / np.maximum((~np.isnan(sides)).sum(0), 1)


def _spread(errors: Array, otherwise: float) -> float:
    """Return the root mean square of the errors that are there, if there are a few."""
    there = errors[~np.isnan(errors)]
    return float(np.sqrt(np.mean(there**2))) if len(there) >= _FEWEST_ERRORS else otherwise
