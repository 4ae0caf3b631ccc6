"""A pool of processes; what it gives is compared in `test_job`."""

import os
import signal

import pytest

from convcnp.errors import ProcessError
from convcnp.scale.pool import in_one_process, in_pool


class Squares:
    """A worker that squares, or ends its process."""

    def square(self, number):
        return {"square": number**2}

    def end(self, number):
        os.kill(os.getpid(), signal.SIGKILL)


def test_one_process_does_one_after_the_other(unchecked):
    found = list(in_one_process(Squares(), "square", [3, 4]))
    assert found == [(3, {"square": 9}), (4, {"square": 16})]


@pytest.mark.slow
def test_a_killed_worker_ends_the_job_with_a_sentence(unchecked):
    with pytest.raises(ProcessError, match="one was ended, perhaps for want of memory"):
        list(in_pool(1)(Squares(), "end", [1]))
