"""Marginal likelihoods and posteriors of all entries at once, the mean and scale integrated out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import torch
from jaxtyping import Float, Int
from torch import Tensor

from convcnp.errors import SettingError, check_positive
from convcnp.models.dictionary.bordered import Bordered, Frame
from convcnp.models.dictionary.kernels import Entries
from convcnp.models.dictionary.observations import Observations

_IN_CACHE = 2**17  # numbers in double precision


@dataclass(frozen=True)
class Prior:
    r"""What is believed of every entry's mean and scale before anything is seen.

    Values are :math:`z = \beta_0 + \beta_1 h(x) + f(x) + \varepsilon`, with :math:`h` from -1 to 1
    over the series (in the plane, one such line along either side), :math:`f` and
    :math:`\varepsilon` of variance :math:`s^2 k` and :math:`s^2 \sigma^2`. The constant is flat,
    the slope :math:`\beta_1 \sim N(0, s^2 \tau^2)` with a few :math:`\tau`, of which each entry is
    weighed with each: a line may be all that a series does, or next to nothing beside its season.
    The scale is :math:`s^2 \sim \text{Inv-Gamma}(a, b)` with the series' own variance as one.
    """

    freedom: float = 0.5  # a
    rate: float = 0.75  # b
    trends: tuple[float, ...] = (0.25, 5.0)  # tau
    shares: tuple[float, ...] = (0.8, 0.2)  # probabilities of the trends

    def __post_init__(self) -> None:
        if len(self.trends) != len(self.shares) or min(*self.trends, *self.shares, 1) <= 0:
            raise SettingError(
                "Trends must be positive, each with a positive share, got trends = "
                f"{self.trends} and shares = {self.shares}."
            )
        check_positive("freedom", self.freedom)
        check_positive("rate", self.rate)

    def near(self, scale: float, width: float) -> Prior:
        """Return the prior of a squared scale whose logarithm is known to this width."""
        return replace(self, freedom=width**-2, rate=width**-2 * scale)

    def log_constant(self, freedom: float) -> float:
        r"""Return what `Summary.log_evidence` leaves out of the prior, alike for all entries.

        .. math:: \log \frac{b^a}{\Gamma(a)} \Gamma\Big(a + \frac{N - 1}{2}\Big)
        """
        a = self.freedom
        return a * math.log(self.rate) - math.lgamma(a) + math.lgamma(a + freedom / 2)

    def log_density(self, scale: float) -> float:
        """Return the log density of the logarithm of a squared scale."""
        a, b = self.freedom, self.rate
        return a * math.log(b) - math.lgamma(a) - a * math.log(scale) - b / scale

    @cached_property
    def log_trends(self) -> Float[Tensor, "2 t"]:
        """Return the logarithms of the trends, and of their shares."""
        return torch.tensor([self.trends, self.shares], dtype=torch.float64).log()

    def precision(self, slopes: int, waves: int = 0) -> Float[Tensor, "t h h"]:
        """Return what is known of the constant, which is nothing, of slopes, and of waves."""
        return _precision(tuple(self.trends), slopes, waves)


@lru_cache
def _precision(trends: tuple[float, ...], slopes: int, waves: int) -> Float[Tensor, "t h h"]:
    known = [[0.0] + [tau**-2] * slopes + [1.0] * waves for tau in trends]
    return torch.tensor(known, dtype=torch.float64).diag_embed()


@dataclass(frozen=True)
class Lines:
    """The mean of every entry, form and trend: how well it is known, and what it probably is."""

    precision: Float[Tensor, "e t h h"]  # G
    estimate: Float[Tensor, "e r t h"]


@dataclass(frozen=True)
class Summary:
    r"""What the evidence of every entry needs to know of a series, or of several together.

    With :math:`L L^\top = K + \Sigma`, whitened means :math:`A = L^{-1} H^\top` and values
    :math:`u = L^{-1} z`: sums of squares and products, which add up over independent stretches.
    """

    log_determinant: Float[Tensor, " e"]  # of K + Sigma
    gram: Float[Tensor, "e h h"]  # A'A
    projected: Float[Tensor, "e r h"]  # u'A
    squares: Float[Tensor, "e r"]  # u'u
    freedom: float  # observations less one, for the constant
    log_volume: Float[Tensor, " r"]
    num_waves: int  # among the means, the last

    @property
    def num_slopes(self) -> int:
        """How many lines are among the means."""
        return self.gram.shape[1] - 1 - self.num_waves

    def precision(self, prior: Prior) -> Float[Tensor, "e t h h"]:
        r"""Return :math:`G = A^\top A + \text{diag}(0, \tau^{-2})`."""
        return self.gram[:, None] + prior.precision(self.num_slopes, self.num_waves)

    def lines(self, prior: Prior) -> Lines:
        r"""Return :math:`G` and :math:`G^{-1} A^\top u`."""
        precision = self.precision(prior)
        estimate = _solved(precision, self.projected.mT[:, None])
        return Lines(precision, estimate.permute(0, 3, 1, 2))

    def left_over(self, precision: Float[Tensor, "e t h h"]) -> Float[Tensor, "e r t"]:
        r"""Return the squares beside the line, :math:`Q = u^\top u - u^\top A \hat\beta`."""
        explained = _explained(precision, self.projected)
        return (self.squares[:, :, None] - explained).clamp_(min=0)

    def log_evidence(self, prior: Prior) -> Float[Tensor, "e r t"]:
        r"""Return the log marginal likelihood of the observations, up to a constant.

        .. math:: -\tfrac12 \log |K + \Sigma| - \tfrac12 \log |G| \tau^2
                  - \Big(a + \frac{N - 1}{2}\Big) \log \Big(b + \frac Q2\Big)
                  + \log \Big|\frac{dz}{dy}\Big| + \log p(\tau)
        """
        precision = self.precision(prior)
        scale = self.left_over(precision).div_(2).add_(prior.rate).log_()
        trends, shares = prior.log_trends
        determinant = self.log_determinant[:, None] + _log_det(precision)  # (e, t)
        beside = shares - self.num_slopes * trends + self.log_volume[:, None]  # (r, t)
        shape = prior.freedom + self.freedom / 2
        evidence = beside - determinant.div_(2)[:, None] - scale.mul_(shape)
        return evidence.nan_to_num_(nan=-torch.inf, posinf=-torch.inf)

    def variance(self, prior: Prior) -> Float[Tensor, "e r t"]:
        """Return the scale's posterior: the squared scale of a Student-t distribution."""
        squares = self.left_over(self.precision(prior))
        return (2 * prior.rate + squares) / (2 * prior.freedom + self.freedom)


