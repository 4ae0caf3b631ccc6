"""What people would do with points in the plane."""

import numpy as np
import pytest
import torch

from convcnp.core.task import Task
from convcnp.errors import ShapeError
from convcnp.paper.baselines.in_plane import (
    FittedPlaneGP,
    SurfaceThrough,
    nearest,
    one_set,
    triangles,
)


def task(points: int = 40) -> Task:
    random = np.random.default_rng(0)
    x = random.uniform(0, 6, (points + 10, 2)) * [1.0, 100.0]
    y = 5 + np.sin(x[:, 0]) + 0.01 * x[:, 1]
    return Task.from_arrays(x[:points], y[:points], x[points:], y[points:])


def test_the_fitted_process_finds_a_smooth_surface():
    predictive = FittedPlaneGP(roughnesses=(2.5, np.inf))(task())
    away = (predictive.mean - task().y_target).abs()
    assert away.median() < 0.02
    assert (predictive.stddev > 0).all()


def test_the_process_does_not_depend_on_units():
    one = FittedPlaneGP(roughnesses=(np.inf,))(task()).mean
    data = task()
    scaled = Task(1e3 * data.x_context, 7 * data.y_context, 1e3 * data.x_target)
    other = FittedPlaneGP(roughnesses=(np.inf,))(scaled).mean / 7
    torch.testing.assert_close(other, one, atol=1e-3, rtol=0)


def test_triangles_are_exact_on_a_plane_and_the_nearest_point_holds_outside():
    x = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    y = x @ [2.0, 3.0]
    assert triangles(x, y, np.array([[0.5, 0.25]]))[0] == pytest.approx(1.75)
    assert triangles(x, y, np.array([[5.0, 6.0]]))[0] == pytest.approx(5.0)
    assert nearest(x, y, np.array([[0.1, 0.8]]))[0] == 3.0
    line = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
    assert triangles(line, y[:3], np.array([[0.9, 0.0]]))[0] == y[1]


def test_the_spread_of_a_surface_is_its_error_at_points_left_out():
    data = task()
    x, y, _ = one_set(data)
    errors = [y[n] - nearest(np.delete(x, n, 0), np.delete(y, n), x[[n]])[0] for n in range(len(x))]
    predictive = SurfaceThrough(nearest)(data)
    assert predictive.stddev.unique().item() == pytest.approx(np.sqrt(np.mean(np.square(errors))))


def test_other_tasks_are_refused():
    with pytest.raises(ShapeError, match="takes one set with one channel"):
        FittedPlaneGP()(Task.from_arrays([0.0, 1.0], [0.0, 1.0], [0.5]))
    with pytest.raises(ShapeError, match="at least four points, got 3"):
        SurfaceThrough(triangles)(task(3))
