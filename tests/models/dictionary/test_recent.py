"""Series that were fitted last are not fitted again, and not all of them are kept."""

import math

import numpy as np
import pytest
import torch

from convcnp.core.task import Task
from convcnp.models.dictionary import recent as module
from convcnp.models.dictionary.model import GaussianProcessDictionary
from convcnp.models.dictionary.recent import Recent


@pytest.fixture
def weighed(monkeypatch):
    """Return the numbers of observations of all series that were weighed."""
    found, real = [], GaussianProcessDictionary._weighed
    monkeypatch.setattr(
        GaussianProcessDictionary,
        "_weighed",
        lambda self, series, has_errors: (
            found.append(series.num_points) or real(self, series, has_errors)
        ),
    )
    return found


def wave(n: int, shift: float = 0.0) -> Task:
    x = np.arange(float(n))
    return Task.from_arrays(x + shift, np.sin(x / 3), x[:5] + 0.5 + shift)


def test_what_is_predicted_described_and_asked_again_is_weighed_once(weighed):
    model = GaussianProcessDictionary()
    first = model(wave(70)).mean
    model.findings(wave(70))
    assert torch.equal(model(wave(70)).mean, first)
    assert weighed == [70]


def test_another_series_is_another_one(weighed):
    model = GaussianProcessDictionary()
    task = wave(70)
    model(task)
    errors = torch.full_like(task.y_context, 0.1)
    told = Task(task.x_context, task.y_context, task.x_target, context_error=errors)
    model(told)
    y = task.y_context + 0.01 * task.x_context.sin()
    changed = Task(task.x_context, y, task.x_target)
    model(changed)
    assert weighed == [70] * 3  # told errors are doubted: without them it was known


def test_a_shift_of_all_times_is_the_same_series(weighed):
    model = GaussianProcessDictionary()
    torch.testing.assert_close(model(wave(70, 2.0**20)).mean, model(wave(70)).mean)
    assert weighed == [70]


def test_only_the_last_ones_are_kept(monkeypatch):
    model = GaussianProcessDictionary()
    series = {n: model.fit(torch.arange(float(n)), torch.arange(n).sin()) for n in (10, 20, 30)}
    asked = []

    def ask(recent: Recent, n: int) -> None:
        recent(bytes([n]), lambda: asked.append(n) or series[n])

    monkeypatch.setattr(module, "_SERIES", 2)
    recent = Recent()
    for n in (10, 20, 10, 30, 10, 20):
        ask(recent, n)
    assert asked == [10, 20, 30, 20]
    monkeypatch.setattr(module, "_BYTES", series[30].whole.factor.nbytes)
    ask(recent, 30)
    assert len(recent) == 1
    monkeypatch.setattr(module, "_BYTES", -math.inf)
    ask(recent, 10)
    assert len(recent) == 1  # the last one is always kept
