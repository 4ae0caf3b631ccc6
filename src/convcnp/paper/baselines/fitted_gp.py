"""A Gaussian process fitted to each series by maximum likelihood (scikit-learn)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from convcnp.core.predictive import GaussianPredictive, Predictive
from convcnp.core.task import Task
from convcnp.core.units import PerSeries
from convcnp.extras import import_extra
from convcnp.paper.baselines.one_series import one_series

Array = NDArray[np.float64]

_EXTRA = "baselines"
_VARIANCES, _NOISE = (1e-5, 1e2), (1e-6, 1e1)  # bounds; the series has variance one


@dataclass(frozen=True)
class FittedGP:
    r"""A GP with kernel EQ + Matern + periodic + noise, fitted to every series anew.

    .. math:: k = s_1 k_\text{EQ} + s_2 k_{\text{Matern-}\nu}
                  + s_3 k_\text{periodic} k_\text{EQ}' + s_4 \delta

    Its nine parameters are those of the highest marginal likelihood that L-BFGS finds from several
    starts, two per peak of the periodogram: a drifting season and an exact one. The factor on the
    periodic part lets the season drift; its length scale may exceed the series a hundredfold,
    which is an exact period. A kernel without the periodic part is fitted as well, from a rough
    and a smooth start, and is taken where the Bayesian information criterion prefers it: on a few
    dozen points the most likely season is often one of chance. From the winner the search goes on
    with the other roughnesses :math:`\nu`. Times are in typical gaps; values are freed of their
    trend and standardised, as the general model sees them (`PerSeries`).

    Args:
        periods: Number of peaks of the periodogram to start from.
        roughnesses: Values of :math:`\nu`; the starts use the first.
    """

    periods: int = 2
    roughnesses: tuple[float, ...] = (1.5, 0.5, 2.5)

    def __call__(self, task: Task) -> Predictive:
        """Fit the observations of one series, and predict its targets, noise included."""
        units = PerSeries().units(task)
        standard = units.to_model(task)
        x, y = one_series(standard)
        with warnings.catch_warnings():
            # A scale at its bound and a search that stops early are told by a warning each; the
            # best start counts.
            warnings.simplefilter("ignore", _convergence_warning())
            gp = self.fit(x, y)
            at = standard.x_target[0].double().numpy()  # (M, 1)
            mean, spread = gp.predict(at, return_std=True)
        mean, spread = (
            torch.from_numpy(values).reshape(task.target_mask.shape) for values in (mean, spread)
        )
        return units.to_user(task.x_target, GaussianPredictive(mean, spread, task.target_mask))

    def fit(self, x: Array, y: Array) -> Any:  # noqa: ANN401 - scikit-learn has no types
        """Return scikit-learn's regressor for a series with gaps around one and unit variance."""
        first, *others = self.roughnesses
        starts = [*_seasonal(x, y, self.periods, first), *_plain(x, first)]
        best = max((_fit(kernel, x, y) for kernel in starts), key=_criterion)
        others = [_fit(_with_roughness(best.kernel_, nu), x, y) for nu in others]
        return max([best, *others], key=_criterion)


def periodogram_peaks(x: Array, y: Array, count: int) -> list[float]:
    """Return the periods of the highest peaks of the Lomb-Scargle periodogram, highest first.

    Example:
        >>> x = np.arange(100.0)
        >>> round(periodogram_peaks(x, np.sin(2 * np.pi * x / 12), 1)[0])
        12
    """
    span = float(np.ptp(x))
    # From a period of three typical gaps to half of the series, four values per resolved one.
    frequency = np.arange(2.0, max(span / 3, 3.0), 0.25) / span
    signal = import_extra("scipy.signal", _EXTRA)
    power = signal.lombscargle(x, y - y.mean(), 2 * np.pi * frequency)
    inner = signal.argrelmax(np.concatenate([[0.0], power, [0.0]]))[0] - 1
    highest = inner[np.argsort(-power[inner])][:count]
    return [float(1 / frequency[i]) for i in highest] or [span / 2]


def _seasonal(x: Array, y: Array, periods: int, roughness: float) -> Iterator[Any]:
    """Yield kernels with a season to start from: two for each likely period."""
    span = float(np.ptp(x))
    for period in periodogram_peaks(x, y, periods):
        for drift in (5 * period, 10 * span):
            plain = _kernel(span, (0.3, span / 4), (0.1, 3.0), 0.05, roughness)
            yield plain + _season(span, 0.5, period, drift)


def _plain(x: Array, roughness: float) -> Iterator[Any]:
    """Yield kernels without a season to start from: a rough one and a smooth one."""
    span = float(np.ptp(x))
    yield _kernel(span, (0.1, span / 4), (0.8, 5.0), 0.01, roughness)
    yield _kernel(span, (0.7, span / 20 + 1), (0.01, 5.0), 0.3, roughness)


def _kernel(
    span: float,
    smooth: tuple[float, float],
    rough: tuple[float, float],
    noise: float,
    roughness: float,
) -> Any:  # noqa: ANN401
    """Return EQ + Matern + noise, the first two given by variance and length scale."""
    kernels, scales = _kernels(), (0.3, 10 * span)
    eq = kernels.ConstantKernel(smooth[0], _VARIANCES) * kernels.RBF(smooth[1], scales)
    matern = kernels.Matern(rough[1], scales, nu=roughness)
    matern = kernels.ConstantKernel(rough[0], _VARIANCES) * matern
    return eq + matern + kernels.WhiteKernel(noise, _NOISE)


def _season(span: float, variance: float, period: float, drift: float) -> Any:  # noqa: ANN401
    """Return a periodic kernel times a slow EQ."""
    kernels = _kernels()
    # At least two periods in the series, and no shape much sharper than a quarter of a period:
    # otherwise the most likely season of a short series is a comb through its points.
    periodic = kernels.ExpSineSquared(1.0, period, (0.5, 10.0), (2.0, span / 2))
    slow = kernels.RBF(drift, (2.0, 100 * span))
    return kernels.ConstantKernel(variance, _VARIANCES) * periodic * slow


def _kernels() -> Any:  # noqa: ANN401
    return import_extra("sklearn.gaussian_process.kernels", _EXTRA)


def _with_roughness(kernel: Any, roughness: float) -> Any:  # noqa: ANN401
    """Return the kernel with another Matern part, all else as it was fitted."""
    (name,) = (key for key in kernel.get_params() if key.endswith("__nu"))
    return kernel.clone_with_theta(kernel.theta).set_params(**{name: roughness})


def _fit(kernel: Any, x: Array, y: Array) -> Any:  # noqa: ANN401
    regressor = import_extra("sklearn.gaussian_process", _EXTRA).GaussianProcessRegressor
    return regressor(kernel, alpha=1e-8).fit(x[:, None], y)


def _criterion(gp: Any) -> float:  # noqa: ANN401
    """Return the Bayesian information criterion, as a log-likelihood: larger is better."""
    penalty = 0.5 * gp.kernel_.n_dims * np.log(len(gp.y_train_))
    return float(gp.log_marginal_likelihood_value_ - penalty)


def _convergence_warning() -> type[Warning]:
    warning: type[Warning] = import_extra("sklearn.exceptions", _EXTRA).ConvergenceWarning
    return warning
