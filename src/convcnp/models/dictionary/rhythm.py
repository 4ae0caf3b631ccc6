"""What the dictionary found in a series, for people to read."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from convcnp.models.base import Restlessness
from convcnp.models.dictionary.kernels import NAMES, Bases, Entries
from convcnp.models.dictionary.periodogram import without
from convcnp.models.dictionary.series import Series, scattered
from convcnp.models.dictionary.volatility import Places, Volatility, volatility
from convcnp.models.dictionary.windows import Fitted

_EXACT = 1000.0  # periods over which a rhythm may drift and still be called exact
_RESOLVED = 0.5  # cycles in the series
_CYCLES = 2.0  # in a series, at least, and one in a window of it
_LASTING = 1.2  # periods over which a rhythm drifts, at least: what forgets sooner is none
_RHYTHMS = 2  # at most, by whose phases a series may be restless
_LOOKED_AT = 2048  # observations at which exact seasons are looked at
_SLIGHT = 0.01  # share of variance: a period that explains less is not worth a word


@dataclass(frozen=True)
class Seen:
    """What was found in one series, in its own units.

    Args:
        periods: Those that a chosen entry uses, the one that explains most first.
        shares: The share of the observations' variance around a straight line that each explains,
            and that comes round.
        gap: The typical gap between observations.
        kernel: The most likely entry in words, lengths in gaps.
        logarithm: The probability that a logarithm, with or without a shift, is the better scale.
        outliers: When observations were made that no entry explains.
        restlessness: Along what the series varies more here than there.
    """

    periods: tuple[float, ...]
    shares: tuple[float, ...]
    gap: float
    kernel: str
    logarithm: float
    outliers: tuple[float, ...] = ()
    restlessness: Restlessness | None = None


def described(fitted: Fitted | None) -> Seen | None:
    """Put a fitted series into words and shares."""
    if fitted is None:
        return None
    shares = {p: share for p, share in explained(fitted).items() if share >= _SLIGHT}
    found = sorted(shares.items(), key=lambda item: -item[1])
    weighed, gap = fitted.weighed, fitted.series.gap
    return Seen(
        tuple(period * gap for period, _ in found),
        tuple(share for _, share in found),
        gap,
        _words(fitted.entries, int(weighed.variants.entry[0])),
        float(weighed.weight[fitted.series.is_log[weighed.variants.form]].sum()),
        tuple(fitted.series.origin + gap * time for time in fitted.outliers.times),
        _restlessness(fitted),
    )


def _restlessness(fitted: Fitted) -> Restlessness | None:
    strongest = fitted.volatility.strongest()
    if strongest is None:
        return None
    scale, ratio = strongest
    if scale.of_values:
        return Restlessness("values", math.inf, ratio)
    along: Literal["phases", "times"] = "phases" if scale.comes_round else "times"
    return Restlessness(along, scale.length * fitted.series.gap, ratio)


def explained(fitted: Fitted) -> dict[float, float]:
    """Return the share of variance around a line that each period's part explains.

    It is that of the posterior mean, times what is left of it after one period, which comes round:
    without noise a rhythm that drifts would explain anything. Of outliers nothing is to be
    explained. Periods too near to each other to be told apart are one: the heaviest entry's.
    """
    whole, weighed = fitted.series, fitted.weighed
    middle = fitted.windows[len(fitted.windows) // 2]
    series = whole.part(middle.start, middle.stop)
    found, chosen = fitted.factored(series), weighed.variants
    strength = torch.linalg.solve_triangular(
        found.factor[chosen.entry].mT, found.left(chosen)[..., None], upper=True
    )  # (c, n, 1)
    total = _beside_line(whole, fitted).var(1, correction=0).clamp(min=1e-12)[chosen.form]
    typical = _typical(series, fitted)
    shares = {}
    for alike in _told_apart(_periods(fitted), series.span):
        # What does not come round is no rhythm: a cosine of a long period is a slow change.
        if alike[0] > whole.span / _CYCLES:
            continue
        part = _of_waves(fitted, found.line(chosen), alike).var(1, correction=0)
        if alike[0] <= series.span:
            own, kernel = only(fitted.beside, alike), fitted.beside.kernel[chosen.entry]
            drifting = (series.across(own, series.x)[kernel] @ strength)[:, typical, 0]
            part = part + drifting.var(1, correction=0) * _after_a_period(own, alike[0])[kernel]
        shares[alike[0]] = float((weighed.weight * (part / total).clamp(max=1)).sum())
    return shares


def _typical(series: Series, fitted: Fitted) -> Bool[Tensor, " n"]:
    return ~torch.isin(series.x, series.x.new_tensor(fitted.outliers.times))


def _beside_line(series: Series, fitted: Fitted) -> Float[Tensor, "r k"]:
    typical = _typical(series, fitted)
    return without((series.x - series.x[0])[typical], series.z[:, typical])


def _of_waves(
    fitted: Fitted, line: Float[Tensor, "c h"], periods: list[float]
) -> Float[Tensor, "c k"]:
    """Return exact seasons of some periods at some observations, where the mean has them."""
    series, seasons = fitted.series, fitted.frame.seasons
    if seasons is None:
        return line.new_zeros(len(line), 1)
    heights, entry = line[:, -fitted.frame.num_waves :], fitted.weighed.variants.entry
    # Where times are few in a period, waves are alike at them, and do not add up by their squares.
    x = series.x[torch.tensor(scattered(min(_LOOKED_AT, series.num_points), series.num_points))]
    return seasons.some(entry).values(heights, heights.new_tensor(periods), x)


def _after_a_period(entries: Entries, period: float) -> Float[Tensor, " k"]:
    """Return the correlation of every kernel with itself one period later."""
    now, later = entries.kernels(torch.tensor([0.0, period], dtype=torch.float64)).unbind(1)
    return torch.where(now > 0, later / now.clamp(min=1e-300), 0).clamp(0, 1)


def restless(fitted: Fitted) -> Volatility:
    """Find when a fitted series is restless, by what its observations say of each other."""
    series, (away, deviation) = fitted.series, fitted.left_out
    periods = [alike[0] for alike in _told_apart(_periods(fitted), series.span)[:_RHYTHMS]]
    seen = deviation > 0
    foreseen = series.z[int(fitted.weighed.variants.form[0])] - away
    places = Places(series.x, foreseen).some(seen)
    return volatility(places, (away / deviation)[seen], periods, series.span * bool(seen.all()))


def _periods(fitted: Fitted) -> list[float]:
    """Return the periods of the chosen entries, those of the heaviest first."""
    entries, bases = fitted.entries, fitted.entries.bases
    used = entries.weights[entries.kernel[fitted.weighed.variants.entry]] != 0  # (c, b)
    comes_round = bases.period.isfinite() & (bases.length_scale >= _LASTING * bases.period)
    periods = bases.period.expand_as(used)[used & comes_round]
    return list(dict.fromkeys(periods.tolist()))


def _told_apart(periods: list[float], span: float) -> list[list[float]]:
    """Put periods together that differ by less than what a series resolves."""
    groups: list[list[float]] = []
    for period in periods:
        near = [g for g in groups if abs(1 / g[0] - 1 / period) * span < _RESOLVED]
        if near:
            near[0].append(period)
        else:
            groups.append([period])
    return groups


def only(entries: Entries, periods: list[float]) -> Entries:
    """Return the entries with nothing but the parts of some periods."""
    own = torch.isin(entries.bases.period, entries.bases.period.new_tensor(periods))
    return replace(entries, weights=torch.where(own, entries.weights, 0))


def _words(entries: Entries, entry: int) -> str:
    weights, bases = entries.weights[entries.kernel[entry]], entries.bases
    parts = [_part(bases, i) for i in weights.nonzero()[:, 0].tolist()]
    return f"{' + '.join(parts)}, noise {entries.noise[entry]:.2g}"


def _part(bases: Bases, i: int) -> str:
    scale, period = float(bases.length_scale[i]), float(bases.period[i])
    if period == math.inf:
        return f"{NAMES[int(bases.shape[i])]} over {scale:.3g} gaps"
    drift = "exact" if scale > _EXACT * period else f"drifting over {scale / period:.3g} periods"
    return f"a rhythm of {period:.3g} gaps, {drift}"
