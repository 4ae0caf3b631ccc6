"""The command `convcnp app`: the page to play with."""

from __future__ import annotations

import contextlib
import signal
import threading
import webbrowser
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from convcnp.cli.console import say, warn
from convcnp.extras import import_extra

if TYPE_CHECKING:
    from convcnp.app.serving import Server


def app(
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port; the next free one if it is taken.")
    ] = 8765,
    host: Annotated[
        str, typer.Option(help="Address to listen at; others than this machine only if you say so.")
    ] = "127.0.0.1",
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Print the address, and open no browser.")
    ] = False,
) -> None:
    """Open a page to play with: your own series, points you move, pictures you paint on.

    Everything runs on this machine. What you give to the page is kept in memory only, and gone when
    the page is closed.
    """
    for module in ("fastapi", "uvicorn"):
        import_extra(module, "app")
    from convcnp.app.security import is_loopback
    from convcnp.app.serving import Server

    server = Server(host, port)
    server.on_entry = lambda: _say_address(server, "For another browser")
    if not is_loopback(host):
        warn(
            f"At {host} everyone on the network who has the address and its token can use this "
            "machine's processor and see what the page shows; nothing is encrypted. Leave out "
            "--host to be alone."
        )
    if port and server.port != port:
        say(f"Port {port} is taken; this is port {server.port}.")
    with _stopped_by_interrupts(server):
        _say_address(server, "Open")
        say("Stop with Ctrl-C.")
        if not no_open:
            # Soon: the browser waits for a server that is bound but does not answer yet.
            threading.Thread(target=webbrowser.open, args=[server.address()], daemon=True).start()
        server.run()
    say("Stopped; nothing was kept.")


@contextlib.contextmanager
def _stopped_by_interrupts(server: Server) -> Iterator[None]:
    """Let Ctrl-C stop a server, also one that only starts: an exception could get lost there."""
    before = signal.signal(signal.SIGINT, lambda *_: server.stop())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _say_address(server: Server, intent: str) -> None:
    """Say an address that lets one browser in."""
    say(f"{intent}: {server.address()}")
