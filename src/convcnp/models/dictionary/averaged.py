"""What the dictionaries of series and of the plane share: many processes, one mixture."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from convcnp.core.log_mixture import NUMBERS, LogMixtureHead
from convcnp.core.task import Task
from convcnp.core.threads import one_thread
from convcnp.models.base import Model
from convcnp.models.dictionary.components import (
    NO_OUTLIERS,
    Components,
    Outliers,
    as_gaussians,
    bounded,
    largest_surprise,
    with_surprise,
)
from convcnp.models.dictionary.evidence import Prior
from convcnp.models.dictionary.funnel import Funnel
from convcnp.models.dictionary.observations import Observations

# Takes the number of a task of a batch, that of a channel, and inputs (m, Dx).
Answering = Callable[[int, int, Tensor], Components]


def known_variance(task: Task, index: int, channel: int) -> Float[Tensor, " n"] | None:
    """Return the variances of a channel's observations where errors are known, else nothing.

    Exact observations are as good as any, and may be averaged or seen as logarithms.
    """
    if task.context_error is None:
        return None
    error = task.context_error[index, task.context_mask[index, :, channel], channel]
    return error.double() ** 2 if (error > 0).any() else None


class AveragedProcesses(Model):
    """Gaussian processes, averaged by how well each explains the observations, as a mixture.

    Args:
        prior: Of every process's mean and scale.
        funnel: How many processes are looked at on how many points.
        num_components: Gaussians of the mixture at every target.
        surprise: Observations, beside the n that were made and two, that no process foresees: the
            next is such a one with probability surprise / (n + 2).
    """

    def __init__(
        self,
        dim_x: int,
        dim_y: int,
        *,
        prior: Prior,
        funnel: Funnel,
        num_components: int,
        surprise: float,
    ) -> None:
        super().__init__(dim_x, dim_y, LogMixtureHead(num_components))
        self.prior, self.funnel = prior, funnel
        self.num_components, self.surprise = num_components, surprise

    @property
    def dtype(self) -> torch.dtype:
        """The precision of the predictions."""
        return torch.float64

    @property
    def knows_errors(self) -> bool:
        """Errors are part of every observation's noise; predictions are without them."""
        return True

    @property
    def weighs_logarithms(self) -> bool:
        """What comes near zero is seen by its logarithm, if that explains more."""
        return True

    @one_thread()
    def raw(self, task: Task) -> Float[Tensor, "B M P"]:
        """Return the components of every target's mixture, in float64 and the user's units."""
        shape = (task.batch_size, task.x_target.shape[1], *self._numbers(task.dim_y))
        raw = torch.zeros(shape, dtype=torch.float64)
        # One standard normal, until something is known.
        raw[:, :, 0, :, 1:], raw[:, :, 2] = -torch.inf, 1.0
        # Thousands of small operations: what keeps track of them for gradients takes a tenth.
        with torch.inference_mode():
            answer = self.answering(task)
            for index in range(task.batch_size):
                for channel in range(task.dim_y):
                    asked = task.target_mask[index, :, channel]
                    if asked.any() and task.context_mask[index, :, channel].any():
                        found = answer(index, channel, task.x_target[index, asked])
                        packed = found.packed()
                        raw[index, asked, :, channel, : len(found) - 1] = packed[..., :-1]
                        raw[index, asked, :, channel, -1] = packed[..., -1]
        return raw.flatten(2).to(task.x_target.device)

    def unforeseen(
        self, raw: Float[Tensor, "B M P"], variance: Float[Tensor, "B M Dy"]
    ) -> tuple[Float[Tensor, "B M Dy"], Float[Tensor, "B M Dy"]]:
        """Return how probable it is that no process foresees a target, and how it might be at most.

        Args:
            variance: Of the predictions.
        """
        logs, _, widths, *_ = raw.unflatten(-1, self._numbers(self.dim_y))[..., -1].unbind(2)
        share = logs.exp()
        return share, largest_surprise(variance - share * widths**2, widths)

    def _numbers(self, dim_y: int) -> tuple[int, int, int]:
        """Return the shape of a target's numbers; the last component is what nobody foresees."""
        return NUMBERS, dim_y, self.num_components

    @abstractmethod
    def answering(self, task: Task) -> Answering:
        """Return what predicts one channel of one task, of which something was observed."""

    def mixed(
        self,
        students: Components,
        freedom: float,
        seen: Observations,
        outliers: Outliers = NO_OUTLIERS,
    ) -> Components:
        """Return the mixture that stands for Student-t distributions, the heaviest first."""
        found = as_gaussians(students, freedom, self.num_components - 1)
        found = bounded(found, seen.limits)
        first, again = (n / (seen.num_points + 2) for n in (self.surprise, outliers.count))
        return with_surprise(found, first, float(seen.scale[0]), again, outliers)
