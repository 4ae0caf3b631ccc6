"""A server on this machine: its socket, its doors, and the address to open."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass, field

import uvicorn
from starlette.types import ASGIApp

from convcnp.app.limits import BodyLimit, Limits
from convcnp.app.security import Doorkeeper, Keys, own_names
from convcnp.app.server import Desk, build_api
from convcnp.errors import SettingError

_NEARBY = 20  # ports that are tried after one that is taken


@dataclass
class Server:
    """The page and its questions behind a door, on a socket that is bound.

    Args:
        host: Address to listen at.
        port: Port, or the first that is free after it; 0 takes any.
        on_entry: Called when someone came in by a token, which opens no more.

    Example:
        >>> server = Server(port=0)
        >>> server.address().startswith(f"http://127.0.0.1:{server.port}/?token=")
        True
        >>> server.close()
    """

    host: str = "127.0.0.1"
    port: int = 8765
    limits: Limits = field(default_factory=Limits)
    on_entry: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self._socket = _bound(self.host, self.port)
        self.port = self._socket.getsockname()[1]
        self.keys = Keys(self.port)
        self.desk = Desk(self.limits)
        config = uvicorn.Config(
            build(self),
            log_level="warning",
            lifespan="off",
            timeout_graceful_shutdown=1,  # open pages would keep it for ever
            server_header=False,
        )
        self._uvicorn = uvicorn.Server(config)

    def address(self) -> str:
        """Return an address that lets one browser in, once."""
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(self.host, self.host)
        if ":" in host and not host.startswith("["):
            host = f"[{host}]"
        return f"http://{host}:{self.port}/?token={self.keys.new_token()}"

    def run(self) -> None:
        """Answer until it is stopped."""
        try:
            self._uvicorn.run(sockets=[self._socket])
        finally:
            self.close()

    def stop(self) -> None:
        """Let `run` end, from another thread."""
        self._uvicorn.should_exit = True

    def close(self) -> None:
        """Give the socket and the threads back."""
        self._socket.close()
        self.desk.close()


def build(server: Server) -> ASGIApp:
    """Put the doors before the questions: who may ask, and how much."""
    questions = BodyLimit(build_api(server.desk), server.limits)
    is_own = own_names(server.host, server.port)
    return Doorkeeper(questions, server.keys, is_own, lambda: server.on_entry())


def _bound(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    except (socket.gaierror, UnicodeError) as error:
        raise SettingError(
            f"host must be an address of this machine, got {host!r} ({error}); leave it out for "
            "127.0.0.1."
        ) from error
    for candidate in range(port, min(port + _NEARBY, 2**16)) if port else [0]:
        found = socket.socket(family, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((host, candidate))
            found.listen()  # so that a browser waits until we answer
        except OSError as error:
            found.close()
            reason = error.strerror
        else:
            return found
    raise SettingError(
        f"Expected a free port from {port} on at {host}, but none can be had ({reason}); choose "
        "another with port=, and an address of this machine as host=."
    )