def pooled(summaries: Sequence[Summary], share: float = 1.0) -> Summary:
    """Add up what independent stretches of a series say; where they overlap, only a share.

    They have one mean, if it was in the same frame in all of them.
    """
    if len(summaries) == 1 and share == 1:
        return summaries[0]

    def total(name: str) -> Tensor:
        return share * torch.stack([getattr(each, name) for each in summaries]).sum(0)

    return Summary(
        *(total("log_determinant"), total("gram"), total("projected"), total("squares")),
        freedom=share * sum(each.freedom for each in summaries),
        log_volume=total("log_volume"),
        num_waves=summaries[0].num_waves,
    )


@dataclass(frozen=True)
class Variants:
    """Some of all the ways to see a series: an entry, a form of the values, and a trend each."""

    entry: Int[Tensor, " c"]
    form: Int[Tensor, " c"]
    trend: Int[Tensor, " c"]

    def __getitem__(self, chosen: Tensor) -> Variants:
        return Variants(self.entry[chosen], self.form[chosen], self.trend[chosen])


@dataclass(frozen=True)
class Factored:
    """All entries' Cholesky factors of one series, and what follows from them."""

    factor: Float[Tensor, "e n n"]
    means: Float[Tensor, "e h n"]  # A, transposed
    values: Float[Tensor, "e r n"]  # u, transposed
    summary: Summary
    lines: Lines

    def line(self, chosen: Variants) -> Float[Tensor, "c h"]:
        """Return the estimated constant and slopes of every variant."""
        return self.lines.estimate[chosen.entry, chosen.form, chosen.trend]

    def left(self, chosen: Variants) -> Float[Tensor, "c n"]:
        """Return the whitened values less their line."""
        values = self.values[chosen.entry, chosen.form]
        return values - (self.line(chosen)[:, None] @ self.means[chosen.entry])[:, 0]


