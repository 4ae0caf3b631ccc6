"""Log-likelihood on fixed tasks, and how sure we are of it."""

import pytest
import torch

from convcnp.data.functions import GPSource
from convcnp.models.gaussian_process import Matern52
from convcnp.training.evaluation import Score, fixed_tasks, log_likelihoods


def test_fixed_tasks_are_the_same_however_many_are_asked_for():
    source = GPSource().held_out("test")
    few = list(fixed_tasks(source, 3, seed=5))
    many = list(fixed_tasks(source, 60, seed=5))
    assert torch.equal(few[0].y_target, many[0].y_target[:3])
    assert sum(task.batch_size for task in many) == 60


def test_a_score_is_the_mean_over_tasks_with_its_standard_error():
    score = Score.of(torch.tensor([1.0, 2.0, 6.0], dtype=torch.float64))
    assert score.log_likelihood == 3.0
    assert score.standard_error == pytest.approx((7 / 3) ** 0.5)
    assert score.num_tasks == 3


def test_the_exact_gp_scores_what_is_known_of_it():
    source = GPSource(kernel=Matern52()).held_out("test")
    scores = log_likelihoods(source.ceiling, fixed_tasks(source, 500, seed=1))
    assert scores.mean().item() == pytest.approx(1.0, abs=0.15)  # over 1000 tasks: 1.00
