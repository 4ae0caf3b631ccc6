"""What a measured series is: its numbers, what they mean, and what its sampling tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool
from numpy.typing import NDArray
from torch import Tensor

from convcnp.core.task import Task

Array = NDArray[np.float64]
Group = Literal["seasonal", "irregular", "positive", "other"]

_OFF_THE_LATTICE = 0.02  # steps by which a time may miss it and still count as on it
_MOST_MISSING = 10  # times as many rows as observations: beyond it, a lattice is one by chance
_SEASONS: dict[tuple[str, float], tuple[float, ...]] = {
    ("years", 1 / 12): (12.0,),
    ("years", 1 / 4): (4.0,),
    ("days", 7.0): (365.25 / 7,),
    ("days", 1.0): (7.0, 365.25),
}  # in steps, by the time unit and the step


@dataclass(frozen=True)
class RealSeries:
    """A measured series, with what its numbers mean and where they come from.

    Args:
        group: What its description says of it, whatever the numbers look like. Seasonal: the
            calendar moves it. Irregular: it was measured when it could be. Positive: counts,
            prices or concentrations that come near zero. The first that applies.
        errors: Standard deviations of the measurements, where they were published.
    """

    name: str
    quantity: str
    unit: str
    time_unit: str
    source: str
    times: Array
    values: Array
    group: Group = "other"
    errors: Array | None = None

    @property
    def num_points(self) -> int:
        """Number of observations."""
        return len(self.times)

    @property
    def about(self) -> dict[str, Any]:
        """What a result file says of it."""
        return {
            "quantity": self.quantity,
            "unit": self.unit,
            "time_unit": self.time_unit,
            "source": self.source,
            "group": self.group,
            "num_points": self.num_points,
        }

    @property
    def step(self) -> float | None:
        """The time from row to row, if the series is regular up to missing rows."""
        smallest = float(np.diff(self.times).min())
        count = round(float(np.ptp(self.times)) / smallest)
        step = float(np.ptp(self.times)) / count
        rows = (self.times - self.times[0]) / step
        is_regular = np.abs(rows - rows.round()).max() < _OFF_THE_LATTICE
        return step if is_regular and count <= _MOST_MISSING * self.num_points else None

    @property
    def seasons(self) -> tuple[float, ...]:
        """The seasons of such a sampling, in steps, of which the series holds at least two.

        Example:
            >>> months = 2000 + np.arange(48) / 12
            >>> RealSeries("a", "b", "c", "years", "d", months, months).seasons
            (12.0,)
        """
        step = self.step
        for (unit, known), seasons in _SEASONS.items():
            if step and unit == self.time_unit and np.isclose(step, known, rtol=1e-3):
                return tuple(s for s in seasons if 2 * s * step <= np.ptp(self.times) + step)
        return ()

    def without(self, removed: Bool[Tensor, " points"], errors: Array | None = None) -> Task:
        """Return the task of predicting the removed points from the others, in its own units.

        Args:
            errors: Standard errors of all points, if the task is to have them.
        """
        hidden = removed.numpy()
        return Task.from_arrays(
            *(self.times[~hidden], self.values[~hidden], self.times[hidden], self.values[hidden]),
            context_error=None if errors is None else errors[~hidden],
            target_error=None if errors is None else errors[hidden],
        )


def as_arrays(times: Any, values: Any) -> tuple[Array, Array]:  # noqa: ANN401 - columns of any kind
    """Return times and values in float64."""
    return np.asarray(times, dtype=np.float64), np.asarray(values, dtype=np.float64)
