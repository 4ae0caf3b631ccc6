"""A pool of processes; what it gives is compared in `test_job`."""

import pytest

from convcnp.errors import ProcessError
from convcnp.scale.pool import in_one_process, in_pool
from lakes import Squares


def test_one_process_does_one_after_the_other(unchecked):
    found = list(in_one_process(Squares(), "square", [3, 4]))
    assert found == [(3, {"square": 9}), (4, {"square": 16})]


@pytest.mark.slow
def test_processes_stay_for_one_worker(unchecked):
    pool, worker = in_pool(1), Squares()
    first, again = (dict(pool(worker, "process", [1])) for _ in range(2))
    assert first == again
    assert dict(pool(Squares(), "process", [1])) != first


@pytest.mark.slow
def test_a_killed_worker_ends_the_job_with_a_sentence(unchecked):
    pool, worker = in_pool(1), Squares()
    assert dict(pool(worker, "square", [3])) == {3: {"square": 9}}
    with pytest.raises(ProcessError, match="one was ended, perhaps for want of memory"):
        list(pool(worker, "end", [1]))