def factored(
    entries: Entries,
    series: Observations,
    frame: Frame,
    prior: Prior,
    lines: Lines | None = None,
) -> Factored:
    """Factorise every entry once: the values and the mean are bordered to the covariance.

    Args:
        lines: The mean, where more is known of it than this stretch of a series tells.
    """
    bordered = Bordered.of(series, frame, len(entries))
    ((factor, failed),) = bordered.factors(entries)
    summary = _summary(entries, bordered, *_sums(factor, failed, bordered))
    n, count = bordered.border.shape[1:]
    means, values = factor[:, n : n + count, :n].contiguous().tensor_split([bordered.num_means], 1)
    return Factored(factor[:, :n, :n], means, values, summary, lines or summary.lines(prior))


def summarised(entries: Entries, bordered: Bordered) -> Summary:
    """Return what the evidence of every entry needs to know of a series, and no more."""
    parts = [_sums(*found, bordered) for found in bordered.factors(entries)]
    return _summary(entries, bordered, *map(torch.cat, zip(*parts, strict=True)))


def _sums(
    factor: Float[Tensor, "e s s"], failed: Int[Tensor, " e"], bordered: Bordered
) -> tuple[Float[Tensor, " e"], Float[Tensor, "e b b"]]:
    """Return log determinants, and products of whitened means and values, in double precision."""
    # Rows of a factor that come later are given those before.
    given, (_, n, count) = bordered.given, bordered.border.shape
    diagonal = factor.diagonal(dim1=1, dim2=2)[:, given:n]
    # What has no factor has no evidence.
    log_determinant = diagonal.log().sum(1).mul_(2).masked_fill_(failed > 0, torch.inf)
    whitened = factor[:, n : n + count, given:n]
    return log_determinant.double(), (whitened @ whitened.mT).double()


def _summary(
    entries: Entries,
    bordered: Bordered,
    log_determinant: Float[Tensor, " e"],
    products: Float[Tensor, "e b b"],
) -> Summary:
    r"""Sum up what the factors say, and what repeated observations tell beyond their averages.

    An average of :math:`c` has noise :math:`\sigma^2 / c`; around it remain :math:`c - 1`
    differences of variance :math:`\sigma^2` each.
    """
    series, given, h = bordered.series, bordered.given, bordered.num_means
    squares = products[:, h:, h:].diagonal(dim1=1, dim2=2)
    counts = series.count[given:].double()
    count = float(counts.sum())
    if count > len(counts):
        again = (count - len(counts)) * entries.noise.log() + counts.log().sum()
        log_determinant = log_determinant + again
        squares = squares + series.scatter[:, given:].double().sum(1) / entries.noise[:, None]
    return Summary(
        *(log_determinant, products[:, :h, :h], products[:, h:, :h], squares),
        freedom=count - 1 if given == 0 else count,
        log_volume=series.log_volume[:, given:].double().sum(1),
        num_waves=bordered.num_waves,
    )


# A series has a constant and a line, for which a formula is several times as fast as a solver.
def _log_det(matrix: Float[Tensor, "*S h h"]) -> Float[Tensor, "*S"]:
    if matrix.shape[-1] == 2:
        return _det(*_corners(matrix)).log_()
    return torch.linalg.slogdet(matrix).logabsdet


