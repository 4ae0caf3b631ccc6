"""Hare and lynx of the Hudson's Bay, 1845 to 1935, in thousands (Section 5.3, Appendix C.4)."""

from __future__ import annotations

import csv
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from convcnp.core.task import Task
from convcnp.data.lotka_volterra import UNIT
from convcnp.errors import SettingError

FIRST_YEAR, LAST_YEAR = 1845, 1935
# Paper: removes 18 of 90 points and does not say which, nor which of the 91 years it leaves out. We
# keep them all, and remove years from the middle.
INTERVAL = (1881, 1898)
LENGTH = INTERVAL[1] - INTERVAL[0] + 1


def series() -> tuple[Float[Tensor, " years"], Float[Tensor, "years 2"]]:
    """Return the years, and the populations of hare and lynx in thousands.

    Example:
        >>> years, populations = series()
        >>> len(years), populations[0].tolist()
        (91, [19.58, 30.09])
    """
    with Path(__file__).with_suffix(".csv").open(newline="") as file:
        _, *rows = csv.reader(file)
    table = torch.tensor([[float(cell) for cell in row] for row in rows], dtype=torch.float64)
    return table[:, 0], table[:, 1:]


def hidden(first: int = INTERVAL[0], last: int = INTERVAL[1]) -> Task:
    """Return the task to predict the years from first to last, given all the others."""
    if not FIRST_YEAR <= first <= last <= LAST_YEAR:
        raise SettingError(
            f"The hidden years must lie between {FIRST_YEAR} and {LAST_YEAR}, the first before the "
            f"last, got {first} and {last}."
        )
    years, populations = series()
    asked = (years >= first) & (years <= last)
    x, y = model_time(years), (populations / UNIT)[None]
    return Task(x[:, ~asked], y[:, ~asked], x[:, asked], y[:, asked])


def every_interval() -> Task:
    """Return the tasks to predict each interval of 18 years that has years on both sides."""
    firsts = range(FIRST_YEAR + 1, LAST_YEAR - LENGTH + 1)
    return Task.stack([hidden(first, first + LENGTH - 1) for first in firsts])


def last_years() -> Task:
    """Return the task to forecast the last 18 years from all before them."""
    return hidden(LAST_YEAR - LENGTH + 1, LAST_YEAR)


def asked_at(years: Float[Tensor, " M"]) -> Task:
    """Return the task to predict any years, beyond the last one too, from the whole series."""
    observed, populations = series()
    return Task(model_time(observed), (populations / UNIT)[None], model_time(years))


def model_time(years: Float[Tensor, " M"]) -> Float[Tensor, "1 M 1"]:
    """Return years as models take them: the series begins at zero, as simulations do."""
    return (years - FIRST_YEAR)[None, :, None]
