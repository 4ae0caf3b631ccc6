"""Who may ask: the browser that came by the printed address, and no other site's page."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from convcnp.app.refusals import ForeignError, Refusal, UnknownVisitorError, refused

POLICY = "; ".join(
    [
        "default-src 'none'",  # nothing from elsewhere, and here only what is listed
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' blob: data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Keys:
    """One-time tokens, each of which a browser exchanges for a cookie.

    Example:
        >>> keys = Keys(8000)
        >>> token = keys.new_token()
        >>> keys.use(token), keys.use(token)
        (True, False)
    """

    def __init__(self, port: int) -> None:
        self.cookie = f"convcnp-{port}"  # browsers tell hosts apart in cookies, but no ports
        self.secret = secrets.token_urlsafe(32)
        self._tokens: set[str] = set()

    def new_token(self) -> str:
        """Return a token that opens the door once."""
        token = secrets.token_urlsafe(24)
        self._tokens.add(token)
        return token

    def use(self, token: str) -> bool:
        """Tell whether a token opens the door, and let it do so no more."""
        found = next((own for own in self._tokens if hmac.compare_digest(own, token)), None)
        self._tokens.discard(found or "")
        return found is not None

    def fits(self, cookies: str) -> bool:
        """Tell whether a browser's cookies hold the one that it was given."""
        try:
            found = SimpleCookie(cookies).get(self.cookie)
        except CookieError:
            return False
        return found is not None and hmac.compare_digest(found.value.encode(), self.secret.encode())


def own_names(host: str, port: int) -> Callable[[str], bool]:
    """Return how to tell this server's Host headers from those of names that point here.

    A page of another site can have its name point to this machine, but cannot change the name that
    browsers then send. Numbers are no names: where others may connect, all of them are allowed.
    """
    names = {"localhost", "127.0.0.1", "[::1]"}
    if is_loopback(host):
        allowed = {f"{name}:{port}" for name in names}
        return lambda given: given in allowed
    names |= {host, socket.gethostname()}

    def is_own(given: str) -> bool:
        name, _, given_port = given.rpartition(":")
        if given_port != str(port):
            return False
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return name in names
        return True

    return is_own


def is_loopback(host: str) -> bool:
    """Tell whether only this machine reaches an address.

    Example:
        >>> is_loopback("127.0.0.1"), is_loopback("0.0.0.0")
        (True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Doorkeeper:
    """Lets in who came by the printed address, checks where questions come from, adds headers.

    Args:
        keys: The tokens and the cookie.
        is_own: Tells whether a Host header names this server.
        on_entry: Called when a token was used.
    """

    def __init__(
        self, app: ASGIApp, keys: Keys, is_own: Callable[[str], bool], on_entry: Callable[[], None]
    ) -> None:
        self._app, self._keys, self._is_own, self._on_entry = app, keys, is_own, on_entry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        try:
            answer = self._entered(scope)
        except Refusal as refusal:
            answer = refused(refusal, as_page=scope["path"] == "/")
        await (answer or self._app)(scope, receive, with_headers)

    def _entered(self, scope: Scope) -> Response | None:
        """Let a request pass, exchange a token for the cookie, or refuse it."""
        headers = Headers(scope=scope)
        is_door = scope["path"] == "/" and scope["method"] == "GET"
        self._check_origin(headers, is_door)
        tokens = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        if is_door and tokens and self._keys.use(tokens[0]):
            self._on_entry()
            # Not a redirect: after a click on another site it would come without the cookie.
            answer = HTMLResponse('<!doctype html><meta http-equiv="refresh" content="0;url=/">')
            answer.set_cookie(
                self._keys.cookie, self._keys.secret, httponly=True, samesite="strict"
            )
            return answer
        if not self._keys.fits(headers.get("cookie", "")):
            raise UnknownVisitorError(
                "Expected a browser that came by the address which `convcnp app` printed, got one "
                "without its key; open the last address that it printed, or start it again."
            )
        return None

    def _check_origin(self, headers: Headers, is_door: bool) -> None:
        """Refuse names that are not this server's, and what other sites' pages ask."""
        host = headers.get("host", "")
        if not self._is_own(host):
            raise ForeignError(
                f"Expected a request to this server by its own name, got one to {host[:100]!r}; "
                "open the address that `convcnp app` printed."
            )
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        is_foreign = site not in ("same-origin", "none") and not is_door  # whose links lead here
        if is_foreign or origin not in (None, f"http://{host}"):
            raise ForeignError(
                f"Expected a question of this server's own page, got one of "
                f"{(origin or site)[:100]!r}; only the page may ask."
            )