def _solved(matrix: Float[Tensor, "*S h h"], right: Float[Tensor, "*#S h r"]) -> Tensor:
    if matrix.shape[-1] != 2:
        return torch.linalg.solve_ex(matrix, right)[0]
    a, b, d = (corner[..., None] for corner in _corners(matrix))
    first, second = right.unbind(-2)
    solved = torch.stack([d * first - b * second, a * second - b * first], -2)
    return solved / _det(a, b, d)[..., None]


def _explained(
    matrix: Float[Tensor, "e t h h"], vectors: Float[Tensor, "e r h"]
) -> Float[Tensor, "e r t"]:
    r"""Return :math:`v^\top M^{-1} v` of every matrix and vector."""
    if matrix.shape[-1] != 2:
        columns = vectors.mT[:, None]
        return (columns * _solved(matrix, columns)).sum(2).mT
    a, b, d = (corner[:, None] for corner in _corners(matrix))  # (e, 1, t) each
    first, second = vectors[..., None].unbind(2)  # (e, r, 1) each
    squares = d * first.square() + a * second.square()
    return squares.sub_(b * (2 * first * second)).div_(_det(a, b, d))


def _corners(matrix: Float[Tensor, "*S 2 2"]) -> tuple[Tensor, Tensor, Tensor]:
    """Return the different numbers of a symmetric matrix, those of its first row first."""
    return matrix[..., 0, 0], matrix[..., 0, 1], matrix[..., 1, 1]


def _det(a: Tensor, b: Tensor, d: Tensor) -> Tensor:
    return a * d - b.square()


def posterior(
    found: Factored,
    entries: Entries,
    series: Observations,
    frame: Frame,
    at: Float[Tensor, "m ..."],
    chosen: Variants,
) -> tuple[Float[Tensor, "c m"], Float[Tensor, "c m"]]:
    r"""Return mean and variance of new observations at other inputs, the latter at scale one.

    .. math:: m_* = h_*^\top \hat\beta + B^\top (u - A \hat\beta), \quad
              v_* = k_{**} + \sigma^2 - B^\top B + R^\top G^{-1} R

    with :math:`B = L^{-1} k_*` and :math:`R = h_* - A^\top B`.
    """
    entry = chosen.entry
    mean, variance = at.new_empty(len(entry), len(at)), at.new_empty(len(entry), len(at))
    used, place = entry.unique(return_inverse=True)
    # Some entries after the others: all at once would not fit into the processor's cache.
    for some in used.split(max(1, _IN_CACHE // (series.num_points * len(at)))):
        own = torch.isin(entry, some)
        first = int(torch.searchsorted(used, some[0]))
        within = chosen[own], place[own] - first
        mean[own], variance[own] = _conditioned(found, entries, series, frame, at, some, within)
    return mean, variance


def _conditioned(
    found: Factored,
    entries: Entries,
    series: Observations,
    frame: Frame,
    at: Tensor,
    used: Tensor,
    within: tuple[Variants, Tensor],
) -> tuple[Tensor, Tensor]:
    """Return mean and variance of chosen variants, given with their places among `used`."""
    chosen, place = within
    some, h = entries[used], frame.some(used).every(at)  # (u, h, m)
    across = series.across(some, at).index_select(0, some.kernel)  # (u, n, m)
    whitened = torch.linalg.solve_triangular(found.factor[used], across, upper=False)
    rest = h - found.means[used] @ whitened  # (u, h, m)
    unsure = _explained(found.lines.precision[used], rest.mT)  # (u, m, t)
    explained = torch.linalg.vecdot(whitened, whitened, dim=1)
    variance = (some.variance[:, None] - explained).clamp(min=0) + some.noise[:, None]
    mean = (found.values[used] @ whitened)[place, chosen.form]
    mean = mean + (found.line(chosen)[:, None] @ rest[place])[:, 0]
    return mean, variance[place] + unsure[place, :, chosen.trend]
