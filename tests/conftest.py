"""Fixtures shared by the tests."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import jaxtyping
import pytest
from torch import Tensor


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Switch off the checks of annotations, as in use: to see what a user sees for a wrong type."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def digits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Tensor, Tensor]:
    """Write 24 digits to train on, compressed, and 6 to test on, plain, and return them."""
    from helpers import idx, some_digits  # importing the package before its checks would miss them

    monkeypatch.setenv("CONVCNP_DATA", str(tmp_path))
    monkeypatch.setattr("convcnp.data.mnist._PAIRS", 50)
    (tmp_path / "mnist").mkdir()
    train, test = some_digits(24, seed=0), some_digits(6, seed=1)
    (tmp_path / "mnist/train-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(train)))
    (tmp_path / "mnist/t10k-images-idx3-ubyte").write_bytes(idx(test))
    return train, test
