"""Fixtures shared by the tests."""

from collections.abc import Iterator

import jaxtyping
import pytest


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Switch off the checks of annotations, as in use: to see what a user sees for a wrong type."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
