import asyncio
import threading
import time

import pytest

from convcnp.app.lanes import Deadline, Lane
from convcnp.app.refusals import BusyError, TooLongError


def test_more_than_may_wait_is_refused_at_once():
    go = threading.Event()

    async def ask():
        lane = Lane("tests", threads=1, waiting=1, seconds=20)
        try:
            first = [asyncio.create_task(lane.run(lambda _: go.wait(20))) for _ in range(2)]
            await asyncio.sleep(0)
            with pytest.raises(BusyError, match="at most 2 questions about tests"):
                await lane.run(lambda _: None)
            go.set()
            assert await asyncio.gather(*first) == [True, True]
            return await lane.run(lambda _: "room again")
        finally:
            lane.close()

    assert asyncio.run(ask()) == "room again"


def test_an_error_reaches_who_asked():
    async def ask():
        lane = Lane("tests", threads=1, waiting=0, seconds=20)
        try:
            with pytest.raises(ZeroDivisionError):
                await lane.run(lambda _: 1 // 0)
        finally:
            lane.close()

    asyncio.run(ask())


def test_what_takes_too_long_is_given_up_and_still_counts():
    go = threading.Event()

    async def ask():
        lane = Lane("tests", threads=1, waiting=0, seconds=0.05)
        try:
            with pytest.raises(TooLongError, match=r"at most 0\.05 seconds"):
                await lane.run(lambda _: go.wait(20))
            with pytest.raises(BusyError):
                await lane.run(lambda _: None)
            go.set()
        finally:
            lane.close()

    asyncio.run(ask())


def test_work_that_reports_stops_at_its_deadline():
    told = []
    deadline = Deadline(0.01, lambda done, total: told.append((done, total)))
    deadline(1, 3)
    time.sleep(0.02)
    with pytest.raises(TooLongError):
        deadline(2, 3)
    assert told == [(1, 3)]
