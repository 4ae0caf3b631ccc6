"""What the server refuses to do: sentences, each with the status it is answered with."""

from __future__ import annotations

from html import escape

from starlette.responses import HTMLResponse, JSONResponse, Response

from convcnp.errors import ConvCNPError, shortened

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
