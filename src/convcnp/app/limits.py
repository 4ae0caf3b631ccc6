"""How much the server does at most: sizes, times, and the count of bytes while they are read."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from convcnp.app.refusals import TooLargeError, TooLongError

_PATIENCE = 4  # times a limit: browsers hear an answer only if all they send is taken


@dataclass(frozen=True)
class Limits:
    """What is refused with a sentence when there is more of it.

    Args:
        table_bytes: Of an uploaded table; and, unpacked, eight times as many.
        table_cells: Rows times columns of a table.
        picture_bytes: Of an uploaded picture.
        pixels: Of a picture, counted before it is decoded.
        question_bytes: Of any other body; a painted mask is the largest of them.
        points: Observations in the playground.
        seconds: That a question may take, or its body to arrive.
        pages: Open at once.
        kept: Tables, and pictures, that are kept for a page; the oldest goes first.
    """

    table_bytes: int = 32 * 2**20
    table_cells: int = 4_000_000
    picture_bytes: int = 32 * 2**20
    pixels: int = 24_000_000
    question_bytes: int = 6 * 2**20
    points: int = 500
    seconds: float = 120.0
    pages: int = 32
    kept: int = 3

    def bytes_of(self, path: str) -> int:
        """Return how large the body of a request to this path may be."""
        return {"/api/tables": self.table_bytes, "/api/pictures": self.picture_bytes}.get(
            path, self.question_bytes
        )


class BodyLimit:
    """Counts bodies while they are read, and stops at the limit, whatever their headers say."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app, self._limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with a body that is counted."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most, count, is_read = self._limits.bytes_of(scope["path"]), 0, False
        loop = asyncio.get_running_loop()
        end = loop.time() + self._limits.seconds

        async def received() -> Message:
            nonlocal count, is_read
            try:
                message = await asyncio.wait_for(receive(), end - loop.time())
            except TimeoutError as error:
                raise TooLongError(
                    f"Expected the whole request within {self._limits.seconds:g} seconds, but it "
                    "did not arrive; send it again."
                ) from error
            count += len(message.get("body", b""))
            is_read = not message.get("more_body", False)
            return message

        async def counted() -> Message:
            if is_read:
                return await receive()
            message = await received()
            if count > most:
                while not is_read and count <= _PATIENCE * most:
                    await received()  # and forgotten
                raise TooLargeError(
                    f"Expected at most {most:,} bytes, got more; use the command `convcnp` for "
                    "larger files."
                )
            return message

        await self._app(scope, counted, send)
