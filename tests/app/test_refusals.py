import json

import pytest

from convcnp.app.refusals import (
    BusyError,
    ForeignError,
    GoneError,
    TooLargeError,
    TooLongError,
    UnknownVisitorError,
    refused,
)
from convcnp.errors import TableError


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (TableError, 422),
        (UnknownVisitorError, 401),
        (ForeignError, 403),
        (GoneError, 404),
        (TooLargeError, 413),
        (BusyError, 503),
        (TooLongError, 504),
    ],
)
def test_every_refusal_has_its_status(error, status):
    answer = refused(error("Not so."))
    assert (answer.status_code, json.loads(answer.body)) == (status, {"error": "Not so."})


def test_what_is_quoted_is_no_markup_and_not_long():
    page = refused(TableError("<script>" + 10_000 * "x"), as_page=True)
    assert b"<script>" not in page.body
    assert len(page.body) < 2500
