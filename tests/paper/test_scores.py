"""What models of predators and prey, and of light curves, are judged by as well."""

import math
from dataclasses import replace

import pytest
import torch

from convcnp import GaussianPredictive, Task
from convcnp.core.predictive import MixturePredictive
from convcnp.data import lynx_hare
from convcnp.data.functions import GPSource
from convcnp.data.fur_counts import FurCounts
from convcnp.data.lotka_volterra import LotkaVolterraSource
from convcnp.data.plasticc import FLUX_SCALE, PlasticcSource
from convcnp.models.cnp import CNP
from convcnp.paper.baselines import kaggle_gp
from convcnp.paper.scores import constant, further_scores, light_curves, predator_prey
from convcnp.training.evaluation import TEST_SEEDS, fixed_tasks
from convcnp.training.experiment import EvaluationSettings

SETTINGS = EvaluationSettings(num_tasks=12)


def standard(task):
    """Predict zero and one everywhere."""
    zero = torch.zeros(task.target_mask.shape)
    return GaussianPredictive(zero, zero + 1, task.target_mask)


class Standard(CNP):
    """Predict likewise, as a model."""

    def forward(self, task):
        return standard(task)


def test_the_constant_prediction_is_the_contexts_mean_and_deviation():
    nan = float("nan")
    task = Task.from_arrays([0, 1, 2], [[1.0, 5.0], [3.0, nan], [nan, 9.0]], [7.0, 8.0])
    predictive = constant(task)
    assert predictive.mean.tolist() == [[[2.0, 7.0]] * 2]
    assert predictive.stddev.tolist() == [[[1.0, 2.0]] * 2]


def test_real_years_are_scored_in_thousands():
    found = predator_prey(standard)
    _, populations = lynx_hare.series()
    hidden = populations[1881 - 1845 : 1899 - 1845]
    # In thousands the prediction is a Gaussian with a deviation of a hundred.
    expected = (
        (-0.5 * (hidden / 100) ** 2 - math.log(100) - 0.5 * math.log(2 * math.pi)).sum(1).mean()
    )
    score = found["lynx_hare"]["interval"]
    assert score["log_likelihood"] == pytest.approx(expected.item())
    assert score["coverage50"] == pytest.approx((hidden < 67.4).double().mean().item())
    assert set(found["lynx_hare"]) == {"interval", "every_interval", "last_years"}
    assert found["constant"]["lynx_hare"]["interval"]["log_likelihood"] > -11


@pytest.fixture
def source(light_curve_file):
    return PlasticcSource().held_out("test")


def test_light_curves_are_compared_on_the_same_points(source):
    found = light_curves(standard, source, SETTINGS)["light_curves"]
    for points in ("all_points", "kept_points"):
        table = found[points]
        assert set(table) == {"model", "kaggle_gp", "kaggle_gp_with_noise"}
        assert len({score["num_tasks"] for score in table.values()}) == 1
        assert table["kaggle_gp"]["squared_error"] == table["kaggle_gp_with_noise"]["squared_error"]
    assert found["all_points"]["model"]["num_tasks"] == 12
    everywhere = found["all_points"]["kaggle_gp"]
    assert found["kept_points"]["kaggle_gp"]["log_likelihood"] > everywhere["log_likelihood"]
    assert everywhere["model_is_better"] > 0.5  # made-up fluxes are noise, which it overfits


def test_a_score_is_the_mean_over_objects_of_the_mean_over_points(source):
    model = light_curves(standard, source, SETTINGS)["light_curves"]["all_points"]["model"]
    likelihoods, squares = [], []
    for task in fixed_tasks(source, 12, TEST_SEEDS[SETTINGS.seed]):
        for one in task:
            y = one.y_target[one.target_mask].double()
            likelihoods.append((-0.5 * y**2 - 0.5 * math.log(2 * math.pi)).mean())
            squares.append((y**2).mean())
    likelihoods, squares = torch.stack(likelihoods), torch.stack(squares)
    assert model["log_likelihood"] == pytest.approx(likelihoods.mean().item(), rel=1e-5)
    assert model["standard_error"] == pytest.approx(likelihoods.std().item() / 12**0.5, rel=1e-5)
    assert model["median_log_likelihood"] == pytest.approx(likelihoods.median().item(), rel=1e-5)
    assert model["squared_error"] == pytest.approx(squares.mean().item(), rel=1e-5)


