"""Lanes: a few threads for each kind of work, and a queue that does not grow."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from convcnp.app.refusals import BusyError, TooLongError

T = TypeVar("T")


class Deadline:
    """The time when work is given up; called like any report of progress.

    Example:
        >>> Deadline(60.0)(1, 2)  # in time: nothing happens
    """

    def __init__(self, seconds: float, tell: Callable[[int, int], None] | None = None) -> None:
        self._seconds, self._tell = seconds, tell
        self._end = time.monotonic() + seconds

    def __call__(self, done: int, total: int) -> None:
        """Go on if there is time left, and tell how far the work is."""
        if time.monotonic() > self._end:
            raise self.passed
        if self._tell is not None:
            self._tell(done, total)

    @property
    def passed(self) -> TooLongError:
        """What is said when there is none left."""
        return TooLongError(
            f"Expected this to take at most {self._seconds:g} seconds, but it takes longer; ask "
            "for less at once, or use the command, which has all the time you give it."
        )


class Lane:
    """Threads that work one kind of question, so that a slow one keeps no other kind waiting.

    Args:
        name: Of the work, in the sentence that refuses more of it.
        threads: That work at the same time.
        waiting: Further questions that may wait; more are refused at once.
        seconds: That a question may take, waiting included.
    """

    def __init__(self, name: str, *, threads: int, waiting: int, seconds: float) -> None:
        self._name, self._seconds = name, seconds
        self._most, self._now = threads + waiting, 0
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)

    async def run(
        self,
        work: Callable[[Deadline], T],
        tell: Callable[[int, int], None] | None = None,
    ) -> T:
        """Do some work in one of the threads; it should call the deadline now and then."""
        if self._now >= self._most:
            raise BusyError(
                f"Expected at most {self._most} questions about {self._name} at once, got more; "
                "try again in a moment."
            )
        self._now += 1
        deadline = Deadline(self._seconds, tell)
        future = asyncio.get_running_loop().run_in_executor(self._pool, work, deadline)
        future.add_done_callback(self._finished)
        try:
            return await asyncio.wait_for(asyncio.shield(future), self._seconds)
        except TimeoutError:
            raise deadline.passed from None

    def _finished(self, future: asyncio.Future[T]) -> None:
        self._now -= 1  # not before: who is not waited for any more still takes a thread
        if not future.cancelled():
            future.exception()  # was raised to whoever waited, if anyone still did

    def close(self) -> None:
        """Start no more work."""
        self._pool.shutdown(wait=False, cancel_futures=True)
