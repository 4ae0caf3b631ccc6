"""Fixtures shared by the tests."""

import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jaxtyping
import pytest
from torch import Tensor

# Some virtual machines announce matrix units that they do not hand on: without this, the first
# product in half precision would end the tests there.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")


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
def own_measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train a tiny model on series with standard errors, likewise."""
    from helpers import measured_frame

    return _trained(tmp_path_factory.mktemp("own"), measured_frame(), {})


@pytest.fixture(scope="session")
def own_points(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train a tiny model on points in the plane, likewise."""
    from helpers import points_frame

    return _trained(tmp_path_factory.mktemp("own"), points_frame(), {"inputs": ("east", "north")})


@pytest.fixture(scope="session")
def own_images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train a tiny model on images; the folder, `photos`, stands beside the run, `model`."""
    # Not at the top: the package is to be imported under the check of annotations.
    from convcnp.training.own.choices import Wanted
    from convcnp.training.own.train import train_own
    from helpers import TINY_IMAGES, write_pictures

    folder = tmp_path_factory.mktemp("own")
    wanted = Wanted.of(overrides=TINY_IMAGES, minutes=0.1)
    train_own(write_pictures(folder / "photos"), folder / "model", wanted)
    return folder


def _trained(folder, frame, names) -> Path:
    from convcnp.frames.columns import Columns
    from convcnp.training.own.choices import Wanted
    from convcnp.training.own.train import train_own
    from helpers import TINY

    table = folder / "table.csv"
    frame.to_csv(table, index=False)
    train_own(
        table, folder / "model", Wanted.of(Columns.named(**names), overrides=TINY, minutes=0.1)
    )
    return folder


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Run an experiment for a few steps; return its directory and the result."""
    from convcnp.training.experiment import Experiment
    from convcnp.training.run import run
    from helpers import ROOT

    directory = tmp_path_factory.mktemp("run")
    experiment = Experiment.load(ROOT / "experiments/table1/eq-convcnp.toml", smoke=True)
    return directory, run(experiment, "table1/eq-convcnp", directory)


@pytest.fixture
def digits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Tensor, Tensor]:
    """Write 24 digits to train on, compressed, and 6 to test on, plain, and return them."""
    from helpers import idx, some_digits  # importing the package before its checks would miss them

    monkeypatch.setenv("CONVCNP_DATA", str(tmp_path))
    monkeypatch.setattr("convcnp.data.images.mnist._PAIRS", 50)
    (tmp_path / "mnist").mkdir()
    train, test = some_digits(24, seed=0), some_digits(6, seed=1)
    (tmp_path / "mnist/train-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(train)))
    (tmp_path / "mnist/t10k-images-idx3-ubyte").write_bytes(idx(test))
    return train, test


@pytest.fixture
def light_curve_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make up the light curves of 200 objects, where the data set would be found."""
    from helpers import write_light_curves

    monkeypatch.setenv("CONVCNP_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "plasticc").mkdir()
    write_light_curves(tmp_path / "plasticc/training_set.csv.gz", num_objects=200)
