"""Coherent samples: their joint distribution is the one a model's predictions say."""

import pytest
import torch

import convcnp
from convcnp.core.heads import Head, MixtureHead
from convcnp.core.predictive import GaussianPredictive
from convcnp.core.task import Task
from convcnp.models.base import Model
from convcnp.models.convcnp import ConvCNP
from convcnp.models.gaussian_process import EQ, GaussianProcess
from convcnp.predict import sampling
from convcnp.predict.sampling import _far_apart_first, sample_curves
from helpers import assert_equal, lively

KERNEL = EQ()


class Moments(Head):
    """Takes the mean and the standard deviation as they are."""

    def channels(self, dim_y):
        return 2 * dim_y

    def forward(self, raw, mask):
        mean, stddev = raw.chunk(2, -1)
        return GaussianPredictive(mean, stddev, mask)


class ExactGP(Model):
    """The exact posterior as a model: sampled point by point, it is sampled exactly."""

    def __init__(self):
        super().__init__(1, 1, Moments())
        self.tasks = []

    def raw(self, task):
        self.tasks.append(task)
        posterior = GaussianProcess(KERNEL, jitter=1e-6)(task)
        return torch.cat([posterior.mean, posterior.stddev], -1)


def gap_task(num_targets, seed=0):
    """Return observations on both sides of a gap, and targets inside it."""
    x = torch.tensor([-1.6, -1.3, -1.1, -0.8, -0.5, 0.6, 0.9, 1.2, 1.5], dtype=torch.float64)
    generator = torch.Generator().manual_seed(seed)
    y = GaussianProcess(KERNEL).sample(x[None, :, None], generator)
    x_target = torch.linspace(-0.3, 0.4, num_targets, dtype=torch.float64)
    return Task(x[None, :, None], y, x_target[None, :, None])


def exact_posterior(task):
    """Return the mean and covariance at the targets, from the textbook's formula."""
    x, x_target = task.x_context, task.x_target
    covariance = KERNEL(x, x)[0] + 1e-6 * torch.eye(x.shape[1])
    weights = torch.linalg.solve(covariance, KERNEL(x, x_target)[0]).T
    mean = weights @ task.y_context[0, :, 0]
    return mean, KERNEL(x_target, x_target)[0] - weights @ KERNEL(x, x_target)[0]


def drawn(model, task, count, **options):
    curves = sample_curves(model, task, count, torch.Generator().manual_seed(1), **options)
    assert curves.shape == (count, task.x_target.shape[1], 1)
    return curves[..., 0].double()


@pytest.mark.parametrize("num_targets", [8, 29], ids=["all drawn", "some completed"])
def test_samples_of_an_exact_model_are_exact(num_targets):
    task = gap_task(num_targets)
    mean, covariance = exact_posterior(task)
    curves = drawn(ExactGP(), task, 2000, spacing=0.1)
    stddev = covariance.diagonal().sqrt()
    # Standard errors are 0.022 of a mean and 0.016 of a standard deviation.
    assert_equal((curves.mean(0) - mean) / stddev, torch.zeros_like(mean), 0.09)
    assert_equal(curves.std(0) / stddev, torch.ones_like(mean), 0.07)
    correlation = covariance / stddev[:, None] / stddev
    assert correlation.min() < 0.4
    assert_equal(torch.corrcoef(curves.T), correlation, 0.1)


def test_mean_and_spread_of_a_trained_model_agree_with_the_exact_gp():
    # The model's own error is up to 0.16 of a mean here; standard errors are 0.1 and 0.07.
    task = gap_task(15)
    mean, covariance = exact_posterior(task)
    stddev = covariance.diagonal().sqrt()
    curves = drawn(convcnp.load("eq-convcnpxl").model, task, 100, spacing=0.1)
    assert_equal((curves.mean(0) - mean) / stddev, torch.zeros_like(mean), 0.45)
    assert_equal(curves.std(0) / stddev, torch.ones_like(mean), 0.35)
    correlation = covariance / stddev[:, None] / stddev
    found = torch.corrcoef(curves.T)
    assert_equal(found.diagonal(1), correlation.diagonal(1), 0.03)
    assert_equal(found.diagonal(4).mean(), correlation.diagonal(4).mean(), 0.12)


def test_targets_are_drawn_no_denser_than_the_model_knows():
    model = ExactGP()
    drawn(model, gap_task(71), 2, spacing=0.1)
    assert len(model.tasks) == 8 + 1  # eight targets, 0.1 apart, and the rest in one pass
    context = model.tasks[-1].x_context[0, 9:, 0]
    assert_equal(context, torch.linspace(-0.3, 0.4, 8, dtype=torch.float64))


def test_the_order_of_targets_does_not_matter():
    task, generator = gap_task(20), torch.Generator().manual_seed(3)
    order = torch.randperm(20, generator=generator)
    shuffled = Task(task.x_context, task.y_context, task.x_target[:, order])
    for spacing in (0.01, 0.1):
        curves = drawn(ExactGP(), task, 3, spacing=spacing)
        assert_equal(drawn(ExactGP(), shuffled, 3, spacing=spacing), curves[:, order], 1e-6)


def test_far_targets_are_drawn_from_what_is_near_them():
    model = lively(ConvCNP.small()).eval()  # sees 0.7 units far
    seen, raw = [], model.raw

    def noted(task, **options):
        seen.append(torch.cat([task.x_context[task.context_mask], task.x_target.flatten()]))
        return raw(task, **options)

    model.raw = noted
    x = torch.arange(0, 60, 0.5, dtype=torch.float64)[None, :, None]
    target = torch.tensor([5.1, 5.3, 20.2, 50.1, 50.7], dtype=torch.float64)[None, :, None]
    curves = drawn(model, Task(x, torch.sin(x), target), 4, spacing=0.3)
    assert curves.isfinite().all()
    assert max((x.max() - x.min()).item() for x in seen) < 3


def test_samples_that_do_not_fit_into_one_pass_are_the_same(monkeypatch):
    model, task = lively(ConvCNP.small()).eval(), gap_task(12)
    together = drawn(model, task, 5, spacing=0.2)
    in_passes = sampling.raw_in_passes

    def one_by_one(model, task):
        return in_passes(model, task, cells_per_pass=int(model.cells(task).max()))

    monkeypatch.setattr(sampling, "raw_in_passes", one_by_one)
    assert_equal(drawn(model, task, 5, spacing=0.2), together)


def test_each_drawn_point_halves_what_is_open():
    assert _far_apart_first(8) == [0, 4, 2, 6, 1, 5, 3, 7]
    for count in (1, 2, 5, 64):
        assert sorted(_far_apart_first(count)) == list(range(count))


def test_a_mixture_is_sampled_as_well():
    model = lively(ConvCNP.small(head=MixtureHead())).eval()
    for spacing in (0.01, 0.2):
        assert drawn(model, gap_task(12), 3, spacing=spacing).isfinite().all()


def test_a_model_that_draws_jointly_is_asked_to():
    class Joint(ExactGP):
        def draw(self, task, num_samples, generator):
            return torch.full((num_samples, task.x_target.shape[1], 1), 7.0)

    assert (drawn(Joint(), gap_task(2), 3, spacing=0.1) == 7).all()
