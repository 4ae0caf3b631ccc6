"""Told errors that may be wrong: both ways to see a series, weighed by evidence."""

import numpy as np
import pytest
import torch

from convcnp.core.task import Task
from convcnp.models.dictionary.components import Components
from convcnp.models.dictionary.doubted import (
    Hypothesis,
    _less_error,
    are_small,
    as_told,
    drawn_by_weight,
    of_logarithms,
    weighed,
)
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
    without = [Hypothesis(untold, untold.evidence)]
    for told, believed in ((right, list(as_told(right))), (wrong, without)):
        found = weighed([*as_told(told), *without], AT)
        mean, expected = (
            (each.weight * each.location).sum(0) for each in (found, weighed(believed, AT))
        )
        assert torch.equal(found.weight, found.weight.sort(dim=0, descending=True).values)
        torch.testing.assert_close(found.weight.sum(0), torch.ones_like(AT))
        torch.testing.assert_close(mean, expected, atol=0.01, rtol=0)


def test_before_anything_is_seen_errors_are_ten_times_as_likely_to_be_as_told(model):
    x, y = wave(np.full(40, 0.3))
    told = model.fit(x, y, torch.full((40,), 0.09, dtype=torch.float64))
    assert [each.evidence for each in as_told(told)] == [
        pytest.approx(each.evidence + np.log(10)) for each in told.levels
    ]


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


def test_one_error_that_is_far_too_large_takes_nothing_off(model):
    """What is taken off is a typical error, which the mean of squares is not."""
    x, y = wave(np.full(40, 0.3))
    error = np.full(40, 0.01)
    error[5] = 100.0
    task = Task.from_arrays(x.numpy(), y.numpy(), AT.numpy(), context_error=error)
    untold = model._hypotheses(task, 0, 0)[-1]
    assert untold.error == pytest.approx(1e-4)


def test_noise_is_what_a_series_shows_beside_what_varies(model):
    x, y = wave(np.full(400, 0.3))
    noise = model.fit(x, y).students_and_noise(AT)[1]
    assert noise.min() > 0.2
    assert noise.max() < 0.4


def test_noise_follows_where_a_series_is_restless(model):
    x = torch.arange(400.0, dtype=torch.float64)
    random = torch.Generator().manual_seed(0)
    y = torch.where(x < 200, 0.05, 1.0) * torch.randn(400, generator=random, dtype=x.dtype)
    calm, restless = model.fit(x, y).students_and_noise(x.new_tensor([100.5, 300.5]))[1][0]
    assert restless > 5 * calm


def test_of_few_observations_a_wide_scale_has_as_much_more_noise(model):
    """A Student-t is written as several Gaussians, of which each is of one scale of the process."""
    x, y = wave(np.full(6, 1.0))
    fitted = model.fit(x, y)
    with_error, without = (
        Hypothesis(fitted, 0.0, error=error).gaussians(AT).scale for error in (1e6, 0.0)
    )
    count = len(fitted.weighed.weight)
    left = with_error / without
    assert len(left) == 3 * count
    torch.testing.assert_close(left[:count], left[count : 2 * count])


def test_curves_lie_within_the_bands_whether_errors_are_as_told_or_not(model):
    """Errors told far too large, and errors of positive values."""
    x, waves = wave(np.full(60, 0.02))
    positive = (1.5 * waves).exp()
    for y, error in ((waves, torch.ones(60)), (positive, 0.05 * positive)):
        task = Task.from_arrays(
            *(x.numpy(), y.numpy(), np.array([5.3, 20.1, 35.2, 45.0])),
            context_error=error.numpy(),
        )
        curves = model.draw(task, 1000, torch.Generator().manual_seed(0))
        predicted = model(task)
        low, high = predicted.quantile(0.05), predicted.quantile(0.95)
        within = ((curves > low) & (curves < high)).double().mean(0)
        assert within.min() > 0.8
        assert within.max() < 0.97
        assert y is waves or curves.min() > 0


