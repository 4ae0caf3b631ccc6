import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import Tensor

from convcnp.errors import SettingError
from convcnp.models.dictionary.bordered import Bordered, Frame
from convcnp.models.dictionary.catalogue import Catalogue, assembled, entries_for
from convcnp.models.dictionary.evidence import (
    Prior,
    Variants,
    factored,
    pooled,
    posterior,
    summarised,
)
from convcnp.models.dictionary.kernels import EQ, MATERN32
from convcnp.models.dictionary.series import Series, prepared


def observed(n: int = 20, seed: int = 0, lattice: bool = False) -> Series:
    generator = torch.Generator().manual_seed(seed)
    x = torch.arange(n).double()
    if not lattice:
        x = (n * torch.rand(n, generator=generator, dtype=torch.float64)).sort().values
    y = torch.sin(x / 3) + 0.3 * torch.randn(n, generator=generator, dtype=torch.float64)
    return prepared(x, y)


def one_entry(noise: float = 0.1, length_scale: float = 3.0):
    return assembled([({(EQ, length_scale, math.inf, 0.0): 1.0}, (noise,))], [0.0], [0])


def dense(series: Series, noise: float, length_scale: float) -> Tensor:
    lag = series.x[:, None] - series.x
    return torch.exp(-0.5 * (lag / length_scale) ** 2) + noise * torch.eye(len(lag)).double()


def integrated(x, z, line, noise, length_scale, prior, trend) -> float:
    """Sum scikit-learn's likelihood over grids of the scale, the slope and the constant."""
    kernels = pytest.importorskip("sklearn.gaussian_process.kernels")
    regressor = pytest.importorskip("sklearn.gaussian_process").GaussianProcessRegressor
    kernel = kernels.RBF(length_scale) + kernels.WhiteKernel(noise)
    gp = regressor(kernel, alpha=0.0, optimizer=None).fit(x[:, None], z)
    at_zero = gp.log_marginal_likelihood_value_ + 0.5 * z @ gp.alpha_
    log_s2 = np.linspace(-6, 22, 225)[:, None, None]
    scale = np.exp(log_s2 / 2)
    nodes, weights = np.polynomial.hermite_e.hermegauss(30)
    slope = prior.trends[trend] * nodes[:, None]  # all in units of the scale
    constant = np.linspace(-15, 15, 241)
    rest = [z[:, None, None, None] / scale - slope * line[:, None, None, None] - constant]
    whitened = np.linalg.solve(gp.L_, rest[0].reshape(len(z), -1)).reshape(rest[0].shape)
    log = at_zero - 0.5 * (whitened**2).sum(0) - (len(z) - 1) * log_s2 / 2
    # The inverse gamma's density of the logarithm.
    log = log - prior.freedom * log_s2 - prior.rate * np.exp(-log_s2)
    found = np.log((np.exp(log) * (weights / weights.sum())[:, None]).sum())
    return float(found + np.log(prior.shares[trend]))


def test_the_evidence_is_scikit_learns_integrated_over_mean_and_scale():
    series, prior = observed(6), Prior(trends=(0.25, 0.6), shares=(0.7, 0.3))
    frame = Frame.of(series)
    arrays = series.x.numpy(), series.z[0].numpy(), frame.means(series.x)[1].numpy()
    settings = [(0.1, 3.0), (0.5, 1.0)]
    expected = [integrated(*arrays, *setting, prior, t) for setting in settings for t in (0, 1)]
    ours = [
        evidence
        for setting in settings
        for evidence in factored(one_entry(*setting), series, frame, prior)
        .summary.log_evidence(prior)[0, 0]
        .tolist()
    ]
    # Up to a constant, which no comparison sees.
    assert np.diff(ours) == pytest.approx(np.diff(expected), abs=1e-6)


def test_the_summary_holds_scikit_learns_log_determinant_and_squares():
    kernels = pytest.importorskip("sklearn.gaussian_process.kernels")
    regressor = pytest.importorskip("sklearn.gaussian_process").GaussianProcessRegressor
    series = observed(30)
    found = factored(one_entry(), series, Frame.of(series), Prior())
    kernel = kernels.RBF(3.0) + kernels.WhiteKernel(0.1)
    gp = regressor(kernel, alpha=0.0, optimizer=None).fit(
        series.x.numpy()[:, None], series.z[0].numpy()
    )
    diagonal = found.factor[0].diagonal().log().sum()
    ours = -0.5 * found.values[0, 0].square().sum() - diagonal - 15 * math.log(2 * math.pi)
    assert ours.item() == pytest.approx(gp.log_marginal_likelihood_value_, abs=1e-6)


