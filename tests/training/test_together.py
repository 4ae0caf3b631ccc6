"""What processes do together; that real ones do is tested in `test_processes`."""

import pytest
import torch

from convcnp.errors import DataError
from convcnp.training.together import by_first, by_first_then_others, is_first, summed


class Other:
    """A process that is not the first, and is told what came of it there."""

    is_global_zero, world_size = False, 2

    def __init__(self, outcome):
        self.outcome = outcome

    def broadcast(self, value):
        assert value is None
        return self.outcome


def refuse():
    raise DataError("Expected a file, but it is gone; look for it.")


def test_alone_is_first_and_sums_nothing_else():
    assert is_first(None)
    assert by_first_then_others(None, lambda: 3) == 3
    assert torch.equal(summed(None, torch.ones(2)), torch.ones(2))
    for function in (by_first, by_first_then_others):
        with pytest.raises(DataError, match="it is gone"):
            function(None, refuse)


def test_others_do_not_call_and_get_what_the_first_got():
    assert by_first(Other((7, None)), refuse) == 7
    with pytest.raises(DataError, match="the first's"):
        by_first(Other((None, DataError("the first's"))), lambda: 3)


def test_an_error_of_another_process_is_raised_here_as_well(monkeypatch):
    def gathered(errors, mine):
        errors[:] = [None, mine]

    monkeypatch.setattr(torch.distributed, "all_gather_object", gathered)
    assert by_first_then_others(Other((None, None)), lambda: 3) == 3
    with pytest.raises(DataError, match="it is gone"):
        by_first_then_others(Other((None, None)), refuse)
    monkeypatch.setattr(
        torch.distributed, "all_gather_object", lambda e, mine: gathered(e, DataError("theirs"))
    )
    with pytest.raises(DataError, match="theirs"):
        by_first_then_others(Other((None, None)), lambda: 3)
