"""Series of many kinds: what the general model is trained on."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor

from convcnp.core.predictive import Predictive
from convcnp.core.task import Task
from convcnp.core.units import Normaliser, PerSeries
from convcnp.data.source import Familiar, Part
from convcnp.errors import SettingError

_FEATURES = 48  # cosines per component
_FARTHEST = 8.0  # spreads: targets farther away are not asked for, they would rule the loss


@dataclass(frozen=True)
class SeriesSource:
    """Random series in units of their typical gap, as `PerSeries` leaves a user's.

    A series is a sum of one to four components, each with its own amplitude: smooth or rough noise
    (EQ and Matern kernels of all length scales), exact and drifting periods of all shapes, trends
    and steps. Some are bent into positive, spiky or saturating shapes; observation noise is
    added, with outliers in some. Inputs are regular, jittered, random or in bursts. What is
    not observed was removed at random, in blocks, at an end, or is almost everything.

    Args:
        max_points: Series have from 6 to this many points, context and targets together.
        sizes: Give the series of a batch similar lengths, which wastes least, or each its own.
    """

    options: ClassVar[tuple[str, ...]] = ("max_points",)
    takes: ClassVar[Literal["tables"]] = "tables"
    normaliser: ClassVar[Normaliser] = PerSeries()
    familiar: ClassVar[Familiar] = Familiar((0.5, 2.0), largest=12.0, spacing=1.0)

    max_points: int = 384
    sizes: Literal["batch", "task"] = "batch"
    dim_x: int = 1
    dim_y: int = 1

    def __post_init__(self) -> None:
        if self.max_points < 6 or (self.dim_x, self.dim_y) != (1, 1):
            raise SettingError(
                "Series need max_points of at least 6, one input and one channel, got max_points "
                f"= {self.max_points}, dim_x = {self.dim_x}, dim_y = {self.dim_y}."
            )

    def draw(self, batch_size: int, generator: torch.Generator) -> Task:
        """Draw series, and split each into observed and removed points."""
        if self.sizes == "task" and batch_size > 1:
            return Task.stack([self.draw(1, generator) for _ in range(batch_size)])
        dice = _Dice(batch_size, generator)
        longest = int(6 * (self.max_points / 6) ** dice.uniform(())[0].item())
        lengths = (longest * dice.uniform((1, 1), 0.6, 1.0)).ceil().clamp(min=6)  # (B, 1, 1)
        x = _inputs(dice, longest)
        y = _functions(dice, x, lengths)
        y = y + _noise(dice, y)
        exists = torch.arange(longest)[None, :, None] < lengths
        observed = _observed(dice, longest, lengths) & exists
        raw = Task(x, y, x, y, observed, exists & ~observed)
        task = self.normaliser.units(raw).to_model(raw)
        assert task.y_target is not None
        asked = task.target_mask & (task.y_target.abs() < _FARTHEST)
        return Task(
            *(task.x_context, task.y_context, task.x_target, task.y_target, observed, asked)
        )

    def held_out(self, part: Part) -> SeriesSource:
        """Return the same kinds of series, each of its own length; other seeds, other series."""
        return replace(self, sizes="task")

    def ceiling(self, task: Task) -> Predictive | None:
        """Return the best possible prediction: it is not known."""
        return None


class _Dice:
    """Random numbers of a generator, for a batch of series."""

    def __init__(self, batch_size: int, generator: Generator) -> None:
        self.batch_size, self.generator = batch_size, generator

    def uniform(self, shape: tuple[int, ...], low: float = 0.0, high: float = 1.0) -> Tensor:
        unit = torch.rand(self.batch_size, *shape, generator=self.generator, dtype=torch.float64)
        return low + (high - low) * unit

    def log_uniform(self, shape: tuple[int, ...], low: float, high: float | Tensor) -> Tensor:
        return low * (high / low) ** self.uniform(shape)

    def normal(self, shape: tuple[int, ...]) -> Tensor:
        return torch.randn(self.batch_size, *shape, generator=self.generator, dtype=torch.float64)

    def chance(self, probability: float, shape: tuple[int, ...] = (1, 1)) -> Tensor:
        return self.uniform(shape) < probability

    def choice(self, weights: tuple[float, ...], shape: tuple[int, ...] = (1, 1)) -> Tensor:
        """Return indices, each as often as its weight."""
        edges = torch.tensor(weights, dtype=torch.float64).cumsum(0)
        return torch.searchsorted(edges / edges[-1], self.uniform(shape)).clamp(
            max=len(weights) - 1
        )


def _inputs(dice: _Dice, points: int) -> Float[Tensor, "B K 1"]:
    """Draw inputs with gaps around one: regular, jittered, random, or in bursts."""
    shape = (points, 1)
    kinds = [
        torch.ones(dice.batch_size, *shape, dtype=torch.float64),
        1 + dice.uniform(shape, -0.45, 0.45),
        -torch.log1p(-dice.uniform(shape)),
        torch.exp(dice.uniform((1, 1), 0.5, 1.5) * dice.normal(shape)),
    ]
    kind = dice.choice((4, 2, 2, 1))
    gaps = torch.gather(torch.stack(kinds), 0, kind[None].expand(1, -1, *shape))[0]
    return gaps.cumsum(1)


def _functions(
    dice: _Dice, x: Float[Tensor, "B K 1"], lengths: Float[Tensor, "B 1 1"]
) -> Float[Tensor, "B K 1"]:
    """Draw one function per task at the inputs, with a spread of about one."""
    parts = 4
    frequency = _frequencies(dice, lengths, parts).flatten(1)[:, None]  # (B, 1, P F)
    phase = dice.uniform((1, parts * _FEATURES), 0, 2 * math.pi)
    waves = torch.addcmul(phase, x, 2 * math.pi * frequency).float().cos_()
    # The number of components is one plus the others' presence; small ones matter too.
    amplitude = dice.log_uniform((1, parts), 0.03, 1.0) * dice.chance(0.4, (1, parts))
    amplitude[:, :, 0] = 1.0
    weight = amplitude.float().repeat_interleave(_FEATURES, 2) * math.sqrt(2 / _FEATURES)
    y = (waves @ weight.mT).double()
    middle = (x - x.mean(1, keepdim=True)) / lengths
    y = y + dice.chance(0.3) * dice.log_uniform((1, 1), 0.1, 20.0) * dice.normal((1, 1)) * middle
    for _ in range(2):
        where = dice.uniform((1, 1), -0.5, 0.5)
        y = y + dice.chance(0.06) * dice.normal((1, 1)) * 1.5 * (middle > where)
    return _bent(dice, y)


def _frequencies(
    dice: _Dice, lengths: Float[Tensor, "B 1 1"], parts: int
) -> Float[Tensor, "B P F"]:
    r"""Draw the frequencies of each component from the spectral density of its kernel.

    A sum of cosines with such frequencies and random phases has that kernel (Rahimi and Recht,
    2007): Gaussian frequencies give EQ, Student-t ones with :math:`2\nu` degrees of freedom
    Matern-:math:`\nu`, multiples of :math:`1/p` a period, and scattered around them a drifting one.
    """
    shape, each = (parts, _FEATURES), (parts, 1)
    normal = dice.normal(shape)
    # Degrees of freedom 1, 3 and 5 as sums of squares; none is the limit, the EQ kernel.
    squares = dice.normal((5, *shape)) ** 2  # (B, 5, P, F)
    student = [
        normal / squares[:, :degrees].mean(1).sqrt().clamp(min=1e-3) for degrees in (1, 3, 5)
    ]
    scatter = torch.stack([normal, *student])  # (4, B, P, F)
    kind = dice.choice((3, 1, 1, 1), each)
    scatter = torch.gather(scatter, 0, kind[None].expand(1, -1, *shape))[0]
    length_scale = dice.log_uniform(each, 1.5, (lengths * 0.7).clamp(min=3.0))
    broad = scatter / (2 * math.pi * length_scale)
    # Harmonics k with weights exp(-k / decay): from a pure sine to sharp shapes.
    decay = dice.log_uniform(each, 0.1, 4.0)
    harmonic = 1 + (-decay * torch.log1p(-dice.uniform(shape))).floor()
    period = dice.log_uniform(each, 3.0, (lengths * 0.6).clamp(min=4.0))
    drift = dice.log_uniform(each, 1.0, 40.0) * period
    is_exact = dice.chance(0.5, each)
    lines = harmonic / period + torch.where(is_exact, 0.0, normal / (2 * math.pi * drift))
    return torch.where(dice.chance(0.45, each), lines, broad)


def _bent(dice: _Dice, y: Float[Tensor, "B K 1"]) -> Float[Tensor, "B K 1"]:
    """Leave most functions alone; make some positive and spiky, folded, or saturating."""
    standard = (y - y.mean(1, keepdim=True)) / y.std(1, keepdim=True).clamp(min=1e-9)
    strength = dice.uniform((1, 1), 0.3, 1.2)
    kinds = torch.stack(
        [
            standard,
            torch.exp(strength * standard),
            standard.abs(),
            torch.tanh(2 * strength * standard),
        ]
    )
    kind = dice.choice((8, 2, 0.5, 0.5))
    bent = torch.gather(kinds, 0, kind[None].expand(1, -1, y.shape[1], 1))[0]
    return (bent - bent.mean(1, keepdim=True)) / bent.std(1, keepdim=True).clamp(min=1e-9)


def _noise(dice: _Dice, y: Float[Tensor, "B K 1"]) -> Float[Tensor, "B K 1"]:
    """Draw observation noise of all sizes, with outliers in some series."""
    noise = dice.log_uniform((1, 1), 0.003, 0.7) * dice.normal(tuple(y.shape[1:]))
    outlier = dice.chance(0.1) & dice.chance(0.04, tuple(y.shape[1:]))
    return torch.where(outlier, 5 * noise, noise)


def _observed(dice: _Dice, points: int, lengths: Float[Tensor, "B 1 1"]) -> Bool[Tensor, "B K 1"]:
    """Choose what is observed: points missing at random, in blocks, at an end, or nearly all."""
    index = torch.arange(points, dtype=torch.float64)[None, :, None]
    keep = dice.uniform((1, 1), 0.3, 1.0)
    random = dice.uniform((points, 1)) < keep
    blocks = torch.ones(1, points, 1, dtype=torch.bool)
    for _ in range(3):
        size = dice.log_uniform((1, 1), 1.0, lengths / 2.5)
        start = dice.uniform((1, 1)) * (lengths - size)
        blocks = blocks & ((index < start) | (index >= start + size) | dice.chance(0.4))
    ahead = index < lengths - dice.log_uniform((1, 1), 1.0, lengths / 2.5)
    ahead = torch.where(dice.chance(0.5), ahead, ahead.flip(1))
    few = dice.uniform((points, 1)) < dice.uniform((1, 1), 1.0, 6.0) / lengths
    kinds = torch.stack([random, blocks & random, blocks, ahead & random, few])
    kind = dice.choice((3, 3, 2, 2, 0.7))
    observed = torch.gather(kinds, 0, kind[None].expand(1, -1, points, 1))[0]
    # One of the first few is always observed, and one never is.
    first = (dice.uniform((1, 1)) * 3).floor()
    return (observed | (index == first)) & (index != first + 1)
