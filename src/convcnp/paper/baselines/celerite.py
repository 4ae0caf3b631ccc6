"""A Gaussian process of damped oscillators, fitted to each series (celerite2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool
from numpy.typing import NDArray
from torch import Tensor

from convcnp.core.predictive import GaussianPredictive, Predictive
from convcnp.core.task import Task
from convcnp.core.units import PerSeries
from convcnp.extras import import_extra
from convcnp.paper.baselines.fitted_gp import periodogram_peaks
from convcnp.paper.baselines.one_series import one_series
from convcnp.paper.measured_series import RealSeries

Array = NDArray[np.float64]
Term = Any  # celerite2 has no types
Bounds = list[tuple[float, float]]

_EXTRA = "compare"
_SIGMA, _JITTER = (1e-3, 10.0), (1e-3, 3.0)  # bounds; the series has variance one
_MEAN = (-3.0, 3.0)
_FAILED = 1e25  # minus the log-likelihood where the matrix is not positive definite


@dataclass(frozen=True)
class Start:
    """A kernel, as a function of the logarithms of its parameters, and where to begin."""

    build: Callable[[Array], Term]
    parameters: list[float]
    bounds: Bounds

    @classmethod
    def of(cls, build: Callable[..., Term], *guesses: tuple[float, float, float]) -> Start:
        """Make one from guesses, each with its bounds, none of them logarithms."""
        logs = [tuple(map(math.log, guess)) for guess in guesses]
        return cls(
            lambda log: build(*np.exp(log)),
            [log[0] for log in logs],
            [(log[1], log[2]) for log in logs],
        )


@dataclass(frozen=True)
class Celerite:
    """A GP of stochastically driven, damped oscillators, as a practitioner would fit it.

    Candidates: a slow term; a rough one; a slow and a fast one; and for every peak of the
    periodogram a slow term with an oscillator of that period, and with two at the period and half
    of it (`RotationTerm`). Each has a constant mean and a jitter; L-BFGS maximises the likelihood
    from one start, and the Bayesian information criterion chooses. Published errors stand on the
    diagonal beside the jitter; at a target, whose error nobody knows, stands their median. Times
    are in typical gaps, values freed of their trend and standardised (`PerSeries`).

    Args:
        periods: Number of peaks of the periodogram to start from.
        errors: Standard deviations of the observations, if they are known.
    """

    periods: int = 2
    errors: Array | None = None

    def for_series(self, series: RealSeries, removed: Bool[Tensor, " points"]) -> Celerite:
        """Return the method that knows the errors of what is left of a series."""
        errors = series.errors
        return self if errors is None else replace(self, errors=errors[~removed.numpy()])

    def __call__(self, task: Task) -> Predictive:
        """Fit the observations of one series, and predict its targets, noise included."""
        units = PerSeries().units(task)
        standard = units.to_model(task)
        x, y = one_series(standard)
        errors = np.zeros_like(x) if self.errors is None else self.errors / units.scale.item()
        order = np.argsort(x, kind="stable")
        fitted = self.fit(x[order], y[order], errors[order])
        mean, spread = (
            torch.from_numpy(values).reshape(task.target_mask.shape)
            for values in fitted.predict(standard.x_target[0, :, 0].double().numpy())
        )
        return units.to_user(task.x_target, GaussianPredictive(mean, spread, task.target_mask))

    def fit(self, x: Array, y: Array, errors: Array) -> FittedTerms:
        """Return the best of the candidates for an ordered series with gaps around one."""
        fits = (FittedTerms.of(start, x, y, errors) for start in _starts(x, y, self.periods))
        return max(fits, key=lambda fitted: fitted.criterion)


@dataclass(frozen=True)
class FittedTerms:
    """A kernel whose parameters maximise the likelihood of a series."""

    kernel: Term
    mean: float
    jitter: float
    log_likelihood: float
    num_parameters: int
    x: Array
    y: Array
    errors: Array

    @classmethod
    def of(cls, start: Start, x: Array, y: Array, errors: Array) -> FittedTerms:
        """Fit a kernel, a constant mean and a jitter, from one start."""
        celerite = import_extra("celerite2", _EXTRA)
        minimize = import_extra("scipy.optimize", "baselines").minimize

        def loss(parameters: Array) -> float:
            mean, jitter = parameters[0], math.exp(parameters[1])
            gp = celerite.GaussianProcess(start.build(parameters[2:]), mean=mean)
            gp.compute(x, diag=errors**2 + jitter**2, quiet=True)
            found = -gp.log_likelihood(y)
            return float(found) if np.isfinite(found) else _FAILED

        best = minimize(
            loss,
            x0=np.array([0.0, math.log(0.2), *start.parameters]),
            bounds=[_MEAN, tuple(map(math.log, _JITTER)), *start.bounds],
            method="L-BFGS-B",
        )
        return cls(
            kernel=start.build(best.x[2:]),
            mean=float(best.x[0]),
            jitter=math.exp(best.x[1]),
            log_likelihood=-float(best.fun),
            num_parameters=len(best.x),
            x=x,
            y=y,
            errors=errors,
        )

    @property
    def criterion(self) -> float:
        """The Bayesian information criterion, as a log-likelihood: larger is better."""
        return self.log_likelihood - 0.5 * self.num_parameters * math.log(len(self.x))

    def predict(self, at: Array) -> tuple[Array, Array]:
        """Return the mean and the standard deviation of new observations."""
        gp = import_extra("celerite2", _EXTRA).GaussianProcess(self.kernel, mean=self.mean)
        gp.compute(self.x, diag=self.errors**2 + self.jitter**2)
        order = np.argsort(at, kind="stable")
        mean, variance = np.empty_like(at), np.empty_like(at)
        mean[order], variance[order] = gp.predict(self.y, t=at[order], return_var=True)
        noise = self.jitter**2 + float(np.median(self.errors)) ** 2
        return mean, np.sqrt(np.maximum(variance, 0.0) + noise)


def _starts(x: Array, y: Array, periods: int) -> Iterator[Start]:
    """Yield the candidates: three without a period, two for each likely one."""
    terms, span = import_extra("celerite2.terms", _EXTRA), float(np.ptp(x))
    time = (1.0, 20 * span)
    slow = ((0.7, *_SIGMA), (max(span / 4, 2.0), *time))
    fast = ((0.5, *_SIGMA), (4.0, *time))

    def smooth(sigma: float, rho: float) -> Term:
        return terms.SHOTerm(sigma=sigma, rho=rho, Q=1 / math.sqrt(2))

    def rough(sigma: float, rho: float) -> Term:
        return terms.SHOTerm(sigma=sigma, rho=rho, Q=0.1)

    def two(a: float, b: float, c: float, d: float) -> Term:
        return smooth(a, b) + smooth(c, d)

    def oscillating(a: float, b: float, sigma: float, rho: float, quality: float) -> Term:
        return smooth(a, b) + terms.SHOTerm(sigma=sigma, rho=rho, Q=quality)

    def rotating(a: float, b: float, *rotation: float) -> Term:
        names = ("sigma", "period", "Q0", "dQ", "f")
        return smooth(a, b) + terms.RotationTerm(**dict(zip(names, rotation, strict=True)))

    yield Start.of(smooth, *slow)
    yield Start.of(rough, *slow)
    yield Start.of(two, *slow, *fast)
    for period in periodogram_peaks(x, y, periods):
        season = ((0.7, *_SIGMA), (period, 0.8 * period, 1.25 * period))
        quality = (30.0, 1.0, 1e4)
        yield Start.of(oscillating, *slow, *season, quality)
        yield Start.of(rotating, *slow, *season, quality, (1.0, 1e-2, 1e3), (0.3, 1e-2, 1.0))
