"""The general model: a dictionary of Gaussian processes, corrected by what a network learned."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from convcnp.core.predictive import Predictive
from convcnp.core.recalibrated import RecalibratedHead
from convcnp.core.task import Task
from convcnp.core.units import typical_gap
from convcnp.models.base import Findings, Model
from convcnp.models.dictionary.model import GaussianProcessDictionary

_FARTHEST_DRAWN = 4.0  # score of a drawn output: one in thirty thousand lies beyond
_LARGEST_SCORE = 6.0  # standard deviations: farther away is all the same
_FARTHEST = 12.0  # logarithm of a distance in gaps, likewise
_OF_NEIGHBOUR, _OF_SERIES, _OF_TARGET = 3, 9, 8  # features


class CorrectedDictionary(Model):
    r"""What Gaussian processes lack, learned: skew, tails, bounds, too little data.

    The dictionary predicts a distribution :math:`F` at every target. A small network reads where
    the neighbours' values, the smallest, the largest and the median of the series would fall in it,
    as normal scores :math:`\Phi^{-1}(F(y))`, how far away the neighbours are in typical gaps, and
    the shape of what was observed. It answers with a mixture that such scores of the target follow
    (`RecalibratedPredictive`). Nothing that it reads has a unit. Before training it changes
    nothing: the model is the dictionary. After training half of what it says is believed: it
    learned from simulated series, and no real one is of their kind.

    Args:
        components: Gaussians of that mixture.
        width: Hidden units of the network's two layers.
        neighbours: Observations on either side of a target that the network reads.
        doubt: Probability that the dictionary is to be left as it is.
    """

    def __init__(
        self,
        dim_x: int = 1,
        dim_y: int = 1,
        *,
        components: int = 3,
        width: int = 32,
        neighbours: int = 4,
        doubt: float = 0.5,
    ) -> None:
        dictionary = GaussianProcessDictionary(dim_x, dim_y)
        head = RecalibratedHead(dictionary.to_predictive, components, doubt)
        super().__init__(dim_x, dim_y, head)
        self.dictionary, self.neighbours, self.change_head = dictionary, neighbours, head
        features = 2 * neighbours * _OF_NEIGHBOUR + _OF_SERIES + _OF_TARGET
        self.network = nn.Sequential(
            nn.Linear(features, width),
            nn.GELU(),
            nn.Linear(width, width),
            nn.GELU(),
            nn.Linear(width, head.channels_of_change(1)),
        )
        # The change begins as nothing.
        last = self.network[-1]
        assert isinstance(last, nn.Linear)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)

    @property
    def dtype(self) -> torch.dtype:
        """The precision of the predictions, which is the dictionary's."""
        return self.dictionary.dtype

    @property
    def knows_errors(self) -> bool:
        """Whether the dictionary does."""
        return self.dictionary.knows_errors

    @property
    def weighs_logarithms(self) -> bool:
        """Whether the dictionary does."""
        return self.dictionary.weighs_logarithms

    def raw(self, task: Task) -> Float[Tensor, "B M P"]:
        """Return the dictionary's numbers, those of the change, and of the tails."""
        with torch.no_grad():
            of_base = self.dictionary.raw(task)
            base = self.dictionary.to_predictive(of_base, task.target_mask)
            channels = [self._features(task, base, c) for c in range(task.dim_y)]
            tails = self.dictionary.unforeseen(of_base, base.variance)
        # (B, M, Dy, 3, K): the head wants the channels behind the kinds of numbers.
        like = next(self.network.parameters())
        change = torch.stack([self.network(f.to(like)) for f in channels], 2)
        change = change * task.context_mask.any(1)[:, None, :, None]
        change = change.unflatten(-1, (3, -1)).transpose(2, 3).flatten(2)
        return torch.cat([of_base, change.to(of_base), *tails], -1)

    @torch.no_grad()
    def draw(
        self, task: Task, num_samples: int, generator: torch.Generator
    ) -> Float[Tensor, "S M Dy"] | None:
        """Draw from the dictionary, and give each output the value that has its score here."""
        of_base = self.dictionary.draw(task, num_samples, generator)
        if of_base is None:
            return None
        scores = (
            self.dictionary(task).score(of_base[:, None]).clamp(-_FARTHEST_DRAWN, _FARTHEST_DRAWN)
        )
        return self(task).at_score(scores)[:, 0]

    def in_plane(self, longitude: int | None) -> Model:
        """Return the dictionary of the plane; what the network learned is about series."""
        return self.dictionary.in_plane(longitude)

    def findings(self, task: Task) -> list[list[Findings]]:
        """Return what the dictionary found in every task and channel."""
        return self.dictionary.findings(task)

    def _farthest(self, count: Int[Tensor, " B"]) -> Float[Tensor, "B 1"]:
        """Return the score beyond which values are all the same: no process foresees them."""
        unforeseen = self.dictionary.surprise / (count[:, None].double() + 2)
        return -torch.special.ndtri(unforeseen / 2).clamp(min=-_LARGEST_SCORE)

    def _features(self, task: Task, base: Predictive, channel: int) -> Float[Tensor, "B M F"]:
        """Describe every target of a channel in numbers that do not depend on units."""
        series = _Series.of(task, channel)
        place = _Place(task, base, channel, self._farthest(series.exists.sum(1)))
        around = [
            place.neighbour(series, step) for step in range(-self.neighbours, self.neighbours)
        ]
        nearest = torch.stack([a[..., 0] for a in around]).amin(0)
        scores = [place.score(mark) for mark in series.marks]
        here = torch.stack([*scores, *place.of_base(series), nearest], -1)
        shape = torch.stack(series.shape, -1)[:, None].expand(-1, here.shape[1], -1)
        return torch.cat([*around, here, shape], -1)