def test_scores_are_those_of_the_fluxes_whatever_units_a_model_sees(source):
    """A model that predicts nothing but the targets' errors has one score in all units."""

    def exact_but_for_errors(task):
        zero = torch.zeros(task.target_mask.shape, dtype=torch.float64)
        return GaussianPredictive(task.y_target, zero + task.target_error, task.target_mask)

    found = [
        light_curves(exact_but_for_errors, replace(source, units=units, errors=True), SETTINGS)
        for units in ("paper", "object", "none")
    ]
    paper, *others = (each["light_curves"]["all_points"]["model"] for each in found)
    for other in others:
        assert other == pytest.approx(paper, rel=1e-6, abs=1e-12)
    assert paper["coverage90"] == 1.0
    assert found[0]["light_curves"]["seconds_per_object"]["kaggle_gp"] > 0


def test_a_squared_error_is_in_an_objects_own_size_as_well(source):
    measured = replace(source, units="none", errors=True)

    def nothing(task):
        zero = torch.zeros(task.target_mask.shape, dtype=torch.float64)
        return GaussianPredictive(zero, zero + 1, task.target_mask)

    found = light_curves(nothing, measured, SETTINGS)["light_curves"]["all_points"]["model"]
    expected = []
    for task in fixed_tasks(measured, 12, TEST_SEEDS[SETTINGS.seed]):
        for one in task:
            asked = one.y_target[one.target_mask] ** 2
            every = torch.cat([asked, one.y_context[one.context_mask] ** 2])
            expected.append((asked.mean() / every.mean()).item())
    assert found["own_squared_error"] == pytest.approx(sum(expected) / 12)


def test_a_squared_error_is_that_of_the_median(source):
    measured = replace(source, units="none", errors=True)

    def either(task):
        zero = torch.zeros(*task.target_mask.shape, 2, dtype=torch.float64)
        logits, means = zero + torch.tensor([9.0, 0.0]), zero + torch.tensor([0.0, 1e9])
        return MixturePredictive(logits, means, zero + 1e-3, task.target_mask)

    found = light_curves(either, measured, SETTINGS)["light_curves"]["all_points"]["model"]
    assert found["own_squared_error"] < 10


def test_points_are_removed_where_the_bare_gp_fails(source, monkeypatch):
    def half_failing(task):
        far = torch.where(task.y_target > 0, 100.0, 0.0).double()
        mean = task.y_target + far * FLUX_SCALE  # exact below zero, hopeless above
        return GaussianPredictive(mean, FLUX_SCALE.expand(mean.shape), task.target_mask)

    monkeypatch.setattr(kaggle_gp, "predict", half_failing)
    found = light_curves(standard, source, SETTINGS)["light_curves"]
    kept = found["kept_points"]["kaggle_gp"]
    assert kept["log_likelihood"] == pytest.approx(-0.5 * math.log(2 * math.pi))
    assert kept["squared_error"] < 1e-20
    assert found["all_points"]["kaggle_gp"]["log_likelihood"] < -1000
    assert 0.3 < found["removed_share"] < 0.7
    # An object all of whose points are removed counts no more; the others have finite scores.
    assert kept["num_tasks"] < 12
    assert math.isfinite(found["kept_points"]["model"]["log_likelihood"])


def test_other_models_have_no_further_scores():
    assert further_scores(CNP(), GPSource(), SETTINGS) == {}


def test_further_scores_are_found_by_the_source_and_simulations_counted():
    found = further_scores(CNP(dim_y=2), LotkaVolterraSource(), SETTINGS)
    assert found["simulations"]["runs"] == 1000
    assert "lynx_hare" in found


def test_fur_counts_are_predicted_in_units_of_the_years_given():
    found = further_scores(Standard(dim_y=2), FurCounts(), SETTINGS)["lynx_hare"]["interval"]
    task = lynx_hare.hidden()
    mean, stddev = task.y_context.mean(1), task.y_context.std(1) * (1 + 2 / 73)
    away = (task.y_target - mean) / stddev
    expected = (-0.5 * away**2 - stddev.log() - 0.5 * math.log(2 * math.pi)).sum(2).mean()
    assert found["log_likelihood"] == pytest.approx(expected.item() - 2 * math.log(100), abs=1e-5)


def test_light_curves_have_further_scores_too(source):
    assert "light_curves" in further_scores(CNP(dim_y=6), source, SETTINGS)
