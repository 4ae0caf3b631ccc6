import pytest
import torch

from convcnp.core.task import Task
from convcnp.core.threads import one_thread
from convcnp.models.dictionary.model import GaussianProcessDictionary


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_one_thread_computes_until_the_end_or_an_error(two_threads):
    with one_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2
    with pytest.raises(ZeroDivisionError), one_thread():
        _ = 1 / 0
    assert torch.get_num_threads() == 2


def test_a_dictionary_computes_on_one_thread(two_threads, monkeypatch):
    model, seen = GaussianProcessDictionary(), []
    inner = model.fit
    monkeypatch.setattr(
        model, "fit", lambda *given: (seen.append(torch.get_num_threads()), inner(*given))[1]
    )
    task = Task.from_arrays([0.0, 1.0, 2.0], [1.0, 2.0, 0.0], [0.5])
    model(task)
    model.findings(task)
    assert seen == [1, 1] and torch.get_num_threads() == 2


def test_of_several_that_compute_at_once_the_last_one_ends_it(two_threads):
    first, second = one_thread(), one_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert torch.get_num_threads() == 1
    second.__exit__(None, None, None)
    assert torch.get_num_threads() == 2
