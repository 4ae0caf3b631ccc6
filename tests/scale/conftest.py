"""A small Ray cluster on this machine, for the tests that need one."""

from collections.abc import Iterator
from typing import Any

import pytest

from convcnp.scale.on_ray import connect


@pytest.fixture(scope="session")
def ray() -> Iterator[Any]:
    """Start Ray with two workers."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'convcnp[ray]'")
    ray = connect(2)
    yield ray
    ray.shutdown()
