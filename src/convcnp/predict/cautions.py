"""Where a user's data lies outside what a model was trained for, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from convcnp.data.source import Familiar
from convcnp.frames.series import Ragged
from convcnp.frames.time_axis import TimeAxis
from convcnp.models.base import Restlessness, Rhythm
from convcnp.predict.baselines import season_of
from convcnp.predict.batches import Predictions

_FEW = 0.05  # of the values
_FAR = 1.0  # spans of a series, beyond its ends
_ENOUGH = 8  # values to tell what a series is like
_LONG = 3.0  # typical gaps between two observations
_AS_WIDE = 0.9  # the spread of a series: a deviation beyond knows no more than that
_TELLING = 50  # values: in fewer, noise alone often seems to have a rhythm
_RESTLESS = 2.0  # times as much: less is not worth a word
_WORTH_SAYING = 0.05  # of a series' variance
_BY_CHANCE = 0.01  # as often as this, a rhythm in noise is no news
_SHOWN = 3  # outliers, with their values
_NOISE = 0.8  # spread of the steps, over that of independent values: nothing could be bridged


@dataclass(frozen=True)
class Words:
    """What the things of a table are called."""

    sets: str  # what is predicted each on its own
    targets: str  # where it is asked for
    advice: str  # what helps against unfamiliar gaps
    other: str = ""  # and what else, unless it is the model itself


SERIES = Words(
    sets="series", targets="times", advice="rescale the times", other=", or use 'general'"
)
POINTS = Words(sets="sets of points", targets="points", advice="rescale the inputs")


def cautions(
    found: Predictions, series: Ragged, familiar: Familiar, reach: float, name: str, words: Words
) -> Iterator[str]:
    """Say what a user should know of predictions.

    Args:
        series: What was observed.
        familiar: What the model has seen in training.
        reach: How far away an observation can matter, in the model's units.
        name: Of the model.
    """
    empty = int((series.lengths == 0).sum())
    if empty:
        yield (
            f"{empty:,} of {len(series):,} {words.sets} have no observed value; their predictions "
            "are left empty."
        )
    if found.averaged > _FEW * found.observed:  # among irregular times some are close by chance
        yield (
            f"{found.averaged:,} of {found.observed:,} values are not the first at their time, or "
            "almost; those of one time are averaged, and their scatter widens the bands. If they "
            "belong to different series, name the column that tells these apart as the group."
        )
    far = int((found.distance > reach).sum())
    if far:
        yield (
            f"{far:,} of {len(found.distance):,} asked {words.targets} are farther from every "
            f"observation than {name!r} can see ({reach:.3g} in its units); the predictions there "
            "know nothing of the data."
        )
    low, high = familiar.gaps
    if found.gaps[0] < low or found.gaps[1] > high:
        other = "" if name == "general" else words.other
        yield (
            f"the typical gap between observations is {found.gaps[0]:.3g} to {found.gaps[1]:.3g}, "
            f"and {name!r} was trained on {low:.3g} to {high:.3g}; {words.advice}{other}."
        )
    if found.largest > familiar.largest:
        yield (
            f"values reach {found.largest:.3g} in the units of {name!r}, which was trained on "
            f"values up to {familiar.largest:.3g}; trust the predictions less there."
        )


def beyond(series: Ragged, asked: Ragged, axis: TimeAxis) -> Iterator[str]:
    """Say where times are asked for that lie farther from a series than it is long."""
    farthest, count = 0.0, 0
    for i in np.flatnonzero((series.lengths > 1) & (asked.lengths > 0)):
        x, times = series.x[series.rows(i)], asked.x[asked.rows(i)]
        away = np.maximum(x.min() - times, times - x.max())
        count += int((away > _FAR * np.ptp(x)).sum())
        farthest = max(farthest, float(away.max()))
    if count:
        yield (
            f"{count:,} of {len(asked.x):,} asked times lie farther beyond the observed ones than "
            f"these are long, by up to {axis.duration(farthest)}; what follows there is a guess."
        )


def unbridged(
    found: Predictions, x: np.ndarray, y: np.ndarray, asked: np.ndarray, axis: TimeAxis
) -> Iterator[str]:
    """Say where the bands in the gaps of a series are as wide as the series itself.

    Args:
        x: Times of the observations.
        y: Their values (n, Dy), not a number where a channel has none.
        asked: Times of the predictions.
    """
    band = None
    for channel, values in enumerate(y.T):
        order = np.argsort(x[~np.isnan(values)], kind="stable")
        times, seen = (part[~np.isnan(values)][order] for part in (x, values))
        gaps = np.diff(times)
        # Rounding alone gives a constant a spread.
        spread = np.std(seen) if len(seen) > _ENOUGH and np.ptp(seen) > 0 else 0.0
        if spread == 0 or np.std(np.diff(seen)) > _NOISE * np.sqrt(2) * spread:
            continue
        place = np.clip(np.searchsorted(times, asked) - 1, 0, len(gaps) - 1)
        within = (asked > times[0]) & (asked < times[-1])
        within &= gaps[place] > _LONG * np.median(gaps[gaps > 0])
        if not within.any():
            continue
        band = _deviations(found) if band is None else band
        lost = within & (band[:, channel] > _AS_WIDE * spread)
        if lost.any():
            yield (
                f"{int(lost.sum()):,} of {len(asked):,} asked times lie in gaps, of up to "
                f"{axis.duration(gaps[place][lost].max())}, that are too long to bridge: the bands "
                "there are as wide as the series itself, and the mean tells little else than its "
                "level."
            )


def _deviations(found: Predictions) -> np.ndarray:
    """Return what the central 90 % of every prediction would have as standard deviation (R, Dy)."""
    predictive = found.predictive
    width = predictive.quantile(0.95) - predictive.quantile(0.05)
    return np.asarray(width[0] / (2 * 1.645))


def unused_season(
    x: np.ndarray, y: np.ndarray, sees: float, name: str, axis: TimeAxis
) -> Iterator[str]:
    """Say that a series has a season which is longer than what a model sees at once."""
    for channel in y.T:
        known = ~np.isnan(channel)
        period = season_of(x[known], channel[known]) if known.sum() > _ENOUGH else None
        if period is not None and period > sees:
            yield (
                f"there is a season of {axis.duration(period)}, which {name!r} does not use: it "
                f"sees {axis.duration(sees)} to either side."
            )
            return


def rhythms_said(name: str, rhythms: Sequence[Rhythm], axis: TimeAxis, count: int) -> str:
    """Say which rhythms were found in a series of so many values, and how much each explains.

    Example:
        >>> import pandas as pd
        >>> axis = TimeAxis.of(pd.Series([1.0, 2.0]))
        >>> rhythms_said("v", [Rhythm(12.0, 0.9)], axis, 100)
        'v: a rhythm of 12 explains 90% of the variance around a line.'
    """
    worth = [rhythm for rhythm in rhythms if rhythm.share >= _WORTH_SAYING]
    said = [
        f"a rhythm of {axis.duration(rhythm.period)} explains {rhythm.share:.0%}"
        for rhythm in worth
    ]
    if not said:
        return f"{name}: no rhythm was found."
    is_doubtful = count < _TELLING and _is_chance(max(each.share for each in worth), count)
    doubt = f", which may be chance: there are {count} values" if is_doubtful else ""
    return f"{name}: {' and '.join(said)} of the variance around a line{doubt}."


def outliers_said(
    name: str, outliers: Sequence[float], x: np.ndarray, y: np.ndarray, axis: TimeAxis
) -> Iterator[str]:
    """Say which values nothing else in a series explains, if there are any.

    Args:
        outliers: Their times.
        x: Times of all values.
        y: The values.

    Example:
        >>> import pandas as pd
        >>> x, y = np.arange(4.0), np.array([1.0, 2.0, 90.0, 3.0])
        >>> next(outliers_said("v", [2.0], x, y, TimeAxis.of(pd.Series(x))))
        'v: 1 value fits nothing else, and does not widen the 90 % bands: 90 at 2.0.'
    """
    if not outliers:
        return
    nearest = [_farthest(x, y, time) for time in outliers]
    shown = nearest[:_SHOWN]
    times = axis.times(x[shown])
    dates = [str(time).removesuffix(" 00:00:00") for time in times]
    said = [f"{y[row]:.6g} at {date}" for row, date in zip(shown, dates, strict=True)]
    more = f", and {len(nearest) - len(shown):,} more" if len(nearest) > len(shown) else ""
    what = "1 value fits" if len(nearest) == 1 else f"{len(nearest):,} values fit"
    does = "does" if len(nearest) == 1 else "do"
    yield (
        f"{name}: {what} nothing else, and {does} not widen the 90 % bands: "
        f"{', '.join(said)}{more}."
    )


def restlessness_said(name: str, found: Restlessness | None, axis: TimeAxis) -> Iterator[str]:
    """Say where a series varies more than elsewhere, if it does so by much.

    Example:
        >>> import pandas as pd
        >>> axis = TimeAxis.of(pd.Series([1.0, 2.0]))
        >>> next(restlessness_said("v", Restlessness("times", 99.0, 4.2), axis))
        'v: it varies up to 4 times as much in some stretches as in others, and so do the bands.'
    """
    if found is None or found.ratio < _RESTLESS:
        return
    where = {
        "phases": f"at some times of the rhythm of {axis.duration(found.period)} as at others",
        "times": "in some stretches as in others",
        "values": "near some values as near others",
    }[found.along]
    yield f"{name}: it varies up to {found.ratio:.0f} times as much {where}, and so do the bands."


def _farthest(x: np.ndarray, y: np.ndarray, time: float) -> int:
    """Return the row at a time whose value is farthest from the usual one."""
    away = np.abs(x - time)
    rows = np.flatnonzero(away == away.min())
    return int(rows[np.abs(y[rows] - np.median(y)).argmax()])


def _is_chance(share: float, count: int) -> bool:
    """Tell whether noise alone explains such a share by some rhythm, more often than is news.

    Of two harmonics beside a line, at one of some four times as many frequencies as there are
    values; shares of noise have a beta distribution.
    """
    half = (count - 6) / 2
    return half <= 0 or 4 * count * (1 - share) ** half * (1 + half * share) > _BY_CHANCE