def test_curves_of_logarithms_reach_no_farther_than_the_bands(model):
    """Far ahead of what grows by a factor, the line of its logarithms is not followed."""
    share = np.where(np.arange(40) % 2 == 0, 0.02, 0.4)
    x, waves = wave(share)
    y = (x / 8 + waves).exp()
    at = np.array([20.0, 60.0, 400.0])
    task = Task.from_arrays(x.numpy(), y.numpy(), at, context_error=share * y.numpy())
    curves = model.draw(task, 500, torch.Generator().manual_seed(0))[..., 0]
    found = model(task)
    assert (curves.quantile(0.95, dim=0) < 1.2 * found.quantile(0.95)[0, :, 0]).all()
    assert (curves.mean(0) < 1.2 * found.mean[0, :, 0]).all()
    assert curves.min() > 0


def test_a_curve_is_of_one_way_to_see_the_series_chosen_by_its_weight(model):
    x, y = wave(np.full(40, 0.1))
    near, far = model.fit(x, y), model.fit(x, y + 100)
    found = [Hypothesis(near, 0.0), Hypothesis(far, np.log(3.0))]
    curves = drawn_by_weight(found, AT, 400, torch.Generator().manual_seed(0))
    is_far = curves > 50
    assert torch.equal(is_far.any(1), is_far.all(1))
    assert 0.68 < float(is_far[:, 0].double().mean()) < 0.82
    long = model.fit(torch.arange(600.0), torch.arange(600.0).sin())
    assert drawn_by_weight([Hypothesis(long, 0.0)], AT, 5, torch.Generator()) is None


@pytest.mark.parametrize("times", [280, 300])
def test_two_sensors_at_every_time_are_told_apart_by_their_errors(model, times):
    """Evidences are of the same observations, whether these are more than a window sees or not."""
    random = np.random.default_rng(0)
    x = np.repeat(np.arange(float(times)), 2)
    error = np.tile([0.05, 2.0], times)
    y = np.sin(x / 5) + error * random.normal(size=2 * times)
    at = np.arange(50) * 5 + 0.5
    found = model(Task.from_arrays(x, y, at, context_error=error))
    assert float((found.mean[0, :, 0] - torch.from_numpy(np.sin(at / 5))).abs().max()) < 0.1
    assert float(found.stddev.max()) < 0.1


def test_what_was_met_in_other_units_is_doubted_as_much(model):
    x, y = wave(np.full(40, 0.3))
    error = torch.full((40,), 9.0, dtype=torch.float64)
    other = GaussianProcessDictionary()
    model.fit(x, y)
    tasks = Task.from_arrays(x.numpy(), 10 * y.numpy(), AT.numpy(), context_error=error.numpy())
    torch.testing.assert_close(model(tasks).mean, other(tasks).mean)
    torch.testing.assert_close(model(tasks).stddev, other(tasks).stddev)


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
    by_logs = list(of_logarithms(of_logs, y.log()))
    assert by_logs[0].gaussians(AT).is_log.all()
    of_density = -2 * float(waves.sum())
    for found, expected in zip(by_logs, as_told(of_logs), strict=True):
        assert found.evidence == pytest.approx(expected.evidence + of_density)
    gained = most(by_logs) - most(as_told(told))
    assert gained > 5
    # In other units of the values, densities are others, and evidences differ as much as before.
    tenfold = model.fit(x, 10 * y, 100 * variance), model.fit(x, (10 * y).log(), variance / y**2)
    again = most(of_logarithms(tenfold[1], (10 * y).log())) - most(as_told(tenfold[0]))
    assert again == pytest.approx(gained, abs=1e-6)


def most(found) -> float:
    return max(each.evidence for each in found)


def test_a_positive_series_with_errors_is_predicted_positive(model):
    x, waves = wave(np.full(40, 0.1))
    y = (2 * waves).exp()
    task = Task.from_arrays(x.numpy(), y.numpy(), AT.numpy(), context_error=0.2 * y.numpy())
    assert model(task).quantile(0.02).min() > 0
    assert are_small(0.04 * y**2, y)
    assert not are_small(torch.full_like(y, 1.0), y)
