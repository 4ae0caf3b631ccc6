"""Example tables: one that is measured, and some that are made up, the same every time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from convcnp.app.refusals import GoneError
from convcnp.data import lynx_hare
from convcnp.errors import did_you_mean


def example(name: str) -> bytes:
    """Return an example table as a CSV file.

    Example:
        >>> example("tide").splitlines()[0].decode()
        'time,level'
    """
    if name not in _MADE:
        raise GoneError(
            f"Expected the name of an example, got {name!r}{did_you_mean(name, EXAMPLES)}"
        )
    return _MADE[name]().to_csv(index=False).encode()


def _lynx_and_hare() -> pd.DataFrame:
    """Hide the years that the paper hides."""
    years, populations = lynx_hare.series()
    frame = pd.DataFrame(populations.numpy(), columns=["hare", "lynx"])
    frame.insert(0, "year", years.int().numpy())
    first, last = lynx_hare.INTERVAL
    frame.loc[frame["year"].between(first, last), ["hare", "lynx"]] = np.nan
    return frame


def _tide() -> pd.DataFrame:
    """Two tides of the moon and the sun, hourly, with a gauge that failed twice."""
    generator = np.random.default_rng(1)
    hours = np.arange(24 * 10)
    level = np.sin(2 * np.pi * hours / 12.42) + 0.4 * np.sin(2 * np.pi * hours / 12.0)
    level = level + 0.05 * generator.standard_normal(len(hours))
    level[(hours > 70) & (hours < 110) | (hours > 170) & (hours < 185)] = np.nan
    times = pd.Timestamp("2024-03-01") + pd.to_timedelta(hours, unit="h")
    return pd.DataFrame({"time": times, "level": level.round(3)})


def _stations() -> pd.DataFrame:
    """Three stations that are read now and then, each in two columns."""
    generator = np.random.default_rng(2)
    parts = []
    for i, station in enumerate(("north", "harbour", "hill")):
        day = np.sort(generator.choice(np.arange(0, 730), 90, replace=False))
        season = -np.cos(2 * np.pi * (day - 20) / 365.25)
        noise = generator.standard_normal((2, len(day)))
        temperature = 9 - 2 * i + 8 * season + 1.2 * noise[0]
        humidity = 75 + 4 * i - 10 * season + 3 * noise[1]
        dates = pd.Timestamp("2023-01-01") + pd.to_timedelta(day, unit="D")
        columns = {"temperature": temperature.round(1), "humidity": humidity.round(0)}
        parts.append(pd.DataFrame({"station": station, "date": dates, **columns}))
    return pd.concat(parts)


_MADE: dict[str, Callable[[], pd.DataFrame]] = {
    "tide": _tide,
    "lynx-and-hare": _lynx_and_hare,
    "stations": _stations,
}
EXAMPLES = {
    "tide": "A tide gauge that failed twice, hourly (made up)",
    "lynx-and-hare": "Lynx and hare of the Hudson's Bay, 18 years hidden",
    "stations": "Three weather stations, read now and then (made up)",
}