@pytest.mark.parametrize("trend", [0, 1])
@pytest.mark.parametrize("lattice", [False, True])
def test_one_entry_is_an_exact_gaussian_process(lattice, trend):
    series, prior = observed(lattice=lattice), Prior()
    entries, frame = one_entry(), Frame.of(series)
    at = torch.tensor([0.25, 4.0, 30.0], dtype=torch.float64)
    found = factored(entries, series, frame, prior)
    first = torch.zeros(1, dtype=torch.long)
    variants = Variants(first, first, first + trend)
    mean, variance = posterior(found, entries, series, frame, at, variants)
    # Nearly flat: a constant of huge variance, and a line of variance tau², in the kernel.
    h, h_at = frame.means(series.x), frame.means(at)
    weight = torch.diag(torch.tensor([1e5, prior.trends[trend] ** 2]).double())
    inverse = torch.linalg.inv(dense(series, 0.1, 3.0) + h.T @ weight @ h)
    lag = series.x[:, None] - at
    across = torch.exp(-0.5 * (lag / 3.0) ** 2) + h.T @ weight @ h_at
    own = 1.1 + (h_at * (weight @ h_at)).sum(0)
    torch.testing.assert_close(mean[0], across.T @ inverse @ series.z[0], atol=1e-4, rtol=0)
    expected = own - (across * (inverse @ across)).sum(0)
    torch.testing.assert_close(variance[0], expected, atol=1e-4, rtol=1e-4)


def test_repeated_observations_are_averaged_without_loss():
    x = torch.tensor([0.0, 0.0, 1.0, 2.0, 2.0, 2.0, 4.0]).double()
    y = torch.tensor([1.0, 1.4, 0.2, -1.0, -0.6, -0.9, 0.3]).double()
    together = prepared(x, y)
    # With known errors, here none, observations stay apart.
    apart = prepared(x, y, torch.zeros_like(x))
    entries = entries_for(Catalogue(), [], 7)
    frame, prior = Frame.of(together), Prior()
    one, other = (
        factored(entries, series, frame, prior).summary.log_evidence(prior)[:, 0]
        for series in (together, apart)
    )
    loose = entries.noise >= 1e-3
    torch.testing.assert_close(one[loose], other[loose], atol=1e-7, rtol=0)


def test_known_errors_stand_on_the_diagonal():
    x, y = torch.arange(5.0).double(), torch.tensor([0.0, 1.0, 0.5, -1.0, 2.0]).double()
    series = prepared(x, y, torch.full_like(x, 0.3))
    found = factored(one_entry(), series, Frame.of(series), Prior())
    extra = 0.3 / y.var()
    torch.testing.assert_close((found.factor @ found.factor.mT)[0], dense(series, 0.1 + extra, 3.0))


def test_a_table_of_lags_changes_nothing():
    series = observed(lattice=True)
    entries = entries_for(Catalogue(), [7.3], 20)
    pairs = torch.tril_indices(20, 20)
    direct = entries.kernels((series.x[pairs[0]] - series.x[pairs[1]]).abs())
    lags, lag = series.lags(pairs)
    assert len(lags) < pairs.shape[1] / 2
    torch.testing.assert_close(entries.kernels(lags)[:, lag], direct)
    at = torch.tensor([-3.0, 2.5, 40.0]).double()
    direct = entries.kernels((series.x[:, None] - at).abs())
    torch.testing.assert_close(series.across(entries, at), direct)


def test_pooled_stretches_share_one_scale():
    series, prior = observed(40), Prior()
    entries = assembled([({(MATERN32, 4.0, math.inf, 0.0): 1.0}, (0.1, 0.3))], [0.0], [0])
    parts = [series.part(0, 20), series.part(20, 40)]
    summaries = [factored(entries, part, Frame.of(part), prior).summary for part in parts]
    both = pooled(summaries)
    torch.testing.assert_close(both.squares, summaries[0].squares + summaries[1].squares)
    assert both.freedom == 38


@pytest.mark.parametrize("at_once", [False, True])
def test_stretches_that_are_given_what_lies_before_add_up_to_the_whole(at_once):
    """Repeated times count where they are told; no constant is taken off twice."""
    plain = observed(40)
    x = torch.cat([plain.x, plain.x[5:30:7]])
    series = prepared(x, torch.cat([plain.z[0], plain.z[0, 5:30:7] + 0.1]))
    entries = assembled([({(MATERN32, 4.0, math.inf, 0.0): 1.0}, (0.1, 0.3))], [0.0], [0])
    frame, prior = Frame.of(series), Prior()
    together = summarised(entries, Bordered.of(series, frame))
    edges = [0, 40] if at_once else [0, 13, 25, 40]
    told = [
        summarised(entries, Bordered.of(series.part(0, stop), frame, given=start))
        for start, stop in pairwise(edges)
    ]
    found = pooled(told)
    assert found.freedom == together.freedom
    torch.testing.assert_close(found.log_evidence(prior), together.log_evidence(prior))
    torch.testing.assert_close(found.lines(prior).estimate, together.lines(prior).estimate)


def test_a_steep_line_beside_a_small_season_is_believed():
    """Nearly all of the variance is a line; the prior of one slope would call it a slow wave."""
    x = torch.arange(60).double()
    series = prepared(x, 0.5 * x + torch.sin(x))
    entries = assembled([({(EQ, 1e6, 2 * math.pi, 0.0): 1.0}, (1e-3,))], [0.0], [1])
    evidence = factored(entries, series, Frame.of(series), Prior()).summary.log_evidence(Prior())
    assert evidence[0, 0, 1] > evidence[0, 0, 0] + 5


@pytest.mark.parametrize("trends, shares", [((0.25,), (0.5, 0.5)), ((0.0,), (1.0,))])
def test_every_trend_needs_a_share(trends, shares):
    with pytest.raises(SettingError, match="each with a positive share"):
        Prior(trends=trends, shares=shares)
