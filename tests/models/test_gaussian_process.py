"""Kernels against numbers found by hand, and the posterior against a plain solve."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from convcnp.core.task import Task
from convcnp.errors import ConvCNPError, SettingError
from convcnp.models.gaussian_process import EQ, GaussianProcess, Matern52, WeaklyPeriodic
from helpers import assert_equal, random_task, rebuilt

KERNELS = {"eq": EQ(), "matern": Matern52(), "weakly-periodic": WeaklyPeriodic()}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())


def points(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)[None, :, None]


# --- Kernels --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel, distance, expected",
    [
        (EQ(0.5), 0.5, math.exp(-0.5)),
        (EQ(0.5), 1.0, math.exp(-2.0)),
        (EQ(), 0.25, math.exp(-0.5)),
        (Matern52(0.5), 0.5, (1 + math.sqrt(5) + 5 / 3) * math.exp(-math.sqrt(5))),
        (Matern52(), 0.5, (1 + 2 * math.sqrt(5) + 20 / 3) * math.exp(-2 * math.sqrt(5))),
        # Four periods in one unit: only the envelope is left at 0.25, and at 0.125 sin² is one.
        (WeaklyPeriodic(), 0.25, math.exp(-0.5 * 0.25**2 / 0.5**2)),
        (WeaklyPeriodic(), 0.125, math.exp(-2 - 0.5 * 0.125**2 / 0.5**2)),
        (WeaklyPeriodic(2.0, 1.0), 0.25, math.exp(-2 * 0.5 - 0.5 * 0.25**2 / 2**2)),
    ],
)
def test_kernels_have_the_values_of_their_formulas(kernel, distance, expected):
    covariance = kernel(points(0.3), points(0.3 + distance, 0.3 - distance))
    assert covariance.flatten().tolist() == pytest.approx([expected, expected])
    assert kernel(points(7.0), points(7.0)).item() == 1.0


def test_the_weakly_periodic_kernel_is_the_paper_s_product_of_exponentials():
    x, other = 0.31, 0.77

    def f(x: float) -> tuple[float, float]:
        return math.cos(8 * math.pi * x), math.sin(8 * math.pi * x)

    expected = math.exp(
        -0.5 * sum((a - b) ** 2 for a, b in zip(f(x), f(other), strict=True))
        - 0.5 * (x - other) ** 2 / 0.5**2
    )
    assert WeaklyPeriodic()(points(x), points(other)).item() == pytest.approx(expected)


@pytest.mark.parametrize("kernel", [EQ(0.7), Matern52(0.7)])
def test_kernels_of_the_plane_depend_on_the_euclidean_distance(kernel):
    a, b = torch.zeros(1, 1, 2).double(), torch.tensor([[[0.3, 0.4]]], dtype=torch.float64)
    assert_equal(kernel(a, b), kernel(points(0.0), points(0.5)), 1e-12)


@every_kernel
def test_kernels_are_symmetric_and_positive_definite(kernel):
    x = random_task(num_context=25, width=2.0).x_context
    covariance = kernel(x, x)
    assert_equal(covariance, covariance.mT, 1e-14)
    assert torch.linalg.eigvalsh(covariance).min() > -1e-12
    assert covariance.abs().max() <= 1


# --- The posterior --------------------------------------------------------------------------------


def plainly(
    gp: GaussianProcess, x: np.ndarray, y: np.ndarray, x_target: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Solve one task with one channel as textbooks do."""

    def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return gp.kernel(torch.tensor(a)[None], torch.tensor(b)[None])[0].numpy()

    own = kernel(x, x) + (gp.noise + gp.jitter) * np.eye(len(x))
    across = kernel(x_target, x)
    mean = across @ np.linalg.solve(own, y)
    covariance = kernel(x_target, x_target) - across @ np.linalg.solve(own, across.T)
    return mean, np.sqrt(np.diag(covariance) + gp.noise + gp.jitter)


@every_kernel
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_the_posterior_is_that_of_a_plain_solve(kernel, noise):
    gp = GaussianProcess(kernel, noise=noise, jitter=1e-6)
    task = random_task(batch_size=3, dim_y=2, num_context=9, num_target=5, width=2.0, observed=0.7)
    assert not task.context_mask.all()
    predictive = gp(task)
    for i in range(3):
        for channel in range(2):
            seen = task.context_mask[i, :, channel]
            mean, stddev = plainly(
                gp,
                task.x_context[i, seen].numpy(),
                task.y_context[i, seen, channel].numpy(),
                task.x_target[i].numpy(),
            )
            np.testing.assert_allclose(predictive.mean[i, :, channel], mean, atol=1e-8)
            np.testing.assert_allclose(predictive.stddev[i, :, channel], stddev, atol=1e-8)


def test_a_worked_example():
    # One observation 2 at distance 0.25 of a target: k = exp(-1/2).
    predictive = GaussianProcess(EQ(), noise=0.5)(Task.from_arrays([0.0], [2.0], [0.25]))
    assert predictive.mean.item() == pytest.approx(2 * math.exp(-0.5) / 1.5, abs=1e-7)
    variance = 1 - math.exp(-1) / 1.5 + 0.5
    assert predictive.stddev.item() == pytest.approx(math.sqrt(variance), abs=1e-7)


