"""What the server refuses to do: sentences, each with the status it is answered with."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from html import escape
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from convcnp.errors import ConvCNPError, ShapeError, shortened

_LONGEST = 2000  # characters of a sentence: some quote what was sent


class Refusal(ConvCNPError):
    """Base of what only a server refuses.

    Example:
        >>> BusyError("Later.").status
        503
    """

    status = 400


class UnknownVisitorError(Refusal):
    """Refuse who has not come by the address that the server printed."""

    status = 401


class ForeignError(Refusal):
    """Refuse what another site's page asks, or a name that is not this server's."""

    status = 403


class GoneError(Refusal):
    """Refuse questions about what is not kept, or not any more."""

    status = 404


class TooLargeError(Refusal):
    """Refuse a body that is larger than its limit."""

    status = 413


class BusyError(Refusal):
    """Refuse work while there is too much of it already."""

    status = 503


class TooLongError(Refusal):
    """Give up work that takes too long."""

    status = 504


def refused(error: ConvCNPError, *, as_page: bool = False) -> Response:
    """Answer an error: what a user can mend in a table or a setting is 422.

    Example:
        >>> refused(TooLargeError("Less.")).status_code
        413
    """
    status = error.status if isinstance(error, Refusal) else 422
    sentence = shortened(str(error), _LONGEST)
    if as_page:
        return HTMLResponse(f"<!doctype html><title>convcnp</title><p>{escape(sentence)}", status)
    # Of who sends too much no more is read.
    headers = {"connection": "close"} if isinstance(error, TooLargeError | TooLongError) else None
    return JSONResponse({"error": sentence}, status, headers)


# --- What the framework calls for an error --------------------------------------------------------


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, ConvCNPError)
    return refused(error)


async def _refuse_body(request: Request, error: Exception) -> Response:
    """Put what pydantic found into a sentence."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part not in ("body", "query"))
    return refused(
        ShapeError(
            f"Expected a request as the API describes it, got one whose {where or 'body'} is not: "
            f"{first['msg'][:1].lower()}{first['msg'][1:]}; see /api.html."
        )
    )


async def _refuse_http(request: Request, error: Exception) -> Response:
    """Answer what the framework refuses; it hides our own reason while a body is read."""
    assert isinstance(error, HTTPException)
    if isinstance(error.__cause__, ConvCNPError):
        return refused(error.__cause__)
    found = GoneError(
        f"Expected a question of the API, got {request.method} {request.url.path[:100]} "
        f"({error.detail}); see /api.html."
    )
    found.status = error.status_code
    return refused(found)


async def _apologise(request: Request, error: Exception) -> Response:
    """Answer a mistake of ours, or that memory ran out; the log has the rest."""
    sentence = (
        "Expected this to fit into memory, but there is not enough; ask for less at once."
        if isinstance(error, MemoryError)
        else "Expected an answer, but the server made a mistake, which its terminal shows; please "
        "report it."
    )
    refusal = Refusal(sentence)
    refusal.status = 500
    return refused(refusal)


HANDLERS: dict[int | type[Exception], Callable[[Request, Any], Coroutine[Any, Any, Response]]] = {
    ConvCNPError: _refuse,
    RequestValidationError: _refuse_body,
    HTTPException: _refuse_http,
    Exception: _apologise,
}
