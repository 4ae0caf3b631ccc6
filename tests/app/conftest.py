"""One server for all tests of the app that need no limits of their own."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session")
def visitor() -> Iterator["object"]:
    """Return a visitor with an open page."""
    from tests.app.serving_here import running  # not before the package's checks are on

    with running() as found, found.opened():
        yield found
