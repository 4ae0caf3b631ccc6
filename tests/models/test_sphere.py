"""Points on the globe: the date line is a line like any other, and so is a pole."""

import numpy as np
import pytest
import torch

from convcnp.core.task import Task
from convcnp.models.dictionary.plane import PlaneDictionary
from convcnp.models.sphere import OnSphere, in_space


@pytest.fixture(scope="module")
def model():
    return OnSphere(PlaneDictionary(dim_x=3))


def stations(n: int = 40, east: float = 0.0, north: float = 0.0):
    random = np.random.default_rng(0)
    away = random.uniform(-8, 8, (n + 5, 2))
    value = np.sin(away[:, 0] / 3) + away[:, 1] / 4 + 0.05 * random.standard_normal(n + 5)
    degrees = away + np.array([east, north])
    return Task.from_arrays(degrees[:n], value[:n], degrees[n:], value[n:])


def wrapped(task: Task) -> Task:
    def within(x):
        return torch.stack([(x[..., 0] + 180) % 360 - 180, x[..., 1]], -1)

    return Task(within(task.x_context), task.y_context, within(task.x_target), task.y_target)


def test_the_date_line_changes_nothing(model):
    at_zero, at_date_line = stations(), stations(east=180)
    crossing = wrapped(at_date_line)
    assert crossing.x_context[..., 0].min() < -170
    assert crossing.x_context[..., 0].max() > 170
    for other in (at_date_line, crossing):
        torch.testing.assert_close(model(other).mean, model(at_zero).mean, atol=1e-6, rtol=0)


def test_far_north_a_degree_of_longitude_is_short(model):
    # The same longitudes and latitudes at 75° north: what lies 16° east is near, and counts.
    x = np.array([[-8.0, 75.0], [0.0, 83.0], [0.0, 67.0]])
    away = torch.cdist(in_space(torch.from_numpy(x)), in_space(torch.tensor([[8.0, 75.0]])))
    assert away[0] < 0.6 * away[1]


def test_points_are_on_the_sphere():
    x = torch.tensor([[0.0, 0.0], [90.0, 0.0], [10.0, 90.0], [-170.0, 90.0]], dtype=torch.float64)
    expected = torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]], dtype=torch.float64)
    torch.testing.assert_close(in_space(x), expected, atol=1e-15, rtol=0)


@pytest.mark.parametrize(
    "degrees",
    [
        [[0.0, 90.0]],  # a pole
        [[0.0, 0.0], [180.0, 0.0]],  # no middle
        [[0.0, 0.0], [120.0, 0.0], [240.0, 0.0], [0.0, 90.0], [0.0, -90.0]],
    ],
)
def test_any_points_give_numbers(model, degrees):
    values = np.arange(1.0, len(degrees) + 1)
    predictive = model(Task.from_arrays(degrees, values, [[30.0, 40.0], [0.0, -90.0]]))
    assert predictive.mean.isfinite().all()
    assert (predictive.stddev > 0).all()


def test_without_observations_there_are_numbers(model):
    task = stations(3)
    nothing = Task(
        *(task.x_context, task.y_context, task.x_target),
        context_mask=torch.zeros_like(task.context_mask),
    )
    assert (model(nothing).stddev == 1).all()
    assert model.dtype == torch.float64


def test_surfaces_meet_at_the_date_line(model):
    stations = [[178.0, -18.0], [179.5, -17.0], [-179.0, -16.0], [-178.0, -19.0]]
    task = Task.from_arrays(stations, [1.0, 2.0, 3.0, 2.0], [[180.0, -17.5], [-180, -17.5]])
    assert model.draws_surfaces
    drawn = model.draw(task, 5, torch.Generator().manual_seed(0))
    torch.testing.assert_close(drawn[:, 0], drawn[:, 1])
    assert drawn.std(0).min() > 0
