"""Told errors that may be wrong: both ways to see a series, weighed by evidence."""

import numpy as np
import pytest
import torch

from convcnp.core.task import Task
from convcnp.models.dictionary.components import Components
from convcnp.models.dictionary.doubted import View, _less_error, are_small, weighed
from convcnp.models.dictionary.model import GaussianProcessDictionary

AT = torch.linspace(5, 35, 7, dtype=torch.float64)


@pytest.fixture(scope="module")
def model() -> GaussianProcessDictionary:
    return GaussianProcessDictionary()


def wave(noise: np.ndarray, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0, 40, len(noise)))
    return torch.from_numpy(x), torch.from_numpy(np.sin(x / 3) + noise * rng.normal(size=len(x)))


def test_evidence_believes_errors_that_differ_and_doubts_those_that_cannot_be(model):
    noise = np.where(np.arange(40) % 2 == 0, 0.05, 0.8)
    x, y = wave(noise)
    untold = model.fit(x, y)
    right, wrong = (
        model.fit(x, y, torch.from_numpy(errors) ** 2) for errors in (noise, noise[::-1].copy())
    )
    assert right.evidence > untold.evidence + 5
    assert wrong.evidence < untold.evidence - 5
    for told, believed in ((right, right), (wrong, untold)):
        views = [View.told(told, AT), View.untold(untold, AT, 0.0)]
        found = weighed(views)
        mean, expected = (
            (each.weight * each.location).sum(0)
            for each in (found, views[0 if believed is told else 1].gaussians)
        )
        assert torch.equal(found.weight, found.weight.sort(dim=0, descending=True).values)
        torch.testing.assert_close(found.weight.sum(0), torch.ones_like(AT))
        torch.testing.assert_close(mean, expected, atol=0.01, rtol=0)


def test_the_error_of_a_measurement_is_taken_off_what_was_predicted_without_errors():
    column = torch.tensor([[1.0], [0.5]], dtype=torch.float64)
    measured = Components(
        *(column, column.new_tensor([[3.0], [2.0]]), column),
        *(torch.tensor([0, 1]) > 0, torch.zeros(2)),
    )
    noise = measured.scale
    left = _less_error(measured, noise, 0.64).scale
    of_log = (0.25 - 0.64 / np.exp(2.0) ** 2) ** 0.5
    torch.testing.assert_close(left, left.new_tensor([[0.6], [of_log]]))
    nothing = _less_error(measured, noise, 100.0).scale
    assert (nothing > 0).all()
    assert (nothing < 0.1 * column).all()
    # No more than the noise: what is open beside it stays open.
    left = _less_error(measured, 0.6 * noise, 100.0).scale
    torch.testing.assert_close(left, 0.8 * measured.scale)


def test_errors_that_are_told_too_large_do_not_make_a_process_known(model):
    """An exact series of which half the range is hidden, told to be poorly measured."""
    x, y = wave(np.zeros(40))
    seen = (x < 12) | (x > 28)
    task = Task.from_arrays(
        *(x[seen].numpy(), y[seen].numpy(), x[~seen].numpy()),
        context_error=np.full(int(seen.sum()), 3.0),
    )
    assert (model(task).stddev > 0.5 * model(task.without_errors()).stddev).all()


def test_noise_is_what_a_series_shows_beside_what_varies(model):
    x, y = wave(np.full(400, 0.3))
    noise = model.fit(x, y).noise(AT)
    assert noise.min() > 0.2
    assert noise.max() < 0.4


def test_without_errors_at_the_targets_those_of_the_observations_are_taken_off(model):
    x, y = wave(np.full(40, 0.3))
    error = np.full(40, 0.3)
    task = Task.from_arrays(x.numpy(), y.numpy(), AT.numpy(), context_error=error)
    measured = Task.from_arrays(
        *(x.numpy(), y.numpy(), AT.numpy()), context_error=error, target_error=np.full(7, 0.3)
    )
    torch.testing.assert_close(model.raw(task), model.raw(measured))
    spread = model(task).stddev, model(task.without_errors()).stddev
    assert (spread[0] < 0.8 * spread[1]).all()


def test_logarithms_are_weighed_by_the_density_of_values(model):
    """Positive values that double and halve: errors in proportion are equal of logarithms."""
    x, waves = wave(np.full(40, 0.1))
    y, variance = (2 * waves).exp(), 0.04 * (4 * waves).exp()
    told, of_logs = model.fit(x, y, variance), model.fit(x, y.log(), variance / y**2)
    views = View.told(told, AT), View.told(of_logs, AT).of_logarithms(y.log())
    assert views[1].gaussians.is_log.all()
    expected = View.told(of_logs, AT).evidence - 2 * float(waves.sum())
    assert views[1].evidence == pytest.approx(expected)
    assert views[1].evidence > views[0].evidence + 5
    # In other units of the values, densities are others, and evidences differ as much as before.
    tenfold = model.fit(x, 10 * y, 100 * variance), model.fit(x, (10 * y).log(), variance / y**2)
    others = View.told(tenfold[0], AT), View.told(tenfold[1], AT).of_logarithms((10 * y).log())
    assert others[1].evidence - others[0].evidence == pytest.approx(
        views[1].evidence - views[0].evidence, abs=1e-6
    )


def test_a_positive_series_with_errors_is_predicted_positive(model):
    x, waves = wave(np.full(40, 0.1))
    y = (2 * waves).exp()
    task = Task.from_arrays(x.numpy(), y.numpy(), AT.numpy(), context_error=0.2 * y.numpy())
    assert model(task).quantile(0.02).min() > 0
    assert are_small(0.04 * y**2, y)
    assert not are_small(torch.full_like(y, 1.0), y)
