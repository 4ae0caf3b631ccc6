"""Real series that no model here was trained on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convcnp.data import lynx_hare
from convcnp.errors import SettingError, did_you_mean
from convcnp.extras import import_extra
from convcnp.paper.further_series import FURTHER_SERIES
from convcnp.paper.measured_series import RealSeries, as_arrays

_EXTRA = "baselines"  # installs the packages whose wheels hold the data


def real_series(name: str) -> RealSeries:
    """Load a series by its name; nothing is downloaded.

    Example:
        >>> real_series("hare").num_points
        91
    """
    check_known("The series", [name], SERIES)
    return SERIES[name]()


def check_known(kind: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Refuse the first name that is not known, and say which one is nearest."""
    known = list(known)
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            raise SettingError(f"{kind} must be one of {', '.join(known)}, got {name!r}{hint}")


def _sunspots() -> RealSeries:
    data = _statsmodels("sunspots")
    return RealSeries(
        "sunspots",
        *("sunspot number, yearly mean", "sunspots", "years"),
        "statsmodels, datasets.sunspots: 1700 to 2008",
        *as_arrays(data["YEAR"], data["SUNACTIVITY"]),
        group="positive",
    )


def _nile() -> RealSeries:
    data = _statsmodels("nile")
    return RealSeries(
        "nile",
        *("flow of the Nile at Aswan", "1e8 m³", "years"),
        "statsmodels, datasets.nile: 1871 to 1970",
        *as_arrays(data["year"], data["volume"]),
    )


def _co2() -> RealSeries:
    data = _statsmodels("co2")["co2"].loc["1958":"1964"].dropna()
    return RealSeries(
        "co2",
        *("carbon dioxide at Mauna Loa, weekly", "ppm", "days"),
        "statsmodels, datasets.co2: 1958 to 1964, with weeks missing",
        *as_arrays(_days(data.index), data),
        group="seasonal",
    )


def _sea_temperature() -> RealSeries:
    data = _statsmodels("elnino").set_index("YEAR").loc[1981:2010]
    months = (np.arange(12) + 0.5) / 12
    return RealSeries(
        "sea-temperature",
        *("surface of the eastern Pacific, monthly", "°C", "years"),
        "statsmodels, datasets.elnino: 1981 to 2010",
        *as_arrays((data.index.to_numpy()[:, None] + months).ravel(), data.to_numpy().ravel()),
        group="seasonal",
    )


def _unemployment() -> RealSeries:
    data = _statsmodels("macrodata")
    return RealSeries(
        "unemployment",
        *("unemployment in the USA, quarterly", "%", "years"),
        "statsmodels, datasets.macrodata, unemp: 1959 to 2009",
        *as_arrays(_quarters(data), data["unemp"]),
    )


def _inflation() -> RealSeries:
    data = _statsmodels("macrodata").iloc[1:]  # the first has no quarter before it to compare with
    return RealSeries(
        "inflation",
        *("inflation in the USA, quarterly", "% a year", "years"),
        "statsmodels, datasets.macrodata, infl: 1959 to 2009",
        *as_arrays(_quarters(data), data["infl"]),
    )


def _seattle_temperature() -> RealSeries:
    data = _seattle_2014()
    return RealSeries(
        "seattle-temperature",
        *("highest temperature of the day in Seattle", "°C", "days"),
        "vega_datasets, seattle_weather, temp_max: 2014",
        *as_arrays(_days(data["date"]), data["temp_max"]),
        group="seasonal",
    )


def _seattle_wind() -> RealSeries:
    data = _seattle_2014()
    return RealSeries(
        "seattle-wind",
        *("wind in Seattle, daily", "m/s", "days"),
        "vega_datasets, seattle_weather, wind: 2014",
        *as_arrays(_days(data["date"]), data["wind"]),
        group="positive",
    )


def _wheat() -> RealSeries:
    data = _vega("wheat")
    return RealSeries(
        "wheat",
        *("price of wheat in England, every five years", "shillings a quarter", "years"),
        "vega_datasets, wheat: 1565 to 1820",
        *as_arrays(data["year"], data["wheat"]),
        group="positive",
    )


def _employment() -> RealSeries:
    data = _vega("us_employment")
    months = 2006 + (np.arange(len(data)) + 0.5) / 12
    return RealSeries(
        "employment",
        *("employees in the USA outside farms, monthly", "thousands", "years"),
        "vega_datasets, us_employment, nonfarm: 2006 to 2015",
        *as_arrays(months, data["nonfarm"]),
    )


def _pelts(animal: str) -> RealSeries:
    years, populations = lynx_hare.series()
    return RealSeries(
        animal,
        *(f"{animal} pelts of the Hudson's Bay Company", "thousands", "years"),
        "this package, data/lynx_hare.csv: 1845 to 1935",
        *as_arrays(years, populations[:, ("hare", "lynx").index(animal)]),
        group="positive",
    )


FIRST_SERIES: dict[str, Callable[[], RealSeries]] = {
    "sunspots": _sunspots,
    "nile": _nile,
    "co2": _co2,
    "sea-temperature": _sea_temperature,
    "unemployment": _unemployment,
    "inflation": _inflation,
    "seattle-temperature": _seattle_temperature,
    "seattle-wind": _seattle_wind,
    "wheat": _wheat,
    "employment": _employment,
    "hare": lambda: _pelts("hare"),
    "lynx": lambda: _pelts("lynx"),
}
SERIES = FIRST_SERIES | FURTHER_SERIES


def _statsmodels(name: str) -> Any:  # noqa: ANN401 - a DataFrame, of a package without types
    return import_extra(f"statsmodels.datasets.{name}", _EXTRA).load_pandas().data


def _vega(name: str) -> Any:  # noqa: ANN401 - a DataFrame, of a package without types
    return getattr(import_extra("vega_datasets", _EXTRA).local_data, name)()


def _seattle_2014() -> Any:  # noqa: ANN401 - a DataFrame
    data = _vega("seattle_weather")
    return data[data["date"].dt.year == 2014]


def _quarters(data: Any) -> Any:  # noqa: ANN401 - columns of a DataFrame
    return data["year"] + (data["quarter"] - 0.5) / 4


def _days(dates: Any) -> NDArray[np.float64]:  # noqa: ANN401 - dates of pandas, of any resolution
    days = np.asarray(dates, dtype="datetime64[D]")
    return (days - days[0]).astype(np.float64)
