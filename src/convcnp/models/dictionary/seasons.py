"""Exact seasons as waves of the mean: all windows of a long series tell of the same ones."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from convcnp.models.dictionary.catalogue import ENDLESS
from convcnp.models.dictionary.kernels import Entries, rhythm

_CELLS = 512  # of a period, from which its waves are found
_SLIGHT = 1e-5  # share of a season's variance: waves that have less are left out


class Seasons(NamedTuple):
    r"""What comes round exactly, of every entry, as waves of independent heights.

    A periodic kernel is :math:`\sum_k c_k \cos (2\pi k d / p)`, which is the covariance of
    :math:`\sum_k \sqrt{c_k} (\alpha_k \cos (2\pi k x / p) + \beta_k \sin (2\pi k x / p))` with
    standard normal heights. Entries of fewer waves than others have some of height zero.
    """

    height: Float[Tensor, "e w"]
    period: Float[Tensor, "e w"]  # of the season
    number: Float[Tensor, "e w"]  # k
    start: float = 0.0  # of the times that are seen, on the clock of the seasons

    def waves(self, x: Float[Tensor, " n"]) -> Float[Tensor, "e v n"]:
        """Return every entry's waves at some times, cosines first."""
        turns = (x.double() + self.start) / self.period[..., None]
        angle = (2 * math.pi * self.number[..., None] * (turns - turns.round())).to(x)
        waves = torch.cat([angle.cos(), angle.sin()], 1)
        return self.height.repeat(1, 2)[..., None].to(x) * waves

    def moved(self, by: float) -> Seasons:
        """Return the same seasons for times that are seen from elsewhere."""
        return self._replace(start=self.start + by)

    def some(self, entries: Int[Tensor, " k"]) -> Seasons:
        """Return those of some entries."""
        height, period, number = (numbers[entries] for numbers in self[:3])
        return Seasons(height, period, number, self.start)

    def values(
        self, heights: Float[Tensor, "e v"], periods: Float[Tensor, " p"], x: Float[Tensor, " n"]
    ) -> Float[Tensor, "e n"]:
        """Return the seasons of these periods at some times, given the heights of all waves."""
        own = torch.isin(self.period, periods).repeat(1, 2)
        return torch.einsum("ev,evn->en", torch.where(own, heights, 0), self.waves(x))


def apart(entries: Entries) -> tuple[Entries, Seasons | None]:
    """Return entries without their exact seasons, and these, if there are any."""
    bases = entries.bases
    is_exact = bases.period.isfinite() & (bases.length_scale >= ENDLESS)
    weights = torch.where(is_exact, entries.weights, 0)  # (k, b)
    if not weights.any():
        return entries, None
    found = [_waves(bases.period, bases.sharpness, row) for row in weights]
    most = max(len(waves) for waves in found)
    # Nothing at all is a wave of no height, of any period.
    padded = torch.tensor(
        [waves + [(0.0, 1.0, 1.0)] * (most - len(waves)) for waves in found], dtype=torch.float64
    )
    height, period, number = padded[entries.kernel].unbind(-1)
    rest = replace(entries, weights=entries.weights - weights)
    return rest, Seasons(height, period, number)


def _waves(
    period: Float[Tensor, " b"], sharpness: Float[Tensor, " b"], weights: Float[Tensor, " b"]
) -> list[tuple[float, float, float]]:
    """Return height, period and number of the waves of one kernel."""
    used = weights.nonzero()[:, 0].tolist()
    return [
        (math.sqrt(weights[i] * share), float(period[i]), float(number))
        for i in used
        for number, share in enumerate(_shares(float(sharpness[i])), 1)
        if share > _SLIGHT
    ]


@lru_cache(maxsize=1024)
def _shares(sharpness: float) -> list[float]:
    """Return the share of a season's variance that each of its waves has."""
    cells = torch.arange(_CELLS, dtype=torch.float64) / _CELLS
    season = rhythm(cells, *cells.new_tensor([[[sharpness]], [[1.0]]]))[0]
    shares = 2 * torch.fft.rfft(season).real[1:-1] / _CELLS
    return shares.tolist()
