"""Curves drawn jointly: an entry by its weight, then its process at all targets at once."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from convcnp.models.dictionary.bordered import Frame
from convcnp.models.dictionary.components import LogLimits
from convcnp.models.dictionary.regions import FittedPoints
from convcnp.models.dictionary.volatility import Places
from convcnp.models.dictionary.windows import Fitted

MOST = 512  # targets: their covariance is factorised
# Noise of observations a gap apart is independent; between them it turns smoothly, so that dense
# targets make a curve.
SMOOTH = 0.35
_JITTER = 1e-9
_LARGEST = 340.0  # of a logarithm: its exponential, squared, is still a number


def drawn(
    fitted: Fitted,
    x: Float[Tensor, " m"],
    num_samples: int,
    generator: Generator,
    error: float = 0.0,
    logarithms: LogLimits | None = None,
) -> Float[Tensor, "S m"] | None:
    """Draw new observations of a short series at some times, in the user's units.

    Each curve is of one entry, chosen by its weight, and has one scale, drawn from the posterior:
    a Student-t process. There is nothing where the series is long enough for windows, or where
    more times are asked for than can be factorised together.

    Args:
        error: Variance of errors that are part of the noise, and are not drawn.
        logarithms: What is believed of the values, where they are logarithms of the user's.
    """
    if fitted.whole is None or len(x) > MOST:
        return None
    at = fitted.series.times(x)
    which = drawn_variants(fitted.weighed.weight, num_samples, generator)
    normal = torch.randn(num_samples, len(at), dtype=at.dtype, generator=generator)
    normal = normal * drawn_scales(fitted.freedom, num_samples, generator)[:, None]
    foreseen, _ = fitted.predict(at)
    swing = fitted.volatility(Places(at, foreseen[0]))
    kept = _kept(fitted, x, error)
    curves = torch.empty_like(normal)
    for one in which.unique():
        mean, factor = _process(fitted, one[None], at, kept[one])
        curves[which == one] = mean + swing * (normal[which == one] @ factor.T)
    return in_user_units(fitted, at, which, curves, logarithms)


def _kept(fitted: Fitted, x: Float[Tensor, " m"], error: float) -> Float[Tensor, "c m"]:
    """Return how much of every variant's deviation of noise is left without errors."""
    if not error:
        return x.new_ones(len(fitted.weighed.weight), len(x))
    students, noise = fitted.students_and_noise(x)
    size = torch.where(students.is_log[:, None], students.location.exp(), 1)
    return (1 - error / (size * noise) ** 2).clamp(min=0).sqrt()


def exponentials(logarithms: Tensor) -> Tensor:
    """Return the exponentials, which are numbers also where logarithms are far away."""
    return logarithms.clamp(max=_LARGEST).exp()


def drawn_variants(
    weight: Float[Tensor, " c"], num_samples: int, generator: Generator
) -> Int[Tensor, " S"]:
    """Choose the variant of every sample by its weight."""
    return torch.multinomial(weight, num_samples, replacement=True, generator=generator)


def drawn_scales(freedom: float, num_samples: int, generator: Generator) -> Float[Tensor, " S"]:
    """Draw the scale of every sample, which makes a Student-t process of a Gaussian one."""
    shape = num_samples, max(1, round(freedom))
    normal = torch.randn(shape, dtype=torch.float64, generator=generator)
    return (normal**2).mean(1).rsqrt()


def in_user_units(
    fitted: Fitted | FittedPoints,
    at: Float[Tensor, "m ..."],
    which: Int[Tensor, " S"],
    samples: Float[Tensor, "S m"],
    logarithms: LogLimits | None = None,
) -> Float[Tensor, "S m"]:
    """Return samples, each of one variant, in the user's units.

    Logarithms stay as far within reach of the observed ones as predictions do.

    Args:
        logarithms: What is believed of the values, where they are logarithms themselves.
    """
    seen, form = fitted.observations, fitted.weighed.variants.form[which]
    level, scale = seen.level[form, None], seen.scale[form, None]
    units = level + scale * samples
    if logarithms is None and not seen.is_log[form].any():
        return units
    mean, spread = (part[which] for part in fitted.predict(at))

    def within(limit: LogLimits) -> Tensor:
        near = limit.near(level + scale * mean)
        narrower = (limit.deviation(near) / (scale * spread)).clamp(max=1)
        return exponentials(near + scale * (samples - mean) * narrower)

    if logarithms is not None:
        return within(logarithms)
    for shift, limit in seen.limits.items():
        own = (seen.is_log & (seen.shift == shift))[form, None]
        units = torch.where(own, within(limit) - shift, units)
    return units


def _process(
    fitted: Fitted, one: Tensor, at: Float[Tensor, " m"], kept: Float[Tensor, " m"]
) -> tuple[Float[Tensor, " m"], Float[Tensor, "m m"]]:
    """Return one variant's mean at some times, and the factor of their covariance.

    Args:
        kept: How much of the noise's deviation is drawn.
    """
    found, series, variant = fitted.whole, fitted.series, fitted.weighed.variants[one]
    assert found is not None
    entry, frame = fitted.entries[variant.entry], Frame.of(series)
    lag = (at[:, None] - at).abs()
    h, across = frame.means(at), series.across(entry, at)[0]  # (h, m), (n, m)
    whitened = torch.linalg.solve_triangular(found.factor[variant.entry[0]], across, upper=False)
    rest = h - found.means[variant.entry[0]] @ whitened  # (h, m)
    precision = found.lines.precision[variant.entry[0], variant.trend[0]]
    noise = entry.noise * kept[:, None] * kept + _JITTER
    noise = noise * torch.exp(-0.5 * (lag / SMOOTH) ** 2)
    covariance = entry.kernels(lag)[0] - whitened.T @ whitened + noise
    covariance = covariance + rest.T @ torch.linalg.solve(precision, rest)
    mean = (found.line(variant) @ h + found.left(variant) @ whitened)[0]
    return mean, fitted.variance[one].sqrt() * _root(covariance)


def _root(covariance: Float[Tensor, "m m"]) -> Float[Tensor, "m m"]:
    """Return a square root of a covariance that may be singular: of targets at one time."""
    values, vectors = torch.linalg.eigh(covariance)
    return vectors * values.clamp(min=0).sqrt()
