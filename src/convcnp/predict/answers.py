"""The columns of an answer: mean, standard deviation, quantiles and samples, by value column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pandas as pd

from convcnp.errors import SettingError, TableError
from convcnp.frames.assembled import JOINT
from convcnp.frames.columns import Columns
from convcnp.frames.series import Ragged
from convcnp.predict.batches import Predictions
from convcnp.predict.job import Job

QUANTILES = (0.05, 0.95)
_DIGITS = 4  # of the standard deviation
_SLIGHT = 1e-3  # of a constant: a deviation below is none
_OUTER = 0.1  # level of a band's end, at most, and of the other to one


def check_quantiles(quantiles: Sequence[float]) -> None:
    """Refuse levels that are not strictly between 0 and 1."""
    for level in quantiles:
        if not 0 < level < 1:
            raise SettingError(
                f"A quantile must lie strictly between 0 and 1, got {level}; 0.05 is the 5 % "
                "quantile."
            )
    names: dict[str, float] = {}
    for level in quantiles:
        if names.setdefault(name := quantile_name(level), level) != level:
            raise SettingError(
                f"Expected quantiles that are told apart, got {names[name]} and {level}, which are "
                f"both {name}; leave one out."
            )


def check_names(columns: Columns, quantiles: Sequence[float] | None, samples: int) -> None:
    """Refuse columns that would stand in the answer twice."""
    groups = (columns.group, *(columns.group or "").split(JOINT))
    own = (*groups, columns.time, *columns.inputs)
    endings = [] if quantiles is None else ["mean", "std", *map(quantile_name, quantiles)]
    endings += [f"sample{i + 1}" for i in range(samples)]
    for value in columns.values:
        for name in own:
            if name in {f"{value}_{ending}" for ending in endings}:
                raise TableError(
                    f"Expected columns of other names than the answer's, but {name!r} is what it "
                    f"says of {value!r}; rename it."
                )


def quantile_name(level: float) -> str:
    """Return the ending of a quantile's column: q05 for 0.05, q975 for 0.975.

    Example:
        >>> quantile_name(0.5)
        'q50'
    """
    digits = f"{level:.10f}"  # as it was meant: 0.1 + 0.2 is 0.3
    if not all(math.isclose(a, b, rel_tol=1e-6) for a, b in _tails(level, float(digits))):
        digits = f"{Decimal(repr(float(level))):f}"
    return "q" + digits[2:].rstrip("0").ljust(2, "0")


def _tails(level: float, named: float) -> tuple[tuple[float, float], tuple[float, float]]:
    return (level, named), (1 - level, 1 - named)


def moments(
    found: Predictions,
    quantiles: Sequence[float],
    job: Job | None = None,
    asked: Ragged | None = None,
) -> dict[str, np.ndarray]:
    """Return means, standard deviations and quantiles (rows, Dy), by the endings of their columns.

    Rows without a prediction are NaN.

    Args:
        job: What was predicted, which may know bounds and values on them.
        asked: The inputs, where series of one value alone are answered with it.
    """
    predictive = found.predictive
    kinds = {"mean": predictive.mean[0].numpy(), "std": predictive.stddev[0].numpy()}
    for level in quantiles:
        values = predictive.quantile(level)[0].numpy()
        kinds[quantile_name(level)] = values if job is None else job.on_bounds(values)
    if job is not None and asked is not None and job.series.error is None:
        constant = _constants(job)[asked.owners]
        slight = _SLIGHT * np.where(constant == 0, 1.0, np.abs(constant))
        is_same = (kinds["std"] < slight) & (np.abs(kinds["mean"] - constant) < slight)
        kinds |= {k: np.where(is_same, constant, kinds[k]) for k in kinds if k != "std"}
    is_answered = found.is_answered.numpy()[:, None]
    return {kind: np.where(is_answered, part, np.nan) for kind, part in kinds.items()}


def _constants(job: Job) -> np.ndarray:
    """Return the only value of every series and channel (S, Dy), NaN where there are others."""
    found = np.full((len(job.series), len(job.channels)), np.nan)
    y = job.on_bounds(job.back(job.y))
    for i in np.flatnonzero(job.series.lengths > 1):
        for channel, values in enumerate(y[job.series.rows(i)].T):
            seen = values[~np.isnan(values)]
            found[i, channel] = seen[0] if len(seen) > 1 and np.ptp(seen) == 0 else np.nan
    return found


def samples_of(curves: np.ndarray) -> dict[str, np.ndarray]:
    """Return curves (samples, rows, Dy) one by one, by the endings of their columns."""
    return {f"sample{i + 1}": curve for i, curve in enumerate(curves)}


def answer_columns(names: Sequence[str], kinds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the columns of an answer, value column by value column."""
    return {
        f"{name}_{kind}": values[:, channel]
        for channel, name in enumerate(names)
        for kind, values in kinds.items()
    }


def drawn_means(
    answer: pd.DataFrame, names: Sequence[str], quantiles: Sequence[float]
) -> list[str]:
    """Say where means lie outside the band of the outermost quantiles, in sentences.

    Example:
        >>> answer = pd.DataFrame({"v_mean": [9.0], "v_q05": [1.0], "v_q95": [2.0]})
        >>> drawn_means(answer, ["v"], [0.05, 0.95])[0][:45]
        'v: 1 of 1 means lie outside the band from q05'
    """
    if not quantiles or min(quantiles) > _OUTER or max(quantiles) < 1 - _OUTER:
        return []
    low, high = quantile_name(min(quantiles)), quantile_name(max(quantiles))
    found = []
    for name in names:
        mean = answer[f"{name}_mean"]
        outside = int(((mean < answer[f"{name}_{low}"]) | (mean > answer[f"{name}_{high}"])).sum())
        if outside:
            found.append(
                f"{name}: {outside:,} of {len(answer):,} means lie outside the band from {low} to "
                f"{high}, drawn there by a little probability far away; trust the quantiles, of "
                "which 0.5 is the middle."
            )
    return found


def rounded(answer: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Round what is said of value columns to four digits of the standard deviation, row by row.

    Example:
        >>> answer = pd.DataFrame({"v_mean": [179.4645764], "v_std": [0.123456789]})
        >>> rounded(answer, ["v"]).iloc[0].tolist()
        [179.4646, 0.1235]
    """
    content = {}
    for name in names:
        places = decimals(answer[f"{name}_std"].to_numpy(), _DIGITS)
        for column in (c for c in answer.columns if str(c).rpartition("_")[0] == name):
            values = answer[column].to_numpy(copy=True)
            for count in np.unique(places[np.isfinite(places)]):
                chosen = places == count
                values[chosen] = np.round(values[chosen], int(count))
            content[column] = values
    return answer.assign(**content)


def decimals(spread: np.ndarray, digits: int) -> np.ndarray:
    """Return the decimal places that show a spread by so many digits; NaN where it has none.

    Example:
        >>> decimals(np.array([0.012, 3.0, 1e9, 0.0]), 4).tolist()
        [5.0, 3.0, 0.0, nan]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        places = digits - 1 - np.floor(np.log10(np.abs(spread)))
    return np.where(np.isfinite(places), np.maximum(places, 0), np.nan)
