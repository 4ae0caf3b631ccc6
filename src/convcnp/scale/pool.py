"""Engines: one process, a pool of them on this machine, or Ray; all give a worker its numbers."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from convcnp.errors import ProcessError
from convcnp.scale.worker import Report, Worker, call

# Yields the number and the report of each, in any order.
Engine = Callable[[Worker, str, Sequence[int]], Iterator[tuple[int, Report]]]

_worker: Worker | None = None  # of this process, where it is one of a pool


def in_one_process(
    worker: Worker, method: str, numbers: Sequence[int]
) -> Iterator[tuple[int, Report]]:
    """Do one after the other, here."""
    for number in numbers:
        yield number, call(worker, method, number)


def in_pool(workers: int) -> Engine:
    """Return the engine of so many processes on this machine."""
    return _InPool(workers)


@dataclass
class _InPool:
    """Processes that stay for all that is asked of one worker: to start one takes seconds."""

    workers: int
    worker: Worker | None = None
    pool: ProcessPoolExecutor | None = None

    def __call__(
        self, worker: Worker, method: str, numbers: Sequence[int]
    ) -> Iterator[tuple[int, Report]]:
        pool = self._pool_of(worker)
        waiting = {pool.submit(_call, method, number): number for number in numbers}
        is_done = False
        try:
            for future in as_completed(waiting):
                yield waiting[future], future.result()
            is_done = True
        except BrokenProcessPool as error:
            raise ProcessError(
                "Expected all workers to go on, but one was ended, perhaps for want of memory; the "
                "same command with resume=True goes on. Use fewer workers=, or less memory=."
            ) from error
        finally:
            if not is_done:
                self._end()

    def _pool_of(self, worker: Worker) -> ProcessPoolExecutor:
        if self.pool is None or self.worker is not worker:
            self._end()
            context = multiprocessing.get_context("spawn")  # torch's threads do not survive a fork
            self.pool = ProcessPoolExecutor(self.workers, context, _begin, (worker,))
            self.worker = worker
        return self.pool

    def _end(self) -> None:
        if self.pool is not None:
            self.pool.shutdown(wait=False, cancel_futures=True)
        self.pool = None


def _begin(worker: Worker) -> None:
    global _worker  # a process of a pool has no other place for it
    _worker = worker


def _call(method: str, number: int) -> Report:
    assert _worker is not None
    return call(_worker, method, number)
