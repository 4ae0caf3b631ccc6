"""Fixtures shared by the tests."""

from collections.abc import Iterator
from pathlib import Path

import jaxtyping
import pytest


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Switch off the checks of annotations, as in use: to see what a user sees for a wrong type."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(scope="session")
def own_series(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train a tiny model on series; the table, table.csv, stands beside the run, `model`."""
    from helpers import series_frame

    return _trained(tmp_path_factory.mktemp("own"), series_frame(), {})


@pytest.fixture(scope="session")
def own_points(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train a tiny model on points in the plane, likewise."""
    from helpers import points_frame

    return _trained(tmp_path_factory.mktemp("own"), points_frame(), {"inputs": ("east", "north")})


def _trained(folder, frame, names) -> Path:
    # Not at the top: the package is to be imported under the check of annotations.
    from convcnp.choices import Wanted
    from convcnp.own import train_own
    from helpers import TINY

    table = folder / "table.csv"
    frame.to_csv(table, index=False)
    train_own(table, folder / "model", Wanted.of(names, overrides=TINY, minutes=0.1))
    return folder
