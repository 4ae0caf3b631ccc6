"""Covariances of all entries, bordered by means and values, and their Cholesky factors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from convcnp.models.dictionary.kernels import Entries
from convcnp.models.dictionary.observations import Observations
from convcnp.models.dictionary.seasons import Seasons

_PLANE = 2  # coordinates along which the mean is a line
_NO_SPAN = 1e12  # in gaps: one place tells of no line
_BEYOND = 1e12  # keeps the border's own block positive; its factor is not used
_AT_ONCE = 2**18  # numbers of matrices that nobody keeps: more memory the system takes back
_SMALL, _LEAST, _VECTOR = 104, 136, 8  # numbers


@dataclass(frozen=True)
class Frame:
    """What means are made of: a constant, lines, and waves where seasons are part of them.

    The lines are -1 and 1 at the ends of a series, or of a region's sides.
    """

    middle: Float[Tensor, " d"]
    half: Float[Tensor, " d"]
    seasons: Seasons | None = None  # of every entry

    @classmethod
    def of(cls, series: Observations) -> Frame:
        """Return the frame of a whole series, or of points in the plane."""
        low, high = _coordinates(series.x).aminmax(dim=0)
        half = (high - low) / 2
        return cls(low + half, torch.where(half > 0, half, _NO_SPAN))

    def moved(self, by: Float[Tensor, ...]) -> Frame:
        """Return the frame for inputs that are seen from elsewhere."""
        seasons = self.seasons and self.seasons.moved(float(by))
        return Frame(self.middle - _coordinates(by[None])[0], self.half, seasons)

    def some(self, entries: Int[Tensor, " k"]) -> Frame:
        """Return the frame of some of the entries."""
        return replace(self, seasons=self.seasons and self.seasons.some(entries))

    @property
    def num_waves(self) -> int:
        """How many of the means are waves: they come last."""
        return 0 if self.seasons is None else 2 * self.seasons.height.shape[1]

    def means(self, x: Float[Tensor, "n ..."]) -> Float[Tensor, "h n"]:
        """Return the constant and the lines at these inputs."""
        lines = (_coordinates(x) - self.middle.to(x)) / self.half.to(x)
        return torch.cat([torch.ones_like(lines[:, :1]), lines], 1).mT

    def every(self, x: Float[Tensor, "n ..."]) -> Float[Tensor, "#e h n"]:
        """Return all that means are made of, of every entry where that differs."""
        means = self.means(x)[None]
        if self.seasons is None:
            return means
        waves = self.seasons.waves(x)
        return torch.cat([means.expand(len(waves), -1, -1), waves], 1)


def _coordinates(x: Float[Tensor, "n ..."]) -> Float[Tensor, "n d"]:
    return x.reshape(len(x), -1)[:, :_PLANE]


@dataclass(frozen=True)
class Bordered:
    """What the matrices of all entries share on the same observations: it is found once.

    Means and values are bordered to the covariance, so that one Cholesky factor whitens them.
    """

    series: Observations
    border: Float[Tensor, "#e n b"]  # means, then values
    num_means: int
    num_waves: int  # among the means, the last
    lags: Float[Tensor, "l ..."]
    cells: Int[Tensor, " c"]  # the lag of every cell of one triangle, as it lies in memory
    memory: Float[Tensor, "o c"]  # for the matrices of as many entries at once
    given: int = 0  # observations at the start, of which only what they say of the others counts

    @classmethod
    def of(
        cls, series: Observations, frame: Frame, at_once: int | None = None, given: int = 0
    ) -> Bordered:
        """Border the covariances of some observations.

        Args:
            at_once: Entries that are factorised together; by default as many as are worth it.
        """
        n, means = series.num_points, frame.every(series.x)
        border = torch.cat([means, series.z.expand(len(means), -1, -1)], 1).mT
        size = _aligned(n + border.shape[2])
        pairs = torch.tril_indices(n, n)
        lags, lag = series.lags(pairs)
        cells = lag.new_zeros(size, size, dtype=torch.int32)
        below = cells if size <= _SMALL else cells.mT
        below[pairs[0], pairs[1]] = lag.int()
        memory = border.new_empty(at_once or max(1, _AT_ONCE // size**2), size**2)
        num_means, num_waves = means.shape[1], frame.num_waves
        return cls(series, border, num_means, num_waves, lags, cells.flatten(), memory, given)

    def factors(
        self, entries: Entries
    ) -> Iterator[tuple[Float[Tensor, "e s s"], Int[Tensor, " e"]]]:
        """Yield the factors of some entries after the others, and which of them have none.

        All come in the same memory: new memory would take longer to get than to fill.
        """
        kernels, at_once = entries.kernels(self.lags), len(self.memory)
        size, n = math.isqrt(len(self.cells)), self.series.num_points
        is_small = size <= _SMALL  # what is below the diagonal by rows, is above it by columns
        noise = entries.noise.to(kernels)[:, None] / self.series.count + self.series.extra
        borders = self.border.mT.expand(len(entries), -1, -1)
        parts = (part.split(at_once) for part in (entries.kernel, noise, borders))
        for kernel, added, border in zip(*parts, strict=True):
            some, failed = self.memory[: len(kernel)], torch.empty(len(kernel), dtype=torch.int32)
            # One look-up for all cells, those above the diagonal as well, which nobody reads.
            torch.index_select(kernels.index_select(0, kernel), 1, self.cells, out=some)
            square = some.view(-1, size, size)
            matrix, by_columns = (square, square.mT) if is_small else (square.mT, square.mT)
            diagonal = matrix.diagonal(dim1=1, dim2=2)
            diagonal[:, :n].add_(added)
            diagonal[:, n:].fill_(_BEYOND)
            matrix[:, n : n + border.shape[1], :n].copy_(border)
            torch.linalg.cholesky_ex(by_columns, upper=is_small, out=(by_columns, failed))
            yield matrix, failed


def _aligned(size: int) -> int:
    """Return a size, not much larger, of which LAPACK factorises matrices faster.

    A fifth faster if they are multiples of eight; and up to 128 it does so number by number, which
    takes longer than a somewhat larger matrix in blocks, even where the upper triangle is given: of
    matrices that small this takes two thirds of the time, of larger ones twice as long.
    """
    return size if size <= _SMALL else max(_LEAST, size + -size % _VECTOR)