@every_kernel
def test_masked_points_are_as_good_as_removed(kernel):
    task = random_task(num_context=6)
    mask = torch.tensor([True, False, True, True, False, True])
    masked = rebuilt(task, context_mask=mask[None, :, None])
    removed = Task(task.x_context[:, mask], task.y_context[:, mask], task.x_target)
    one, other = (GaussianProcess(kernel)(t) for t in (masked, removed))
    assert_equal(one.mean, other.mean, 1e-9)
    assert_equal(one.stddev, other.stddev, 1e-9)


def test_without_context_the_posterior_is_the_prior():
    task = random_task(num_context=0, dim_y=2)
    for empty in (task, rebuilt(random_task(dim_y=2), context_mask=torch.zeros(1, 8, 2).bool())):
        predictive = GaussianProcess(EQ(), noise=3.0)(empty)
        assert_equal(predictive.mean, torch.zeros(1, 6, 2).double(), 1e-12)
        assert_equal(predictive.stddev, torch.full((1, 6, 2), 2.0).double(), 1e-6)


def test_observations_are_met_without_noise_and_not_with_it():
    x, y = [0.0, 1.0, 2.0], [1.0, -1.0, 0.5]
    task = Task.from_arrays(x, y, x)
    exact, noisy = GaussianProcess(EQ())(task), GaussianProcess(EQ(), noise=1.0)(task)
    assert_equal(exact.mean, task.y_context, 1e-6)
    assert_equal(exact.stddev, torch.full((1, 3, 1), 1e-4 * math.sqrt(2)).double(), 1e-6)
    assert (noisy.mean - task.y_context).abs().min() > 0.1
    assert noisy.stddev.min() > 1.0


def test_repeated_inputs_and_crowded_contexts_can_be_factorised():
    x = torch.cat([torch.linspace(0, 1, 150), torch.full((50,), 0.5)]).double()[None, :, None]
    predictive = GaussianProcess(EQ())(Task(x, torch.sin(x), x))
    assert predictive.mean.isfinite().all()
    assert_equal(predictive.mean, torch.sin(x), 1e-3)


def test_the_posterior_is_in_float64_and_carries_the_targets_mask():
    mask = torch.tensor([[[True], [False], [True]]])
    x = torch.rand(1, 3, 1)
    predictive = GaussianProcess(EQ())(Task(x, x, x, target_mask=mask))
    assert predictive.mean.dtype == torch.float64
    assert torch.equal(predictive.mask, mask)


# --- Samples --------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [0.0, 0.5])
@every_kernel
def test_samples_have_the_kernel_s_covariance(kernel, noise):
    x = points(0.0, 0.1, 0.25, 0.9).expand(20_000, -1, -1)
    generator = torch.Generator().manual_seed(0)
    samples = GaussianProcess(kernel, noise=noise).sample(x, generator)[..., 0]  # (tasks, points)
    expected = kernel(x[:1], x[:1])[0] + noise * torch.eye(4)
    assert_equal(samples.T @ samples / len(samples), expected.double(), 0.05)
    assert_equal(samples.mean(0), torch.zeros(4).double(), 0.05)


def test_channels_and_tasks_are_drawn_independently():
    x = points(0.0).expand(20_000, -1, -1)
    samples = GaussianProcess(EQ()).sample(x, torch.Generator().manual_seed(0), channels=2)
    assert samples.shape == (20_000, 1, 2)
    both = samples[:, 0]
    assert_equal(both.T @ both / len(both), torch.eye(2).double(), 0.05)
    assert abs((both[1:, 0] * both[:-1, 0]).mean()) < 0.05


def test_the_same_generator_draws_the_same_functions():
    x, gp = random_task(2).x_context, GaussianProcess(EQ())
    first, second, other = (gp.sample(x, torch.Generator().manual_seed(s)) for s in (1, 1, 2))
    assert first.dtype == torch.float64
    assert_equal(first, second, 0)
    assert (first - other).abs().max() > 0.1


# --- Settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize("jitter", [0.0, -1e-8, float("nan")])
def test_jitter_must_be_positive(jitter):
    with pytest.raises(SettingError, match=r"jitter must be a positive number, got .*above zero"):
        GaussianProcess(EQ(), jitter=jitter)


@pytest.mark.parametrize("noise", [-0.1, float("nan"), float("inf")])
def test_noise_must_be_a_variance(noise):
    with pytest.raises(SettingError, match=f"noise must be zero or positive, got {noise}"):
        GaussianProcess(EQ(), noise=noise)


@pytest.mark.parametrize("value", [0.0, -0.25, float("nan")])
@pytest.mark.parametrize(
    "kernel, name",
    [(EQ, "length_scale"), (Matern52, "length_scale"), (WeaklyPeriodic, "envelope")],
)
def test_kernels_need_a_positive_length_scale(kernel, name, value):
    with pytest.raises(SettingError, match=f"{name} must be a positive number, got {value}"):
        kernel(**{name: value})


def test_setting_errors_are_ours_and_value_errors():
    assert issubclass(SettingError, ConvCNPError)
    assert issubclass(SettingError, ValueError)
