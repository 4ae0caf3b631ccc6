"""Limits that values seem to have, and that nobody gave, in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from convcnp.core.bounds import Limits
from convcnp.predict.batches import Predictions

_ENOUGH = 8  # values to tell whether they are bounded
_MANY = 10  # different values: with fewer, the largest is often by chance
_PILED, _FEWEST = 0.05, 5  # of the values, and how many, are the largest
_OFTENER = 3.0  # than any value between: rounded values and plateaus repeat as well
_CLOSE = 0.1  # spreads from zero, at most, of the smallest value
_NOTICED = 0.1  # standard deviations


def seems_positive(y: np.ndarray) -> bool:
    """Tell whether no value is negative, and many are as near to zero as they are to each other.

    A few that are far away make no others near, and the smallest has to be close to zero.

    Example:
        >>> seems_positive(np.arange(10.0)), seems_positive(np.arange(100.0, 110.0))
        (True, False)
    """
    if len(y) < _ENOUGH or y.min() < 0 or y.max() == 0:
        return False
    low, high = np.quantile(y, [0.1, 0.9])
    spread = float(min(np.std(y), high - low) if high > low else np.std(y))
    return bool(low < spread and y.min() < _CLOSE * spread)


def positive_said(name: str, y: np.ndarray, limits: Limits) -> Iterator[str]:
    """Suggest a bound of zero for the values of a column, where no bound is given."""
    if not limits.are_given and seems_positive(y[~np.isnan(y)]):
        yield (
            f"{name}: no value is negative, and many are near zero; positive=True keeps the answer "
            "there."
        )


def seeming_limits(y: np.ndarray) -> Limits:
    """Return the smallest and the largest value where others pile up on them.

    Example:
        >>> seeming_limits(np.minimum(np.arange(100.0) % 60, 40.0))
        Limits(lower=-inf, upper=40.0)
        >>> seeming_limits(np.array([0.0, 1.0] * 4))
        Limits(lower=0.0, upper=1.0)
    """
    values, counts = np.unique(y, return_counts=True)
    if len(y) < _ENOUGH or 2 != len(values) <= _MANY:
        return Limits()
    between = counts[1:-1].max(initial=0)
    enough = max(_FEWEST, _PILED * len(y), _OFTENER * between) if between else 0
    return Limits(
        float(values[0]) if counts[0] >= enough else -math.inf,
        float(values[-1]) if counts[-1] >= enough else math.inf,
    )


def beyond_limits(found: Predictions, y: np.ndarray, limits: Limits) -> Iterator[str]:
    """Say where bands go noticeably beyond a value on which others pile up.

    Args:
        y: The observed values (n, Dy), not a number where there is none.
        limits: Those that are given; of these, and of a bound of zero that is suggested anyway,
            nothing is said.
    """
    for channel, values in enumerate(y.T):
        seen = values[~np.isnan(values)]
        seeming, noticed = seeming_limits(seen), _NOTICED * float(np.std(seen)) if len(seen) else 0
        is_told = seeming.lower == 0 and not limits.are_given and seems_positive(seen)
        ends = (("lower", "smaller", 0.05, -1), ("upper", "larger", 0.95, 1))
        for (option, size, level, sign), limit, given in zip(ends, seeming, limits, strict=True):
            if math.isinf(limit) or math.isfinite(given) or (option == "lower" and is_told):
                continue
            farthest = _farthest(found, channel, level, sign)
            if sign * (farthest - limit) > noticed:
                written = repr(limit).removesuffix(".0")  # exactly: bounds hold all values
                yield (
                    f"{int((seen == limit).sum()):,} of {len(seen):,} values are {written}, and "
                    f"none is {size}, but bands reach {farthest:.4g}; if that is a limit, "
                    f"{option}={written} keeps the answer within it."
                )


def _farthest(found: Predictions, channel: int, level: float, sign: int) -> float:
    """Return the end of the bands that lies farthest down, or up; not a number without any."""
    ends = found.predictive.quantile(level)[0, :, channel][found.is_answered].numpy()
    return float(sign * (sign * ends).max()) if len(ends) else math.nan