class _Series(NamedTuple):
    """The observations of one channel, sorted, and what they look like as a set."""

    x: Float[Tensor, "B N"]  # infinite where there is none
    y: Float[Tensor, "B N"]
    exists: Bool[Tensor, "B N"]
    gap: Float[Tensor, "B 1"]  # the typical one
    marks: list[Float[Tensor, " B"]]  # smallest, largest, median
    shape: list[Float[Tensor, " B"]]

    @classmethod
    def of(cls, task: Task, channel: int) -> _Series:
        seen = task.context_mask[..., channel]
        x, order = torch.where(seen, task.x_context[..., 0].double(), torch.inf).sort(1)
        y = task.y_context[..., channel].double().gather(1, order)
        exists = x.isfinite()
        if not x.shape[1]:
            x, y = x.new_full((len(x), 1), torch.inf), x.new_zeros(len(x), 1)
            exists = x.isfinite()
        known = torch.where(exists, y, torch.nan)
        low = torch.where(exists, y, torch.inf).amin(1)
        high = torch.where(exists, y, -torch.inf).amax(1)
        marks = [low.nan_to_num(posinf=0.0), high.nan_to_num(neginf=0.0)]
        marks.append(known.nanmedian(1).values.nan_to_num())
        gap = typical_gap(x[..., None], exists[..., None])[..., 0]
        return cls(x, y, exists, gap, marks, _shape(known, low))


def _shape(known: Float[Tensor, "B N"], low: Float[Tensor, " B"]) -> list[Float[Tensor, " B"]]:
    """Describe values by their number, skew, tails, ties and steps."""
    exists = ~known.isnan()
    count = exists.sum(1).double()
    z = known - known.nanmean(1, keepdim=True)
    spread = (z**2).nanmean(1, keepdim=True).sqrt().clamp(min=1e-300)
    z = z / spread
    steps = torch.where(exists[:, 1:] & exists[:, :-1], z.diff(dim=1), torch.nan)
    swing = (steps**2).nanmean(1)
    ties = (steps == 0).sum(1) / count.clamp(min=1)
    at_low = (known == low[:, None]).sum(1) / count.clamp(min=1)
    zeros = (known == 0).sum(1) / count.clamp(min=1)
    found = [
        count.log1p(),
        1 / count.clamp(min=1),
        (z**3).nanmean(1).asinh(),
        (z**4).nanmean(1).asinh(),
        swing.clamp(min=1e-6).log(),
        ((steps**4).nanmean(1) / (swing**2).clamp(min=1e-12)).asinh(),
        ties,
        at_low,
        zeros,
    ]
    return [part.nan_to_num(posinf=0.0, neginf=0.0) for part in found]


class _Place:
    """The targets of one channel, and the distribution that the dictionary predicts there."""

    def __init__(
        self, task: Task, base: Predictive, channel: int, farthest: Float[Tensor, "B 1"]
    ) -> None:
        self.base, self.channel, self.farthest = base, channel, farthest
        self.x = task.x_target[..., 0].double()  # (B, M)

    def neighbour(self, series: _Series, step: int) -> Float[Tensor, "B M 3"]:
        """Return the distance of a neighbour, the score of its value, and whether it exists.

        Steps count from the first observation that is not before the target.
        """
        place = torch.searchsorted(series.x, self.x.contiguous()) + step
        inside = (place >= 0) & (place < series.x.shape[1])
        place = place.clamp(0, series.x.shape[1] - 1)
        exists = inside & series.exists.gather(1, place)
        away = torch.where(exists, series.x.gather(1, place) - self.x, 0).abs()
        away = torch.where(exists, _logarithmic(away / series.gap), _FARTHEST)
        score = torch.where(exists, self._score(series.y.gather(1, place)), 0)
        return torch.stack([away, score, exists.double()], -1)

    def score(self, mark: Float[Tensor, " B"]) -> Float[Tensor, "B M"]:
        """Return the score that one value of a series would have at every target."""
        return self._score(mark[:, None].expand(self.x.shape))

    def _score(self, value: Float[Tensor, "B M"]) -> Float[Tensor, "B M"]:
        everywhere = value[..., None].expand(self.base.mask.shape)
        score = self.base.score(everywhere)[..., self.channel]
        return score.clamp(-self.farthest, self.farthest)

    def of_base(self, series: _Series) -> list[Float[Tensor, "B M"]]:
        """Describe the predicted distribution, and where the target lies among the observations."""
        known = torch.where(series.exists, series.y, torch.nan)
        centre = known.nanmean(1, keepdim=True)
        spread = ((known - centre) ** 2).nanmean(1, keepdim=True).sqrt().clamp(min=1e-300)
        deviation = self.base.stddev[..., self.channel]
        last = torch.where(series.exists, series.x, -torch.inf).amax(1, keepdim=True)
        beyond = torch.maximum(series.x[:, :1] - self.x, self.x - last).clamp(min=0)
        found = [
            (deviation / spread).clamp(1e-6, 1e6).log(),
            ((self.base.mean[..., self.channel] - centre) / spread).asinh(),
            _logarithmic(beyond / series.gap),
            self._score(torch.zeros_like(self.x)),
        ]
        return [part.nan_to_num().clamp(-20, 20) for part in found]


def _logarithmic(gaps: Tensor) -> Tensor:
    return gaps.log1p().clamp(max=_FARTHEST)
